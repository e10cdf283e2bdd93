"""What is in a table, or what is wrong with it."""

from collections.abc import Sequence
from pathlib import Path

from .reading import read_container
from .screen import say
from .votes import read_comparisons

__all__ = ["check_table"]


def check_table(
    path: Path, kind: str, columns: Sequence[str], layout: str, rater_attributes: Sequence[str]
) -> None:
    """Read a table and say what is in it.

    Parameters
    ----------
    path : Path
        Table.
    kind : str
        What the raters gave.
    columns : sequence of str
        Renamings.
    layout : str
        Of labels.
    rater_attributes : sequence of str
        Of comparisons: columns that say something of the raters.
    """
    if kind == "comparisons":
        if layout != "long":
            raise ValueError(
                f"--layout {layout} is a layout of labels; comparisons are long tables"
            )
        say(read_comparisons(path, columns, rater_attributes).report())
        return
    if rater_attributes:
        raise ValueError(f"--rater-attribute is an option of comparisons, not of {kind}")
    say(read_container(path, kind, columns, layout=layout).report())
