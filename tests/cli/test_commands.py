"""The command line as a user meets it: what it prints, what it writes, how it fails."""

import csv
import os
import re
import subprocess
import sys
from importlib.util import LazyLoader, module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from raterzoo import __version__, models
from raterzoo.cli import demo
from raterzoo.cli.data_conversions import DIGIT_RATERS

from tests.support.command_line import run, write
from tests.support.pages import foreign_scripts

ROOT = Path(__file__).parents[2]


@pytest.fixture
def annotations(tmp_path):
    cases = models.published_ddx_cases().select(items=["fig3", "fig17a", "fig17b"])
    return write(tmp_path / "annotations.csv", cases.to_table())


@pytest.fixture
def predictions(tmp_path):
    return write(tmp_path / "predictions.csv", models.published_ddx_predictions())


def test_the_version_is_that_of_the_package():
    result = run("--version")
    assert (result.exit_code, result.output) == (0, f"raterzoo {__version__}\n")


def test_a_package_that_is_named_and_not_used_is_left_unloaded(tmp_path, monkeypatch):
    from raterzoo.cli.reporting import leave_unloaded

    (tmp_path / "named.py").write_text("Array = 1")
    spec = spec_from_file_location("named", tmp_path / "named.py")
    spec.loader = LazyLoader(spec.loader)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "named", module)
    leave_unloaded("named")
    assert "named" not in sys.modules
    assert module.Array == 1  # loads it
    monkeypatch.setitem(sys.modules, "named", module)
    leave_unloaded("named")
    assert sys.modules["named"] is module
    leave_unloaded("unknown")


def test_check_says_what_is_in_the_table(annotations):
    result = run("check", annotations)
    assert result.exit_code == 0 and "3" in result.output and "items" in result.output


def test_fit_then_evaluate(annotations, predictions, tmp_path):
    for suffix in ("nc", "zarr"):
        posterior = tmp_path / f"posterior.{suffix}"
        names = tmp_path / "categories.txt"
        names.write_text("\n".join(models.published_ddx_cases().categories))
        result = run("fit", annotations, "-o", posterior, "--seed", 2, "--categories", names)
        assert result.exit_code == 0, result.output
        assert "converged" in result.output
        result = run(
            "evaluate", posterior, predictions, "--metric", "top-3-accuracy", "--metric", "overlap@2"
        )
        assert result.exit_code == 0, result.output
        assert "90 % interval" in result.output and "overlap@2" in result.output


def test_report_is_one_page_with_its_tables(annotations, predictions, tmp_path):
    out = tmp_path / "report"
    result = run("report", annotations, predictions, "--reliability", "1,3", "--out", out)
    assert result.exit_code == 0, result.output
    page = (out / "report.html").read_text()
    for heading in (
        "Data",
        "Model",
        "Convergence",
        "Does the model fit?",
        "Certainty",
        "Plausibilities",
        "Metrics",
        "Comparison",
        "Sensitivity",
        "Next annotations",
        "How to cite",
    ):
        assert f"<h2>{heading}</h2>" in page
    headings = re.findall("<h2>(.*?)</h2>", page)
    assert headings == list(dict.fromkeys(headings))
    assert "Only predicted: " in page and "worst quantity" in page
    assert (
        page.count("<svg") == 8
        and page.count("http-equiv") == 1
        and not foreign_scripts(page)
        and 'src="' not in page
    )
    assert {p.name for p in out.iterdir()} == {
        "report.html", "report.json", "items.jsonl", "posterior.nc",
        "certainty.csv", "certainty_and_agreement.csv", "convergence.csv",
        "model_checks.csv",
        "metrics.csv", "comparison.csv", "best.csv", "optimism.csv", "reliability.csv", "prior.csv", "ask_next.csv",
    }  # fmt: skip


