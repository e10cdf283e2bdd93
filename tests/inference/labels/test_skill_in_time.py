"""Walks of log odds: windows, one walk against exact laws, and the chain against NUTS."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from raterzoo import inference, models
from raterzoo.inference.labels.kernels.skill_in_time import filter_walk, sample_back, sample_one_walk
from raterzoo.inference.methods import route_of
from raterzoo.models import DataError, Labels
from scipy.special import expit
from scipy.stats import beta as beta_law

from tests.support.item_effect_designs import outputs_at

pytestmark = pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
STREAM = np.array([1, 2, 3, 4], np.uint64)
SEEN = np.array([[2.0, 1.0], [0.0, 0.0], [5.0, -4.0], [0.5, 3.0]])  # precision, and precision times place


def of_walk(variance, forget=False):
    """Return mean and covariance of the walk given normal observations, by dense algebra."""
    n = len(SEEN)
    steps = np.diff(np.eye(n), axis=0)
    precision = np.diag(SEEN[:, 0]) + steps.T @ steps / variance
    covariance = np.linalg.inv(precision)
    return covariance @ SEEN[:, 1], covariance


def drawn_walks(variance, backward_variance, draws=20_000):
    """Return draws of the walk by forward filtering, and backward sampling with the variance of a step."""
    filtered, mean, draw = np.empty((4, 2)), np.empty(4), np.empty(4)
    rng, found = STREAM.copy(), np.empty((draws, 4))
    filter_walk(SEEN, variance, filtered)
    for d in range(draws):
        sample_back(rng, filtered, backward_variance, mean, draw, True)
        found[d] = mean + draw
    return found, mean


def distances(found, variance):
    """Return how far means and covariances of draws are from the exact ones, in standard errors."""
    mean, covariance = of_walk(variance)
    sd = np.sqrt(np.diag(covariance))
    error = np.sqrt((covariance**2 + np.outer(sd, sd) ** 2) / len(found))
    of_mean = np.abs(found.mean(axis=0) - mean) / sd * np.sqrt(len(found))
    return max(of_mean.max(), (np.abs(np.cov(found.T) - covariance) / error).max())


def test_filtered_forward_and_sampled_backward_is_the_dense_normal_law():
    found, mean = drawn_walks(0.3, 0.3)
    assert mean == pytest.approx(of_walk(0.3)[0], abs=1e-12)
    assert distances(found, 0.3) < 4.5


def test_backward_draws_that_forget_the_step_are_rejected():
    assert distances(drawn_walks(0.3, 1e9)[0], 0.3) > 20


def law_on_grid(counts, step, grid):
    """Return mean and second moments of a walk over two windows by quadrature."""
    x, y = np.meshgrid(grid, grid, indexing="ij")
    log_p = (
        sum(
            right * values - (right + wrong) * np.logaddexp(0, values)
            for values, (right, wrong) in zip((x, y), counts, strict=True)
        )
        - 0.5 * ((y - x) / step) ** 2
    )
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    return np.array([(p * own).sum() for own in (x, y, x * x, y * y, x * y, expit(x), expit(y))])


def moments(found):
    """Return the numbers of `law_on_grid` of each draw."""
    x, y = found.T
    return np.stack([x, y, x * x, y * y, x * y, expit(x), expit(y)], axis=1)


def distance_of_walk(counts, step, other=None):
    """Return the largest distance between draws and quadrature, in standard errors by batches; `other` step is drawn."""
    found = np.empty((20_000, 2))
    sample_one_walk(STREAM.copy(), counts, other or step, np.zeros(2), found)
    batches = moments(found).reshape(40, 500, -1).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    return (
        np.abs(batches.mean(axis=0) - law_on_grid(counts, step, np.linspace(-25, 25, 2501))) / error
    ).max()


@pytest.mark.parametrize(
    ("counts", "step"),
    [
        ([[4.0, 2.0], [0.0, 0.0]], 0.5),
        ([[1.5, 1.0], [0.0, 3.0]], 1.0),
        ([[4.0, 2.0], [9.0, 0.0]], 0.1),
        ([[104.0, 12.0], [60.0, 41.0]], 0.3),
    ],
)
def test_one_walk_has_the_law_of_quadrature(counts, step):
    assert distance_of_walk(np.array(counts), step) < 4.5


def test_a_walk_of_another_step_is_rejected():
    assert distance_of_walk(np.array([[4.0, 2.0], [9.0, 0.0]]), 0.5, other=0.25) > 6


# --- Windows ---


def timed(time, raters=None, **options):
    """Return labels of one item each with these times."""
    n = len(time)
    table = {"item": range(n), "rater": raters or ["r"] * n, "label": ["x", "y"] * n, "time": time}
    return Labels.from_table({**table, "label": table["label"][:n]}, time="time", categories=["x", "y"])


def windows_of(labels, number):
    """Return the window of each answer in the order of the table, from 0."""
    model = models.one_coin(labels, time=number)
    return model["annotation_window"].get_value().tolist()


@pytest.mark.filterwarnings("ignore::raterzoo.models.DataWarning")
class TestWindows:
    def test_answers_are_cut_into_equal_parts_of_their_rater(self):
        labels = timed([8, 7, 6, 5, 4, 3, 2, 1, 10, 20], [*"rrrrrrrrss"])
        assert windows_of(labels, 4) == [3, 3, 2, 2, 1, 1, 0, 0, 0, 2]

    def test_equal_times_are_in_one_window_and_unknown_ones_in_the_middle(self):
        assert windows_of(timed([1, 1, 1, 2, None, 2]), 2) == [0, 0, 0, 1, 1, 1]
        assert windows_of(timed([1, 1, 1, 1, 5, None]), 3) == [0, 0, 0, 0, 2, 1]
        assert windows_of(timed([1, 2, None, None], [*"rrss"]), 3) == [0, 1, 1, 1]

    def test_repeated_answers_count(self):
        labels = timed([1, 1, 1, 2])
        counted = {"item": [0, 1], "rater": ["r"] * 2, "label": ["x", "y"], "time": [1, 2], "n": [3, 1]}
        counted = Labels.from_table(counted, time="time", count="n")
        assert windows_of(labels, 4) == windows_of(counted, 4) == [0, 0, 0, 3]

    @pytest.mark.parametrize("time", [1, 0, 2.5, "month", -3])
    def test_what_is_no_number_of_windows_is_refused(self, time, golden):
        with golden.raises(DataError):
            models.one_coin(timed([1, 2, 3]), time=time)

    @pytest.mark.parametrize("law", [models.one_coin, models.dawid_skene])
    def test_labels_without_times_are_refused(self, law, golden):
        with golden.raises(DataError):
            law(timed([None, "", None]), time=True)


# --- The chain ---


def study(items=60, seed=1):
    """Return labels of four raters, two of whom get worse."""
    rng = np.random.default_rng(seed)
    truth, when = rng.integers(0, 3, items), np.arange(items)
    right = np.where(np.arange(4) < 2, 0.85, 0.9 - 0.5 * when[:, None] / items)
    label = np.where(rng.random((items, 4)) < right, truth[:, None], rng.integers(0, 3, (items, 4)))
    item, rater = np.nonzero(rng.random((items, 4)) < 0.8)
    table = {"item": item, "rater": rater, "label": label[item, rater], "time": when[item]}
    return Labels.from_table(table, time="time", categories=[0, 1, 2])


LAWS = pytest.mark.parametrize("law", [models.one_coin, models.dawid_skene])


@LAWS
def test_draws_are_consistent_with_the_graph(law):
    model = law(study(), time=3)
    tree = inference.sample(model, draws=2, chains=1, tune=20, thin=1, dtype="float64", random_seed=1)
    assert tree.attrs["method"] == "gibbs" and tree.attrs["model"] == law.__name__
    last = {"chain": 0, "draw": -1}
    point = {rv.name: tree["posterior"][rv.name].isel(last).to_numpy() for rv in model.free_RVs}
    names = ("skill", "confusion", "plausibility")
    log_p, *computed = outputs_at(model, point, *names)
    stored = tree["log_likelihood"]["observed_label"].isel(last).to_numpy()
    assert stored == pytest.approx(log_p, abs=1e-8)
    for name, own in zip(names, computed, strict=True):
        assert tree["posterior"][name].isel(last).to_numpy() == pytest.approx(own, abs=1e-8)
    for rv in model.free_RVs:
        expected = pm.logp(rv, point[rv.name]).eval()
        assert tree["log_prior"][rv.name].isel(last).to_numpy() == pytest.approx(expected, abs=1e-8)


def test_confusion_is_the_mean_over_the_answers():
    labels = study()
    tree = inference.sample(models.one_coin(labels, time=3), draws=5, chains=1, tune=5, thin=1, random_seed=1)
    window = tree["constant_data"]["annotation_window"].to_numpy()
    share = np.bincount(labels.annotation_rater * 3 + window, minlength=12).reshape(4, 3).astype(float)
    share /= share.sum(axis=1, keepdims=True)
    mean = (tree["posterior"]["skill"] * share).sum("window")
    diagonal = tree["posterior"]["confusion"].to_numpy()[..., 0, 0]
    assert diagonal == pytest.approx(mean.to_numpy(), abs=1e-5)
    new = Labels.from_table({"item": ["more"], "rater": [0], "label": [1]}, categories=[0, 1, 2])
    with pytest.raises(ValueError, match="change in time"):  # update goes by mean skills
        inference.update(tree, new)


def test_models_with_other_walks_go_to_nuts():
    model = models.one_coin(study(), time=3)
    assert route_of(model).method == "gibbs"
    with model:
        pm.Potential("fewer", -model["skill_step"])
    assert route_of(model).method == "nuts"
    features = {"item": range(60), "z": np.random.default_rng(1).normal(size=60)}
    assert route_of(models.one_coin(study(), time=3, features=features)).method == "nuts"
    with pm.Model(coords=models.one_coin(study(), time=3).coords):
        model = models.one_coin(study(), time=3, ability_concentration=(pm.Gamma("a", 2, 1), 2.0))
    assert {rv.name for rv in model.free_RVs} == {
        "initial_ability",
        "prevalence",
        "skill_change",
        "skill_step",
    }


def test_few_answers_have_the_beta_law_of_the_first_window():
    """Without an answer to learn from but gold, the first window has its exact Beta law, and steps their prior."""
    table = {
        "item": [0, 1, 2],
        "rater": ["r"] * 3,
        "label": ["x", "x", "y"],
        "truth": ["x", "y", "y"],
        "time": [1, 1, 1],
    }
    labels = Labels.from_table(table, time="time", gold="truth", categories=["x", "y"])
    tree = inference.sample(models.one_coin(labels, time=2), draws=4000, chains=2, thin=2, random_seed=1)
    first = tree["posterior"]["initial_ability"].to_numpy().ravel()
    for q in (0.1, 0.5, 0.9):
        assert (first <= beta_law(6, 3).ppf(q)).mean() == pytest.approx(q, abs=0.02)
    step = tree["posterior"]["skill_step"].to_numpy().ravel()
    assert (step <= 0.3 * 0.67449).mean() == pytest.approx(0.5, abs=0.03)


@pytest.mark.long
@LAWS
def test_gibbs_and_nuts_draw_one_law(law):
    names, model = ["skill", "skill_step", "confusion", "prevalence"], law(study(40), time=3)
    found = []
    for method in ("gibbs", "nuts"):
        tree = inference.sample(model, method=method, draws=1000, chains=4, random_seed=1)
        own = tree["posterior"].to_dataset()[names]
        found.append((own.mean(("chain", "draw")), az.mcse(own)))
    for name in names:
        (gibbs, error), (nuts, other) = ((own[name].to_numpy() for own in pair) for pair in found)
        distance = np.abs(gibbs - nuts) / np.hypot(error, other)
        assert np.nanmax(distance) < 4.5
