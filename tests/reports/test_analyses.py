"""Analyses: frames, facts and answers of one call, and raters who copy each other."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import raterzoo
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.inference import kept_draws
from raterzoo.inference.runs.run import Draws
from raterzoo.models import DataWarning
from raterzoo.posterior.errors import EvaluationError
from raterzoo.reports.analyses.analysis import Analysis
from raterzoo.reports.analyses.drawing import draw

from tests.support.command_line import run, write
from tests.support.stores import read_posterior

QUICK = {"draws": 200, "chains": 2, "progressbar": False}


def crowd(copying=0.0, seed=3):
    """Labels of 300 items by 5 of 16 raters; the first two, who answer half of the items, copy one guess; one guesses."""
    rng = np.random.default_rng(seed)
    truth, rows = rng.integers(0, 4, 300), []
    for item in range(300):
        who = 3 + rng.choice(13, 3, replace=False)
        who = [0, 1, *who] if item % 2 else [*who, *rng.choice(3, 2, replace=False)]
        guess = truth[item] if rng.random() < 0.55 else rng.integers(0, 4)
        for rater in who:
            right = 0.75 if rater > 2 else 0.25 if rater == 2 else 0.55
            label = truth[item] if rng.random() < right else (truth[item] + rng.integers(1, 4)) % 4
            if rater < 2 and rng.random() < copying:
                label = guess
            rows.append((f"i{item:03}", f"r{rater:02}", "abcd"[label]))
    return pd.DataFrame(rows, columns=["item", "rater", "label"]), truth


def share_right(analysis, truth):
    items = analysis.items.sort_values("item")
    return (items["label"].to_numpy() == np.array([*"abcd"])[truth]).mean()


@pytest.mark.slow
def test_raters_who_copy_are_fitted_as_one_and_not_asked(golden):
    table, truth = crowd(0.9)
    refitted = raterzoo.analyse(table, **QUICK)
    given = raterzoo.analyse(table, refit=False, **QUICK)
    assert refitted.facts.copying == given.facts.copying == (("r00", "r01"),)
    assert refitted.facts.refitted and not given.facts.refitted
    assert refitted.facts.changed > 0 and given.facts.changed == 0
    assert share_right(refitted, truth) > share_right(given, truth)
    for analysis in (refitted, given):
        flags = analysis.raters.set_index("rater")["flag"]
        assert flags["r00"] == "copies r01" and flags["r01"] == "copies r00" and flags["r02"] == "guesses"
        assert not {"r00", "r01"} & set(analysis.next["whom"].dropna())
    own = table[table["rater"] == "r00"]
    real = (own["label"].to_numpy() == np.array([*"abcd"])[truth[own["item"].str[1:].astype(int)]]).mean()
    found = refitted.raters.set_index("rater").loc["r00"]
    assert found["right_low"] < real < found["right_high"]
    claims = [abs(a.facts.right.mean - share_right(a, truth)) for a in (refitted, given)]
    assert claims[0] < 0.06 < claims[1]
    assert list(refitted.tree["posterior"]["plausibility"].dims) == ["chain", "draw", "item", "category"]
    golden.says(str([own.question for own in refitted.answers]))


@pytest.mark.slow
def test_half_of_the_raters_are_not_accused():
    """Runs of one model outvote four people: the labels are theirs, so that the people's errors look alike."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 200)
    said = {f"person {k}": np.where(rng.random(200) < 0.8, truth, 1 - truth) for k in range(4)}
    guess = np.where(rng.random(200) < 0.7, truth, 1 - truth)
    said |= {f"run {k}": np.where(rng.random(200) < 0.95, guess, 1 - guess) for k in range(5)}
    wide = pd.DataFrame(said).replace({0: "no", 1: "yes"}).assign(item=[f"i{k:03}" for k in range(200)])
    facts = raterzoo.analyse(wide.melt("item", var_name="rater", value_name="label"), **QUICK).facts
    assert not facts.copying and not facts.refitted
    assert facts.copying_or_others == (("person 0", "person 1", "person 2", "person 3"),)


