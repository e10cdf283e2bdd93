"""Covariates of votes on the command line: which rows reach the model, what is refused, and what a report says."""

import json
import warnings

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.cli.tables import read_votes
from raterzoo.reports.sections import vote_covariates
from raterzoo.reports.sections.comparisons import scale_in_words
from scipy.special import expit
from scipy.stats import norm

from tests.support.cli_parts import build, settings_of
from tests.support.command_line import run, said, write
from tests.support.hidden_names import MARK, marked
from tests.support.monte_carlo import assert_rejects_twin

SAMPLER = {"draws": 10, "chains": 1, "seed": 1}
VOTES = {
    "judge": [*"rssrrs"],
    "left": [*"aabbxa"],
    "right": [*"bbccyc"],
    "winner": ["left", "model_b", "tie", "b", "left", "right"],
    "times": [1, 2, 1, 0, 1, 3],
    "length": ["3", "-1.5", "0", "9", "4", "1"],
    "style": [1, 0, 0, -1, 1, 2],
}
READ = ["rater=judge", "count=times"]


def settings(**options):
    own = {"vote_covariate": ["length", "style"], **options}
    drop = own.pop("drop_missing", False)
    return settings_of("comparisons", None, own, drop_missing=drop, **SAMPLER)


def model_of(path, columns=READ, **options):
    own = settings(**options)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", models.DataWarning
        )  # of rows left out, and of items that are not connected
        votes, tables = read_votes(path, own, columns)
        return votes, build(votes, own, 1.0, tables)


def told(votes, model):
    """Votes of a model: items, rater, outcome and covariates in the units of the table."""
    values = model["vote_covariate_value"].get_value() * model["vote_covariate_scale"].get_value()
    codes = [model[f"annotation_{name}"].get_value() for name in ("left", "right", "rater")]
    ids = [votes.items[codes[0]], votes.items[codes[1]], votes.raters[codes[2]]]
    return sorted(zip(*(own.tolist() for own in ids), *np.round(values, 9).T.tolist(), strict=True))


def test_each_vote_has_its_covariates_as_often_as_it_is_counted(tmp_path):
    votes, model = model_of(write(tmp_path / "v.csv", VOTES))
    rows = [("a", "b", "r", 3, 1), *[("a", "b", "s", -1.5, 0)] * 2, ("b", "c", "s", 0, 0)]
    rows += [("x", "y", "r", 4, 1), *[("a", "c", "s", 1, 2)] * 3]
    assert told(votes, model) == sorted(rows)
    votes, model = model_of(tmp_path / "v.csv", largest_component=True)
    assert told(votes, model) == sorted(row for row in rows if row[0] != "x")
    votes, model = model_of(
        write(tmp_path / "gap.csv", VOTES | {"judge": [*"rs", "", *"rrs"]}), drop_missing=True
    )
    assert told(votes, model) == sorted(row for row in rows if row[:3] != ("b", "c", "s"))


