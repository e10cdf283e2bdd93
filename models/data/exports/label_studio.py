"""JSON exports of Label Studio: tasks with annotations by people and predictions by models."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from ...._messages import first_reprs, short_repr
from .answers import EARLIER, Answers, Meaning, Tool, meaning_of
from .records import Document, Node

LISTS = ("annotations", "predictions")
PAIRWISE, SIDES = "pairwise", ("left", "right")
TEMPLATE = ("text1", "text2")  # fields of the template of pairwise comparisons, left and right
VALUES = ("choices", "rating", "number", "taxonomy")  # types of results that answer a question about the task
REGION = {"start", "end", "x", "y", "points", "ranges", "startOffset", "brushlabels", "sequence"}
PATH = " / "  # between the names of a path in a taxonomy


class Control(NamedTuple):
    """Control that asked a question, and the object that it asked about."""

    from_name: str
    to_name: str
    kind: str


def recognises(document: Document) -> bool:
    """Whether a file is a JSON export, not the JSON-MIN one, which is a table."""
    first = document.first
    return isinstance(first, dict) and "data" in first and bool({"annotations", "predictions"} & first.keys())


def read(document: Document, answers: Answers) -> None:
    """Read a JSON export (Label Studio 1.8 and later).

    An item is a task, by its id; a question is a control tag, by its name; the rater is who completed the
    annotation. Read are choices and taxonomies with one answer, ratings and numbers, not labels of regions.
    Of several versions of an annotation, by its id, the newest counts, and of several annotations of a rater to a task the one
    that was changed last, if all have times, else the last one: nobody is asked about a task twice. Cancelled annotations are
    left out; one that is marked as ground truth is gold, not an answer. A prediction is of the classifier named by its
    model_version; its score, which is of no category, is not read.

    A pairwise control is a vote between two fields of the data of a task, by whom the items are called.
    """
    outdated, answers.one_each = _outdated(document), True
    for task in _tasks(document):
        item = task.need("id").text()
        annotations = list(_current(task, "annotations", outdated, answers))
        if all(map(_changed, annotations)):
            annotations.sort(key=_changed)
        newest: dict[tuple[str, bool], Node] = {}
        for own in annotations:
            if (cancelled := own.get("was_cancelled")) is not None and cancelled.value is True:
                answers.left_out["cancelled annotations"] += 1
                continue
            truth = own.get("ground_truth")
            whose = _rater(own), truth is not None and truth.value is True
            answers.left_out[EARLIER] += whose in newest
            newest[whose] = own
        for (rater, gold), own in newest.items():
            _add_annotation(task, item, own, rater, answers, gold=gold)
        for own in _current(task, "predictions", outdated, answers):
            version = own.get("model_version")
            classifier = None if version is None else version.text()
            for control, meaning in _results(own, answers):
                answers.predict(task, control.from_name, item, classifier, meaning.label)


def _changed(annotation: Node) -> str:
    """Time of the last change of an annotation, as text that sorts by it; "" if the file does not say it."""
    time = annotation.get("updated_at")
    return "" if time is None else str(time.value)


def _outdated(document: Document) -> set[int]:
    """Identities of the annotations and predictions of which the file has a newer version or a later copy."""
    newest: dict[tuple[str, ...], tuple[str, Any]] = {}
    found = set()
    for task in _tasks(document):
        for name in LISTS:
            for own in _listed(task, name):
                number = own.get("id")
                if number is None:
                    continue
                key = (name, repr(task.need("id").value), repr(number.value))
                version = _changed(own), own.value
                older, newer = sorted((newest.get(key, version), version), key=lambda pair: pair[0])
                newest[key] = newer
                found |= {id(older[1])} if older[1] is not newer[1] else set()
    return found


def _current(task: Node, name: str, outdated: Collection[int], answers: Answers) -> Iterator[Node]:
    """Annotations or predictions of a task that no other version replaces; the others are counted."""
    for own in _listed(task, name):
        if id(own.value) in outdated:
            answers.left_out[EARLIER] += 1
        else:
            yield own


def controls(document: Document) -> list[Control]:
    """Control tags of the results of an export, in order of appearance."""
    found = (
        control
        for task in _tasks(document)
        for name in LISTS
        for own in _listed(task, name)
        for control, _ in _results(own, Answers())
    )
    return list(dict.fromkeys(found))


def task_ids(document: Document) -> list[str]:
    """Ids of the tasks of an export."""
    return [task.need("id").text() for task in _tasks(document)]


def _tasks(document: Document) -> Iterator[Node]:
    """Tasks of an export; a file may hold a single one."""
    if isinstance(document.whole, dict):
        return iter([Node(document.whole, f"{document.path.name}, task 1", 1)])
    return document.records(what="task")


def _listed(task: Node, name: str) -> Iterator[Node]:
    """Annotations or predictions of a task; summaries of exports have their number or ids instead."""
    found = task.get(name)
    members = iter(()) if found is None else found.members(name.removesuffix("s"))
    return (own for own in members if isinstance(own.value, dict))


def _rater(annotation: Node) -> str:
    """Name of who completed an annotation."""
    by = annotation.need("completed_by")
    return ((by.get("email", "id") or by.need("id")) if isinstance(by.value, dict) else by).text()


def _add_annotation(
    task: Node, item: str, annotation: Node, rater: str, answers: Answers, *, gold: bool
) -> None:
    """Add the answers of one annotation."""
    _add_votes(task, annotation, rater, answers, gold=gold)
    for control, meaning in _results(annotation, answers, votes_are_read=True):
        if gold:
            if meaning.label is not None:
                answers.set_gold(annotation, control.from_name, item, meaning.label)
        else:
            answers.add(task, control.from_name, item, rater, meaning)


def _add_votes(task: Node, annotation: Node, rater: str, answers: Answers, *, gold: bool) -> None:
    """Add the pairwise results of an annotation; of ground truth they are counted only, as votes have none."""
    for result in annotation.need("result").members("result"):
        kind, value = result.get("type"), result.get("value")
        if kind is None or value is None or kind.value != PAIRWISE:
            continue
        if gold:
            answers.left_out["votes of ground truth"] += 1
            continue
        with answers.votes_refused():
            winner = value.need("selected")
            if winner.text() not in SIDES:
                raise winner.refused(
                    f"{short_repr(winner.value)} is no side", "correct it", allowed="left or right"
                )
            control = result.need("from_name").text()
            left, right = (_item_of(task, name, answers) for name in answers.sides or TEMPLATE)
            answers.vote(task, left, right, winner.text(), rater, control)


def _item_of(task: Node, name: str, answers: Answers) -> str:
    """Return the field of the data of a task that names what is compared, or raise."""
    data = task.need("data")
    if (found := data.get(name)) is not None:
        return found.text()
    fields = first_reprs(data.expect(dict, "an object"), 5)
    template = "" if answers.sides else f" of the template of pairwise comparisons, {' and '.join(TEMPLATE)},"
    raise data.refused(
        f"there is no {short_repr(name)}{template} in it, whose fields are {fields}",
        "say which fields name what is on the left and on the right: sides=('model_a', 'model_b')",
    )


def _results(
    annotation: Node, answers: Answers, *, votes_are_read: bool = False
) -> Iterator[tuple[Control, Meaning]]:
    """Answers to questions about the whole task among the results of an annotation or a prediction.

    Others are counted, votes too unless they are read elsewhere.
    """
    for result in annotation.need("result").members("result"):
        kind, value = result.get("type"), result.get("value")
        if (
            kind is None
            or value is None
            or not isinstance(kind.value, str)
            or not isinstance(value.value, dict)
        ):
            continue
        if kind.value == PAIRWISE and votes_are_read:
            continue
        if kind.value not in VALUES or REGION & value.value.keys():
            answers.left_out["results on regions or of other types"] += 1
            continue
        names = (result.need("from_name").text(), result.need("to_name").text())
        yield Control(*names, kind.value), _meaning(value.get(kind.value))


def _meaning(value: Node | None) -> Meaning:
    """Meaning of a value; one path of a taxonomy is its names with " / " between them."""
    paths: Any = None if value is None else value.value
    if value is not None and isinstance(paths, list) and len(paths) == 1 and isinstance(paths[0], list):
        own = next(value.members("path"))
        return Meaning(PATH.join(name.text() for name in own.members("name")))
    return meaning_of(value)


TOOL = Tool("label-studio", "Label Studio", ("annotations", "predictions"), recognises, read)
