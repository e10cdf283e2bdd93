"""The page, its tables and report.json say the same, and what evaluation computes."""

import csv
import json
import math
import re

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation

from tests.support.cli_parts import build, read_annotations, settings_of
from tests.support.command_line import read, run, said, write
from tests.support.pages import foreign_scripts
from tests.support.report_parts import SCHEMA

CATEGORIES = ["<b>acne", "burn", "cyst", "drug rash", "eczema"]
N_ITEMS, N_RATERS = 15, 4
QUICK = ("--draws", 300, "--chains", 2, "--seed", 4)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Rankings of two places, classifiers that know the truth more and less, and risks."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(3)
    truth = rng.dirichlet(np.full(5, 0.4), N_ITEMS)
    said = {"item": [], "rater": [], "category": [], "rank": []}
    for i in range(N_ITEMS):
        for r in range(N_RATERS):
            first, second = rng.choice(5, 2, replace=False, p=0.9 * truth[i] + 0.02)
            for rank, code in ((1, first), (2, second)):
                cells = (f"case {i}", f"rater {r}", CATEGORIES[code], rank)
                for column, cell in zip(said.values(), cells, strict=True):
                    column.append(cell)
    named = {"item": [], "classifier": [], "category": [], "rank": []}
    for name, noise in (("sharp", 0.2), ("blunt", 3.0)):
        for i in range(N_ITEMS):
            score = truth[i] + noise * rng.random(5)
            for rank, code in enumerate(np.argsort(-score)[:3]):
                cells = (f"case {i}", name, CATEGORIES[code], rank + 1)
                for column, cell in zip(named.values(), cells, strict=True):
                    column.append(cell)
    risk = {"category": CATEGORIES, "group": ["low", "low", "low", "high", "high"]}
    risk["value"] = [0, 0, 1, 2, 2]
    risk = {name: cells[::-1] for name, cells in risk.items()}
    return {
        "rankings": write(folder / "rankings.csv", said),
        "predictions": write(folder / "predictions.csv", named),
        "risk": write(folder / "risk.csv", risk),
        "truth": truth,
    }


