"""Data sets as tables: the examples of the package; public ones, from their authors and checked by hash, or from scikit-learn."""

import csv
import hashlib
import json
import os
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import numpy as np

from ..models import PartialRankings
from .terminal import print_table, print_text

# what comes with the package: folder of the repository, and the file to begin with
BROUGHT = {"examples": ("examples", "README.md"), "skill": ("docs/skill", "SKILL.md")}
RISKS = ("low", "medium", "high")
RAW_FILE = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"


def _datasets() -> dict[str, dict[str, Any]]:
    """Return the available data sets, by name."""
    return json.loads(files(__package__ or "raterzoo.cli").joinpath("datasets.json").read_text("utf-8"))


def copy_folder(name: str, folder: Path) -> None:
    """Copy a folder of the package; raise ValueError, and copy nothing, where a file of `folder` would change."""
    if name not in BROUGHT:
        raise ValueError(f"{name!r} does not come with raterzoo; what does: {', '.join(BROUGHT)}")
    source, first = BROUGHT[name]
    own = files("raterzoo").joinpath(source)
    brought = [file for file in own.iterdir() if file.name.endswith((".csv", ".json", ".md"))]
    for file in brought:
        at = folder / file.name
        if at.exists() and not (at.is_file() and at.read_bytes() == file.read_bytes()):
            raise ValueError(
                f"{at} is there already, with other content; nothing was copied: name another folder"
            )
    folder.mkdir(parents=True, exist_ok=True)
    for file in brought:
        (folder / file.name).write_bytes(file.read_bytes())
    print_text(f"{len(brought)} files in {folder}; begin with {folder / first}")


def list_datasets() -> None:
    """Print the available data sets."""
    print_table(
        [
            {"name": name, "what": entry["about"], "licence": entry["licence"], "source": entry["repository"]}
            for name, entry in _datasets().items()
        ]
    )


def fetch_dataset(name: str, out: Path) -> None:
    """Download a data set and check its hashes, unless scikit-learn brings it, and write it as tables to the folder `out`.

    Raises ValueError if there is no such data set, a file cannot be downloaded, or its hash is not the pinned
    one.
    """
    datasets = _datasets()
    if name not in datasets:
        raise ValueError(f"there is no data set {name!r}; the data sets are {', '.join(datasets)}")
    if name in BROUGHT:
        raise ValueError(f"these are no download: `raterzoo data copy {name}` copies them")
    entry = datasets[name]
    if name == "digits":
        for table in write_digits(out):
            print_text(f"wrote {table}")
        return
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "raterzoo" / name
    raw = [_fetched(entry, path, pinned, folder) for path, pinned in entry["files"].items()]
    out.mkdir(parents=True, exist_ok=True)
    if "tables" in entry:  # tables as they are
        written = [out / table for table in entry["tables"]]
        for source, table in zip(raw, written, strict=True):
            table.write_bytes(source.read_bytes())
    else:
        selectors, conditions, risks, *predictions = raw
        written = [
            *convert_dermatology(selectors, conditions, risks, out),
            write_dermatology_predictions(conditions, predictions, out),
        ]
    for table in written:
        print_text(f"wrote {table}")


def _hash(content: bytes, pinned: str) -> tuple[str, str]:
    """Name and value of the hash of a content that is pinned: a git blob id if it has 40 digits, SHA-256 otherwise."""
    if len(pinned) == 40:
        return "git blob id", hashlib.sha1(
            b"blob %d\0" % len(content) + content, usedforsecurity=False
        ).hexdigest()
    return "SHA-256", hashlib.sha256(content).hexdigest()


def _fetched(entry: dict[str, Any], path: str, pinned: str, folder: Path) -> Path:
    """Return a file with the pinned hash, from the cache or the network."""
    url = RAW_FILE.format(repository=entry["repository"], commit=entry["commit"], path=path)
    kept = folder / Path(path).name
    if kept.exists() and _hash(kept.read_bytes(), pinned)[1] == pinned:
        return kept
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            content = answer.read()
    except (OSError, HTTPException) as problem:
        if isinstance(problem, HTTPError):
            problem.close()
        raise ValueError(
            f"{url} cannot be reached ({type(problem).__name__}); download it by hand and put it in place as {kept}"
        ) from problem
    kind, found = _hash(content, pinned)
    if found != pinned:
        raise ValueError(f"{url} has the {kind} {found}; {pinned} is pinned, so that it is not used")
    folder.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(content)
    return kept


