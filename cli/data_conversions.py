"""Conversions of data sets: files of their authors, or of installed packages, into the tables that notebooks and tests read.

Each function takes the files of a data set, in the order of ``datasets.json``, and writes its tables to a folder.
"""

import csv
import json
import math
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ..models import PartialRankings

RISKS = ("low", "medium", "high")


def _write(path: Path, header: Sequence[str], rows: Any) -> None:
    """Write one CSV table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV table, by column."""
    return csv.DictReader(path.read_text("utf-8").splitlines())


def convert_dermatology(raw: Sequence[Path], out: Path) -> None:
    """Write annotations, conditions and predictions of classifiers A, B, ... as tables.

    `raw` is JSON of [item][rater][block][condition code]; two files with a line per condition, its name and its risk (0 low, 1
    medium, 2 high); and for each classifier a file with a line of numbers for each case. The tables are ``dermatology.csv``
    (item, rater, category, rank), ``dermatology_conditions.csv`` (category, group: the risk, value), which ``raterzoo
    report --groups`` reads, ``dermatology_ddx_long.csv`` (case, reader, block, condition), in codes from 0, which
    notebooks and tests read, and ``dermatology_predictions.csv`` (item, classifier, a column for each condition), which
    `raterzoo evaluate` and `report` read.
    """
    selectors, conditions, risks, *predictions = raw
    names = conditions.read_text("utf-8").splitlines()
    nested = json.loads(selectors.read_text("utf-8"))
    named = [[[[names[c] for c in block] for block in rater] for rater in item] for item in nested]
    table = PartialRankings.from_blocks(named, categories=names).to_table()
    columns = zip(*(column.tolist() for column in table.values()), strict=True)
    _write(out / "dermatology.csv", list(table), columns)
    values = [int(code) for code in risks.read_text("utf-8").split()]
    groups = [RISKS[value] for value in values]
    grouped = zip(names, groups, values, strict=True)
    _write(out / "dermatology_conditions.csv", ["category", "group", "value"], grouped)
    codes = (
        (case, reader, block, condition)
        for case, readers in enumerate(nested)
        for reader, blocks in enumerate(readers)
        for block, tied in enumerate(blocks)
        for condition in tied
    )
    _write(out / "dermatology_ddx_long.csv", ["case", "reader", "block", "condition"], codes)
    if predictions:
        rows = (
            [item, chr(ord("A") + k), *line.split()]
            for k, path in enumerate(predictions)
            for item, line in enumerate(path.read_text("utf-8").splitlines())
        )
        _write(out / "dermatology_predictions.csv", ["item", "classifier", *names], rows)


def convert_llmfao(raw: Sequence[Path], out: Path) -> None:
    """Copy the votes of people and of two language models, and the scores of another library for them, as they are."""
    names = ("crowd_comparisons", "gpt3_comparisons", "gpt4_comparisons", "golden_scores_evalica")
    for source, name in zip(raw, names, strict=True):
        shutil.copyfile(source, out / f"llmfao_{name}.csv")


def convert_bluebird(raw: Sequence[Path], out: Path) -> None:
    """Write ``bluebird_truth.csv`` (item, truth) and ``bluebird_answers.csv`` (item, rater, label), 1 for an indigo bunting.

    The files are YAML: a mapping of images to truth values, and one such mapping for each rater.
    """
    truth, answers = (path.read_text("utf-8") for path in raw)

    def coded(mapping: str) -> list[tuple[int, int]]:
        return [
            (int(item), int(said == "true")) for item, said in re.findall(r"(\d+): (true|false)", mapping)
        ]

    _write(out / "bluebird_truth.csv", ["item", "truth"], coded(truth))
    by_rater = re.findall(r"(\d+): \{(.*?)\}", answers, re.DOTALL)
    rows = ((item, rater, label) for rater, mapping in by_rater for item, label in coded(mapping))
    _write(out / "bluebird_answers.csv", ["item", "rater", "label"], rows)


def convert_pandalm(raw: Sequence[Path], out: Path) -> None:
    """Write ``pandalm_testset_labels.csv``: which of two answers three people and two language models prefer, or 0 for a tie."""
    people, *machines = (json.loads(path.read_text("utf-8")) for path in raw)
    asked = ["idx", "cmp_key", "motivation_app", "annotator1", "annotator2", "annotator3"]
    said = [
        {one["idx"]: one[key] for one in own}
        for own, key in zip(machines, ("gpt_result", "pandalm_result"), strict=True)
    ]
    rows = ([*(one[key] for key in asked), *(own[one["idx"]] for own in said)] for one in people)
    _write(out / "pandalm_testset_labels.csv", [*asked, "gpt35", "pandalm7b"], rows)


CREDIBILITY = ("c_m2", "c_m1", "c_0", "c_p1", "c_p2")  # credCount-2_ret to credCount2_ret