@pytest.mark.slow
def test_labels_are_untrusted_text(tmp_path):
    evil = "<script>alert(1)</script>"
    table = {"item": ["<b>1", "<b>1"], "rater": ["a", "b"], "category": [evil, "x & y"], "rank": [1, 1]}
    result = run("report", write(tmp_path / "evil.csv", table), "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "out" / "report.html").read_text()
    assert not foreign_scripts(page) and evil not in page and "&lt;script&gt;" in page and "<b>1" not in page


@pytest.mark.slow
def test_labels_in_other_layouts(tmp_path, golden):
    wide = write(
        tmp_path / "wide.csv", {"r": list("xxy"), "s": list("xyy"), "t": ["x", "y", ""], "n": [20, 7, 9]}
    )
    options = ("--kind", "labels", "--layout", "wide", "--column", "count=n")
    answer = run("check", wide, *options).output
    assert "items                    36" in answer and "answers                  99" in answer
    out = tmp_path / "report"
    assert run("report", wide, *options, "--out", out).exit_code == 0
    assert "<h2>Raters</h2>" in (out / "report.html").read_text()
    counted = write(tmp_path / "counts.csv", {"item": ["a", "b"], "no": [9, 1], "yes": [1, 9]})
    options = ("--kind", "labels", "--layout", "counts")
    assert "anonymous" in run("check", counted, *options).output
    result = run("report", counted, *options, "--model", "dirichlet", "--out", tmp_path / "counted")
    assert result.exit_code == 0, result.output
    refused = run("fit", counted, *options, "-o", tmp_path / "p.nc")
    assert refused.exit_code == 2 and "anonymous raters" in refused.output
    gold = write(tmp_path / "gold.csv", {"r": ["x"], "s": ["y"], "gold": ["x"]})
    golden.says(run("check", gold, "--kind", "labels", "--layout", "wide").output, "place for gold")
    assert "layout of labels" in run("check", wide, "--layout", "wide").output


@pytest.mark.filterwarnings("always")
def test_warnings_are_lines_without_code(tmp_path, golden):
    table = {"item": ["1", "2", "3"], "rater": ["a", "b", "a"], "label": ["x", "y", "NaN"]}
    path = write(tmp_path / "t.csv", table)
    result = run("fit", path, "--kind", "labels", "-o", tmp_path / "p.nc", "--draws", 50)
    assert result.exit_code == 0
    golden.says(result.output, "raterzoo: no")
    assert "Warning:" not in result.output and ".py" not in result.output
    golden.says(run("check", path, "--kind", "labels").output, "categories that")


def test_columns_are_renamed(tmp_path):
    table = {"case": ["1", "1"], "rater": ["a", "b"], "category": ["x", "y"], "rank": [1, 1]}
    path = write(tmp_path / "t.csv", table)
    assert run("check", path, "--column", "item=case").exit_code == 0
    assert run("check", path, "--column", "case").exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "nowhere.csv"],
        ["check", "{annotations}", "--kind", "scores"],
        ["check", "{predictions}"],
        ["fit", "{annotations}", "--kind", "rankings", "-o", "x.csv"],
        ["fit", "{annotations}", "-o", "x.nc", "--model", "nonsense"],
        ["fit", "{annotations}", "-o", "x.nc", "--reliability", "many"],
        ["fit", "{annotations}", "-o", "x.nc", "--reliability", "-1"],
        ["fit", "{annotations}", "-o", "x.nc", "--reliability", "nan"],
        ["fit", "{annotations}", "-o", "x.nc", "--kind", "scores", "--model", "prirn"],
        ["fit", "{annotations}", "--kind", "rankings", "-o", "x.nc", "--categories", "no.txt"],
        ["fit", "{annotations}", "--kind", "rankings", "-o", "x.nc", "--unranked", "some"],
        ["fit", "{annotations}", "-o", "x.nc", "--model", "prirn", "--unranked", "single"],
        ["evaluate", "{annotations}", "{predictions}"],
        ["evaluate", "x.nc", "{predictions}", "--metric", "f2"],
        ["data", "fetch", "nonsense"],
    ],
)
def test_bad_input_is_one_message_and_exit_code_two(arguments, annotations, predictions, golden):
    result = run(*(a.format(annotations=annotations, predictions=predictions) for a in arguments))
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    golden.says(result.output)
    assert len(result.output.strip().splitlines()) == 1


def test_models_lists_the_catalog_in_lines_of_eighty_characters_and_describes_one(golden):
    result = run("models")
    lines = result.output.splitlines()
    assert result.exit_code == 0 and max(map(len, lines)) <= 80
    assert {line.split()[0] for line in lines if line.startswith("  ")} == {*models.catalog}
    one = run("models", "glad")
    assert one.exit_code == 0 and models.catalog["glad"].reference in one.output
    wrong = run("models", "gladd")
    assert wrong.exit_code == 2
    golden.says(wrong.output)


@pytest.mark.slow
def test_twelve_printed_accuracies_are_reproduced():
    rows = demo.compare_with_paper(seed=1)
    assert len(rows) == 12
    for row in rows:
        assert abs(row["difference"]) < 0.055, row


