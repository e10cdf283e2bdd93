"""Annotations of Prodigy: what `prodigy db-out` writes."""

from .answers import EARLIER, ONLY, Answers, Meaning, Tool
from .records import Document, Node

ANSWERS = ("accept", "reject", "ignore")


def recognises(document: Document) -> bool:
    """Whether a file is annotations."""
    first = document.first
    return isinstance(first, dict) and "_input_hash" in first and first.get("answer") in ANSWERS


def read(document: Document, answers: Answers) -> None:
    """Read annotations (Prodigy 1.10 and later).

    An item is an input, by its hash; the rater is the annotator, or else the session. Of a choice of one option
    the label is its id. Of one label that is accepted or rejected the question is the label, and the answer
    "accept" or "reject". Ignored tasks and rejected choices are left out, and so are copies of one annotation, which
    have the same time.
    """
    seen: set[tuple[str, ...]] = set()
    for task in document.records():
        if (time := task.get("_timestamp")) is not None:
            same = (task.get("_task_hash", "_input_hash"), task.get("_annotator_id", "_session_id"), time)
            key = tuple(repr(own and own.value) for own in same)
            if key in seen:
                answers.left_out[EARLIER] += 1
                continue
            seen.add(key)
        answer = task.need("answer").text()
        if answer not in ANSWERS:
            raise task.refused(f"its answer is {answer!r}", "export it again", allowed=", ".join(ANSWERS))
        if answer == "ignore":
            answers.left_out["ignored tasks"] += 1
            continue
        item = task.need("_input_hash").text()
        rater = task.need("_annotator_id", "_session_id").text()
        if task.get("options") is not None:
            _add_choice(task, answer, item, rater, answers)
        else:
            label = task.get("label")
            question = ONLY if label is None else label.text()
            answers.add(task, question, item, rater, Meaning(answer))


def _add_choice(task: Node, answer: str, item: str, rater: str, answers: Answers) -> None:
    """Add the option that was chosen."""
    accepted = task.get("accept")
    chosen = [] if accepted is None else [own.text() for own in accepted.members("option")]
    if answer == "reject" or len(chosen) != 1:
        answers.left_out["rejected tasks, and choices of no or several options"] += 1
    else:
        answers.add(task, ONLY, item, rater, Meaning(chosen[0]))


TOOL = Tool("prodigy", "Prodigy", ("_input_hash",), recognises, read, "labels")
