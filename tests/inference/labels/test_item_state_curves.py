"""What item states say of power curves: coverage of the asymptote, the number of states, curves beyond the labels there are."""

import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import arviz as az
import numpy as np
import pytest
import xarray as xr
from raterzoo import inference, models
from raterzoo.evaluation.surveys.item_states import curves
from raterzoo.inference.labels.item_states import draw_states
from raterzoo.inference.labels.kernels import item_states
from scipy.stats import binom

from tests.support.monte_carlo import assert_rejects_twin, seed_of
from tests.support.runs import ChainPlan
from tests.support.survey_parts import classifier_scores, observed_curve, posterior_power_curve

DATA = os.environ.get("RATERZOO_DATA")
QUIET = {"progressbar": False}
BITS = curves.Score("cross_entropy")
RUNNING_URNS = np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
DATA_SETS, ITEMS = 40, 4000  # so many items that two states are wrong for sure


def patterns_of(counts):
    distinct, items = np.unique(counts, axis=0, return_counts=True)
    return item_states.CountPatterns(distinct.astype(float), items.astype(np.int64))


def covered(counts, truth, prior, seed):
    plan = ChainPlan(1, 1000, 1000, seed, thin=5)
    weight, probability = (x[0] for x in draw_states(patterns_of(counts), prior, plan))
    states = curves.ItemStates(weight, probability, np.zeros_like(weight))
    low, high = np.quantile(asymptote_gain(states), [0.025, 0.975])
    return low <= truth <= high


def asymptote_gain(states):
    limit = curves.asymptote(states, BITS)
    return limit - curves.curve_at(states, 0, BITS, "abc")


def coverage(law, prior, seed):
    weight, probability = (np.array(x) for x in law)
    truth = asymptote_gain(curves.ItemStates(weight[None], probability[None], np.zeros((1, len(weight)))))

    def one(s):
        rng = np.random.default_rng([seed, s])
        counts = rng.multinomial(10, probability[rng.choice(len(weight), ITEMS, p=weight)])
        return covered(counts, truth[0], prior, seed + s)

    with ThreadPoolExecutor() as pool:
        return sum(pool.map(one, range(DATA_SETS)))


def check_coverage(hits):
    low, high = binom.interval(0.9998, DATA_SETS, 0.95)
    assert low <= hits <= high, hits / DATA_SETS


@pytest.mark.slow
def test_coverage_of_the_asymptote():
    """Default prior, on the running example; twin: two states, which are not enough."""
    running = ([0.7, 0.1, 0.2], RUNNING_URNS)
    default = item_states.StatePrior(np.full(10, 0.5), np.full((10, 2), 0.5))
    check_coverage(coverage(running, default, seed_of("coverage")))
    two = item_states.StatePrior(np.full(2, 0.5), np.full((2, 2), 0.5))
    assert_rejects_twin(check_coverage, coverage(running, two, seed_of("coverage")))


def test_classifier_and_curve_share_their_errors():
    """Scores of the same draws make the ratio half as uncertain as scores that are shuffled among them."""
    drawn = models.simulators.urn_items(random_seed=seed_of("shared"))
    score = drawn.truth["score"]
    prior = item_states.StatePrior(np.full(10, 0.5), np.full((10, 2), 0.5))
    plan = ChainPlan(1, 1000, 1000, seed_of("shared"), thin=10)
    weight, probability = (x[0] for x in draw_states(patterns_of(drawn.data.counts), prior, plan))
    states = curves.ItemStates(weight, probability, np.zeros_like(weight))
    rng = np.random.default_rng(1)
    found = classifier_scores(states, drawn.data.counts, BITS.by_label(score[None]), rng)[:, 0]
    base = curves.curve_at(states, 0, BITS, "abc")
    ratio, shuffled = ((own - base) / asymptote_gain(states) for own in (found, rng.permutation(found)))
    assert ratio.std() < 0.7 * shuffled.std()
    truth = curves.ItemStates(np.array([[0.7, 0.1, 0.2]]), RUNNING_URNS[None], np.zeros((1, 3)))
    q = drawn.truth["plausibility"]
    true_score = (q * np.log2(score)).sum(axis=1).mean()
    exact = (true_score - curves.curve_at(truth, 0, BITS, "abc")) / asymptote_gain(truth)
    assert abs(ratio.mean() - exact[0]) < 4 * ratio.std()


@pytest.mark.slow
def test_leave_one_out_chooses_the_number_of_states():
    apart = {"weight": (0.3, 0.4, 0.3), "probability": ((0.1, 0.9), (0.5, 0.5), (0.9, 0.1))}
    labels = models.simulators.urn_items(**apart, random_seed=seed_of("loo")).data
    trees = {}
    for states in (2, 3):
        model = models.item_states(labels, states=states, plausibility=False)
        trees[str(states)] = inference.sample(model, draws=250, thin=5, random_seed=1, **QUIET)
    compared = az.compare(trees)
    assert compared.index[0] == "3"
    assert compared.loc["2", "elpd_diff"] < -2 * compared.loc["2", "dse"]


@pytest.mark.skipif(DATA is None, reason="RATERZOO_DATA is not set")
def test_eight_labels_predict_what_fifteen_and_nineteen_tell():
    """Wikipedia: states fitted to 8 labels of each item, gains of the curve of the items that have 20 labels or more."""
    table = np.genfromtxt(Path(str(DATA)) / "toxicity_full.csv", delimiter=",", names=True)
    yes, total = table["n_labelled_attack"].astype(int), table["n_labels"].astype(int)
    many = total >= 20
    counts = np.stack([total - yes, yes], axis=1)[many]
    rng = np.random.default_rng(seed_of("eight"))
    eight = np.concatenate([rng.multivariate_hypergeometric(row, 8, size=1) for row in counts])
    columns = {"item": np.arange(len(eight)), "no": eight[:, 0], "yes": eight[:, 1]}
    labels = models.Labels.from_counts(columns)
    model = models.item_states(labels, plausibility=False)
    with warnings.catch_warnings():  # a weight of ten ordered states mixes worse than any curve
        warnings.simplefilter("ignore", inference.ConvergenceWarning)
        tree = inference.sample(model, thin=10, random_seed=1, log_likelihood=False, **QUIET)
    drawn = posterior_power_curve(tree, longest=19, replicates=0)
    observed = observed_curve(counts, [0, 15, 19], BITS, "abc")
    for place, k in ((1, 15), (2, 19)):
        low, high = drawn["information_gain"].sel(k=k).quantile([0.025, 0.975])
        assert low < observed[place] - observed[0] < high
    curve = xr.DataTree.from_dict({"posterior": drawn})
    assert inference.diagnose(curve, var_names=["power_curve"]).attrs["converged"] == 1
