"""Models built with PyTensor's floatX of single precision, as for JAX or a GPU, are recognised and drawn as others."""

import numpy as np
import pytensor
import pytest
from raterzoo import inference, models

pytestmark = pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
LABELS = models.simulators.labels(items=12, raters=4, random_seed=1).data
SCORES = models.simulators.scores(items=10, raters=4, random_seed=1).data


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("dawid_skene", LABELS),
        ("correlated_votes", LABELS),
        ("mace", LABELS),
        ("item_states", LABELS),
        ("ebcc", LABELS),
        ("normal_scores", SCORES),
        ("hierarchical_scores", SCORES),
        ("hierarchical_plackett_luce", models.published_ddx_cases()),
    ],
)
def test_the_draws_are_those_of_double_precision(name, data):
    drawn = {}
    for precision in ("float64", "float32"):
        with pytensor.config.change_flags(floatX=precision):
            model = getattr(models, name)(data)
            drawn[precision] = inference.sample(model, draws=20, chains=2, random_seed=1, progressbar=False)
    one, other = drawn.values()
    assert one.attrs["method"] == other.attrs["method"] != "nuts"
    for own, values in one["posterior"].data_vars.items():
        if values.dtype.kind == "f":
            np.testing.assert_allclose(other["posterior"][own], values, rtol=1e-5, atol=1e-5)


def test_shares_of_copies_are_recognised():
    labels = models.Labels.from_table(
        LABELS.to_table() | {"kind": np.array(["model", "person"])[LABELS.annotation_rater % 2]},
        count="count",
        rater_attributes=["kind"],
    )
    with pytensor.config.change_flags(floatX="float32"):
        model = models.shared_guess(labels, groups="kind")
        tree = inference.sample(model, draws=20, chains=2, random_seed=1, progressbar=False)
    assert tree.attrs["method"] == "gibbs"
