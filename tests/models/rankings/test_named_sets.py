"""Warning where raters ranked what they were shown: a category that is ahead where it is named, and named by few."""

import warnings

import numpy as np
import pandas as pd
import pytest
import raterzoo
import xarray as xr
from raterzoo import inference, models

from tests.support.command_line import run

WORTH = np.exp([2.5, 1, 0.5, 0, -0.5, -1])


def tastings(shown, raters=120, seed=0):
    """Rankings of three of six wines: of three shown to a taster, the best seldom, or the best three of all."""
    rng = np.random.default_rng(seed)
    rows = []
    for rater in range(raters):
        seen = np.arange(6)
        if shown:  # the best of all to 18 tasters
            seen = rng.choice(np.arange(1, 6), 3, replace=False)
            seen[0] = 0 if rater < 18 else seen[0]
        order = seen[np.argsort(-np.log(WORTH[seen]) - rng.gumbel(size=len(seen)))][:3]
        rows += [("wine", f"taster {rater}", "ABCDEF"[k], place) for place, k in enumerate(order, 1)]
    return pd.DataFrame(rows, columns=["item", "rater", "category", "rank"])


BUILDERS = [
    models.plackett_luce,
    models.tempered_plackett_luce,
    models.prirn,
    inference.plackett_luce_mle,
    inference.irn,
    lambda rankings: models.plackett_luce(rankings, unranked="dropped"),
    lambda rankings: models.plackett_luce(rankings, candidates="all"),
]


@pytest.mark.parametrize("build", BUILDERS)
def test_categories_that_were_not_shown_are_warned_of(build):
    with pytest.warns(models.DataWarning, match="'A'"):
        build(raterzoo.read(tastings(shown=True)))
    build(raterzoo.read(tastings(shown=False)))
    build(models.published_ddx_cases())
    if build not in (models.prirn, inference.irn):  # which refuse sets
        build(raterzoo.read(tastings(shown=True), columns={"shown": "rank"}))


@pytest.mark.filterwarnings("always::raterzoo.models.DataWarning")
def test_the_command_line_says_so(tmp_path):
    path = tmp_path / "tastings.csv"
    tastings(shown=True).to_csv(path, index=False)
    fit = ("fit", path, "--kind", "rankings", "--draws", 50, "--chains", 1, "-o")
    result = run(*fit, tmp_path / "a.nc")
    assert result.exit_code == 0 and "'A'" in result.output and "--column shown=rank" in result.output
    result = run(*fit, tmp_path / "b.nc", "--column", "shown=rank")
    assert result.exit_code == 0 and "'A'" not in result.output
    with xr.open_datatree(tmp_path / "b.nc") as tree:
        mean = tree["posterior"]["plausibility"].mean(("chain", "draw"))
        assert mean["category"].to_numpy()[mean.to_numpy().argmax()] == "A"


def test_the_best_of_all_are_never_warned_of():
    with warnings.catch_warnings(action="error"):
        for seed in range(50):
            inference.irn(models.PartialRankings.from_table(tastings(shown=False, seed=seed)))


def test_the_former_name_of_dropped_is_kept():
    rankings = models.published_ddx_cases()
    with pytest.warns(FutureWarning, match="dropped"):
        old = models.plackett_luce(rankings, unranked="ignored")
    new = models.plackett_luce(rankings, unranked="dropped")
    assert old["worth"].eval().shape == new["worth"].eval().shape


@pytest.mark.slow
def test_the_first_answer_says_that_the_order_may_be_wrong(golden):
    quick = {"draws": 100, "chains": 2, "progressbar": False}
    with pytest.warns(models.DataWarning):
        shown = raterzoo.analyse(tastings(shown=True), **quick)
    assert shown.answers[0].grade == "amber"
    golden.says(shown.answers[0].text.partition(". ")[0])
    read = raterzoo.analyse(tastings(shown=True), columns={"shown": "rank"}, **quick)  # the remedy
    assert read.items["category"].tolist() == ["A"] and (shown.items["category"] != "A").all()
    whole = raterzoo.analyse(tastings(shown=False), **quick)
    for analysis in (read, whole):
        assert (analysis.facts.not_shown, analysis.answers[0].grade) == (None, "")
