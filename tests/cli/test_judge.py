"""`raterzoo judge`: its numbers are those of the functions, its exit code, and what is refused."""

import json
from itertools import chain

import numpy as np
import pytest
import raterzoo
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.reports.sections import judging as sections_judging

from tests.support.command_line import read, run, said, write

ITEMS = [f"i{k:03}" for k in range(150)]
WORDS = np.array(["no", "yes"])
QUICK = ("--draws", 500, "--chains", 4)
SHORT = ("--draws", 20, "--chains", 1)  # what is printed, whatever the numbers
PEOPLE = ("--people-column", "kind=person")
ACCURACY = evaluation.top_k_accuracy(1)
QUIET = {"random_seed": 1, "progressbar": False}
pytestmark = pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")


def answers(rater, kind, label):
    return [(item, rater, WORDS[own], kind) for item, own in zip(ITEMS, label, strict=True)]


def table(*parts):
    return dict(zip(("item", "rater", "label", "kind"), zip(*chain(*parts), strict=True), strict=True))


@pytest.fixture(scope="module")
def simulated():
    """Labels of three people, a judge and a classifier, and of a judge that copies the classifier."""
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 2, 150)
    right = {"P0": 0.85, "P1": 0.85, "P2": 0.8, "gpt": 0.8, "net": 0.85}
    label = {name: np.where(rng.random(150) < p, truth, 1 - truth) for name, p in right.items()}
    return label | {"copy": np.where(rng.random(150) < 0.93, label["net"], 1 - label["net"])}


@pytest.fixture(scope="module")
def files(simulated, tmp_path_factory):
    folder = tmp_path_factory.mktemp("judge")
    people = [row for name in ("P0", "P1", "P2") for row in answers(name, "person", simulated[name])]
    few = [
        row for row in people if row[0] < ITEMS[60] and row[:2] != (ITEMS[0], "P2")
    ]  # first met after the judge
    judge = answers("gpt", "llm", simulated["gpt"])
    tables = {
        "all": table(people, judge),
        "few": table(few, judge),
        "copied": table(people, answers("gpt", "llm", simulated["copy"])),
        "people": table(people),
        "gap": table(few, judge[:5] + judge[6:]),
    }
    predicted = {"item": ITEMS, "category": WORDS[simulated["net"]].tolist(), "classifier": ["net"] * 150}
    tables |= {
        "net": predicted,
        "same": predicted | {"classifier": ["gpt"] * 150},
        "short": {name: cells[:140] for name, cells in predicted.items()},
        "nameless": {name: predicted[name] for name in ("item", "category")},
    }
    hard = np.arange(150) % 3 == 0
    sample = {"item": ITEMS[::-1], "stratum": np.where(hard, "hard", "easy").tolist()[::-1]}
    sample["probability"] = np.where(hard, 0.6, 0.3).tolist()[::-1]
    tables |= {
        "sample": sample,
        "short sample": {name: cells[:149] for name, cells in sample.items()},
        "odd sample": {"item": ITEMS, "group": ["a"] * 150},
        "certain sample": {"item": [*ITEMS, "other"], "probability": [1.0] * 151},
        "lonely sample": {"item": ITEMS, "stratum": ["first", *["rest"] * 149]},
    }
    return {name: write(folder / f"{name}.csv", own) for name, own in tables.items()}


def judge(files, answers="all", predictions="net", *options):
    return run("judge", files[answers], files[predictions], *options)


@pytest.fixture(scope="module")
def page(files, tmp_path_factory):
    """Return the result of the command where people answered 60 of 150 items, and what it wrote."""
    out = tmp_path_factory.mktemp("out") / "judged.json"
    result = judge(files, "few", "net", *PEOPLE, *QUICK, "--fail-below", ".5", "--out", out)
    return result, json.loads(out.read_text())


