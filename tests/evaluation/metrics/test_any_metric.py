"""Any function as a metric: scikit-learn's and the user's, on certain and on uncertain posteriors, and what goes wrong."""

from functools import partial

import arviz as az
import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation import EvaluationError, uncertainty_adjusted
from sklearn import metrics

from tests.support.any_metric_cases import DRAWS, ITEMS, NAMES, QUIET, tree_and_predictions
from tests.support.evaluation_trees import as_flat, random_case, tree_of

MACRO = {"average": "macro", "zero_division": 0}
HARD = [
    (metrics.accuracy_score, {}),
    (metrics.accuracy_score, {"normalize": False}),
    (metrics.balanced_accuracy_score, {}),
    (metrics.f1_score, MACRO),
    (metrics.f1_score, {"average": "weighted", "zero_division": 0}),
    (metrics.fbeta_score, {"beta": 2, **MACRO}),
    (metrics.precision_score, MACRO),
    (metrics.recall_score, {"average": "micro"}),
    (metrics.jaccard_score, MACRO),
    (metrics.cohen_kappa_score, {}),
    (metrics.cohen_kappa_score, {"weights": "linear"}),
    (metrics.cohen_kappa_score, {"weights": "quadratic"}),
    (metrics.matthews_corrcoef, {}),
    (metrics.hamming_loss, {}),
    (metrics.zero_one_loss, {}),
]
SOFT = [
    (metrics.log_loss, {}),
    (metrics.brier_score_loss, {}),
    (metrics.roc_auc_score, {"multi_class": "ovr"}),
    (metrics.roc_auc_score, {"multi_class": "ovr", "average": "weighted"}),
    (metrics.top_k_accuracy_score, {"k": 2}),
]
TAKE_LABELS = {
    *(metrics.f1_score, metrics.fbeta_score, metrics.precision_score, metrics.recall_score),
    *(metrics.jaccard_score, metrics.cohen_kappa_score, *(function for function, _ in SOFT)),
}
OURS = [
    (evaluation.top_k_accuracy(1), metrics.accuracy_score, {}),
    (evaluation.balanced_accuracy(), metrics.balanced_accuracy_score, {}),
    (evaluation.cohen_kappa(), metrics.cohen_kappa_score, {}),
    (evaluation.matthews_correlation(), metrics.matthews_corrcoef, {}),
    *(
        (ours(average), theirs, {"average": average, "zero_division": 0})
        for ours, theirs in (
            (evaluation.precision, metrics.precision_score),
            (evaluation.recall, metrics.recall_score),
            (evaluation.f1, metrics.f1_score),
        )
        for average in ("macro", "micro", "weighted")
    ),
    (evaluation.cross_entropy(), metrics.log_loss, {}),
    (evaluation.brier_score(), metrics.brier_score_loss, {}),
    (evaluation.roc_auc(), metrics.roc_auc_score, {"multi_class": "ovr"}),
    (evaluation.top_k_accuracy(2), metrics.top_k_accuracy_score, {"k": 2}),
]


KINDS = {"text": NAMES, "integers": [30, 4, 7, -1]}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("certain", [True, False])
@pytest.mark.parametrize(("function", "arguments"), HARD)
def test_labels_are_given_draw_by_draw(function, arguments, kind, certain):
    names = KINDS[kind]
    tree, predictions, truth = tree_and_predictions(names, certain)
    predicted = np.array(names)[predictions.to_numpy().argmax(axis=-1)]
    fixed = {"labels": np.sort(names)} if function in TAKE_LABELS else {}
    expected = [function(true, predicted, **arguments, **fixed) for true in truth]
    # columns in any order, and labels instead of scores
    lists = xr.DataArray(predicted[:, None], {"item": np.arange(ITEMS)}, ("item", "position"))
    for given in (predictions, predictions.isel(category=[2, 0, 3, 1], item=slice(None, None, -1)), lists):
        found = uncertainty_adjusted(function, tree, given, **QUIET, **arguments)
        np.testing.assert_allclose(found[0], expected, rtol=1e-12)
        assert found.name == function.__name__


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("certain", [True, False])
@pytest.mark.parametrize(("function", "arguments"), SOFT)
def test_columns_of_probabilities_are_in_the_order_of_the_labels(function, arguments, kind, certain):
    names = KINDS[kind]
    tree, predictions, truth = tree_and_predictions(names, certain)
    order = np.argsort(names)
    q = predictions.to_numpy()[:, order]
    expected = [function(t, q, labels=np.array(names)[order], **arguments) for t in truth]
    for given in (predictions, predictions.isel(category=[3, 1, 0, 2])):
        found = uncertainty_adjusted(function, tree, given, **QUIET, **arguments)
        np.testing.assert_allclose(found[0], expected, rtol=1e-12)
    wrong = [function(t, predictions.to_numpy(), labels=np.sort(names), **arguments) for t in truth]
    assert certain or not np.allclose(wrong, expected)