@pytest.fixture(scope="module")
def report(tables, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    files = (tables["rankings"], tables["predictions"], "--groups", tables["risk"])
    result = run("report", *files, "--reliability", "2", "--out", out, *QUICK)
    assert result.exit_code == 0, result.output
    return out


@pytest.fixture(scope="module")
def found(report):
    def refuse(text):
        raise AssertionError(f"{text} is no JSON")

    return json.loads((report / "report.json").read_text(), parse_constant=refuse)


@pytest.fixture(scope="module")
def page(report):
    return (report / "report.html").read_text()


def sections_with_rows(found):
    """Yield the sections that have a table, those inside others too."""
    for own in found.values():
        if isinstance(own, dict) and "title" in own:
            if own["rows"]:
                yield own
            yield from sections_with_rows(own)


@pytest.mark.slow
def test_sections_are_in_their_order(page):
    order = [
        "Certainty",
        "Look up an item",
        "Plausibilities",
        "Metrics",
        "Comparison",
        "Risk",
        "Next annotations",
        "Does the model fit?",
    ]
    order += ["Convergence", "Model", "Sensitivity", "Data", "Posterior", "How to cite", "Glossary"]
    assert re.findall("<h2>(.*?)</h2>", page) == order


def test_page_is_self_contained_and_labels_are_text(page):
    assert not re.search(
        r'(?:src|href)="(?!#|data:|https://(?:doi\.org|arxiv\.org/abs)/)', page
    ) and not foreign_scripts(page)
    assert "@import" not in page and "<b>" not in page and "&lt;b&gt;acne" in page


def test_keys_are_stable(found, golden):
    assert found["schema"] == SCHEMA == 1 and found["kind"] == "rankings"
    expected = {
        "data": {"items", "raters", "annotations", "categories", "only_predicted"},
        "model": {"name", "priors", "reliability", "reliabilities", "method", "seed", "draws", "chains", "seconds"},
        "convergence": {"converged", "verdict"},
        "fit": {"verdict"},
        "certainty": {"mean", "lower", "upper", "below_99", "below_99_lower", "below_99_upper", "agreement"},
        "metrics": {"probability", "larger_is_better"},
        "comparison": {"headline", "order", "best", "optimism"},
        "sensitivity": {"reliability", "prior"},
        "risk": {"groups", "below_99", "expected", "metrics"},
        "ask_next": {"first"},
        "cite": {"reference", "version"},
    }  # fmt: skip
    assert set(expected) | {"schema", "title", "summary", "kind", "versions"} == set(found)
    for key, names in expected.items():
        assert names | {"title", "text", "rows"} <= set(found[key]), key
    assert found["data"]["items"] == N_ITEMS and found["model"]["reliability"] == 2
    assert found["versions"]["raterzoo"]
    effective = found["sensitivity"]["effective_votes"]  # four rankings of each case
    assert effective["answers"] == 4 and effective["effective_answers"] == pytest.approx(4 / (1 + 3 * 0.35))
    golden.says(found["sensitivity"]["text"], "reliability of")


def test_rows_are_those_of_the_tables(report, found):
    by_columns = {}
    for own in sections_with_rows(found):
        by_columns.setdefault(tuple(own["rows"][0]), []).append(own["rows"])
    files = [path for path in report.iterdir() if path.suffix == ".csv"]
    assert len(files) == sum(map(len, by_columns.values()))
    for path in files:
        rows = read(path)
        candidates = by_columns[tuple(rows[0])]
        assert any(same(rows, own) for own in candidates), path.name


def same(texts, values):
    """Return whether rows of text are rows of values."""
    return len(texts) == len(values) and all(
        (text == "" or not math.isfinite(float(text)))
        if value is None
        else (float(text) == value if isinstance(value, float) else text == str(value))
        for one, other in zip(texts, values, strict=True)
        for text, value in zip(one.values(), other.values(), strict=True)
    )


def test_figures_are_what_evaluation_computes(tables, report, found):
    tree = xr.open_datatree(report / "posterior.nc", engine="h5netcdf").load()
    predicted = evaluation.predictions_from_table(
        {n: [r[n] if n != "rank" else int(r[n]) for r in read(tables["predictions"])]
         for n in ("item", "classifier", "category", "rank")},
        rank="rank", classifier="classifier",
    )  # fmt: skip
    result = evaluation.compare(evaluation.top_k_accuracy(3), tree, predicted, random_seed=4)
    rows = [row for row in found["metrics"]["rows"] if row["metric"] == "top-3-accuracy"]
    assert len(rows) == 2 and found["comparison"]["headline"] == "top-3-accuracy"
    for row in rows:
        own = result.sel(classifier=row["classifier"])
        assert row["mean"] == float(own["mean"].sel(source="raters"))
        ends = own["interval"].sel(source="both").to_numpy().tolist()
        assert [row["lower"], row["upper"]] == ends
    pair = found["comparison"]["rows"][0]
    own = result.sel(classifier=pair["classifier"], other=pair["other"], source="both")
    assert pair["probability_better"] == float(own["probability_better"])
    certainty = evaluation.annotation_certainty(tree, random_seed=1)
    # every label is named, so that the most plausible one is right as often as it is certain
    assert found["certainty"]["mean"] == pytest.approx(float(certainty.mean()), abs=0.02)


def test_summary_is_on_the_page_and_each_number_has_its_interval(found, page):
    sentences = found["summary"][1:]
    assert 3 <= len(sentences) <= 6
    # no line divides an option, or a number from its %
    shown = re.sub("</?(?:code|span)[^>]*>", "", page).replace("&nbsp;", " ")
    for sentence in sentences:
        question, _, answer = sentence.partition("? ")
        assert f"<strong>{question}?</strong> {answer.replace('<', '&lt;').replace('>', '&gt;')}</p>" in shown
    assert sum(" to " in sentence for sentence in sentences) >= 2
    row = next(r for r in found["metrics"]["rows"] if r["classifier"] == found["comparison"]["order"][0])
    assert f"{100 * row['mean']:.0f} % ({100 * row['lower']:.0f} to {100 * row['upper']:.0f} %)" in shown


def test_one_reliability_is_reweighted_to_its_neighbours(found):
    rows = found["sensitivity"]["reliability"]["rows"]
    draws = {row["reliability"]: row["draws"] for row in rows}
    assert draws == {1.333: "reweighted", 2.0: "fitted", 3.0: "reweighted"}
    certainty = [row["mean"] for row in rows if row["quantity"] == "certainty"]
    assert certainty == sorted(certainty)  # the more the raters are trusted, the more certain
    assert set(found["sensitivity"]["reliability"]["unreliable_items"]) == {"1.333", "3"}


def test_risk_and_questions_name_every_item(found):
    items = {f"case {i}" for i in range(N_ITEMS)}
    for own in (found["risk"], found["ask_next"], found["sensitivity"]["prior"], found["certainty"]):
        assert {row["item"] for row in own["rows"]} == items
    for row in found["risk"]["rows"]:
        assert row["plausibility_low"] + row["plausibility_high"] == pytest.approx(1, abs=1e-5)
        assert row["lower"] <= row["expected"] <= row["upper"]
    bits = [row["bits"] for row in found["ask_next"]["rows"]]
    assert bits == sorted(bits, reverse=True)
    assert found["ask_next"]["first"] == [row["item"] for row in found["ask_next"]["rows"][:5]]
    groups = {row["group"] for row in found["risk"]["metrics"]["rows"]}
    assert groups == {"low", "high"} and found["risk"]["groups"] == ["low", "high"]


@pytest.mark.slow
def test_draws_that_did_not_converge_are_loud(tables, tmp_path):
    out = tmp_path / "out"
    result = run("report", tables["rankings"], "--out", out, "--draws", 30, "--chains", 2)
    assert result.exit_code == 0, result.output
    text, own = (out / "report.html").read_text(), json.loads((out / "report.json").read_text())
    assert own["convergence"]["converged"] is False and "NOT converged" in said(result)
    assert text.count('class="alarm"') == 1 and text.index('class="red"') < text.index("<h2>")


def test_effective_numbers_of_rankings_reach_the_model(tables, golden):
    settings = settings_of("rankings", None, {"reliability": "effective"}, draws=10, chains=1, seed=1)
    data = read_annotations(tables["rankings"], settings, []).data
    model = build(data, settings, settings.reliabilities[0])
    assert model["reliability"].get_value() == pytest.approx(np.full(N_ITEMS * N_RATERS, 1 / (1 + 3 * 0.35)))
    with golden.raises(ValueError):
        settings_of("rankings", "prirn", {"reliability": "effective"}, draws=10, chains=1, seed=1)


@pytest.mark.slow
def test_a_report_of_effective_numbers_says_so(tables, tmp_path):
    options = ("--reliability", "effective", "--draws", 100, "--chains", 2, "--out", tmp_path / "out")
    result = run("report", tables["rankings"], *options)
    assert result.exit_code == 0, result.output
    own = json.loads((tmp_path / "out" / "report.json").read_text())
    assert own["model"]["reliability"] is None and "by their effective number" in own["model"]["text"]
    assert (
        "With a correlation of 0.35, the 4 rankings of a typical item count as 2.0"
        in own["sensitivity"]["text"]
    )
    assert "reliability" not in own["sensitivity"]  # no draws of other reliabilities


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), marks=pytest.mark.slow),
        ("--model", "prirn"),
        pytest.param(("--reliability", "1,2"), marks=pytest.mark.slow),
    ],
)
def test_one_classifier_with_a_name(tables, tmp_path, options):
    rows = [row for row in read(tables["predictions"]) if row["classifier"] == "sharp"]
    one = {name: [row[name] for row in rows] for name in rows[0]}
    out = tmp_path / "out"
    files = (tables["rankings"], write(tmp_path / "one.csv", one))
    result = run("report", *files, *options, "--out", out, *QUICK)
    assert result.exit_code == 0, result.output
    own = json.loads((out / "report.json").read_text())
    assert "comparison" not in own and {r["classifier"] for r in own["metrics"]["rows"]} == {"sharp"}
    prior = own["sensitivity"]["prior"]
    assert ("Not computed" in prior["text"]) == ("prirn" in options)
    assert ("reliability" in own["sensitivity"]) == ("prirn" not in options)