@pytest.fixture(scope="module")
def trees(files):
    """Return the posteriors of all, of people and judge, and of people and classifier, made by the functions."""
    cells = {name: [row[name] for row in read(files["few"])] for name in ("item", "rater", "label", "kind")}
    rows = {name: [row[name] for row in read(files["net"])] for name in ("item", "category", "classifier")}
    predictions = evaluation.predictions_from_table(
        rows | {"rank": [1] * 150}, rank="rank", classifier="classifier"
    )
    cells["kind"] = ["person" if own == "person" else "machine" for own in cells["kind"]]
    people = {name: own[:179] for name, own in cells.items()}
    labels, few = (models.Labels.from_table(own, rater_attributes=["kind"]) for own in (cells, people))
    of_few = predictions.sel(item=few.items)
    datasets = {
        "joint": labels.with_predictions(predictions, group="machine"),
        "raters": labels,
        "people": few.with_predictions(of_few, group="machine"),
    }
    options = {"draws": 500, "chains": 4, "log_likelihood": False, **QUIET}
    drawn = {}
    for name, own in datasets.items():
        prior = np.where(own.rater_attributes["kind"] == "machine", "classifiers", "raters")
        drawn[name] = inference.sample(models.correlated_votes(own, confusion_concentration=prior), **options)
    return drawn | {"predictions": predictions, "of_few": of_few, "labels": labels}


@pytest.mark.slow
def test_the_numbers_are_those_of_the_functions(page, trees, golden):
    result, found = page
    assert result.exit_code == 0, result.output
    for words in (
        "1 judge (150 items)",
        "P2 person 59 0.",
        "gpt judge 150 0.",
        "net classifier 150 0.",
        "gpt, net 0.",
    ):
        assert words in said(result)  # no column is cut off
    worth = evaluation.rater_worth(trees["joint"], "kind", "person")
    median = worth["worth"].sel(measure="information").median(("chain", "draw"))
    assert {row["rater"]: row["role"] for row in found["raters"]["rows"]} == {
        "P0": "person", "P1": "person", "P2": "person", "gpt": "judge", "net": "classifier"
    }  # fmt: skip
    right = evaluation.answers_right(trees["joint"])["right"].mean(("chain", "draw"))
    for row in found["raters"]["rows"]:
        assert np.isclose(row["worth"], float(median.sel(rater=row["rater"])))
        if row["role"] == "classifier":  # to the last digit, as one page tells both
            (same,) = (own for own in found["accuracy"]["rows"] if own["question"] == "truth")
            assert row["accuracy"] == same["mean"]
        assert np.isclose(row["accuracy"], float(right.sel(rater=row["rater"])), atol=0.003)
    checks = evaluation.model_checks(trees["joint"], "kind", random_seed=1)
    assert found["shared_errors"]["sentences"] == checks.attrs["sentences"] and checks.attrs["fits"]
    for row in found["accuracy"]["rows"]:
        tree = trees["joint" if row["question"] == "truth" else "raters"]
        own = evaluation.metric_intervals(ACCURACY, tree, trees["predictions"], **QUIET).sel(classifier="net")
        ends = own["interval"].sel(source="both").to_numpy()
        assert np.allclose([row["lower"], row["upper"]], ends) and np.isclose(
            row["mean"], own["mean"].sel(source="raters")
        )
    golden.says(found["accuracy"]["question_truth"], "accuracy against")
    golden.says(found["accuracy"]["question_raters"], "agreement with")


def test_further_items_are_those_of_the_variance_of_raters_and_of_items(page, trees):
    """Items that people have not answered narrow what the raters leave open; only new ones narrow the sample."""
    facts = page[1]["study"]["facts"]
    found = evaluation.metric_intervals(ACCURACY, trees["joint"], trees["predictions"], **QUIET)
    sd = found["sd"].sel(classifier="net")
    raters, items = (float(sd.sel(source=source)) ** 2 for source in ("raters", "items"))
    wanted = (0.03 / 1.6449) ** 2
    assert items > wanted and not facts["with_people"]  # no answers to these items are enough
    assert facts["more"] == pytest.approx(150 * ((raters + items) / wanted - 1), abs=1)
    assert facts["judges"]["gpt"]["gain"] == page[1]["judges"]["rectified"]["rows"][0]["gain"]


