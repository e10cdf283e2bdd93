"""What the page knows of each item: estimates, raters and what each said, predictions; hostile names; bounded size."""

import json

import numpy as np
import pytest
import xarray as xr
from raterzoo import models
from raterzoo.reports import Section, embedded, write_report
from raterzoo.reports import items as reports_items
from raterzoo.reports.page import BIDI_CONTROLS
from raterzoo.reports.sections import lookup

from tests.reports.test_hostile_labels import HOSTILE
from tests.support.pages import data_of, foreign_scripts
from tests.support.report_parts import page_text

NAMES = (
    *HOSTILE,
    "<!--",
    "<!-- <script>",
    "--></script>",
    "\x00\x1b[31m\x7f",
    "\u2028\u2029",
    "\u05d0\u200f",
    "a\nb\tc",
    "__proto__",
)


def said(items, item):
    """Return what is known of an item: facts and tables by their keys."""
    return next(own for own in items.documents() if own["item"] == item)


def many(n, rows=2):
    facts = [{"item": f"i{k}", "certainty": k / n} for k in range(n)]
    item = np.repeat(np.arange(n), rows)
    names = [f"rater {k % 7}" for k in range(n * rows)]
    return reports_items.Items(
        facts,
        "the least certain first",
        [own["item"] for own in facts],
        [
            reports_items.ItemTable.of(
                "raters", "Raters and what each said", item, n, {"rater": names, "label": ["a"] * (n * rows)}
            )
        ],
    )


def test_labels_have_plausibilities_answers_predictions_and_gold():
    table = {"item": [1, 1, 1, 2], "rater": [*"xyyx"], "label": [*"abba"], "kind": [*"pqqp"]}
    gold = models.Labels.from_table(
        table | {"truth": ["b", "b", "b", ""]}, gold="truth", rater_attributes=["kind"]
    )
    law = xr.DataArray(
        [[[[0.25, 0.75], [1, 0]], [[0.35, 0.65], [1, 0]]]],
        {"item": [1, 2], "category": [*"ab"]},
        ("chain", "draw", "item", "category"),
    )
    law.attrs["truth"] = "category"
    tree = xr.DataTree.from_dict({"posterior": law.to_dataset(name="plausibility")})
    rows = [{"item": "1", "certainty": 0.7}, {"item": "2", "certainty": 1.0}]
    places = {"classifier": ["c", "d"], "item": [2, 1]}
    predicted = xr.DataArray(
        [[["a", ""], ["b", "a"]], [["b", ""], ["b", ""]]], places, ("classifier", "item", "position")
    )
    items = lookup.truth_items(tree, gold, rows, predicted)
    assert said(items, "1") == {
        "item": "1",
        "certainty": 0.7,
        "gold label": "b",
        "plausibilities": [
            {"category": "b", "probability": pytest.approx(0.7)},
            {"category": "a", "probability": pytest.approx(0.3)},
        ],
        "raters": [
            {"rater": "x", "kind": "p", "label": "a", "times": 1},
            {"rater": "y", "kind": "q", "label": "b", "times": 2},
        ],
        "predictions": [{"classifier": "c", "prediction": "b, a"}, {"classifier": "d", "prediction": "b"}],
    }
    assert said(items, "2")["gold label"] is None
    assert said(items, "2")["plausibilities"] == [{"category": "a", "probability": 1.0}]  # 0 is left out
    scores = xr.DataArray(
        [[0.2, 0.8], [1.0, 0.0]], {"item": [1, 2], "category": [*"ab"]}, ("item", "category")
    )
    for own, first, second in ((scores, "b (0.8), a (0.2)", "a (1)"), (scores > 0.5, "b", "a")):
        items = lookup.truth_items(tree, gold, rows, own)
        assert [said(items, k)["predictions"][0]["prediction"] for k in "12"] == [first, second]


def test_rankings_have_ties_and_intervals():
    data = models.PartialRankings.from_blocks({"x": {"Ann": [["b"], ["a", "c"]], "Bob": [["a"]]}})
    drawn = np.random.default_rng(1).dirichlet([1, 1, 1], (1, 400))[:, :, None]
    law = xr.DataArray(
        drawn,
        {"item": ["x"], "category": [*"abc"]},
        ("chain", "draw", "item", "category"),
        attrs={"truth": "distribution"},
    )
    tree = xr.DataTree.from_dict({"posterior": law.to_dataset(name="plausibility")})
    found = said(lookup.truth_items(tree, data, [{"item": "x"}]), "x")
    assert found["raters"] == [{"rater": "Ann", "ranking": "b > a = c"}, {"rater": "Bob", "ranking": "a"}]
    for row in found["plausibilities"]:
        own = law.sel(category=row["category"])
        assert row["plausibility"] == pytest.approx(float(own.mean()), abs=1e-6)
        assert row["5 %"] == pytest.approx(float(own.quantile(0.05)), abs=1e-6)
    means = [row["plausibility"] for row in found["plausibilities"]]
    assert len(means) == 3 and means == sorted(means, reverse=True)