@pytest.mark.parametrize("names", [["no", "yes"], ["yes", "no"], [1, 0], [0, 1]], ids=str)
def test_two_categories(names):
    tree, predictions, truth = tree_and_predictions(names, certain=False)
    negative, positive = sorted(names)
    score = predictions.sel(category=positive).to_numpy()
    both = predictions.sel(category=[negative, positive]).to_numpy()
    of = partial(uncertainty_adjusted, tree=tree, predictions=predictions, **QUIET)
    pos = {"pos_label": positive}
    neg = {"pos_label": negative}
    label = np.where(both[:, 0] >= both[:, 1], negative, positive)
    tied = both[:, 0] == both[:, 1]
    label[tied] = names[0]  # by the order of the categories
    checks = [
        (of(metrics.roc_auc_score), lambda t: metrics.roc_auc_score(t, score)),
        (of(evaluation.roc_auc()), lambda t: metrics.roc_auc_score(t, score)),
        (
            of(metrics.average_precision_score, **pos),
            lambda t: metrics.average_precision_score(t, score, **pos),
        ),
        (
            of(metrics.average_precision_score, **neg),
            lambda t: metrics.average_precision_score(t, both[:, 0], **neg),
        ),
        (of(metrics.log_loss), lambda t: metrics.log_loss(t, both, labels=[negative, positive])),
        (of(metrics.brier_score_loss, **pos), lambda t: metrics.brier_score_loss(t, score, **pos)),
        (of(evaluation.brier_score(), truth="label"), lambda t: metrics.brier_score_loss(t, score, **pos)),
        (of(metrics.f1_score, **pos), lambda t: metrics.f1_score(t, label, **pos)),
        (of(metrics.f1_score, **neg), lambda t: metrics.f1_score(t, label, **neg)),
        (of(metrics.top_k_accuracy_score, k=1), lambda t: metrics.top_k_accuracy_score(t, score, k=1)),
    ]
    for found, peer in checks:
        np.testing.assert_allclose(found[0], [peer(t) for t in truth], rtol=1e-12, err_msg=found.name)


def test_the_positive_label_must_be_named(golden):
    tree, predictions, _ = tree_and_predictions(["no", "yes"], certain=False)
    with golden.raises(EvaluationError):
        uncertainty_adjusted(metrics.f1_score, tree, predictions, **QUIET)


@pytest.mark.parametrize("certain", [True, False])
@pytest.mark.parametrize(
    ("function", "options"), [("ndcg_score", {}), ("ndcg_score", {"k": 2}), ("dcg_score", {})]
)
def test_graded_relevance_is_the_plausibility(function, options, certain):
    function = getattr(metrics, function)
    tree, predictions, _ = tree_and_predictions(NAMES, certain)
    p = tree["posterior"]["plausibility"].to_numpy()[0]
    expected = [function(draw, predictions.to_numpy(), **options) for draw in p]
    shuffled = predictions.isel(category=[2, 1, 0, 3])
    found = uncertainty_adjusted(function, tree, shuffled, **QUIET, **options)
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)
    if function is metrics.ndcg_score:
        ours = uncertainty_adjusted(evaluation.ndcg(*options.values()), tree, shuffled)
        np.testing.assert_allclose(ours[0], expected, rtol=1e-12)


@pytest.mark.parametrize(("ours", "theirs", "arguments"), OURS, ids=[m.name for m, *_ in OURS])
def test_ours_are_scikit_learns_on_certain_posteriors(ours, theirs, arguments):
    for names in KINDS.values():
        tree, predictions, _ = tree_and_predictions(names, certain=True)
        # the tie between equal scores goes by the order of the categories with ours: have none
        predictions = predictions + xr.DataArray([0.001, 0.002, 0.003, 0.004], dims="category")
        predictions = predictions / predictions.sum("category")
        for tied in (tree, tree.isel(item=slice(None, None, -1))):
            found = uncertainty_adjusted(ours, tied, predictions)
            expected = uncertainty_adjusted(theirs, tied, predictions, **QUIET, **arguments)
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("truth", ["label", "set", "ranking", "plausibility", "sampled"])
def test_every_kind_of_truth_reaches_the_function(truth):
    tree, predictions, top = tree_and_predictions(NAMES, certain=False)
    p = tree["posterior"]["plausibility"].to_numpy()[0]
    seen = []

    def spy(y_true, y_pred):
        seen.append((y_true, y_pred))
        return 0.5

    uncertainty_adjusted(spy, tree, predictions, truth=truth, top=2, **QUIET)
    assert len(seen) == DRAWS
    ranked = np.array(NAMES)[np.argsort(-predictions.to_numpy(), axis=-1, kind="stable")]
    for (y_true, y_pred), draw, first in zip(seen, p, top, strict=True):
        best = np.array(NAMES)[np.argsort(-draw, axis=-1)]
        if truth == "plausibility":
            np.testing.assert_allclose(y_true, draw)
            np.testing.assert_allclose(y_pred, predictions)
        elif truth in ("set", "ranking"):
            np.testing.assert_array_equal(y_true, best[:, :2])
            np.testing.assert_array_equal(y_pred, ranked[:, :2])
        else:
            assert truth == "sampled" or y_true.tolist() == first.tolist()
            assert y_true.shape == (ITEMS,) and set(y_true) <= set(NAMES)
            np.testing.assert_array_equal(y_pred, ranked[:, 0])