def convert_survey_equivalence(raw: Sequence[Path], out: Path) -> None:
    """Write the data of the paper's sections 3 and 9 as tables.

    ``running_example.csv`` (item, e_1 to e_10, hard, soft_pos, ideal_pos); ``credweb.csv`` (item, counts of five levels,
    predictor_class, calibrated_p: its mean share of "certainly accurate"); ``toxicity_full.csv`` (rev_id, n_labelled_attack,
    n_labels, predictor_prob); ``toxicity2000.csv``, its first 2,000 with both classifiers as in the authors' stored run.
    """
    credbank, predictions, labels, attacks, stored = raw
    code = {"neg": 0, "pos": 1}
    both = zip(_rows(labels), _rows(predictions), strict=True)
    raters, classifiers = [f"e_{k}" for k in range(1, 11)], ("calibrated hard", "h_infinity: ideal")
    rows = (
        [own[""], *(code[own[rater]] for rater in raters), code[_said(given["mock hard classifier"])]]
        + [_said(given[f"{name} classifier"]) for name in classifiers]
        for own, given in both
    )
    _write(out / "running_example.csv", ["item", *raters, "hard", "soft_pos", "ideal_pos"], rows)

    events = list(_rows(credbank))
    shares: dict[str, list[float]] = {}
    for event in events:
        shares.setdefault(event["cscw_predictor"], []).append(float(event["P_ca_ret"]))
    mean = {kind: math.fsum(own) / len(own) for kind, own in shares.items()}
    rows = (
        [k, *(event[f"credCount{level}_ret"] for level in range(-2, 3)), event["cscw_predictor"], mean[event["cscw_predictor"]]]
        for k, event in enumerate(events)
    )  # fmt: skip
    _write(out / "credweb.csv", ["item", *CREDIBILITY, "predictor_class", "calibrated_p"], rows)

    comments = list(_rows(attacks))
    kept = ["rev_id", "n_labelled_attack", "n_labels", "predictor_prob"]
    _write(out / "toxicity_full.csv", kept, ([one[name] for name in kept] for one in comments))
    rows = (
        [*(one[name] for name in kept[:3]), *map(_said, list(given.values())[1:])]
        for one, given in zip(comments, _rows(stored), strict=False)
    )
    header = ["rev_id", "n_attack", "n_labels", "predictor_prob", "calibrated_prob"]
    _write(out / "toxicity2000.csv", header, rows)


def _said(prediction: str) -> str:
    """Return the label, or the probability of the first label, of a prediction such as "Prediction: [0.9, 0.1]"."""
    return prediction.removeprefix("Prediction: ").strip("[]").split(",")[0]


def convert_anesthesia(_: Sequence[Path], out: Path) -> None:
    """Write the patients of Dawid and Skene (1979) that come with the package as ``anesthesia.csv`` (item, rater, rating)."""
    patients = csv.DictReader(
        files("raterzoo").joinpath("examples/patients.csv").read_text("utf-8").splitlines()
    )
    rows = ([one[key] for key in ("item", "rater", "label")] for one in patients for _ in range(int(one["count"])))  # fmt: skip
    _write(out / "anesthesia.csv", ["item", "rater", "rating"], rows)


# shares of right answers of the simulated raters of digits; the other answers are mostly of the digit that looks alike
DIGIT_RATERS = {"Ann": 0.9, "Bob": 0.8, "Cem": 0.7, "Dee": 0.6, "Eve": 0.5, "Fay": 0.4}
LOOKS_LIKE = (6, 7, 7, 8, 9, 3, 0, 1, 3, 4)
MISREAD = 0.7  # share of the wrong answers that are of the digit that looks alike; the others are any of the other eight


def convert_digits(_: Sequence[Path], out: Path) -> None:
    """Write features, gold and simulated answers of handwritten digits as tables.

    The tables are ``digits_features.csv`` (item, and 64 grey values, 0 to 16), ``digits_gold.csv`` (item, category) and
    ``digits_answers.csv`` (item, rater, label). Images and digits are public; answers are simulated, always the same: two raters
    for every second item, one for the others.
    """
    from sklearn.datasets import load_digits

    digits: Any = load_digits()
    values, truth = digits.data.astype(int), digits.target
    items = [f"digit {k:04d}" for k in range(len(truth))]
    rng, raters = np.random.default_rng(1), list(DIGIT_RATERS)
    answers = []
    for k, (item, digit) in enumerate(zip(items, truth.tolist(), strict=True)):
        for rater in rng.choice(len(raters), 1 + k % 2, replace=False).tolist():
            answers.append((item, raters[rater], _answer(rng, digit, DIGIT_RATERS[raters[rater]])))
    names = [f"pixel {row} {column}" for row in range(8) for column in range(8)]
    pixels = ([item, *own] for item, own in zip(items, values.tolist(), strict=True))
    _write(out / "digits_features.csv", ["item", *names], pixels)
    _write(out / "digits_gold.csv", ["item", "category"], zip(items, truth.tolist(), strict=True))
    _write(out / "digits_answers.csv", ["item", "rater", "label"], answers)


def _answer(rng: np.random.Generator, digit: int, right: float) -> int:
    """Draw the answer of a rater to the image of a digit."""
    if rng.random() < right:
        return digit
    if rng.random() < MISREAD:
        return LOOKS_LIKE[digit]
    return int(rng.choice([other for other in range(10) if other not in (digit, LOOKS_LIKE[digit])]))


CONVERSIONS: dict[str, Callable[[Sequence[Path], Path], None]] = {
    "anesthesia": convert_anesthesia,
    "bluebird": convert_bluebird,
    "dermatology": convert_dermatology,
    "digits": convert_digits,
    "llmfao": convert_llmfao,
    "pandalm": convert_pandalm,
    "survey_equivalence": convert_survey_equivalence,
}