@pytest.mark.slow
def test_two_schools_are_named_and_each_says_its_truth(golden):
    rng = np.random.default_rng(5)
    first = rng.integers(0, 2, 150)
    second = np.where(rng.random(150) < 0.4, 1 - first, first)
    rows = []
    for item in range(150):
        for rater in rng.choice(14, 7, replace=False).tolist():
            own = (first if rater < 8 else second)[item]
            rows.append(
                (f"i{item:03}", f"r{rater:02}", ["fine", "toxic"][own if rng.random() < 0.92 else 1 - own])
            )
    table = pd.DataFrame(rows, columns=["item", "rater", "label"])
    one = raterzoo.analyse(table, **QUICK)
    school = tuple(f"r{k:02}" for k in range(8, 14))
    assert set(one.facts.sides[1]) == set(school) and not one.facts.refitted and one.facts.populations == ()
    two = raterzoo.analyse(table, model="cultural_consensus", **QUICK)
    assert set(two.facts.populations[1]) == set(school) and not two.facts.sides
    assert abs(two.facts.contested - (first != second).mean()) < 0.06
    items = two.items.sort_values("item")
    for column, truth in {"label": first, "label_2": second}.items():
        assert (items[column].to_numpy() == np.array(["fine", "toxic"])[truth]).mean() > 0.93
    assert two.raters["right_low"].min() > 0.65  # by the truth of the own school
    for item, said in two.facts.disputed.items():
        assert said == tuple(np.array(["fine", "toxic"])[[first[int(item[1:])], second[int(item[1:])]]])
    golden.says(one.answers[1].text)
    golden.says(two.answers[0].text)


@pytest.mark.slow
def test_raters_who_do_not_copy_are_left_as_they_are():
    analysis = raterzoo.analyse(crowd()[0], **QUICK)
    assert not analysis.facts.copying and not analysis.facts.refitted
    assert list(analysis.raters["flag"]).count("") == 15
    assert len(analysis.items) == 300 and set(analysis.items["ask"]) == {True, False}
    assert analysis.facts.differs == analysis.items["differs_from_vote"].sum()


def test_a_published_key_is_one_of_the_raters():
    simulated = models.simulators.labels(model="item_response", items=30, raters=6, answers=6, random_seed=1)
    key = dict(enumerate(simulated.truth["key"]))
    analysis = raterzoo.analyse(simulated.data, model="item_response", key=key, **QUICK)
    raters = analysis.raters
    assert len(raters) == 7 and raters.loc[6, "answers"] == 30 and raters["right"].idxmax() == 6
    assert list(analysis.tree["posterior"]["ability"].dims) == ["chain", "draw", "model"]


def test_the_table_tells_the_kind():
    votes = {"left": [*"aab"], "right": [*"bcc"], "winner": [*"aab"], "rater": [*"xyx"]}
    assert isinstance(raterzoo.read(votes), models.Comparisons)
    assert isinstance(raterzoo.read({"item": [1, 2], "score": [0.5, 2.0]}), models.Scores)
    ranked = {"item": [*"aa"], "rater": [*"xx"], "category": [*"uv"], "rank": [1, 2]}
    assert isinstance(raterzoo.read(ranked), models.PartialRankings)
    named = {"case": [*"ab"], "who": [*"xy"], "said": ["no", "yes"]}
    columns = {"item": "case", "rater": "who", "label": "said"}
    assert raterzoo.read(named, columns=columns).categories.tolist() == ["no", "yes"]
    with pytest.raises(models.DataError) as found:
        raterzoo.read({"a": [1], "b": [2]})
    assert "kind=" in found.value.remedy


