"""Public data sets: downloaded from their authors' repositories, checked by hash, converted to tables."""

import csv
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pooch
from requests.exceptions import RequestException

from ..models import PartialRankings
from .terminal import print_table, print_text

RISKS = ("low", "medium", "high")
RAW_FILE = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"


def _datasets() -> dict[str, dict[str, Any]]:
    """Return the available data sets, by name."""
    return json.loads(files(__package__ or "raterzoo.cli").joinpath("datasets.json").read_text("utf-8"))


def list_datasets() -> None:
    """Print the available data sets."""
    print_table(
        [
            {"name": name, "what": entry["about"], "licence": entry["licence"], "source": entry["repository"]}
            for name, entry in _datasets().items()
        ]
    )


def fetch_dataset(name: str, out: Path) -> None:
    """Download a data set, check its hashes, and write it as tables to the folder `out`.

    Raises ValueError if there is no such data set, a file cannot be downloaded, or its hash is not the pinned
    one.
    """
    datasets = _datasets()
    if name not in datasets:
        raise ValueError(f"there is no data set {name!r}; the data sets are {', '.join(datasets)}")
    entry = datasets[name]
    folder = Path(pooch.os_cache("raterzoo")) / name
    raw = {path: _fetched(entry, path, sha256, folder) for path, sha256 in entry["files"].items()}
    selectors, conditions, risks = raw.values()
    out.mkdir(parents=True, exist_ok=True)
    for table in convert_dermatology(selectors, conditions, risks, out):
        print_text(f"wrote {table}")


def _fetched(entry: dict[str, Any], path: str, sha256: str, folder: Path) -> Path:
    """Return a file with the pinned hash, from the cache or the network."""
    url = RAW_FILE.format(repository=entry["repository"], commit=entry["commit"], path=path)
    name = Path(path).name
    try:
        return Path(pooch.retrieve(url, f"sha256:{sha256}", fname=name, path=folder, progressbar=False))
    except (RequestException, OSError) as problem:
        raise ValueError(
            f"{url} cannot be reached ({type(problem).__name__}); download it by hand and put it in place as {folder / name}"
        ) from problem


def convert_dermatology(selectors: Path, conditions: Path, risks: Path, out: Path) -> tuple[Path, Path]:
    """Write annotations and conditions as tables; return their paths.

    `selectors` is JSON of [item][rater][block][condition code]; `conditions` and `risks` have a line per
    condition, its name and its risk (0 low, 1 medium, 2 high). The tables are ``dermatology.csv`` (item,
    rater, category, rank) and ``dermatology_conditions.csv`` (category, group: the risk, value), which ``raterzoo
    report --groups`` reads.
    """
    names = conditions.read_text("utf-8").splitlines()
    nested = json.loads(selectors.read_text("utf-8"))
    named = [[[[names[c] for c in block] for block in rater] for rater in item] for item in nested]
    table = PartialRankings.from_blocks(named, categories=names).to_table()
    paths = out / "dermatology.csv", out / "dermatology_conditions.csv"
    _write(paths[0], list(table), zip(*(column.tolist() for column in table.values()), strict=True))
    values = [int(code) for code in risks.read_text("utf-8").split()]
    groups = [RISKS[value] for value in values]
    _write(paths[1], ["category", "group", "value"], zip(names, groups, values, strict=True))
    return paths


def _write(path: Path, header: list[str], rows: Any) -> None:
    """Write one CSV table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