@pytest.mark.parametrize("response", ["labels", "scores", "probabilities"])
def test_every_form_of_predictions_reaches_the_function(response):
    tree, predictions, _ = tree_and_predictions(NAMES, certain=False)
    seen = {}
    for truth in ("label", "plausibility"):

        def spy(y_true, y_pred, key=truth):
            seen[key] = y_pred
            return 0

        uncertainty_adjusted(spy, tree, predictions, truth=truth, response=response, **QUIET)
    if response == "labels":
        first = np.array(NAMES)[predictions.to_numpy().argmax(axis=-1)]
        assert seen["label"].tolist() == seen["plausibility"].tolist() == first.tolist()
    else:
        np.testing.assert_allclose(seen["label"], predictions.sel(category=sorted(NAMES)))
        np.testing.assert_allclose(seen["plausibility"], predictions)


def test_lists_that_end_are_padded():
    tree, _, _ = tree_and_predictions(NAMES, certain=True)
    labels = np.array([["fig", "pear"]] * ITEMS)
    labels[1, 1] = ""
    lists = xr.DataArray(labels, {"item": np.arange(ITEMS)}, ("item", "position"))

    def spy(y_true, y_pred):
        assert y_pred.tolist() == labels.tolist()
        assert set(y_true[:, 1]) == {""}  # one category is certain, no second is plausible
        return 1

    uncertainty_adjusted(spy, tree, lists, truth="ranking", top=2, **QUIET)


def test_partials_are_the_functions_that_they_complete():
    tree, predictions, _ = tree_and_predictions(NAMES, certain=False)
    for function, arguments in (
        (metrics.f1_score, MACRO),
        (metrics.log_loss, {}),
        (metrics.f1_score, {"labels": ["fig", "pear"], **MACRO}),
        (metrics.roc_auc_score, {"multi_class": "ovr"}),
    ):
        expected = uncertainty_adjusted(function, tree, predictions, **QUIET, **arguments)
        found = uncertainty_adjusted(partial(function, **arguments), tree, predictions, **QUIET)
        xr.testing.assert_identical(found, expected)


def test_labels_that_the_user_fixes_are_those():
    tree, predictions, truth = tree_and_predictions(NAMES, certain=False)
    chosen = {"labels": ["fig", "pear"], **MACRO}
    predicted = np.array(NAMES)[predictions.to_numpy().argmax(axis=-1)]
    found = uncertainty_adjusted(metrics.f1_score, tree, predictions, **QUIET, **chosen)
    expected = [metrics.f1_score(t, predicted, **chosen) for t in truth]
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)


def test_a_lambda():
    tree, predictions, truth = tree_and_predictions(NAMES, certain=False)
    found = uncertainty_adjusted(lambda t, p: (t == "fig").mean(), tree, predictions, **QUIET)
    np.testing.assert_allclose(found[0], (truth == "fig").mean(axis=1))


class _AtDraw:
    """Does what it is told at one call, else returns 0."""

    def __init__(self, number, what):
        self.number, self.what, self.calls = number, what, 0

    def __call__(self, y_true, y_pred):
        self.calls += 1
        return self.what() if self.calls == self.number else 0.0


def _raise():
    raise ZeroDivisionError("no figs")


def test_a_failing_draw_is_named(golden):
    tree, predictions, _ = tree_and_predictions(NAMES, certain=False)
    both = xr.concat([tree["posterior"].to_dataset()] * 2, "chain").assign_coords(
        chain=[3, 5], draw=np.arange(100, 100 + DRAWS)
    )
    two = tree_of(both)
    with golden.raises(EvaluationError) as failed:
        uncertainty_adjusted(_AtDraw(DRAWS + 3, _raise), two, predictions, **QUIET)
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    for what, said in ((lambda: np.zeros(3), "returned shape"), (lambda: "high", "could not convert")):
        with pytest.raises(EvaluationError, match=said):
            uncertainty_adjusted(_AtDraw(2, what), two, predictions, **QUIET)


