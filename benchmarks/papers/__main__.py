"""Write the pages of the papers: `python -m benchmarks.papers [NAME ...] [--long]` makes docs/papers and recorded.json.

Quick rows are computed each time. Long ones, and those whose data are not in the folder that RATERZOO_DATA names, are taken from
the record, which `--long` writes anew.
"""

import argparse
import json
import os
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")
sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.papers.row import NoData, Paper, Row

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("recorded.json")
NAMES = ("dermatology", "survey_equivalence", "dawid_skene", "quite")
ABSENT = "data are not here"


def made_by() -> dict[str, str]:
    """Return commit and versions, for the record."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    versions = ", ".join(f"{name} {version(name)}" for name in ("raterzoo", "numpy", "pymc"))
    return {"commit": commit.stdout.strip(), "versions": versions}


def ours(row: Row, key: str, record: dict[str, dict[str, str]], long: bool) -> str:
    """Return our value of a row: computed, or from the record."""
    if row.long and not long and key in record:
        return record[key]["ours"]
    try:
        value = row.ours()
    except NoData:
        return record.get(key, {}).get("ours", ABSENT)
    if value != "picture":
        record[key] = (
            {"ours": value, **made_by()} if record.get(key, {}).get("ours") != value else record[key]
        )
    return value


def page(name: str, paper: Paper, record: dict[str, dict[str, str]], long: bool) -> str:
    """Return a page in Markdown."""
    lines, origins = [], set()
    for row in paper.rows:
        key = f"{name}: {row.where}: {row.what}"
        value = ours(row, key, record, long)
        if row.long and key in record:
            origins.add(f"commit {record[key]['commit']} ({record[key]['versions']})")
        cells = [
            row.where,
            row.what + (f" ({row.note})" if row.note else ""),
            row.printed,
            value,
            f"`{row.call}`",
        ]
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    parts = [
        f"# {paper.title}",
        paper.reference,
        paper.names,
        "## Printed and ours",
        "\n".join(["| where | what | printed | ours | call |", "|---|---|---|---|---|", *lines]),
        f"`python -m benchmarks.papers {name}` writes this page. "
        + (f"Long rows are of {'; '.join(sorted(origins))}; `--long` makes them anew." if origins else ""),
    ]
    parts += [f"![{caption}]({picture})\n\n*{caption}.*" for picture, (caption, _) in paper.pictures.items()]
    module = import_module(f"benchmarks.papers.{name}")
    if hasattr(module, "study_table"):
        parts += [
            "## The study that the paper could not do",
            module.about_study(),
            "\n".join(module.study_table()),
        ]
    parts += ["## Where the paper is wrong, or silent", "\n".join(f"- {point}" for point in paper.points)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def main() -> None:
    """Write the pages that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help="papers; all if none is named")
    parser.add_argument("--long", action="store_true", help="compute the long rows, too, and the pictures")
    options = parser.parse_args()
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    folder = ROOT / "docs" / "papers"
    folder.mkdir(exist_ok=True)
    for name in options.names or NAMES:
        paper = import_module(f"benchmarks.papers.{name}").PAPER
        text = page(name, paper, record, options.long)
        (folder / f"{name}.md").write_text(text)
        for picture, (_, figure) in paper.pictures.items():
            if options.long or not (folder / picture).exists():
                with suppress(NoData):
                    drawn = figure()
                    stable = {"metadata": {"Date": None}} if picture.endswith("svg") else {"dpi": 90}
                    drawn.savefig(folder / picture, bbox_inches="tight", **stable)
        RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        print(text)


if __name__ == "__main__":
    main()
