"""Test runs of DeepEval: test cases, judged by metrics."""

from collections import Counter
from itertools import chain

from .answers import ONLY, Answers, Meaning, Tool, meaning_of
from .records import Document, Node

CASES = {"testCases": "test case", "conversationalTestCases": "conversational test case"}


def recognises(document: Document) -> bool:
    """Whether a file is a test run."""
    whole = document.whole
    return isinstance(whole, dict) and any(isinstance(whole.get(name), list) for name in CASES)


def read(document: Document, answers: Answers) -> None:
    """Read a test run (DeepEval 3 and 4), as DEEPEVAL_RESULTS_FOLDER keeps it.

    An item is a test case, by its name; a name that is there again is numbered. A metric is a question, the model
    that evaluates it the rater, or else the metric. Its success is the label, "pass" or "fail", and its score the
    score. The actual output is a prediction of the test case.
    """
    lists = [(found, what) for name, what in CASES.items() if (found := document.node.get(name)) is not None]
    seen: Counter[str] = Counter()
    for case in chain.from_iterable(document.records(*own) for own in lists):
        name = case.need("name").text()
        seen[name] += 1
        item = name if seen[name] == 1 else f"{name} ({seen[name]})"
        if (output := case.get("actualOutput")) is not None:
            answers.predict(case, ONLY, item, None, output.text())
        metrics = case.get("metricsData")
        if metrics is None or not metrics.value:
            answers.left_out["test cases without metrics"] += 1
            continue
        for metric in metrics.members("metric"):
            _add_metric(case, item, metric, answers)


def _add_metric(case: Node, item: str, metric: Node, answers: Answers) -> None:
    """Add the judgement of a metric, unless it failed."""
    name, model, success = metric.need("name").text(), metric.get("evaluationModel"), metric.get("success")
    if metric.get("error") is not None or success is None:
        answers.left_out["metrics that failed or were skipped"] += 1
        return
    label = "pass" if success.expect(bool, "true or false") else "fail"
    score = meaning_of(metric.get("score")).score
    answers.add(case, name, item, name if model is None else model.text(), Meaning(label, score))


TOOL = Tool("deepeval", "DeepEval", tuple(CASES), recognises, read)
