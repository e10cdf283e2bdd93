"""The laws in JAX: registered when a graph is first compiled for JAX, not before, and the densities are the same."""

import ast
import sys
from functools import singledispatch
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest
from pymc.model.transform.optimization import freeze_dims_and_data
from raterzoo import models
from raterzoo.models.distributions import jax_dispatch, marginal_labels, paired_comparisons
from raterzoo.models.distributions.partial_ranking import PartialRankingLogP

FOLDER = Path(jax_dispatch.__file__).parent
simulate = models.simulators
MODELS = {
    "rankings": lambda: models.plackett_luce(
        simulate.rankings(items=3, block_sizes=(1, 2), random_seed=1).data
    ),
    "labels": lambda: models.dawid_skene(
        simulate.labels(items=6, raters=3, categories=3, random_seed=1).data
    ),
    "comparisons": lambda: models.thurstone(
        simulate.comparisons(items=5, raters=3, degree=4, random_seed=1).data
    ),
}


@pytest.mark.parametrize(
    "kind", ["labels", *(pytest.param(k, marks=pytest.mark.slow) for k in ("rankings", "comparisons"))]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of JAX
def test_density_in_jax(kind):
    pytest.importorskip("jax")
    model = freeze_dims_and_data(MODELS[kind]())
    start = model.initial_point(random_seed=1)
    here = model.compile_logp(mode="FAST_COMPILE")(start)
    assert model.compile_logp(mode="JAX")(start) == pytest.approx(here, rel=1e-12)
    from pytensor.link.jax.dispatch import jax_funcify

    for op in (
        PartialRankingLogP,
        marginal_labels.LabelLogP,
        marginal_labels.ExpectedAnswers,
        paired_comparisons.PairLogP,
        paired_comparisons.PairGradient,
    ):
        assert jax_funcify.dispatch(op) is not jax_funcify.dispatch(object), op


@pytest.fixture
def apply(monkeypatch):
    """Fill a registry that stands for that of PyTensor."""
    laws = SimpleNamespace(jax_funcify=singledispatch(lambda op: None))
    for name in ("pytensor.link.jax", "pytensor.link.jax.dispatch", "pytensor.link.jax.dispatch.basic"):
        monkeypatch.setitem(sys.modules, name, laws)
    monkeypatch.setattr(jax_dispatch, "_waiting", {})
    return lambda: jax_dispatch._Registration().apply(None) or laws.jax_funcify


def test_an_interrupted_import_of_jax_is_repeated(apply):
    tries = []

    def load():
        tries.append(1)
        if len(tries) == 1:
            raise KeyboardInterrupt
        return min

    jax_dispatch._waiting[marginal_labels.LabelLogP] = load
    with pytest.raises(KeyboardInterrupt):
        apply()
    assert apply().dispatch(marginal_labels.LabelLogP) is min and not jax_dispatch._waiting
    apply()
    assert len(tries) == 2


def test_another_thread_waits_until_the_laws_are_registered(apply):
    other, waited = Thread(target=apply), []

    def load():
        other.start()
        other.join(0.1)
        waited.append(other.is_alive())
        return min

    jax_dispatch._waiting[marginal_labels.LabelLogP] = load
    apply()
    other.join()
    assert waited == [True]


def test_no_law_imports_jax_when_it_is_imported():
    for path in FOLDER.glob("*.py"):
        if path.stem == "jax_laws":
            continue
        for node in ast.parse(path.read_text()).body:
            for part in ast.walk(node) if not isinstance(node, ast.FunctionDef | ast.ClassDef) else ():
                module = str(getattr(part, "module", "")) if isinstance(part, ast.ImportFrom) else ""
                names = [alias.name for alias in part.names] if isinstance(part, ast.Import) else [module]
                assert not any("jax" in name.split(".") or "jax_laws" in name for name in names), path.name
