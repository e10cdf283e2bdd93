"""Command `check`: summary of a table, or its first error."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .reading import read_container
from .scales import read_scores_table
from .screen import say
from .settings import bounds_of
from .votes import read_comparisons

__all__ = ["check_table"]


def check_table(
    path: Path,
    kind: str,
    columns: Sequence[str],
    layout: str,
    *,
    rater_attributes: Sequence[str] = (),
    bounds: str | None = None,
) -> None:
    """Read a table and print a summary."""
    if bounds is not None and kind != "scores":
        raise ValueError(f"--bounds is an option of scores, not of {kind}")
    if kind == "comparisons":
        if layout != "long":
            raise ValueError(
                f"--layout {layout} is a layout of labels; comparisons are long tables"
            )
        say(read_comparisons(path, columns, rater_attributes).report())
        return
    known: dict[str, Any] = {"layout": layout, "rater_attributes": rater_attributes}
    if kind == "scores":
        say(read_scores_table(path, columns, bounds=bounds_of(bounds), **known).report())
        return
    if rater_attributes and kind == "rankings":
        raise ValueError("--rater-attribute is an option of labels, scores and comparisons")
    say(read_container(path, kind, columns, **known).report())