def test_nan_of_a_draw_stays_nan():
    tree, predictions, _ = tree_and_predictions(NAMES, certain=False)
    found = uncertainty_adjusted(_AtDraw(4, lambda: np.nan), tree, predictions, **QUIET)
    assert np.flatnonzero(np.isnan(found[0])).tolist() == [3]


@pytest.mark.parametrize("truth", ["label", "sampled"])
def test_labels_are_fixed_to_those_that_the_draws_have(truth):
    """Members of OTHER and sampled labels are random: the same ones must be known before and met at the draws."""
    rng = np.random.default_rng(62)
    case = random_case(rng, 3, 40, shape=(1, 120), concentration=0.02)
    one = xr.DataArray([["label 0"]] * 3, {"item": case.items}, ("item", "position"))
    seen = set()

    def spy(y_true, y_pred, labels):
        seen.update(y_true.tolist())
        assert set(y_true.tolist()) <= set(labels.tolist())
        assert labels.tolist() == sorted(labels.tolist())
        return len(labels)

    found = uncertainty_adjusted(spy, as_flat(case), one, truth=truth, **QUIET)
    assert len(np.unique(found)) == 1
    assert int(found[0, 0]) == len(seen | {"label 0"})


def test_weights_of_a_callable():
    tree, predictions, truth = tree_and_predictions(NAMES, certain=False)
    predicted = np.array(NAMES)[predictions.to_numpy().argmax(axis=-1)]
    group = {name: "ab"[i % 2] for i, name in enumerate(NAMES)}
    found = evaluation.metric_draws(metrics.accuracy_score, tree, predictions, by=group, resamples=5, **QUIET)
    for d, true in enumerate(truth):
        own = np.isin(true, NAMES[::2])
        expected = (true[own] == predicted[own]).mean()
        assert float(found["raters"].sel(group="a")[0, d]) == pytest.approx(expected)


# through other programs and from disk


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """Posterior of a Dirichlet-categorical model by numpyro, written as netCDF."""
    import jax
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    counts = np.array([[3, 1, 0], [0, 2, 2], [1, 1, 4], [0, 0, 5]])

    def model():
        with numpyro.plate("items", 4):
            p = numpyro.sample("plausibility", dist.Dirichlet(np.ones(3)))
            numpyro.sample("observed", dist.Multinomial(counts.sum(1), p), obs=counts)

    sampler = MCMC(NUTS(model), num_warmup=200, num_samples=150, progress_bar=False)
    sampler.run(jax.random.PRNGKey(0))
    tree = az.from_dict(
        {"posterior": {k: np.asarray(v) for k, v in sampler.get_samples(group_by_chain=True).items()}},
        coords={"item": [f"i{i}" for i in range(4)], "category": ["c", "a", "b"]},
        dims={"plausibility": ["item", "category"]},
    )
    tree["posterior"]["plausibility"].attrs["truth"] = "distribution"  # as the README says
    path = tmp_path_factory.mktemp("numpyro") / "posterior.nc"
    tree.to_netcdf(path, engine="h5netcdf")
    return tree, path


@pytest.mark.slow
def test_a_posterior_of_numpyro_read_back_from_disk(foreign):
    tree, path = foreign
    p = tree["posterior"]["plausibility"].to_numpy()[0]
    q = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.2, 0.3, 0.5], [0.25, 0.15, 0.6]])
    coords = {"item": ["i0", "i1", "i2", "i3"], "category": ["c", "a", "b"]}
    predictions = xr.DataArray(q, coords, ("item", "category"))
    names = np.array(coords["category"])
    labels, predicted = names[p.argmax(-1)], names[q.argmax(-1)]
    expected = {
        metrics.accuracy_score: [metrics.accuracy_score(t, predicted) for t in labels],
        metrics.log_loss: [metrics.log_loss(t, q[:, [1, 2, 0]], labels=["a", "b", "c"]) for t in labels],
        evaluation.cross_entropy(): -(p * np.log(q)).sum(-1).mean(-1),
        evaluation.ndcg(): [metrics.ndcg_score(draw, q) for draw in p],
        evaluation.matthews_correlation(): [metrics.matthews_corrcoef(t, predicted) for t in labels],
    }
    with xr.open_datatree(path, engine="h5netcdf") as lazy:
        for metric, values in expected.items():
            for posterior in (tree, lazy, lazy["posterior"]["plausibility"]):
                found = uncertainty_adjusted(metric, posterior, predictions, **QUIET)
                np.testing.assert_allclose(found[0], values, rtol=1e-5)
