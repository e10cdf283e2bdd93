"""Answers that are no truth: enumeration of the rectangular law by two samplers, what labels keep, and the wrong twins."""

from itertools import product

import numpy as np
import pytest
from raterzoo import evaluation, inference, models
from scipy.special import gammaln

from tests.support.monte_carlo import assert_rejects_twin, check_means

ROWS = [
    *(("a", "r", "x"), ("a", "s", "x"), ("a", "t", "?"), ("b", "r", "y"), ("b", "s", "?"), ("b", "t", "?")),
    *(("c", "r", "x"), ("c", "s", "y"), ("c", "t", "x"), ("d", "r", "?"), ("d", "t", "?"), ("e", "s", "y")),
    *(("e", "t", "?"), ("e", "r", "?"), ("f", "t", "x"), ("f", "s", "?"), ("f", "r", "no")),
]
WORDS = ("?", "no")
BETA = np.array([[2.0, 0.6], [0.6, 2.0]])
TABLE = dict(zip(("item", "rater", "label"), map(list, zip(*ROWS, strict=True)), strict=True))


@pytest.fixture
def labels():
    with pytest.warns(models.DataWarning):
        return models.Labels.from_table(TABLE, no_answer=WORDS)


def exact(labels, beta):
    """Return p(true category | answers) of the items, and the mean response rates, by enumeration of all true categories."""
    items, raters = labels.items.tolist(), labels.raters.tolist()
    code = {"x": 0, "y": 1, "?": 2, "no": 3}
    answers = [(items.index(i), raters.index(k), code[said]) for i, k, said in ROWS]
    share = np.full((len(raters), 3), 0.5)
    for _, k, said in answers:
        share[k, max(said - 1, 0)] += 1
    row = np.concatenate(
        [
            np.tile(beta, (3, 1, 1)),
            beta.sum(axis=1)[0] * np.tile((share[:, 1:] / share[:, :1])[:, None], (1, 2, 1)),
        ],
        2,
    )
    total, weighted = 0.0, 0.0
    rates = 0.0
    for truth in product(range(2), repeat=len(items)):
        counts = np.zeros((3, 2, 4))
        for i, k, said in answers:
            counts[k, truth[i], said] += 1
        after = row + counts
        log_p = (
            gammaln(after).sum()
            - gammaln(after.sum(axis=2)).sum()
            + gammaln(1 + np.bincount(truth, minlength=2)).sum()
        )
        weight = np.exp(log_p)
        total += weight
        weighted += weight * np.eye(2)[list(truth)]
        mean = after / after.sum(axis=2, keepdims=True)
        rates += weight * np.concatenate([mean[..., :2].sum(axis=2, keepdims=True), mean[..., 2:]], 2)
    return {"plausibility": weighted / total, "response_rate": rates / total}


def check(tree, expected):
    check_means(tree["posterior"], expected)


def test_gibbs_is_the_enumeration(labels):
    expected = exact(labels, BETA)
    model = models.dawid_skene(labels, confusion_concentration=BETA)
    options = {
        "draws": 5_000,
        "random_seed": 3,
        "progressbar": False,
        "dtype": "float64",
        "log_likelihood": True,
    }
    tree = inference.sample(model, **options)
    assert tree.attrs["method"] == "gibbs"
    assert tree["posterior"]["response"].to_numpy().tolist() == ["answered", "?", "no"]
    check(tree, expected)
    ignored = inference.sample(
        models.dawid_skene(labels, confusion_concentration=BETA, no_answer="ignored"), **options
    )
    assert "response_rate" not in ignored["posterior"]
    assert_rejects_twin(check, ignored, {"plausibility": expected["plausibility"]})
    assert evaluation.model_checks(tree).attrs["replicates"] > 0
    pointwise = sum(tree["log_likelihood"][name] for name in ("observed_response", "observed_label"))
    assert pointwise.dims[2:] == ("item",)
    point = {
        name: tree["posterior"][name].to_numpy()[0, 7]
        for name in ("prevalence", "confusion", "response_rate")
    }
    np.testing.assert_allclose(pointwise[0, 7], rectangular_log_p(labels, point), rtol=1e-9)


def rectangular_log_p(labels, point):
    """Return log p of all that was said of each item, at a point, in a loop."""
    rate, found = point["response_rate"], []
    for item in labels.items:
        p = point["prevalence"].copy()
        for i, k, said in ROWS:
            if i == item:
                rater = labels.raters.tolist().index(k)
                response = 1 + WORDS.index(said) if said in WORDS else 0
                p *= rate[rater, :, response]
                p *= 1 if response else point["confusion"][rater, :, ["x", "y"].index(said)]
        found.append(np.log(p.sum()))
    return np.array(found)


@pytest.mark.long
def test_nuts_is_the_enumeration(labels):
    model = models.dawid_skene(labels, confusion_concentration=BETA)
    tree = inference.sample(model, method="nuts", draws=2_000, random_seed=1, progressbar=False)
    check(tree, exact(labels, BETA))


def test_what_labels_keep(labels):
    assert len(labels) == 8 and "d" in labels.items  # whom nobody answered
    assert labels.unanswered["count"].sum() == 9
    some = labels.select(items=["d", "b"])
    assert sorted(some.unanswered["item"].tolist()) == ["b", "b", "d", "d"]
    with pytest.warns(models.DataWarning):  # no item has two answers
        asked = models.dawid_skene(some)  # r is the only rater with a label, and the others are out
    assert asked.initial_point()["response_rate_simplex__"].shape == (1, 2, 1)
    hidden = labels.anonymized("all", random_seed=1).unanswered
    assert not {*hidden["item"].tolist(), *hidden["rater"].tolist()} & {*"abcdef", *"rst"}
    with pytest.warns(models.DataWarning):
        assert labels == models.Labels.from_table(TABLE, no_answer=WORDS)


def test_it_is_asked_for(labels):
    with pytest.raises(ValueError, match="informative"):
        models.dawid_skene(labels, no_answer="drop")
    simulated = models.simulators.labels(items=60, no_answer=0.4, random_seed=1)
    rate = simulated.data.unanswered["count"].sum() / (60 * 3)
    assert abs(rate - 0.4) < 0.2 and simulated.truth["no_answer"].shape == (10, 3)