def test_scores_have_sides_of_every_threshold_and_the_least_certain_first():
    data = models.Scores.from_table({"item": [*"aab"], "rater": [*"xyx"], "score": [1.0, 2.0, 4.5]})
    rows = [{"item": "b", "location": 4.0}, {"item": "a", "location": 1.5}]
    assert [own["item"] for own in lookup.score_items(data, rows).documents()] == ["b", "a"]
    sides = [
        {"threshold": t, "item": item, "P(above)": p}
        for t, item, p in (("2", "a", 0.4), ("2", "b", 0.9), ("3", "b", 0.8), ("3", "a", 0.1))
    ]
    items = lookup.score_items(data, rows, sides)
    assert [own["item"] for own in items.documents()] == ["a", "b"] and "least certain" in items.order
    scores = [{"rater": "x", "score": 1.0}, {"rater": "y", "score": 2.0}]
    assert said(items, "a") == {
        "item": "a",
        "location": 1.5,
        "P(above 2)": 0.4,
        "P(above 3)": 0.1,
        "raters": scores,
    }


def test_what_is_not_defined_is_null_in_the_file(tmp_path):
    write_report(
        tmp_path,
        "T",
        "S",
        [],
        items=reports_items.Items([{"item": "a", "n": np.nan}, {"item": "b", "n": 1}], "", ["a", "b"], []),
    )
    assert (tmp_path / "items.jsonl").read_text("utf-8") == '{"item":"a","n":null}\n{"item":"b","n":1}\n'


def test_votes_are_seen_from_each_item():
    table = {"rater": [*"xyx"], "left": [*"abc"], "right": [*"bca"], "winner": ["left", "tie", "left"]}
    data = models.Comparisons.from_table(table)
    orders = xr.DataArray(
        [[0.5, 2.0, 0.5]], {"classifier": ["own"], "item": [*"abc"]}, ("classifier", "item")
    )
    items = lookup.vote_items(data, [{"item": own, "quality": 0.0} for own in "abc"], orders)
    assert said(items, "a")["votes"] == [
        {"rater": "x", "against": "b", "side": "left", "outcome": "won"},
        {"rater": "x", "against": "c", "side": "right", "outcome": "lost"},
    ]
    assert {own["outcome"] for own in said(items, "b")["votes"]} == {"lost", "tied"}
    assert said(items, "a")["predictions"] == [{"classifier": "own", "score": 0.5, "rank": 2}]
    anonymous = models.Comparisons.from_pairs([("a", "b"), ("a", "b")])
    (vote,) = said(lookup.vote_items(anonymous, [{"item": "b"}]), "b")["votes"]
    assert vote == {"against": "a", "side": "right", "outcome": "lost", "times": 2}


def test_hostile_names_come_back_as_they_are():
    facts = [{"item": name, name: name} for name in NAMES[:1]] + [
        {"item": name, NAMES[0]: name} for name in NAMES[1:]
    ]
    n = len(NAMES)
    table = reports_items.ItemTable.of(
        "raters", NAMES[0], np.arange(n), n, {NAMES[1]: np.array(NAMES, object)}
    )
    items = reports_items.Items(facts, NAMES[2], NAMES, [table])
    rows = [{"item": name, "n": 1.0} for name in NAMES]
    page = page_text("T", "S", [Section("Part", rows=rows, file="part", most=2)], [], items)
    assert not foreign_scripts(page)
    data = data_of(page)
    shown = [name.translate(BIDI_CONTROLS) for name in NAMES]
    assert [own[0] for own in data["items-data"]["items"]] == shown
    assert [[data["items-data"]["texts"][k] for k in own[2][0]] for own in data["items-data"]["items"]] == [
        [name] for name in shown
    ]
    assert data["part-rows"] == [[name, "1.000"] for name in shown]
    for own in (embedded.embedded_items(items).json, embedded.embedded_rows(rows).json):
        assert not set("<>&\u2028\u2029") & set(own)


def test_the_page_has_as_many_items_as_fit_and_says_which(tmp_path, monkeypatch, golden):
    items = many(300)
    whole = embedded.embedded_items(items)
    assert whole.count == 300
    for most in (len(whole.json) // 3, 10):
        part = embedded.embedded_items(items, most)
        assert len(part.json.encode()) <= most + 300  # the names of the columns
        assert (
            part.count < 300
            and json.loads(part.json)["items"] == json.loads(whole.json)["items"][: part.count]
        )
    write_report(tmp_path, "T", "S", [], items=items)
    lines = (tmp_path / "items.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 300 and json.loads(lines[2])["raters"][0] == {"rater": "rater 4", "label": "a"}
    page = (tmp_path / "report.html").read_text("utf-8")
    golden.says(page, "items.jsonl, and")
    monkeypatch.setattr(
        "raterzoo.reports.page.embedded_items", lambda own: embedded.embedded_items(own, 4000)
    )
    page, count = page_text("T", "S", [], [], items), embedded.embedded_items(items, 4000).count
    assert 0 < count < 300
    assert f"and the first {count} of them," in page
    assert 'data-total="300"' in page


def test_long_tables_of_an_item_and_of_the_page_are_bounded():
    found = json.loads(embedded.embedded_items(many(2, rows=embedded.MOST_ROWS + 5)).json)["items"][0]
    assert len(found[2][0]) == 2 * embedded.MOST_ROWS and found[3] == [embedded.MOST_ROWS + 5]
    rows = [{"item": f"i{k}", "mean": k / 7} for k in range(1000)]
    part = embedded.embedded_rows(rows, 3000)
    assert len(part.json) <= 3002 and json.loads(part.json)[10] == ["i10", "1.429"]
    page = page_text("T", "S", [Section("Part", rows=rows, file="part", most=5)], [])
    assert all(own in page for own in ('data-held="1000"', 'data-total="1000"', 'data-file="part.csv"'))
    assert "part-rows" not in page_text("T", "S", [Section("Part", rows=rows[:5], file="part", most=5)], [])