def judged_by_gpt(labels):
    """Labels of all items by the judge."""
    only = labels.raters[labels.annotation_rater] == "gpt"
    label = labels.categories[labels.label_code[only]]
    return evaluation.predictions_from_table(
        {"item": labels.items[labels.annotation_item[only]], "category": label, "rank": [1] * 150},
        rank="rank",
    )


def test_what_the_judge_adds_is_that_of_the_functions(page, trees):
    _, found = page
    judged = judged_by_gpt(trees["labels"])
    own = evaluation.rectified(ACCURACY, trees["people"], trees["predictions"], judged, random_seed=1)
    (row,) = found["judges"]["rectified"]["rows"]
    own = own.sel(classifier="net")
    assert np.isclose(row["mean"], own["mean"].sel(estimate="rectified"))
    assert np.isclose(row["people_lower"], own["interval"].sel(estimate="people", bound="lower"))
    assert np.isclose(row["gain"], own["gain"]) and np.isclose(row["effective_items"], 60 * row["gain"])
    without = evaluation.metric_intervals(ACCURACY, trees["people"], trees["of_few"], **QUIET)
    assert np.isclose(found["judges"]["rows"][0]["mean_without"], without["mean"].sel(source="raters").item())
    assert not found["judges"]["differs"]


@pytest.mark.slow
def test_the_lower_end_decides_and_a_sample_that_is_told_is_that_of_the_functions(
    page, files, trees, tmp_path, golden
):
    result, found = page
    (lower,) = [row["lower"] for row in found["accuracy"]["rows"] if row["question"] == "truth"]
    golden.says(result.output, "accuracy against")
    limit = lower + 0.001
    told = ("--fail-below", limit, "--sample", files["sample"], "--out", tmp_path / "judged.json")
    result = judge(files, "few", "net", *PEOPLE, *QUICK, *told)
    assert result.exit_code == 1 and "Do not rely" not in said(result)
    assert f"accuracy against the truth, {lower:.3f}, is below the limit {limit:g}" in said(result)
    golden.says(result.output, "given probabilities,")
    (row,) = json.loads((tmp_path / "judged.json").read_text())["judges"]["rectified"]["rows"]
    hard = trees["predictions"]["item"].str[1:].astype(int) % 3 == 0
    design = {"strata": hard.astype(str), "sampling": xr.where(hard, 0.6, 0.3)}
    judged = judged_by_gpt(trees["labels"])
    asked = trees["people"], trees["predictions"], judged
    own = evaluation.rectified(ACCURACY, *asked, **design, random_seed=1).sel(classifier="net")
    plain = evaluation.rectified(ACCURACY, *asked, random_seed=1).sel(classifier="net")
    means = [one["mean"].sel(estimate="rectified").item() for one in (own, plain)]
    assert np.isclose(row["mean"], means[0]) and abs(means[0] - means[1]) > 0.003
    assert np.isclose(row["judge_weight hard"], own["judge_weight"].sel(stratum="True"))


@pytest.mark.slow
def test_a_judge_that_copies_the_classifier_is_not_relied_on(files, tmp_path, golden):
    result = judge(files, "copied", "net", *PEOPLE, *QUICK, "--out", tmp_path / "page")
    assert result.exit_code == 1
    golden.says(result.output, "--model shared_guess", "accuracies against", "People answered")
    assert (tmp_path / "page" / "report.html").exists()
    (honest,) = (row for row in read(tmp_path / "page" / "judge.csv") if row["question"] == "truth")
    told = judge(
        files, "copied", "net", *PEOPLE, *QUICK, "--model", "dawid_skene", "--out", tmp_path / "told"
    )
    golden.says(told.output, "and classifier")
    (sure,) = (row for row in read(tmp_path / "told" / "judge.csv") if row["question"] == "truth")
    assert float(honest["lower"]) < float(sure["lower"]) and float(honest["mean"]) < float(sure["mean"])


