"""Annotations of AlpacaEval: which of the outputs of two generators to one instruction is better."""

from ...._messages import short_repr
from ..reading.numbers import number_of
from .answers import Answers, Tool
from .records import Document, Node

TIES = (0.0, 1.5)
SIGNS = {"generator_1", "generator_2", "preference"}
WEIGHTS = "weights of preferences between 1 and 2, of which the larger is read,"


def recognises(document: Document) -> bool:
    """Whether a file is annotations.json."""
    first = document.first
    return isinstance(first, dict) and first.keys() >= SIGNS


def read(document: Document, answers: Answers) -> None:
    """Read annotations (AlpacaEval 0.2 and later).

    The generators are the items, generator_1 on the left, the instruction is the prompt and the annotator the rater. A
    preference of 1 is one for output_1, 2 for output_2, 1.5 (or 0) a tie; one between is that for the nearer output.
    Annotations without a preference are left out.
    """
    for vote in document.records(what="annotation"):
        annotator, instruction, preference = (
            vote.get(name) for name in ("annotator", "instruction", "preference")
        )
        if preference is None or preference.value != preference.value:  # null, or NaN
            answers.left_out["annotations without a preference"] += 1
            continue
        answers.vote(
            vote,
            vote.need("generator_1").text(),
            vote.need("generator_2").text(),
            _winner(preference, answers),
            None if annotator is None else annotator.text(),
            prompt=None if instruction is None else instruction.text(),
        )


def _winner(preference: Node, answers: Answers) -> str:
    """Outcome that a preference says."""
    number = number_of(preference.value) if isinstance(preference.value, str | float) else None
    if number is None or not (number == 0 or 1 <= number <= 2):
        problem = f"{short_repr(preference.value)} is no preference"
        raise preference.refused(
            problem, "correct it, or leave the annotation out", allowed="1, 1.5, 2, or a number between"
        )
    if number in TIES:
        return "tie"
    answers.left_out[WEIGHTS] += number not in (1.0, 2.0)
    return "left" if number < 1.5 else "right"


TOOL = Tool("alpaca-eval", "AlpacaEval", ("generator_1",), recognises, read, "comparisons")
