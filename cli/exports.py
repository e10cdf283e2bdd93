"""Results written for other tools, and the question of an export of predictions."""

from collections.abc import Sequence
from pathlib import Path

from ..models.data.errors import DataError
from ..models.data.reading.sources import ANSWER
from .terminal import print_text


def chosen_question(columns: Sequence[str], kind: str) -> str | None:
    """Question that ``--column`` chooses in an export of annotations, which one of predictions is read for, too."""
    pairs = [column.partition("=") for column in columns]
    return next((name for role, _, name in pairs if role == ANSWER.get(kind)), None)


def write_results_of(posterior: Path, output: Path, export: Path | None, question: str | None) -> None:
    """Write the labels of a stored posterior, and say how many."""
    from ..inference.storage.posterior_files import read_posterior
    from ..reports import write_results

    tree = read_posterior(posterior)
    try:
        count = write_results(tree, output, export=export, question=question)
    except DataError as error:
        own = error.moved(error.where.replace("argument ", "--"))
        own.problem = error.problem.replace("question=", "--question ")
        own.remedy = error.remedy.replace("question=", "--question ")
        raise own from None
    print_text(f"wrote {output}: {count:,} items")
