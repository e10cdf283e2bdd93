"""The builders: laws, dims, priors, refusals; the two layouts are one model."""

import numpy as np
import pymc as pm
import pytensor
import pytest
from raterzoo import models
from raterzoo.inference import irn
from scipy.stats import gamma

CASES = models.published_ddx_cases()
FAST = "FAST_COMPILE"


def at(model, outputs, log_worth):
    """Return outputs of a model at these logs of its worths; tests of its laws do not need machine code."""
    value = model.rvs_to_values[model["worth"]]
    return pytensor.function([value], outputs, mode=FAST, on_unused_input="ignore")(log_worth)


def worths(model):
    return len(model["candidate_item"].get_value())


def test_log_prior_and_likelihood_are_the_stated_laws():
    model = models.plackett_luce(CASES, concentration=0.5, reliability=3)
    rng = np.random.default_rng(1)
    worth = rng.gamma(1.0, size=worths(model))
    asked = [model.logp(vars=model["worth"], jacobian=False), model.logp(vars=model["observed_ranking"])]
    prior, likelihood = at(model, asked, np.log(worth))
    other = model["candidate_category"].get_value() == -1
    shape = np.full(len(worth), 0.5)
    shape[other] *= model["other_size"].get_value()
    assert prior == pytest.approx(gamma.logpdf(worth, shape).sum(), rel=1e-12)
    single = models.plackett_luce(CASES, concentration=0.5)
    once = at(single, single.logp(vars=single["observed_ranking"]), np.log(worth))
    assert likelihood == pytest.approx(3 * once, rel=1e-12)


def test_dense_and_flat_layouts_have_one_likelihood():
    flat, dense = models.plackett_luce(CASES), models.plackett_luce(CASES, candidates="all")
    rng = np.random.default_rng(2)
    worth = rng.gamma(1.0, size=(len(CASES.items), len(CASES.categories)))
    item, category = flat["candidate_item"].get_value(), flat["candidate_category"].get_value()
    own = worth[item, category]
    for i in range(len(CASES.items)):
        named = category[(item == i) & (category >= 0)]
        own[(item == i) & (category < 0)] = np.delete(worth[i], named).sum()
    terms = [
        at(model, model.logp(vars=model["observed_ranking"], sum=False), np.log(value))
        for model, value in ((flat, own), (dense, worth))
    ]
    np.testing.assert_allclose(*terms, rtol=1e-12)


def test_reliability_of_each_rater():
    power = {rater: 1 + r for r, rater in enumerate(CASES.raters.tolist())}
    model = models.plackett_luce(CASES, reliability=power)
    assert model["reliability"].get_value().tolist() == (1 + CASES.annotation_rater).tolist()


def test_tempered_at_one_is_plackett_luce():
    plain, tempered = models.plackett_luce(CASES), models.tempered_plackett_luce(CASES)
    sharper = models.tempered_plackett_luce(CASES, reliability=2)
    point = np.random.default_rng(3).normal(size=worths(plain))
    log_p, same, other = (float(at(model, model.logp(), point)) for model in (plain, tempered, sharper))
    assert log_p == pytest.approx(same, rel=1e-12)
    assert log_p != pytest.approx(other, rel=1e-3)


@pytest.mark.parametrize("tie_weight", ["split", "full"])
def test_prirn_concentrates_around_irn(tie_weight):
    model = models.prirn(CASES, reliability=7, tie_weight=tie_weight)
    shape = model["worth"].owner.op.dist_params(model["worth"].owner)[0].eval(mode=FAST)
    np.testing.assert_allclose(shape, 7 * irn(CASES, tie_weight=tie_weight).to_numpy())
    smoothed = models.prirn(CASES, smoothing=0.5)
    shape = smoothed["worth"].owner.op.dist_params(smoothed["worth"].owner)[0].eval(mode=FAST)
    other = smoothed["candidate_category"].get_value() == -1
    np.testing.assert_allclose(shape[other], 0.5 * smoothed["other_size"].get_value())


def test_plausibility_sums_to_one_in_both_layouts():
    for candidates in ("ranked", "all"):
        model = models.plackett_luce(CASES, candidates=candidates)
        plausibility, item = (
            pm.draw(model["plausibility"], random_seed=1, mode=FAST),
            model["annotation_item"].get_value(),
        )
        if candidates == "ranked":
            total = np.bincount(model["candidate_item"].get_value(), plausibility)
        else:
            total = plausibility.sum(axis=-1)
        np.testing.assert_allclose(total, 1, rtol=1e-12)
        assert item.max() == len(total) - 1


@pytest.mark.slow
def test_replicates_exist_in_the_dense_layout_only():
    with models.plackett_luce(CASES, candidates="all"):
        prior = pm.sample_prior_predictive(20, random_seed=1)
    drawn = prior["prior_predictive"]["observed_ranking"]
    observed = models.plackett_luce(CASES, candidates="all")["observed_ranking"].owner
    assert observed is not None and drawn.dims[2:] == ("annotation", "place")
    with models.plackett_luce(CASES), pytest.raises(ValueError, match="candidates='all'"):
        pm.sample_prior_predictive(20, random_seed=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"concentration": 0}, "concentration=0 must be a positive finite number"),
        ({"concentration": np.nan}, "concentration=nan"),
        ({"reliability": -1}, "reliability=-1 must be"),
        ({"reliability": {"A0": 1}}, "names no power for rater 'A1'"),
        (
            {"reliability": dict.fromkeys([*CASES.raters.tolist(), "Z"], 1)},
            "rater 'Z', who annotated nothing",
        ),
        ({"unranked": "pool"}, "unranked='pool' is not one of 'pooled', 'single', 'dropped'"),
        ({"candidates": "some"}, "candidates='some' is not one of"),
        ({"candidates": "all", "unranked": "single"}, "use unranked='pooled'"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        models.plackett_luce(CASES, **options)


def test_catalog_names_builders():
    for name, entry in models.catalog.items():
        assert getattr(models, name).__name__ == entry.name == name


def test_rankings_count_by_their_effective_number():
    """The power of each annotation is the effective number of votes on its item by their number (Kish)."""
    model = models.plackett_luce(CASES, reliability="effective", vote_correlation=0.2)
    power = model["reliability"].get_value()
    number = np.bincount(CASES.annotation_item)
    assert np.allclose(np.bincount(CASES.annotation_item, power), number / (1 + (number - 1) * 0.2))
    assert not np.allclose(np.bincount(CASES.annotation_item, power), number / (1 + number * 0.2), atol=0.05)
    assert float(model["vote_correlation"].get_value()) == 0.2
    whole = models.plackett_luce(CASES)
    point = np.random.default_rng(1).normal(size=worths(whole))
    (each,) = at(whole, whole.logp(vars=whole["observed_ranking"], sum=False), point)
    effective = at(model, model.logp(vars=model["observed_ranking"]), point)
    assert effective == pytest.approx(power @ each, rel=1e-12)
    independent = models.plackett_luce(CASES, reliability="effective", vote_correlation=0)
    assert (independent["reliability"].get_value() == 1).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"reliability": "votes"},
        *({"reliability": "effective", "vote_correlation": r} for r in (-0.1, 1.1, "a")),
    ],
)
def test_a_wrong_effective_number_is_refused(wrong, golden):
    with golden.raises(ValueError):
        models.plackett_luce(CASES, **wrong)