@pytest.mark.parametrize(
    ("source", "options", "field"),
    [({"item": [1], "score": [2.0]}, {"kind": "wide"}, "argument kind"),
     ({"item": [1], "score": [2.0]}, {"layout": "tall"}, "argument layout"),
     ({"item": [1], "score": [2.0]}, {"categories": ["a"]}, "argument categories"),
     ({"item": [1], "score": [2.0]}, {"columns": {"label": "score"}}, "argument columns")],
)  # fmt: skip
def test_arguments_of_another_kind_are_refused(source, options, field):
    with pytest.raises(models.DataError) as found:
        raterzoo.read(source, **options)
    assert found.value.where == field


@pytest.mark.slow
def test_votes_and_scores_have_their_answers(tmp_path):
    votes = raterzoo.analyse(models.simulators.comparisons(items=6, raters=4, random_seed=1).data, **QUICK)
    assert votes.facts.winner == votes.items.loc[0, "item"] and len(votes.next) == 15
    scores = raterzoo.analyse(models.simulators.scores(items=8, raters=4, random_seed=1).data, **QUICK)
    assert scores.facts.highest == scores.items.loc[0, "item"]
    assert scores.raters["bias"].is_monotonic_decreasing
    for analysis in (votes, scores):
        page = analysis.report(tmp_path / "page.html").read_text()
        assert all(f"<strong>{own.question}</strong>" in page for own in analysis.answers)


def test_rankings_have_their_answers():
    analysis = raterzoo.analyse(models.published_ddx_cases(), **QUICK)
    assert len(analysis.items) == 7 and analysis.facts.classifiers.against == ""
    assert 0 < analysis.facts.plausible.low < analysis.facts.plausible.high <= 1


def test_our_samplers_draw_on():
    labels = models.simulators.labels(items=40, raters=4, random_seed=1).data
    analysis = raterzoo.analyse(labels, draws=20, chains=2, progressbar=False)
    assert analysis.tree["posterior"].sizes["draw"] in (40, 80)
    with pytest.warns(inference.ConvergenceWarning):
        tree = inference.sample(
            models.dawid_skene(labels), draws=30, chains=2, random_seed=1, progressbar=False
        )
    assert raterzoo.analyse(labels, tree=tree).tree is tree