def convert_dermatology(selectors: Path, conditions: Path, risks: Path, out: Path) -> tuple[Path, ...]:
    """Write annotations and conditions as tables; return their paths.

    `selectors` is JSON of [item][rater][block][condition code]; `conditions` and `risks` have a line per
    condition, its name and its risk (0 low, 1 medium, 2 high). The tables are ``dermatology.csv`` (item,
    rater, category, rank), ``dermatology_conditions.csv`` (category, group: the risk, value), which ``raterzoo
    report --groups`` reads, and ``dermatology_ddx_long.csv`` (case, reader, block, condition), in codes from 0, which
    notebooks and tests read.
    """
    names = conditions.read_text("utf-8").splitlines()
    nested = json.loads(selectors.read_text("utf-8"))
    named = [[[[names[c] for c in block] for block in rater] for rater in item] for item in nested]
    table = PartialRankings.from_blocks(named, categories=names).to_table()
    paths = tuple(out / f"dermatology{name}.csv" for name in ("", "_conditions", "_ddx_long"))
    _write(paths[0], list(table), zip(*(column.tolist() for column in table.values()), strict=True))
    values = [int(code) for code in risks.read_text("utf-8").split()]
    groups = [RISKS[value] for value in values]
    _write(paths[1], ["category", "group", "value"], zip(names, groups, values, strict=True))
    codes = (
        (case, reader, block, condition)
        for case, readers in enumerate(nested)
        for reader, blocks in enumerate(readers)
        for block, tied in enumerate(blocks)
        for condition in tied
    )
    _write(paths[2], ["case", "reader", "block", "condition"], codes)
    return paths


def write_dermatology_predictions(conditions: Path, predictions: Sequence[Path], out: Path) -> Path:
    """Write the predictions of classifiers A, B, ... as a table with a column for each condition; return its path.

    Each file has a line for each case, of numbers for the conditions in their order. The table ``dermatology_predictions.csv``
    (item, classifier and a column for each condition) is read by `raterzoo evaluate` and `report`.
    """
    names, table = conditions.read_text("utf-8").splitlines(), out / "dermatology_predictions.csv"
    rows = (
        [item, chr(ord("A") + k), *line.split()]
        for k, path in enumerate(predictions)
        for item, line in enumerate(path.read_text("utf-8").splitlines())
    )
    _write(table, ["item", "classifier", *names], rows)
    return table


# shares of right answers of the simulated raters of digits; the other answers are mostly of the digit that looks alike
DIGIT_RATERS = {"Ann": 0.9, "Bob": 0.8, "Cem": 0.7, "Dee": 0.6, "Eve": 0.5, "Fay": 0.4}
LOOKS_LIKE = (6, 7, 7, 8, 9, 3, 0, 1, 3, 4)
MISREAD = 0.7  # share of the wrong answers that are of the digit that looks alike; the others are any of the other eight


def write_digits(out: Path) -> tuple[Path, Path, Path]:
    """Write features, gold and simulated answers of handwritten digits as tables; return their paths.

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
    out.mkdir(parents=True, exist_ok=True)
    paths = out / "digits_features.csv", out / "digits_gold.csv", out / "digits_answers.csv"
    names = [f"pixel {row} {column}" for row in range(8) for column in range(8)]
    _write(
        paths[0], ["item", *names], ([item, *own] for item, own in zip(items, values.tolist(), strict=True))
    )
    _write(paths[1], ["item", "category"], zip(items, truth.tolist(), strict=True))
    _write(paths[2], ["item", "rater", "label"], answers)
    return paths


def _answer(rng: np.random.Generator, digit: int, right: float) -> int:
    """Draw the answer of a rater to the image of a digit."""
    if rng.random() < right:
        return digit
    if rng.random() < MISREAD:
        return LOOKS_LIKE[digit]
    return int(rng.choice([other for other in range(10) if other not in (digit, LOOKS_LIKE[digit])]))


def _write(path: Path, header: list[str], rows: Any) -> None:
    """Write one CSV table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