@pytest.mark.slow
def test_the_remedy_for_a_judge_that_copies_passes_the_check(files):
    remedy = judge(files, "copied", "net", *PEOPLE, *QUICK, "--model", "shared_guess")
    assert "model shared_guess" in said(remedy) and "a check of the model fails" not in said(remedy)


@pytest.mark.slow
def test_the_sensitivity_to_shared_errors_is_that_of_both_models(files, tmp_path):
    asked = ("--sensitivity", "--out", tmp_path / "judged.json")
    result = judge(files, "copied", "net", *PEOPLE, *QUICK, *asked)
    found = json.loads((tmp_path / "judged.json").read_text())["sensitivity"]
    mean = {row["errors"]: row["mean"] for row in found["rows"]}
    assert mean["independent"] > mean["chosen"] > mean["shared"]
    assert found["fits"] == {"independent": False, "shared": True}
    assert "A check of the model fails for the row independent (dawid_skene)." in said(result)
    for model, key in (("dawid_skene", "independent"), ("shared_guess", "shared")):
        judge(files, "copied", "net", *PEOPLE, *QUICK, "--model", model, "--out", tmp_path / f"{model}.json")
        rows = json.loads((tmp_path / f"{model}.json").read_text())["accuracy"]["rows"]
        assert [row["mean"] for row in rows if row["question"] == "truth"] == [pytest.approx(mean[key])]


def test_few_draws_are_not_relied_on_and_without_a_column_all_are_people(files, tmp_path, golden):
    result = judge(files, "people", "nameless", *SHORT, "--out", tmp_path / "found.csv")
    assert result.exit_code == 1
    golden.says(result.output, "not converged", "raters count")
    assert [row["classifier"] for row in read(tmp_path / "found.csv")] == ["predictions"] * 2
    assert len(read(tmp_path / "found_raters.csv")) == 4


@pytest.mark.slow
def test_a_judge_who_lacks_items_rectifies_nothing(files, golden):
    result = judge(files, "gap", "net", *PEOPLE, *SHORT)
    golden.says(result.output, "who answered")


