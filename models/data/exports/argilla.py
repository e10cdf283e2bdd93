"""Records of Argilla: responses of people and suggestions of models to the questions of a dataset."""

from .answers import Answers, meaning_of
from .records import Document, Node

RESPONSES, USERS, STATUS = ".responses", ".responses.users", ".responses.status"
SUGGESTION, AGENT = ".suggestion", ".suggestion.agent"
KEYS = ("responses", USERS)  # one of them is in every export


def recognises(document: Document) -> bool:
    """Whether a file is records, nested as `to_json` or flat as `to_datasets` writes them."""
    first = document.first
    if not isinstance(first, dict):
        return False
    nested = isinstance(first.get("responses"), dict) and isinstance(first.get("fields"), dict)
    return nested or any(name.endswith(USERS) for name in first)


def read(document: Document, answers: Answers) -> None:
    """Read the records of a dataset (Argilla 2).

    An item is a record, by its id; a question is a question of the dataset, the rater the id of the user, and the
    classifier the agent of a suggestion. Read are labels, multiple labels with one answer, ratings, rankings and
    texts. Flat records say the status of a response: drafts and discarded ones are left out; nested ones do not.
    """
    for record in document.records():
        item = record.need("id", "_server_id").text()
        nested = record.get("responses")
        if nested is not None and isinstance(nested.value, dict):
            _add_nested(record, item, nested, answers)
        else:
            _add_flat(record, item, answers)


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
                if state in ("draft", "discarded", "pending"):
                    answers.left_out["drafts and discarded responses"] += 1
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
