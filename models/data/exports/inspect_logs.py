"""Eval logs of Inspect: scores of the outputs of one model by scorers, in JSON or in a zip archive of JSON."""

from collections.abc import Iterator, Mapping

from .answers import FAILED, ONLY, Answers, Tool, meaning_of
from .records import Document, Node

NO_GRADE = "Grade not found in model output"  # begins the explanation of a score without a grade


def recognises(document: Document) -> bool:
    """Whether a file is an eval log."""
    whole = document.whole
    if not isinstance(whole, dict):
        return False
    if "header.json" in whole or "_journal/start.json" in whole:
        return True
    return isinstance(whole.get("eval"), dict) and {"version", "status", "samples"} & whole.keys() != set()


def read(document: Document, answers: Answers) -> None:
    """Read an eval log of format 2 (inspect_ai 0.3).

    An item is an output: the id of the sample and, if samples have several epochs, the epoch. Each scorer is a
    rater, with labels or, where one of its values has a fraction, scores; a score of several values asks as many questions.
    A grader that gave no grade, which the log calls incorrect, is left out. The answer that a scorer found in the output is a
    prediction of the item by the model, which is another classifier in each epoch.
    """
    answers.scale_of_rater = True
    header, samples = _parts(document)
    model = header.need("eval").need("model").text()
    read_samples = [(own, own.need("id").text(), _epoch(own)) for own in samples]
    several = any(epoch != "1" for _, _, epoch in read_samples)
    for sample, item, epoch in read_samples:
        scores = sample.get("scores")
        if scores is None or scores.value == {}:
            answers.left_out["samples without scores"] += 1
            continue
        output = f"{item} (epoch {epoch})" if several else item
        for scorer, score in scores.entries():
            value, explained = score.get("value"), score.get("explanation")
            if explained is not None and str(explained.value).startswith(NO_GRADE):
                answers.left_out[FAILED] += 1
                continue
            values = {ONLY: value} if value is None or not isinstance(value.value, dict) else value.entries()
            for question, own in dict(values).items():
                answers.add(sample, question, output, scorer, meaning_of(own))
            if (answer := score.get("answer")) is not None:
                classifier = f"{model} (epoch {epoch})" if several else model
                answers.predict(sample, scorer, item, classifier, meaning_of(answer).label)


def _epoch(sample: Node) -> str:
    """Return the number of the epoch of a sample, as text."""
    epoch = sample.get("epoch")
    return "1" if epoch is None else epoch.text()


def _parts(document: Document) -> tuple[Node, Iterator[Node]]:
    """Header and samples of a log, which an archive has in files of their own."""
    whole = document.whole
    if not isinstance(whole, Mapping) or "eval" in whole:
        return document.node, document.records(document.node.need("samples"), "sample")
    name = "header.json" if "header.json" in whole else "_journal/start.json"
    header = Node(whole.get(name), f"{document.path.name}, file {name!r}")
    files = [own for name, own in whole.items() if name.startswith("samples/")]
    return header, document.records(Node(files, document.path.name), "sample")


TOOL = Tool("inspect", "Inspect", ("eval",), recognises, read)
