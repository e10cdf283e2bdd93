"""PrefLib files of strict or weak orders, complete or not: a ranking of the alternatives by each voter."""

import re
from collections.abc import Iterable
from pathlib import Path

from ...._messages import short_repr
from ..errors import DataError

SUFFIXES = (".soc", ".soi", ".toc", ".toi")
MOST = 20_000_000  # rows, one for each alternative that a voter ranks
_VOTERS = re.compile(r"#\s*NUMBER VOTERS\s*:\s*([0-9]{1,9})\s*$", re.IGNORECASE)
_NAME = re.compile(r"#\s*ALTERNATIVE NAME\s+(\d+)\s*:\s*(.*?)\s*$", re.IGNORECASE)
_ORDER = re.compile(r"\s*([0-9]{1,9})\s*:\s*([0-9{},\s]+?)\s*$")
_BLOCK = re.compile(r"\{([^{}]*)\}|([^{},]+)")


def preference_columns(lines: Iterable[str], path: Path) -> dict[str, list[str]]:
    """Columns item, rater, category and rank of a PrefLib file; the item is the file, voters are numbered in it.

    Each line "count: 3,{1,2}" is a ranking, best first, by as many voters; alternatives in braces are tied. Raises `DataError` at
    a line that is none, with its number, and where the header has another number of voters, as of a file that was cut.
    """
    names: dict[str, str] = {}
    columns: dict[str, list[str]] = {name: [] for name in ("item", "rater", "category", "rank")}
    voters, declared = 0, None
    for number, line in enumerate(lines, 1):
        if named := _NAME.match(line):
            names[named[1]] = named[2]
        if counted := _VOTERS.match(line):
            declared = (int(counted[1]), number)
        if line.lstrip().startswith("#") or not line.strip():
            continue
        if (order := _ORDER.match(line)) is None:
            raise _refused(
                f"{short_repr(line.strip())} is no order",
                number,
                path,
                "write it as PrefLib does since 2022: count: 3,{1,2}",
            )
        blocks = [(tied or one).split(",") for tied, one in _BLOCK.findall(order[2]) if (tied or one).strip()]
        ranked = [(key.strip(), str(rank)) for rank, block in enumerate(blocks, 1) for key in block]
        if unknown := [key for key, _ in ranked if key not in names]:
            raise _refused(
                f"alternative {short_repr(unknown[0])} has no name", number, path, "add its ALTERNATIVE NAME"
            )
        times = int(order[1])
        if len(columns["item"]) + times * len(ranked) > MOST:
            raise _refused(f"the orders have more than {MOST:,} places", number, path, "divide the file")
        for voter in range(voters + 1, voters + times + 1):
            columns["rater"] += [f"{path.stem}, voter {voter}"] * len(ranked)
            columns["category"] += [names[key] for key, _ in ranked]
            columns["rank"] += [rank for _, rank in ranked]
        voters += times
        columns["item"] += [path.stem] * (times * len(ranked))
    if declared is not None and declared[0] != voters:
        raise _refused(
            f"NUMBER VOTERS is {declared[0]:,}, but the orders are of {voters:,}",
            declared[1],
            path,
            "get the whole file, or correct that line",
        )
    return columns


def _refused(problem: str, line: int, path: Path, remedy: str) -> DataError:
    """Error about a line."""
    return DataError(problem, row=line, remedy=remedy, where=f"{path.name}, line {line:,}")
