"""A fitted model as the combiner of a survey power curve: its law against enumeration, and its curve against the data's own."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import inference, models, papers
from raterzoo.evaluation import EvaluationError, survey_power_curve
from raterzoo.evaluation.surveys.item_states.curves import count_vectors
from raterzoo.inference.labels import votes as next_label
from scipy.stats import dirichlet_multinomial, multinomial

from tests.support.monte_carlo import assert_rejects_twin, seed_of

QUIET = {"progressbar": False, "random_seed": 1}
CLIP = {"clip": 0.0, "max_raters": 8}
NAMES = ["a", "b", "c"]


def tree_of(categories, **variables):
    """Return a tree of one chain, given dims and draws of variables."""
    coords = {"category": categories, "answer": categories}
    data = {
        name: (("chain", "draw", *dims), np.array(values)[None]) for name, (dims, values) in variables.items()
    }
    used = {dim for dims, _ in data.values() for dim in dims}
    found = xr.Dataset(data, {dim: names for dim, names in coords.items() if dim in used})
    return xr.DataTree.from_dict({"posterior": found})


def states(spread, n_draws=3):
    rng = np.random.default_rng(seed_of("states"))
    drawn = {
        "state_weight": (("state",), rng.dirichlet(np.ones(4), n_draws)),
        "state_probability": (("state", "category"), rng.dirichlet(np.ones(3), (n_draws, 4))),
    }
    if spread:
        drawn["state_spread"] = (("state",), rng.uniform(0.05, 0.9, (n_draws, 4)))
    return tree_of(NAMES, **drawn)


def confusions(by_rater, n_draws=3):
    rng = np.random.default_rng(seed_of("confusions"))
    raters, dims = ((5,), ("rater",)) if by_rater else ((), ())
    law = rng.dirichlet(np.ones(3), (n_draws, *raters, 3))
    return tree_of(
        NAMES,
        prevalence=(("category",), rng.dirichlet(np.ones(3), n_draws)),
        confusion=((*dims, "category", "answer"), law),
    )


def of_sequence(counts, law, rho):
    """Return the probability of one sequence of labels with such counts."""
    n = counts.sum()
    if not n:
        return 1.0
    ways = multinomial.pmf(counts, n, np.full(3, 1 / 3)) * 3.0**n
    if rho:
        return dirichlet_multinomial.pmf(counts, (1 / rho - 1) * law, n) / ways
    return np.prod(law**counts)


def enumerated(tree, counts):
    """Return p(y and then c) / p(y), draw by draw, averaged."""
    posterior, total = tree["posterior"].isel(chain=0), 0.0
    for s in range(posterior.sizes["draw"]):
        one = posterior.isel(draw=s)
        if "prevalence" in one:
            weight, law = one["prevalence"].to_numpy(), one["confusion"]
            law = (law.mean("rater") if "rater" in law.dims else law).to_numpy()
            rho = np.zeros(3)
        else:
            weight, law = one["state_weight"].to_numpy(), one["state_probability"].to_numpy()
            rho = one["state_spread"].to_numpy() if "state_spread" in one else np.zeros(4)
        kinds = list(zip(weight, law, rho, strict=True))
        after = [
            sum(w * of_sequence(counts + own, p, r) for w, p, r in kinds) for own in np.eye(3, dtype=int)
        ]
        total += np.array(after) / sum(after)
    return total / posterior.sizes["draw"]


TREES = {
    "states": states(spread=False),
    "states with spread": states(spread=True),
    "one confusion": confusions(by_rater=False),
    "confusion by rater": confusions(by_rater=True),
}


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("k", [0, 1, 4])
def test_law_equals_enumeration(name, k):
    counts = count_vectors(k, 3)
    expected = [enumerated(TREES[name], row) for row in counts]
    found = papers.label_combiner(TREES[name])(counts)
    np.testing.assert_allclose(found, expected, atol=1e-13, rtol=0)


def test_blocks_of_draws_and_many_labels(monkeypatch):
    tree, counts = states(spread=True, n_draws=7), np.array([[0, 0, 0], [900, 1, 0], [3, 2, 1]])
    whole = papers.label_combiner(tree)(counts)
    assert np.isfinite(whole).all()
    monkeypatch.setattr(next_label, "CELLS", 30)
    np.testing.assert_allclose(papers.label_combiner(tree)(counts), whole, rtol=1e-13)


@pytest.fixture(scope="module")
def running():
    """Return labels of the running example, their counts, and a fit of item states."""
    labels = models.simulators.urn_items(items=600, raters=10, random_seed=1).data
    model = models.item_states(labels, states=3, plausibility=False)
    tree = inference.sample(model, draws=100, thin=10, **QUIET)
    coords = {"item": labels.items, "category": labels.categories.astype(str)}
    return xr.DataArray(labels.counts, coords, ("item", "category")), tree


@pytest.mark.filterwarnings("ignore:NOT converged")
def test_curve_of_the_running_example(running):
    """No function of counts beats the combiner that learned from the labels themselves; this one comes close."""
    counts, tree = running
    best = survey_power_curve(counts, learn="in-sample", bootstrap=0, **CLIP)["power_curve"]
    abc = survey_power_curve(counts, bootstrap=200, **CLIP)["power_curve_interval"]

    def check(combiner):
        found = survey_power_curve(counts, combiner, bootstrap=0, **CLIP)["power_curve"]
        assert (found <= best + 1e-12).all()
        assert (found >= abc.sel(bound="lower")).all() and (found <= abc.sel(bound="upper")).all()

    combiner = papers.label_combiner(tree)
    check(combiner)
    # known wrong: takes one label for the other
    assert_rejects_twin(check, lambda drawn: combiner(drawn[:, ::-1])[:, ::-1])


@pytest.mark.filterwarnings("ignore:NOT converged")
def test_categories_match_by_name(running, golden):
    counts, tree = running
    combiner = papers.label_combiner(tree)
    expected = survey_power_curve(counts, combiner, bootstrap=0)
    assert expected.attrs["combiner"] == "LabelCombiner"
    turned = survey_power_curve(counts[:, ::-1], combiner, bootstrap=0)
    xr.testing.assert_allclose(turned, expected, rtol=1e-12)
    other = counts.assign_coords(category=["no", "maybe"])
    with golden.raises(EvaluationError):
        survey_power_curve(other, combiner, bootstrap=0)
    more = counts.pad(category=(0, 1), constant_values=0).assign_coords(category=[*"01", "no"])
    with pytest.raises(EvaluationError, match="its categories are"):
        survey_power_curve(more.astype(int), combiner, bootstrap=0)
    assert len(repr(combiner)) < 100
    with pytest.raises(EvaluationError, match="takes counts"):
        survey_power_curve(counts, combiner, raters="identified")


@pytest.mark.filterwarnings("ignore:NOT converged")
@pytest.mark.parametrize("build", [models.multinomial, models.dawid_skene])
def test_fits_with_confusion(build):
    drawn = models.simulators.urn_items(items=40, raters=5, random_seed=2).data
    item, code = (np.repeat(np.arange(40), 5), np.concatenate([np.repeat([0, 1], n) for n in drawn.counts]))
    columns = {"item": item, "rater": np.tile(list("vwxyz"), 40), "label": drawn.categories[code]}
    tree = inference.sample(build(models.Labels.from_table(columns)), draws=20, chains=1, **QUIET)
    law = papers.label_combiner(tree)(np.array([[0, 0], [5, 0], [0, 5]]))
    assert law[1, 0] > law[0, 0] > law[2, 0]


WRONG = {
    "type": xr.Dataset(),
    "no posterior": xr.DataTree(),
    "other model": tree_of(NAMES, worth=(("category",), np.ones((2, 3)))),
    "item effects": tree_of(
            NAMES,
            prevalence=(("category",), np.ones((2, 3))),
            confusion=(("category", "answer"), np.ones((2, 3, 3))),
            expected_difficulty=(("item",), np.ones((2, 4))),
        ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_other_trees_are_refused(name, golden):
    tree = WRONG[name]
    with golden.raises(ValueError):
        papers.label_combiner(tree)


@pytest.mark.parametrize("counts", [[[1, 2]], [1, 2, 3], [[0.5, 1, 1]], [[-1, 0, 2]]])
def test_other_counts_are_refused(counts, golden):
    with golden.raises(ValueError):
        papers.label_combiner(TREES["states"])(np.array(counts))
