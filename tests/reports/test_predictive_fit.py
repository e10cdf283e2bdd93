"""Section on the fit of models of scores and comparisons: what it says where checks fail, or cannot be made."""

import numpy as np
import pytest
import xarray as xr
from raterzoo.reports.sections.model_fit import checked
from raterzoo.reports.sections.predictive_fit import predictive_fit_sections

KIND = np.array(["person", "person", "model", "model", "model"])


def sections_of(tree, attributes=None):
    """Return the sections on the checks of a posterior with replicates."""
    return predictive_fit_sections(tree, attributes or {}, checked(tree, 1))


def study(shared=0.0, spread=1.0, model="hierarchical_scores", draws=100, seed=1):
    """Tree of scores of five raters, of whom the last three may share errors, and its replicates."""
    rng, items = np.random.default_rng(seed), 60
    item, rater = np.repeat(np.arange(items), len(KIND)), np.tile(np.arange(len(KIND)), items)
    location = rng.standard_normal(items)[item]
    shared_error = shared * rng.standard_normal(items)[item] * (KIND == "model")[rater]
    score = location + shared_error + rng.standard_normal(len(item))
    again = location + spread * rng.standard_normal((1, draws, len(item)))
    codes = {"annotation_item": ("annotation", item), "annotation_rater": ("annotation", rater)}
    of_raters = {"rater": np.arange(len(KIND)), "kind": ("rater", KIND)}
    posterior = xr.Dataset({"bias": (("chain", "draw", "rater"), np.zeros((1, draws, len(KIND))))}, of_raters)
    groups = {"posterior": posterior, "constant_data": xr.Dataset(codes)}
    groups["observed_data"] = xr.Dataset({"observed_score": ("annotation", score)})
    groups["posterior_predictive"] = xr.Dataset({"observed_score": (("chain", "draw", "annotation"), again)})
    tree = xr.DataTree.from_dict(groups)
    tree.attrs["model"] = model
    return tree


@pytest.mark.parametrize(
    ("options", "fits"),
    [({"seed": 2}, True), ({"shared": 1.2}, False), ({"spread": 2.0, "model": "normal_scores"}, False)],
)
def test_the_verdict_and_the_remedy(options, fits, golden):
    verdict, checks = sections_of(study(**options), {"kind": KIND})
    assert verdict.facts["fits"] is fits and bool(verdict.alarm) is not fits
    golden.says(verdict.text)
    assert checks.part and checks.key == "fit.checks"
    assert any(row["if it fails"] for row in checks.rows) is not fits and len(checks.figures) == 1


def rankings(copied, reliability):
    """Tree of orders of four categories by two raters, whose worths are known; the second may copy the first."""
    rng, items, n = np.random.default_rng(2), 80, 4
    log_worth = np.log(rng.standard_gamma(1.0, (items, n)))
    item = np.repeat(np.arange(items), 2)
    order = np.argsort(-log_worth[item] - rng.gumbel(size=(2 * items, n)), axis=1)
    copies = np.flatnonzero(rng.random(items) < copied)
    order[2 * copies + 1] = order[2 * copies]
    plausibility = np.exp(reliability * log_worth)
    plausibility /= plausibility.sum(axis=1, keepdims=True)
    constants = {
        "annotation_item": ("annotation", item),
        "candidate_of_place": (("annotation", "place"), item[:, None] * n + np.arange(n)),
        "candidate_category": ("candidate", np.tile(np.arange(n), items)),
        "other_size": ("item", np.zeros(items, int)),
        "reliability": np.asarray(float(reliability)),
    }
    dims, block = ("chain", "draw", "candidate"), np.argsort(order, axis=1)
    return xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset({"plausibility": (dims, np.tile(plausibility.ravel(), (1, 120, 1)))}),
            "constant_data": xr.Dataset(constants),
            "observed_data": xr.Dataset({"observed_ranking": (("annotation", "place"), block)}),
        }
    )


@pytest.mark.parametrize(
    ("copied", "reliability", "fits", "sharpened"),
    [(0, 1, True, False), (0.9, 1, False, False), (0, 4, False, True)],
)
def test_rankings_are_checked_without_a_model(copied, reliability, fits, sharpened):
    verdict, _ = sections_of(rankings(copied, reliability))
    assert verdict.facts["fits"] is fits
    assert ("reliability=1" in verdict.text) is sharpened and bool(verdict.alarm) is not (fits or sharpened)


def test_what_cannot_be_checked_is_said(golden):
    (section,) = sections_of(None)
    assert section.facts["fits"] is None
    golden.says(section.text, "fitted model,")
    in_prior = rankings(0, 1)
    del in_prior["observed_data"]
    (section,) = sections_of(in_prior)
    assert section.facts["fits"] is None and "plackett_luce" in section.text
    (section,) = sections_of(study(draws=20))
    assert section.facts["fits"] is None and "20 replicates" in section.text