REFUSED = {
    "judge and classifier": ("all", "same", *PEOPLE),
    "an item without a prediction": ("all", "short", *PEOPLE),
    "no such value": ("all", "net", "--people-column", "kind=human"),
    "no such column": ("all", "net", "--people-column", "typ=person"),
    "no value": ("all", "net", "--people-column", "kind"),
    "percent": ("all", "net", "--fail-below", "85"),
    "raters alike": ("all", "net", "--model", "multinomial"),
    "no matrices": ("all", "net", "--model", "ordinal", "--categories", "no,yes"),
    "odd file": ("all", "net", "--out", "judged.txt"),
    "no such group": ("all", "net", *PEOPLE, "--model", "shared_guess", "--independent", "human"),
    "nobody who shares": ("people", "net", "--model", "shared_guess"),
    "groups without their model": ("all", "net", *PEOPLE, "--groups-of-raters", "kind"),
    "wide": ("all", "net", *PEOPLE, "--layout", "wide"),
    "a sample without an item": ("few", "net", *PEOPLE, "--sample", "short sample"),
    "a sample without a design": ("few", "net", *PEOPLE, "--sample", "odd sample"),
    "a sample that nobody drew": ("few", "net", *PEOPLE, "--sample", "certain sample"),
    "a stratum with one item": ("few", "net", *PEOPLE, "--sample", "lonely sample"),
    "a sample without judges": ("people", "net", "--sample", "sample"),
    "a sample where people answered all": ("all", "net", *PEOPLE, "--sample", "sample"),
    "nobody who could share": ("people", "net", "--sensitivity"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_exit_code_2_and_names_the_remedy(files, name, golden):
    asked = REFUSED[name]
    named = (files[own] if own.endswith("sample") and own != "--sample" else own for own in asked[2:])
    result = judge(files, *asked[:2], *named)
    assert result.exit_code == 2, said(result)
    golden.says(said(result))


def analysed(files, **options):
    """Return the analysis by the function."""
    options = {"people_column": "kind=person", "draws": 20, "chains": 1, "progressbar": False} | options
    return raterzoo.analyse(files["all"], kind="judge", predictions=files["net"], **options)


@pytest.mark.slow
def test_judges_and_classifiers_are_one_group_unless_their_column_is_named(files, golden):
    found = analysed(files, model="shared_guess")
    assert found.settings.priors == {"groups": "kind", "independent": ["person"]}
    assert found.data.rater_attributes["kind"].tolist() == ["person"] * 3 + ["machine"] * 2
    with golden.raises(ValueError):
        analysed(files, model="shared_guess", groups="kind")  # llm and machine


@pytest.mark.slow
def test_the_analysis_is_that_of_the_command(files, page, tmp_path, golden):
    quick = {"draws": 500, "chains": 4}
    options = {"people_column": "kind=person", "progressbar": False} | quick
    found = raterzoo.analyse(read_columns(files["few"]), kind="judge", predictions=files["net"], **options)
    rows = {key: page[1][key]["rows"] for key in ("raters", "accuracy")}
    if found.tree["posterior"].sizes["draw"] == 500:  # or it was drawn on
        assert found.raters.to_dict("records") == [pytest.approx(row) for row in rows["raters"]]
        assert found.classifiers.to_dict("records") == [pytest.approx(row) for row in rows["accuracy"]]
    assert [own.question for own in found.answers] == [
        own.partition("?")[0] + "?"
        for own in page[0].output.split("\n")
        if own.startswith(("How", "Is", "Can"))
    ][: len(found.answers)]
    golden.says(str([own.question for own in found.answers]))
    path = found.write(tmp_path / "judged")
    written = json.loads(path.with_name("report.json").read_text())
    assert written["facts"]["items"] == 150 and path.with_name("judge_raters.csv").exists()
    assert found.summary in found.report(tmp_path / "page.html").read_text()


def read_columns(path):
    """Return a table as columns."""
    rows = read(path)
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.mark.parametrize(
    "options",
    [{"people_column": "kind=human"}, {"predictions": None}, {"sensitivity": True, "kind": "labels"},
     {"metrics": ("brier_score",)}, {"model": "normal_scores"}],
    ids=str,
)  # fmt: skip
def test_arguments_are_refused(files, options, golden):
    options = {"kind": "judge", "predictions": files["net"], "people_column": "kind=person"} | options
    with golden.raises(ValueError):
        raterzoo.analyse(files["all"], **options)


def test_a_difference_is_told_if_it_is_larger_than_the_errors():
    one, other = {"mean": 0.9, "sd": 0.03}, {"mean": 0.8, "sd": 0.04}
    told = sections_judging._difference_in_words("net", one, other, "without the judges", sampled=True)
    assert "may share errors" in told and "no random sample" in told  # .1 / .05 is more than 1.64
    assert (
        sections_judging._difference_in_words("net", one, {"mean": 0.82, "sd": 0.04}, "x", sampled=True) == ""
    )  # .08 / .05
    told = sections_judging._difference_in_words("net", other, one, "without the judges", sampled=False)
    assert "too low" in told and "random sample" not in told


def test_answers_by_role_are_of_the_items_with_people(trees):
    labels = trees["labels"].with_predictions(trees["predictions"], group="machine")
    names = labels.raters.tolist()
    role = np.array(["judge" if n == "gpt" else "classifier" if n == "net" else "person" for n in names])
    panel = sections_judging.Panel(labels, role, trees["predictions"], "kind", "person", "kind")
    alone, both = panel.of_roles("person", "classifier"), panel.of_roles("person", "judge")
    assert (len(alone.items), len(alone)) == (60, 239) and "gpt" not in alone.raters
    assert (len(both.items), len(both)) == (150, 329) and "net" not in both.raters
    assert panel.judged("gpt").sum("category").values.tolist() == [1.0] * 150


@pytest.mark.slow
def test_judge_of_another_version_is_compared(simulated, files, tmp_path):
    """The new version says yes to a third of what the old one said no to; 50 items are in both runs."""
    rng = np.random.default_rng(3)
    new = np.where((simulated["gpt"] == 0) & (rng.random(150) < 0.5), 1, simulated["gpt"])
    people = [row for name in ("P0", "P1", "P2") for row in answers(name, "person", simulated[name])]
    before, after = ITEMS[:100], ITEMS[50:]
    old = [row for row in [*people, *answers("gpt", "llm", simulated["gpt"])] if row[0] in before]
    then = [row for row in [*people, *answers("gpt", "llm", new)] if row[0] in after]
    predicted = {
        name: cells[50:]
        for name, cells in zip(("item", "category"), (ITEMS, WORDS[simulated["net"]]), strict=True)
    }
    paths = {
        "old": write(tmp_path / "old.csv", table(old)),
        "apart": write(tmp_path / "apart.csv", table([row for row in old if row[0] < ITEMS[50]])),
        "new": write(tmp_path / "new.csv", table(then)),
        "net": write(tmp_path / "net.csv", predicted),
    }
    out = tmp_path / "judged.json"
    command = ("judge", paths["new"], paths["net"], *PEOPLE, *QUICK, "--out", out, "--compare-to")
    result = run(*command, paths["old"])
    found = json.loads(out.read_text())
    rows = {row["category"]: row for row in found["change"]["rows"]}
    assert result.exit_code == 1 and rows["yes"]["changed"] and rows["yes"]["in_common"] == 50
    truth = np.mean(new[50:100]) - np.mean(simulated["gpt"][50:100])
    assert rows["yes"]["by_judge_lower"] < truth < rows["yes"]["by_judge_upper"]
    assert rows["yes"]["drift"] == pytest.approx(rows["yes"]["by_judge"] + rows["yes"]["by_items"])
    refused = run(*command, paths["apart"])
    assert refused.exit_code == 2 and "no item in common" in refused.output


def test_a_category_that_only_a_classifier_has_is_said_and_can_be_refused(tmp_path, simulated, golden):
    people = table(*(answers(name, "person", simulated[name]) for name in ("P0", "P1", "P2")))
    words = np.where(np.arange(150) == 3, "refused", WORDS[simulated["net"]])
    paths = [write(tmp_path / "a.csv", people), write(tmp_path / "p.csv", {"item": ITEMS, "category": words})]
    found = run("judge", *paths, *SHORT)
    golden.says(found.output, "no rater gave")
    refused = run("judge", *paths, *SHORT, "--categories", "no,yes")
    assert refused.exit_code == 2 and "'refused'" in said(refused)


@pytest.mark.parametrize("point", [0, 1])
def test_predicted_whole_numbers_with_a_point_are_the_categories(tmp_path, simulated, point):
    names = [["0", "1"], ["0.0", "1.0"]]
    rows = [
        (item, name, names[point][own])
        for name in ("P0", "P1")
        for item, own in zip(ITEMS[:40], simulated[name], strict=False)
    ]
    people = dict(zip(("item", "rater", "label"), zip(*rows, strict=True), strict=True))
    predicted = {"item": ITEMS[:40], "category": [names[1 - point][own] for own in simulated["net"][:40]]}
    paths = [write(tmp_path / "a.csv", people), write(tmp_path / "p.csv", predicted)]
    found = run("judge", *paths, *SHORT)
    assert found.exit_code == 1 and "no rater gave" not in found.output  # too few draws, and nothing else
