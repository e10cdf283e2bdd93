"""Features on the command line: files of every kind, ids, items left out, refusals in its words, and a report."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from raterzoo import models
from raterzoo.cli import features as cli_features
from raterzoo.cli import fitting
from raterzoo.models import DataError, Labels
from raterzoo.reports import Section
from raterzoo.reports.sections import features as sections_features
from raterzoo.reports.sections.labels import _prevalence_section
from typer.testing import CliRunner

from tests.support.cli_parts import build, settings_of
from tests.support.command_line import run
from tests.support.data_parts import item_features
from tests.support.hidden_names import MARK, marked

ITEMS = np.array(["7", "8", "9"])
FRAME = pd.DataFrame({"length": [1.5, 2.0, 4.0, 8.0], "case": [7, 8, 9, 10], "links": [0, 1, 0, 1]})
SAMPLER = {"draws": 10, "chains": 1, "seed": 1}


def written(folder, suffix, frame):
    path = folder / f"features{suffix}"
    if suffix == ".npz":
        np.savez(path, items=frame["item"], features=frame[["length", "links"]], names=["length", "links"])
    elif suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix == ".jsonl":
        path.write_text(frame.to_json(orient="records", lines=True))
    else:
        frame.to_csv(path, index=False, sep={".tsv": "\t"}.get(suffix, ","))
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".npz"])
def test_files_of_every_kind_hold_the_same_features(tmp_path, capsys, suffix):
    table = cli_features.features_of(written(tmp_path, suffix, FRAME.rename(columns={"case": "item"})), ITEMS)
    found = item_features(table, ITEMS)
    assert found.names.tolist() == ["length", "links"]
    np.testing.assert_allclose(
        found.values * found.scale + found.mean, [[1.5, 0], [2, 1], [4, 0]], atol=1e-12
    )
    assert f"features{suffix}: left" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_embeddings_may_stand_in_one_column(tmp_path, suffix):
    frame = pd.DataFrame({"id": [9, 8, 7, 6], "embedding": [[1.0, 2.0], [0.5, 4.0], [3.0, 9.0], [5.0, 6.0]]})
    found = item_features(cli_features.features_of(written(tmp_path, suffix, frame), ITEMS), ITEMS)
    assert found.names.tolist() == ["embedding 1", "embedding 2"]
    raw = found.values * found.scale + found.mean
    np.testing.assert_allclose(raw, [[3, 9], [0.5, 4], [1, 2]], atol=1e-12)


def test_decimal_commas_and_the_only_column_of_text(tmp_path):
    path = tmp_path / "features.csv"
    path.write_text("which;x\na;1,5\nb;2,25\nc;-1\n")
    found = item_features(cli_features.features_of(path, np.array([*"abc"])), np.array([*"abc"]))
    np.testing.assert_allclose(found.values * found.scale + found.mean, [[1.5], [2.25], [-1]], atol=1e-12)


def test_refusals_name_the_file(tmp_path):
    frame = FRAME.rename(columns={"case": "item"})
    refused = {
        "text": (frame.assign(colour="red"), r"^features.csv, row 1, column 'colour': 'red' is not"),
        "missing": (
            frame.assign(links=[0, None, 0, 1]),
            r"^features.csv, column 'links': the value of item '8' is miss",
        ),
        "absent": (frame.iloc[:2], r"^features.csv: 1 of the 3 items of the data has no features: '9'"),
        "repeated": (
            frame.assign(item=[7, 8, 9, 9]),
            r"^features.csv, row 4, column 'item': item '9' stands",
        ),
    }
    for name, (table, message) in refused.items():
        path = written(tmp_path, ".csv", table)
        with pytest.raises(DataError, match=message) as error, cli_features.features_named(path):
            item_features(cli_features.features_of(path, ITEMS), ITEMS)
        assert ".select(" not in str(error.value) and "pandas" not in str(error.value), name
        (tmp_path / "features.csv").unlink()


@pytest.mark.parametrize(
    "arrays",
    [
        {"items": ITEMS},
        {"items": ITEMS, "features": np.eye(2)},
        {"items": ITEMS, "features": np.eye(3, dtype="M8[s]")},
        {"items": ITEMS.astype(object), "features": np.eye(3)},
        {"items": ITEMS, "features": np.eye(3), "names": ["x", "x", "y"]},
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, arrays, golden):
    np.savez(tmp_path / "f.npz", **arrays)
    with golden.raises(DataError):
        cli_features.features_of(tmp_path / "f.npz", ITEMS)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def head(shape, kind="<f8"):
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


LARGE, DEEP = head("(3, 1000000000000)") + bytes(80), head("(3, 2)", "[" * 40 + "]" * 40) + bytes(48)
ITEM_IDS, ROWS = npy(np.array([7, 8, 9])), npy(np.eye(3))
RUNS = head("(3, 1)").replace(b"'<f8'", b"1/0  ") + bytes(24)  # numpy would evaluate a literal only
NO_CHARACTER = head("(3,)", "<U1") + np.array([0x110000, 65, 66], "<u4").tobytes()


@pytest.mark.parametrize(
    ("items", "features"),
    [(ITEM_IDS, LARGE), (ITEM_IDS, DEEP), (ITEM_IDS, RUNS), (ITEM_IDS, b"none"), (ITEM_IDS, ROWS[:-1]), (NO_CHARACTER, ROWS)],
    ids=["larger than the file", "nested", "code", "no array", "cut", "no characters"],
)  # fmt: skip
def test_hostile_archives_are_refused(tmp_path, items, features, golden):
    """NumPy ends with six kinds of errors, and asks for 22 TiB first."""
    path = tmp_path / "f.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("items.npy", items)
        archive.writestr("features.npy", features)
    with golden.raises(DataError):
        cli_features.features_of(path, ITEMS)


def test_archives_in_other_ways_are_refused(tmp_path, golden):
    path = tmp_path / "f.npz"
    for place, value in ((8, 1), (10, 99)):  # encrypted, and an unknown compression
        np.savez_compressed(path, items=["7", "8", "9"], features=np.eye(3))
        assert cli_features.features_of(path, ITEMS).keys() == {"item", "feature 1", "feature 2", "feature 3"}
        content = bytearray(path.read_bytes())
        content[content.find(b"PK\x01\x02") + place] = value
        path.write_bytes(content)
        with golden.raises(DataError):
            cli_features.features_of(path, ITEMS)


def test_a_file_is_named_once(tmp_path, golden):
    """An error about the file itself is none about the argument, of which the name may remind."""
    path = tmp_path / "features.csv"
    path.write_text("item,x,x\n7,1,2\n8,2,3\n9,3,5\n")
    labels = Labels.from_table({"item": ["7", "8", "9"], "rater": [*"aba"], "label": [*"xyx"]})
    settings = settings_of("labels", None, {"features": path}, **SAMPLER)
    with golden.raises(DataError):
        build(labels, settings, 1.0)


def test_ids_that_are_none_name_the_file(tmp_path, golden):
    FRAME.assign(case=[7.0, 8.0, 9.0, 10.5]).rename(columns={"case": "item"}).to_parquet(
        tmp_path / "f.parquet"
    )
    with golden.raises(DataError):
        cli_features.features_of(tmp_path / "f.parquet", ITEMS)


def test_files_that_are_no_archives_are_refused(tmp_path):
    (tmp_path / "f.npz").write_text("x")
    np.save(tmp_path / "f.npy", np.eye(3))
    for name, message in {
        "f.npz": "not an .npz archive",
        "f.npy": "no ids",
        "g.csv": "does not exist",
    }.items():
        with pytest.raises(DataError, match=message):
            cli_features.features_of(tmp_path / name, ITEMS)


def test_labels_with_features_are_drawn_by_dawid_skene(tmp_path, golden):
    path = tmp_path / "f.csv"
    settings = settings_of("labels", None, {"features": path}, **SAMPLER)
    assert settings.model == "dawid_skene" and settings.features == path and settings.priors == {}
    assert settings_of("labels", None, {"features": None}, **SAMPLER).model == "correlated_votes"
    assert settings_of("labels", "mace", {"features": path}, **SAMPLER).model == "mace"
    with golden.raises(ValueError):
        settings_of("labels", "glad", {"features": path}, **SAMPLER)
    assert settings_of("scores", None, {"features": path}, **SAMPLER).model == "hierarchical_scores"
    with golden.raises(ValueError):
        settings_of("scores", "normal_scores", {"features": path}, **SAMPLER)


def test_what_features_tell_of_scores_is_a_median(golden):
    """Where features may explain nearly all the variance of locations, the mean of their worth is not finite."""
    draws, spread = ("chain", "draw"), np.array([[1.0, 0.5, 1e-6, 1.0]])
    posterior = xr.Dataset({"location_spread": (draws, spread), "bias_spread": (draws, np.zeros((1, 4)))})
    posterior["feature_effect"] = ((*draws, "feature"), np.full((1, 4, 1), 1.5), {})
    posterior = posterior.assign_coords(feature=["length"])
    posterior["rater_variance"] = ((*draws, "rater"), np.full((1, 4, 2), 2.5))
    constant = xr.Dataset({"features": (("item", "feature"), np.array([[-1.0], [1.0], [0.0]]))})
    (section,) = sections_features.feature_sections(
        xr.DataTree.from_dict({"posterior": posterior, "constant_data": constant}), 1
    )
    exact = np.median(2.5 * (1 / spread**2 - 1 / (1.5 + spread**2)))
    assert section.facts["worth"]["median"] == pytest.approx(exact) and "mean" not in section.facts["worth"]
    assert f"location as {exact:.1f} (" in section.text and "in the median" in section.text
    assert sections_features.worth_in_words(section).startswith(
        f"The features of an item are worth {exact:.1f} ("
    )
    golden.says(sections_features.worth_in_words(section), "typical rater")


FACTS = {
    "features": 2,
    "gain": {"mean": 0.6, "lower": 0.5, "upper": 0.7},
    "worth": {"mean": 1.8, "lower": 1.5, "upper": 2.2},
    "censored": 0.0,
    "unreliable": 0.0,
}


def test_what_is_assumed_is_said_and_known_truth_that_contradicts(golden):
    golden.says(sections_features._of_labels(FACTS), "errors follow")
    headline = sections_features.worth_in_words(Section("", "", key="features", facts=FACTS))
    golden.says(headline, "err regardless")
    gold = {"gain": 0.55, "claimed": 0.6, "error": 0.1, "items": 40}
    known = FACTS | {"gold": gold}
    assert "0.55 ± 0.10 bits" in sections_features._of_labels(known)
    golden.says(sections_features._of_labels(known), "known truth")
    assert "Do not rely" not in sections_features._of_labels(known)
    golden.says(
        sections_features.worth_in_words(Section("", "", key="features", facts=known)), "typical rater."
    )
    wrong = FACTS | {"gold": gold | {"gain": -0.3}}
    golden.says(sections_features._of_labels(wrong), "model says")
    golden.says(sections_features.worth_in_words(Section("", "", key="features", facts=wrong)))
    one = FACTS | {"gold": gold | {"gain": -0.3, "error": np.nan}}
    assert "So they tell" not in sections_features._of_labels(one)


def test_prevalence_is_the_share_of_the_items():
    draws, x = ("chain", "draw"), np.array([-1.0, -1.0, 2.0])
    posterior = xr.Dataset(
        {
            "prevalence": ((*draws, "category"), [[[0.5, 0.5]] * 4]),
            "feature_effect": ((*draws, "feature", "category"), [[[[-1.0, 1.0]]] * 4]),
        },
        {"category": ["ham", "spam"]},
    )
    constant = xr.Dataset({"features": (("item", "feature"), x[:, None])})
    section = _prevalence_section(xr.DataTree.from_dict({"posterior": posterior, "constant_data": constant}))
    spam = (1 / (1 + np.exp(-2 * x))).mean()
    assert section.rows[1]["prevalence"] == pytest.approx(spam) and "features of these" in section.text


@pytest.mark.long
def test_report_says_what_features_are_worth(tmp_path):
    from raterzoo.cli.commands import app

    rng = np.random.default_rng(2)
    x = rng.normal(size=(150, 2))
    truth = (rng.random(150) < 1 / (1 + np.exp(-2.5 * x[:, 0]))).astype(int)
    rows = [
        {"item": f"i{i}", "rater": f"r{k}", "label": ["ham", "spam"][t if rng.random() < 0.75 else 1 - t]}
        for i, t in enumerate(truth)
        for k in rng.choice(6, 3, replace=False)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "labels.csv", index=False)
    frame = pd.DataFrame({"item": [f"i{i}" for i in range(150)], "length": x[:, 0], "noise": x[:, 1]})
    frame.to_csv(tmp_path / "features.csv", index=False)
    command = ["report", "labels.csv", "--kind", "labels", "--features", "features.csv"]
    command = [str(tmp_path / own) if own.endswith(".csv") else own for own in command]
    options = ["--out", str(tmp_path / "report"), "--draws", "300", "--chains", "2"]
    result = CliRunner().invoke(app, [*command, *options], catch_exceptions=False)
    assert result.exit_code == 0
    found = json.loads((tmp_path / "report" / "report.json").read_text())["features"]
    assert found["worth"]["lower"] > 0.5 and found["gain"]["lower"] > 0
    assert [row["feature"] for row in found["rows"]] == ["length", "noise"]
    assert found["rows"][0]["5 %"] > 0
    page = (tmp_path / "report" / "report.html").read_text()
    assert "What the features tell" in page and "The features of an item are worth" in page


@pytest.mark.long
def test_a_classifier_that_has_seen_the_features_is_judged_without_them(tmp_path, caplog):
    """A classifier by one of the features, which tells little of the truth: given the features its errors pass for the truth."""
    caplog.set_level(0)
    made = models.simulators.labels(items=150, raters=6, answers=3, categories=2, features=3, random_seed=3)
    columns = pd.DataFrame(made.features)
    label = (columns["feature 1"] > 0).astype(int)
    right = (label.to_numpy() == made.truth["true_category"]).mean()
    answers = pd.DataFrame(made.data.to_table())
    answers.assign(rater=[f"{MARK} {own}" for own in answers["rater"]]).to_csv(
        tmp_path / "answers.csv", index=False
    )
    columns.to_csv(tmp_path / "features.csv", index=False)
    guesses = pd.DataFrame({"item": columns["item"], "classifier": "c", "label": label})
    guesses.to_csv(tmp_path / "guesses.csv", index=False)
    asked = ("--kind", "labels", "--model", "dawid_skene", "--features", tmp_path / "features.csv")
    sampler = ("--draws", 200, "--chains", 2, "--seed", 1, "--out", tmp_path / "out")
    result = run(
        "report", tmp_path / "answers.csv", tmp_path / "guesses.csv", *asked, *sampler, "--anonymize"
    )
    assert result.exit_code == 0, result.output
    assert marked(tmp_path / "out", result, caplog) == []
    found = json.loads((tmp_path / "out" / "report.json").read_text())
    assert {row["feature"] for row in found["features"]["rows"]} == {"feature 1", "feature 2", "feature 3"}
    assert "<h2>What the features tell</h2>" in (tmp_path / "out" / "report.html").read_text()
    section = found["metrics"]["truth"]
    (row,) = [row for row in section["rows"] if row["metric"] == "accuracy"]
    assert row["lower"] - 0.05 < right < row["upper"] + 0.05 < 1
    assert "This second posterior does without the features" in section["text"]


def test_a_fit_of_classifiers_and_features_says_what_may_pass_for_the_truth(tmp_path, capsys):
    answers = {"item": [*"aabb"], "rater": [*"xyxy"], "label": [*"rssr"]}
    guesses = {"item": [*"ab"], "classifier": [*"cc"], "label": [*"rs"]}
    paths = [tmp_path / "answers.csv", tmp_path / "guesses.csv"]
    for path, table in zip(paths, (answers, guesses), strict=True):
        pd.DataFrame(table).to_csv(path, index=False)
    for features, told in ((tmp_path / "features.csv", True), (None, False)):
        settings = settings_of("labels", "dawid_skene", {"features": features}, **SAMPLER)
        joint, _ = fitting._read(tuple(paths), [], settings)
        assert joint.raters.tolist() == ["x", "y", "c"]
        assert ("such classifiers look nearly perfect" in " ".join(capsys.readouterr().err.split())) == told
