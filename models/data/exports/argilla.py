"""Records of Argilla: responses of people and suggestions of models to the questions of a dataset."""

from collections.abc import Iterator
from typing import Any

from .answers import Answers, Tool, meaning_of
from .records import Document, Node

RESPONSES, USERS, STATUS = ".responses", ".responses.users", ".responses.status"
SUGGESTION, AGENT = ".suggestion", ".suggestion.agent"
OF_ONE, METADATA = "-suggestion", "-suggestion-metadata"  # keys of flat records of Argilla 1
UNREAD = "drafts and discarded responses"
UNFINISHED = ("draft", "discarded", "pending")


def recognises(document: Document) -> bool:
    """Whether a file is records, nested as `to_json` or flat as `to_datasets` writes them, or those of Argilla 1."""
    first = document.first
    if not isinstance(first, dict):
        return False
    nested = isinstance(first.get("responses"), dict | list) and isinstance(first.get("fields"), dict)
    return nested or any(name.endswith((USERS, METADATA)) for name in first)


def read(document: Document, answers: Answers) -> None:
    """Read the records of a dataset (Argilla 2, and feedback datasets of Argilla 1).

    An item is a record, by its id; a question is a question of the dataset, the rater the id of the user, and the
    classifier the agent of a suggestion. Read are labels, multiple labels with one answer, ratings, rankings and
    texts; a later copy of a record replaces what a user or agent said of it. Where a response has a status, drafts and
    discarded ones are left out; nested ones of Argilla 2 have none. Records of Argilla 1 are called by external_id if all
    have it, otherwise by id if all have it, otherwise by number.
    """
    answers.one_each = True
    if _is_of_first_version(document.first):
        for record, item in _named_records(document):
            if isinstance(record.value, dict) and "fields" in record.value:
                _add_first_version(record, item, answers)
            else:
                _add_flat_first_version(record, item, answers)
        return
    for record in document.records():
        item = record.need("id", "_server_id").text()
        nested = record.get("responses")
        if nested is not None and isinstance(nested.value, dict):
            _add_nested(record, item, nested, answers)
        else:
            _add_flat(record, item, answers)


def _is_of_first_version(first: Any) -> bool:
    """Whether a record is one of Argilla 1: it has a list of responses, or metadata of suggestions."""
    if not isinstance(first, dict):
        return False
    return isinstance(first.get("responses"), list) or any(name.endswith(METADATA) for name in first)


def _named_records(document: Document) -> Iterator[tuple[Node, str]]:
    """Pair each record of Argilla 1 with its name."""
    records = list(document.records())
    for name in ("external_id", "id"):
        ids = [own.get(name) for own in records]
        if all(own is not None for own in ids):
            return zip(records, (own.text() for own in ids if own is not None), strict=True)
    return ((own, str(own.row)) for own in records)


def _add_first_version(record: Node, item: str, answers: Answers) -> None:
    """Add responses, each of one user to all questions, and suggestions, each to one question."""
    for response in record.need("responses").members("response"):
        values = response.get("values")
        if _is_unfinished(response, answers) or values is None:
            continue
        user = response.need("user_id").text()
        for question, own in values.entries():
            answers.add(record, question, item, user, meaning_of(own.get("value")))
    suggestions = record.get("suggestions")
    for own in () if suggestions is None else suggestions.members("suggestion"):
        question = own.need("question_name").text()
        _suggest(record, question, item, own.get("value"), own.get("agent"), answers)


def _add_flat_first_version(record: Node, item: str, answers: Answers) -> None:
    """Add responses and suggestions of a record as `format_as("datasets")` writes it, a key for each question."""
    for name, metadata in record.entries():
        if not name.endswith(METADATA):
            continue
        question = name.removesuffix(METADATA)
        responses = record.get(question)
        for response in () if responses is None else responses.members("response"):
            if not _is_unfinished(response, answers):
                user = response.need("user_id").text()
                answers.add(record, question, item, user, meaning_of(_as_places(response.get("value"))))
        if (suggested := record.get(question + OF_ONE)) is not None:
            _suggest(record, question, item, _as_places(suggested), metadata.get("agent"), answers)


def _is_unfinished(response: Node, answers: Answers) -> bool:
    """Whether a response is a draft or discarded, which is counted."""
    status = response.get("status")
    unfinished = status is not None and status.value in UNFINISHED
    if unfinished:
        answers.left_out[UNREAD] += 1
    return unfinished


def _as_places(value: Node | None) -> Node | None:
    """Return a ranking whose values and ranks are two arrays as an array of places; other values as they are."""
    if value is None or not isinstance(value.value, dict):
        return value
    columns = [value.need(name).expect(list, "an array") for name in ("value", "rank")]
    if len({*map(len, columns)}) > 1:
        raise value.refused("there are more values than ranks, or fewer", "export the dataset again")
    places = [{"value": own, "rank": rank} for own, rank in zip(*columns, strict=True)]
    return Node(places, value.place, value.row)


def _add_nested(record: Node, item: str, responses: Node, answers: Answers) -> None:
    """Add responses and suggestions by question."""
    for question, own in responses.entries():
        for response in own.members("response"):
            user = response.need("user_id").text()
            answers.add(record, question, item, user, meaning_of(response.get("value")))
    suggestions = record.get("suggestions")
    for question, own in () if suggestions is None else suggestions.entries():
        _suggest(record, question, item, own.get("value"), own.get("agent"), answers)


def _add_flat(record: Node, item: str, answers: Answers) -> None:
    """Add responses and suggestions from keys such as "sentiment.responses.users"."""
    for name, own in record.entries():
        if name.endswith(RESPONSES):
            question = name.removesuffix(RESPONSES)
            users = [user.text() for user in record.need(question + USERS).members("user")]
            values = list(own.members("response"))
            status = record.get(question + STATUS)
            states = [None] * len(values) if status is None else status.expect(list, "an array")
            if not len(users) == len(values) == len(states):
                problem = f"there are {len(values)} responses, {len(users)} users and {len(states)} states"
                raise own.refused(problem, "export the dataset again")
            for user, value, state in zip(users, values, states, strict=True):
                if state in UNFINISHED:
                    answers.left_out[UNREAD] += 1
                else:
                    answers.add(record, question, item, user, meaning_of(value))
        elif name.endswith(SUGGESTION):
            question = name.removesuffix(SUGGESTION)
            _suggest(record, question, item, own, record.get(question + AGENT), answers)


def _suggest(
    record: Node, question: str, item: str, value: Node | None, agent: Node | None, answers: Answers
) -> None:
    """Add a suggestion as a prediction."""
    classifier = None if agent is None else agent.text()
    answers.predict(record, question, item, classifier, meaning_of(value).label)


TOOL = Tool("argilla", "Argilla", ("responses", USERS, METADATA), recognises, read)
