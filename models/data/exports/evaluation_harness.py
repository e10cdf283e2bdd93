"""Samples of lm-evaluation-harness: the answer of one model to each document of a task, and its metrics."""

from collections import Counter
from collections.abc import Sequence
from math import exp, isfinite
from typing import Any

from ...._messages import short_repr
from ..reading.numbers import number_of
from .answers import ONLY, Answers, Meaning, Tool, meaning_of
from .records import Document, Node

MODEL = "model"  # the samples do not name it
NO_FILTER = "none"
SEPARATE = "read the samples of each task, model and filter as a file of its own"
SHARED = {"arguments": "requests to a model", "resps": "responses of a model"}  # by filters of a document
ORDINALS = {1: "1st", 2: "2nd", 3: "3rd"}
FIXED = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
    "prompt_hash", "target_hash", "scores_per_repeat",
}  # fmt: skip


def recognises(document: Document) -> bool:
    """Whether a file is samples_*.jsonl."""
    first = document.first
    return isinstance(first, dict) and {"doc_id", "filtered_resps"} <= first.keys()


def read(document: Document, answers: Answers) -> None:
    """Read samples that ``--log_samples`` writes (lm-evaluation-harness 0.4).

    An item is a document. The answer of the model, as each filter finds it, is a label and a prediction. Of multiple
    choices it is the number of the choice with the largest log likelihood, the target is gold, and the probabilities
    are proportional to the likelihoods; targets of texts may be whole solutions, and are not read. Metrics are
    anonymous scores; with several filters they are named as in the harness, "exact_match,strict-match". Early versions do not
    name the filters: then these are "1st", "2nd"..., by the order of the samples of a document.
    """
    samples = list(document.records(what="sample"))
    filters = _filters(samples)
    several = len(set(filters)) > 1
    for sample, name in zip(samples, filters, strict=True):
        item, target = sample.need("doc_id").text(), sample.get("target")
        question = name if several else ONLY
        _add_answer(sample, question, item, answers)
        truth = meaning_of(target).label
        if target is not None and truth is not None and _log_likelihoods(sample.need("filtered_resps")):
            answers.set_gold(target, question, item, truth)
        for metric in _metrics(sample):
            if (value := meaning_of(sample.get(metric))).score is not None:
                own = f"{metric},{name}" if several else metric
                answers.add(sample, own, item, None, Meaning(score=value.score))


def _filters(samples: Sequence[Node]) -> list[str]:
    """Filter of each sample; repeats of a document are of filters that the file does not name, by their order.

    Raises if documents do not repeat equally often, or with other requests to the model or responses of it, which filters share:
    then files were joined; so they were if a named filter repeats a document, or nothing is there to compare.
    """
    named = [found.text() if (found := own.get("filter")) is not None else None for own in samples]
    keys = [(own.need("doc_id").text(), name) for own, name in zip(samples, named, strict=True)]
    times, seen = Counter(keys), Counter[tuple[str, str | None]]()
    most = max(times.values(), default=1)
    filters, shared = [], dict[tuple[str, str], Any]()
    for sample, key in zip(samples, keys, strict=True):
        seen[key] += 1
        for name, what in SHARED.items():
            given = sample.get(name)
            if given is not None and shared.setdefault((name, key[0]), given.value) != given.value:
                raise sample.refused(f"document {short_repr(key[0])} has other {what} than above", SEPARATE)
        if seen[key] > 1 and (key[1] or ("resps", key[0]) not in shared):
            why = f"of filter {short_repr(key[1])}" if key[1] else "without the responses of the model"
            raise sample.refused(f"document {short_repr(key[0])} is there twice {why}", SEPARATE)
        if times[key] != most:
            few = f"document {short_repr(key[0])} is {times[key]} times in the file"
            raise sample.refused(f"{few}, another {most} times", SEPARATE)
        order = ORDINALS.get(seen[key], f"{seen[key]}th") if most > 1 else NO_FILTER
        filters.append(key[1] or order)
    return filters


def _metrics(sample: Node) -> list[str]:
    """Names of the metrics of a sample, which older versions do not list."""
    listed = sample.get("metrics")
    if listed is not None:
        return [own.text() for own in listed.members("metric")]
    return [name for name, _ in sample.entries() if name not in FIXED]


def _add_answer(sample: Node, question: str, item: str, answers: Answers) -> None:
    """Add the answer of the model to one document."""
    likelihoods = _log_likelihoods(sample.need("filtered_resps"))
    if len(likelihoods) > 1:
        most = max(likelihoods)
        total = sum(exp(own - most) for own in likelihoods)
        for choice, own in enumerate(likelihoods):
            answers.predict(sample, question, item, None, str(choice), exp(own - most) / total)
        label: str | None = str(likelihoods.index(most))
    else:
        label = None if likelihoods else meaning_of(sample.need("filtered_resps")).label
        if label is not None:
            answers.predict(sample, question, item, None, label)
    if label is None:
        answers.left_out["responses that are not one text"] += 1
    else:
        answers.add(sample, question, item, MODEL, Meaning(label))


def _log_likelihoods(responses: Node) -> list[float]:
    """Log likelihoods of the choices, from pairs of one and whether it is greedy; empty if these are none."""
    found = []
    for own in responses.expect(list, "an array"):
        pair = own if isinstance(own, list) else []
        number = number_of(pair[0]) if len(pair) == 2 and isinstance(pair[0], str | float) else None
        if number is None or str(pair[1]) not in ("True", "False"):
            return []
        found.append(number)
    return found if found and isfinite(max(found)) else []


TOOL = Tool("lm-eval", "lm-evaluation-harness", ("filtered_resps",), recognises, read)