def test_more_draws_are_advised_than_were_made_where_memory_keeps_few(monkeypatch):
    """Of very many raters few draws of many sweeps are kept: the advice is four times what was asked for."""
    rows = {"item": [k // 4 for k in range(80)], "rater": [*range(80)], "label": [k % 3 for k in range(80)]}
    labels = models.Labels.from_table(rows)
    plan = Draws(20, 10, 2, 1, 1, False, 1, "float32", densities=True)
    whole = kept_draws.Costs(models.dawid_skene(labels), plan).of_run("gibbs").memory
    monkeypatch.setattr(kept_draws, "OF_RATERS", whole / 4)
    with pytest.warns(inference.CostWarning, match="in place of"):
        tree = draw(models.dawid_skene(labels), 20, chains=2, random_seed=1, progressbar=False)
    kept, asked = tree["posterior"].sizes["draw"], tree.attrs["draws_asked"]
    sound = Analysis.sound.func(SimpleNamespace(tree=tree, checked=EvaluationError("not asked")))
    assert kept < 20 < asked and sound.draws == 4 * asked


@pytest.mark.filterwarnings("ignore:each of the", "ignore:raters with one")
def test_raters_with_one_answer_each_are_one(tmp_path, golden):
    """Given the truth their answers are independent draws: the claim is that of the known law, .75 five times: .896."""
    rng = np.random.default_rng(5)
    truth, item = rng.integers(0, 2, 600), np.repeat(np.arange(600), 5)
    label = np.where(rng.random(3000) < 0.75, truth[item], 1 - truth[item])
    table = pd.DataFrame({"item": item, "rater": [f"r{own}" for own in range(3000)], "label": label})
    with golden.warns(DataWarning):
        analysis = raterzoo.analyse(table, **QUICK)
    assert analysis.tree.attrs["model"] == "correlated_votes"
    assert analysis.raters["rater"].tolist() == ["all raters"] and analysis.facts.pooled
    assert analysis.raters["right"].item() == pytest.approx(0.75, abs=0.04)
    assert analysis.facts.right.mean == pytest.approx(0.896, abs=0.04)
    assert (analysis.items["label"].to_numpy() == truth).mean() == pytest.approx(0.896, abs=0.04)
    golden.says(str(analysis), "All raters")
    expected = evaluation.label_agreement(
        xr.DataArray(label.reshape(600, 5), dims=("item", "rater")), bootstrap=0
    )
    agreement = analysis.agreement.set_index("coefficient")["value"]
    assert list(agreement.index) == ["Krippendorff's alpha", "Gwet's AC1", "Fleiss' kappa"]
    np.testing.assert_allclose(agreement, [float(expected[name]) for name in ("alpha", "ac1", "fleiss")])
    once = raterzoo.analyse(table[:3000:5], model="dirichlet", **QUICK)
    assert once.agreement.empty and list(once.agreement) == ["coefficient", "value", "low", "high"]
    apart = raterzoo.analyse(table[:60], model="correlated_votes", **QUICK)
    assert len(apart.raters) == 60 and not apart.facts.pooled
    path = write(tmp_path / "once.csv", table[:60].to_dict("list"))
    for named, raters in (((), 1), (("--model", "correlated_votes"), 60)):
        stored = tmp_path / f"{raters}.nc"  # a tree keeps its file open until it is collected
        found = run("fit", path, "-o", stored, "--kind", "labels", "--draws", 50, *named)
        assert found.exit_code == 0, found.output
        assert read_posterior(stored)["posterior"].sizes["rater"] == raters


@pytest.mark.parametrize("model", ["dirichlet", "multinomial"])
def test_agreement_is_of_the_answers_whatever_the_model(model, golden, monkeypatch):
    """Laws without raters keep none: the coefficients are those of the table, and of large ones those that need no rater."""
    labels = [*"xxyyxyxxyx"]
    table = pd.DataFrame({"item": np.repeat(np.arange(5), 2), "rater": [*"ab"] * 5, "label": labels})
    table = pd.concat([table, table[:1], table[1:2]])  # answers that are repeated count once
    analysis = raterzoo.analyse(table, model=model, **QUICK)
    ratings = xr.DataArray(np.array([[own == "y" for own in labels[k::2]] for k in (0, 1)], float).T)
    found = evaluation.label_agreement(ratings.rename(dim_0="item", dim_1="rater"), bootstrap=0, pairs=False)
    names = ["alpha", "ac1", "fleiss", "conger"]
    np.testing.assert_allclose(analysis.agreement["value"], [float(found[name]) for name in names])
    golden.says(str(analysis), "all raters as alike")
    monkeypatch.setattr("raterzoo.reports.sections.agreement.MAX_CELLS", 5)
    large = raterzoo.analyse(table, model=model, **QUICK)
    np.testing.assert_allclose(large.agreement["value"], [float(found[name]) for name in names[:3]])


@pytest.mark.slow
def test_an_accuracy_below_that_of_a_guess_is_said():
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=60)
    answers = np.where(rng.random((4, 60)) < 0.9, truth, 1 - truth)
    rows = {
        "item": [*range(60)] * 4,
        "rater": np.repeat([*"abcd"], 60).tolist(),
        "label": [["no", "yes"][k] for k in answers.ravel()],
    }
    for turned in (False, True):
        said = [["no", "yes"][k] for k in (1 - truth if turned else truth)]
        table = {"item": [*range(60)], "category": said, "rank": [1] * 60}
        predicted = raterzoo.evaluation.predictions_from_table(table, rank="rank")
        analysis = raterzoo.analyse(
            models.Labels.from_table(rows),
            predictions=predicted,
            model="one_coin",
            draws=500,
            progressbar=False,
        )
        assert bool(analysis.facts.classifiers.below) is turned
        assert ("swapped" in str(analysis)) is turned