def spoil(path, folder, **changes):
    """Write a table with some columns changed; None drops one."""
    rows = read(path)
    names = [name for name in rows[0] if changes.get(name, ()) is not None]
    changed = folder / f"changed_{path.name}"
    with changed.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for i, row in enumerate(rows):
            cells = {n: changes[n](i, c) if changes.get(n) else c for n, c in row.items()}
            writer.writerow([cells[n] for n in names])
    return changed


@pytest.mark.parametrize(
    "changes",
    [
        {"group": None},
        {"category": None},
        {"category": lambda i, c: c if i < 4 else "other"},
        {"category": lambda i, c: "cyst" if i == 0 else c},
        {"group": lambda i, c: "" if i == 2 else c},
        {"value": lambda i, c: "much" if i == 1 else c},
        {"value": lambda i, c: "inf" if i == 1 else c},
    ],
)  # fmt: skip
def test_wrong_groups_are_refused_before_anything_is_fitted(tables, tmp_path, changes, golden):
    risk = spoil(tables["risk"], tmp_path, **changes)
    out = tmp_path / "out"
    result = run("report", tables["rankings"], tables["predictions"], "--groups", risk, "--out", out)
    assert result.exit_code == 2, result.output
    golden.says(said(result))
    assert "Traceback" not in result.output and not out.exists()


@pytest.mark.parametrize(
    "options",
    [
        ["{predictions}", "--metric", "log-loss"],
        ["{predictions}", "--metric", "kapa"],
        ["--metric", "kappa"],
        ["{rankings}"],
        ["{predictions}", "--groups", "nowhere.csv"],
    ],
)
def test_wrong_options_are_refused_before_anything_is_fitted(tables, tmp_path, options, golden):
    out = tmp_path / "out"
    arguments = [option.format(**tables) for option in options]
    result = run("report", tables["rankings"], *arguments, "--out", out)
    assert result.exit_code == 2, result.output
    golden.says(said(result))
    assert "Traceback" not in result.output and not out.exists()


def test_predictions_of_other_items_are_refused_before_anything_is_fitted(tables, tmp_path):
    other = spoil(tables["predictions"], tmp_path, item=lambda i, c: c.replace("case 3", "case x"))
    result = run("report", tables["rankings"], other, "--out", tmp_path / "out")
    assert result.exit_code == 2 and "case 3" in said(result)
    assert not (tmp_path / "out").exists()