def test_the_largest_z_of_the_demo_is_explained(golden):
    rows = [{"z": 1.0, "difference": 0.01}, {"z": -3.2, "difference": -0.004}]
    assert "in standard errors" in demo.z_in_words(rows)
    golden.says(demo.z_in_words(rows), "difference of")


def test_help_loads_nothing_heavy():
    code = "import sys; import raterzoo.cli.commands; print(*{'numpy', 'pymc', 'xarray', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_dermatology_is_converted_from_the_authors_files(tmp_path):
    folder = os.environ.get("RATERZOO_DATA")
    if not folder:
        pytest.skip("RATERZOO_DATA is not set")
    from raterzoo.cli.data_conversions import convert_dermatology
    from raterzoo.cli.tables import read_groups

    raw = [
        Path(folder) / "raw" / f"dermatology_{name}"
        for name in ("selectors.json", "conditions.txt", "risks.txt")
    ]
    convert_dermatology(raw, tmp_path)
    annotations, conditions = (tmp_path / f"dermatology{name}.csv" for name in ("", "_conditions"))
    with annotations.open() as file:
        rows = list(csv.DictReader(file))
    assert len({row["item"] for row in rows}) == 1947
    assert len({(row["item"], row["rater"]) for row in rows}) == 9602
    with conditions.open() as file, (Path(folder) / "dermatology_conditions.csv").open() as given:
        assert [(r["category"], r["value"]) for r in csv.DictReader(file)] == [
            (r["name"], r["risk"]) for r in csv.DictReader(given)
        ]
    groups = read_groups(conditions)
    assert list(dict.fromkeys(groups.group.values())) == ["low", "medium", "high"]


def test_digits_have_features_gold_and_simulated_answers(tmp_path):
    from sklearn.datasets import load_digits

    result = run("data", "fetch", "digits", "--out", tmp_path)
    assert result.exit_code == 0 and result.output.count("wrote ") == 3, result.output
    tables = {}
    for name in ("features", "gold", "answers"):
        with (tmp_path / f"digits_{name}.csv").open() as file:
            tables[name] = list(csv.reader(file))[1:]
    digits = load_digits()
    values = np.array([row[1:] for row in tables["features"]], float)
    np.testing.assert_array_equal(values, digits.data)
    truth = dict(tables["gold"])
    assert [*map(int, truth.values())] == digits.target.tolist() and [*truth] == [
        row[0] for row in tables["features"]
    ]
    given = [(rater, label == truth[item]) for item, rater, label in tables["answers"]]
    assert len(given) == 1797 + 898
    for rater, right in DIGIT_RATERS.items():
        own = [hit for who, hit in given if who == rater]
        assert abs(sum(own) - right * len(own)) < 4 * (len(own) * right * (1 - right)) ** 0.5


def test_example_tables_are_copied_and_overwrite_nothing(golden, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, again = (run("data", "copy", "examples") for _ in range(2))
    assert first.exit_code == again.exit_code == 0 and first.output == again.output
    golden.says(first.output)
    copied = {path.name: path.read_bytes() for path in Path("examples").iterdir()}
    assert copied == {
        path.name: path.read_bytes()
        for path in (ROOT / "examples").iterdir()
        if path.suffix in (".csv", ".md")
    }
    assert run("data", "copy", "examples", "more/tables").exit_code == 0
    Path("more/tables/votes.csv").write_text("mine")
    Path("more/tables/scores.csv").unlink()
    refused = run("data", "copy", "examples", "more/tables")
    assert refused.exit_code == 2
    golden.says(refused.output)
    assert Path("more/tables/votes.csv").read_text() == "mine" and not Path("more/tables/scores.csv").exists()


@pytest.mark.parametrize(
    "words", [("copy", "patients"), ("copy", "examples", "taken"), ("fetch", "examples")]
)
def test_what_is_no_example_is_named(words, golden, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("")
    result = run("data", *words)
    assert result.exit_code == 2 and [path.name for path in tmp_path.iterdir()] == ["taken"]
    golden.says(result.output)


def test_objects_are_not_visited_once_more_at_exit():
    code = """
import atexit, gc, sys
atexit.register(lambda: print("frozen", gc.get_freeze_count() > 1000))
sys.argv = ["raterzoo", "models"]
from raterzoo.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("frozen True\n")