def test_names_of_raters_stay_hidden_and_decimal_commas_are_read(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("who;left;right;winner;length\nann;a;b;left;1,5\nbob;b;a;left;-2,5\nann;a;b;right;1\n")
    votes, model = model_of(path, ["rater=who"], vote_covariate=["length"], anonymize=True)
    rows = told(votes, model)
    assert sorted(row[3] for row in rows) == [-2.5, 1, 1.5] and {row[2] for row in rows} == {
        "rater 1",
        "rater 2",
    }
    assert rows[0][2] == rows[1][2] != rows[2][2]


@pytest.mark.parametrize(
    ("changed", "covariates"),
    [
        ({}, ["width"]),
        ({}, ["winner"]),
        ({}, ["judge"]),
        ({"length": [*"12345", "long"]}, ["length"]),
        ({"length": [*"12345", ""]}, ["length"]),
        ({"length": [*"12345", "nan"]}, ["length"]),
        ({"length": [0] * 6}, ["length"]),
    ],
)  # fmt: skip
def test_other_columns_are_refused(tmp_path, changed, covariates, golden):
    path = write(tmp_path / "v.csv", VOTES | changed)
    options = [word for name in covariates for word in ("--vote-covariate", name)]
    columns = [word for name in READ for word in ("--column", name)]
    result = run("rank", path, *columns, *options, "--largest-component")
    assert result.exit_code == 2, result.output
    golden.says(said(result))


def test_other_kinds_and_options_that_change_votes_are_refused(golden):
    with golden.raises(ValueError):
        settings_of("rankings", None, {"vote_covariate": ["length"]}, **SAMPLER)
    for name in ("drop_duplicates", "merge_look_alikes"):
        with pytest.raises(ValueError, match=f"--{name.replace('_', '-')} beside --vote-covariate"):
            settings(**{name: True})


def tree_of(model, effects, **others):
    """A posterior of two items with these effects of length and style, shape (chain, draw, vote_covariate)."""
    coords = {"item": ["a", "b"], "vote_covariate": ["length", "style"]}
    sample = ("chain", "draw")
    posterior = {
        "quality": ((*sample, "item"), np.stack([effects[..., 0], -effects[..., 0]], axis=-1)),
        "vote_effect": ((*sample, "vote_covariate"), effects),
    } | {name: (sample, values) for name, values in others.items()}
    constants = xr.Dataset({"vote_covariate_scale": ("vote_covariate", [120.0, 0.5])}, coords)
    groups = {"posterior": xr.Dataset(posterior, coords), "constant_data": constants}
    tree = xr.DataTree.from_dict(groups)
    tree.attrs["model"] = model
    return tree


EFFECTS = np.random.default_rng(3).normal([-0.1, 0.6], 0.2, (2, 500, 2))
TIE = np.full((2, 500), 0.4)


@pytest.mark.parametrize("link", ["bradley_terry", "thurstone"])
def test_the_share_won_is_that_of_the_law_at_equal_qualities(link):
    rows = vote_covariates.effect_rows(tree_of(link, EFFECTS, tie=TIE), 0.9)
    assert [row["covariate"] for row in rows] == ["style", "length"] and rows[1]["difference"] == 120

    def check(tie):
        x = EFFECTS[..., 1]
        won, lost = norm.cdf(x - tie), norm.cdf(-x - tie)
        if link == "bradley_terry":
            won, lost = (np.exp(s * x / 2) / (2 * np.cosh(x / 2) + tie) for s in (1, -1))
        share = won / (won + lost)
        found = [rows[0][name] for name in ("wins", "wins from", "wins to")]
        np.testing.assert_allclose(found, [share.mean(), *np.quantile(share, [0.05, 0.95])], rtol=1e-9)

    check(0.4)
    if link == "thurstone":
        assert_rejects_twin(check, 0.0)


def test_words_say_which_effect_is_clear_and_what_qualities_are(golden):
    tree = tree_of("bradley_terry", EFFECTS)
    text = vote_covariates.effects_in_words(tree, 0.9)
    low, high = np.quantile(EFFECTS[..., 1], [0.05, 0.95])
    share = (
        f"{100 * expit(EFFECTS[..., 1]).mean():.0f} % ({100 * expit(low):.0f} to {100 * expit(high):.0f} %)"
    )
    assert f"style wins {share} of the" in text
    golden.says(text, "less length", "clear which")
    golden.says(text, "answers that")
    (section,) = vote_covariates.covariate_sections(tree, 0.9)
    assert "style" in vote_covariates.favours_in_words(
        section
    ) and "length" not in vote_covariates.favours_in_words(section)
    without = tree_of("bradley_terry", EFFECTS)
    without["posterior"] = xr.DataTree(without["posterior"].to_dataset().drop_vars("vote_effect"))
    assert (
        vote_covariates.covariate_sections(without, 0.9) == []
        and vote_covariates.at_equal_covariates(without) == ""
    )
    assert "reliability 1" not in scale_in_words(tree)


def test_win_probabilities_and_units_are_of_votes_without_a_difference():
    tree = tree_of("bradley_terry", EFFECTS)
    quality = tree["posterior"]["quality"].to_numpy()
    won = evaluation.win_probability(tree)["win"].sel(item="a", other="b").item()
    np.testing.assert_allclose(won, expit(quality[..., 0] - quality[..., 1]).mean(), rtol=1e-12)
    changed = inference.in_units(tree, "quality sd")
    np.testing.assert_array_equal(changed["posterior"]["vote_effect"], tree["posterior"]["vote_effect"])
    np.testing.assert_allclose(
        evaluation.win_probability(changed)["win"], evaluation.win_probability(tree)["win"]
    )


@pytest.mark.slow
def test_a_report_has_the_effects_of_covariates(tmp_path, caplog):
    caplog.set_level(0)
    rng = np.random.default_rng(6)  # of which neither effect is at the edge of its interval
    n, quality = 700, np.array([0.0, 0.5, 1.0, 1.5])
    left = rng.integers(0, 4, n)
    right = (left + rng.integers(1, 4, n)) % 4
    length = np.round(rng.normal(0, 100, n))
    won = rng.random(n) < expit(quality[left] - quality[right] + 0.01 * length)
    names = np.array([*"abcd"])
    table = {
        "rater": rng.choice([f"{MARK} {own}" for own in "rst"], n),
        "left": names[left],
        "right": names[right],
    }
    table |= {"winner": np.where(won, "left", "right"), "length": length, "noise": rng.normal(size=n)}
    path = write(tmp_path / "votes.csv", table)
    options = ["--vote-covariate", "length", "--vote-covariate", "noise", "--draws", 300, "--chains", 2]
    result = run(
        "report", path, "--kind", "comparisons", *options, "--anonymize", "--out", tmp_path / "report"
    )
    assert result.exit_code == 0, result.output
    assert marked(tmp_path / "report", result, caplog) == []
    assert "Votes depend on more than quality" in said(result) and "more length wins" in said(result)
    found = json.loads((tmp_path / "report" / "report.json").read_text())["vote_covariates"]
    assert [row["covariate"] for row in found["rows"]] == ["length", "noise"]
    first, second = found["rows"]
    assert first["effect from"] < 0.01 * first["difference"] < first["effect to"]
    assert second["effect from"] < 0 < second["effect to"]
    page = (tmp_path / "report" / "report.html").read_text()
    assert "What votes favour beside quality" in page and "do not differ in length and noise" in page
