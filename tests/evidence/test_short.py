"""The evidence of every own sampler, in short, and a wrong twin that it catches."""

import pytest

from evidence.studies import STUDIES, methods_of
from evidence.tasks import Task
from evidence.twins import TWINS

OWN = [(name, method) for name in STUDIES for method in methods_of(name) if method in ("gibbs", "hmc")]
EXACT = [name for name in STUDIES if "exact" in methods_of(name)]
CAUGHT_SOON = "dirichlet: the same random numbers in every chain"


@pytest.mark.long  # `.ci/run` runs some of them, by `python -m evidence --quick`
@pytest.mark.parametrize(("name", "method"), OWN)
def test_transitions_leave_the_joint_law(name, method):
    outcome = Task(name, method, "invariance", quick=True).run()
    assert outcome.within, f"{outcome.statistic:.2f} at {outcome.worst}"


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
def test_exact_draws_have_their_closed_form(name):
    outcome = Task(name, "exact", "closed form", quick=True).run()
    assert outcome.within, f"{outcome.statistic:.2f} at {outcome.worst}"


def test_the_draws_of_a_wrong_twin_have_not():
    which = next(i for i, twin in enumerate(TWINS) if twin.name == CAUGHT_SOON)
    twin = TWINS[which]
    assert not Task(twin.study, twin.method, twin.kind, which).run().within
