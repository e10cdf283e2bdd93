"""Results of promptfoo: outputs of providers, judged by assertions."""

import re
from collections import Counter
from collections.abc import Iterator

from .answers import FAILED, ONLY, Answers, Meaning, Tool, meaning_of
from .records import Document, Node

NO_GRADE = re.compile(  # reasons of a failed assertion whose grader gave no grade, before graderError was written
    r"Could not extract JSON from |No output$|[\w-]+( check)? produced malformed response|API (call )?error|"
    r"LLM-proposed evaluation .* not in JSON|Error parsing output|fetch failed|Request timed out|Rate limit"
)
ERROR = "2"  # failureReason of a result without an output


def recognises(document: Document) -> bool:
    """Whether a file is a JSON or JSON-lines output of promptfoo."""
    first = document.first
    if not isinstance(first, dict):
        return False
    results = first.get("results")
    if isinstance(results, dict) and isinstance(results.get("results"), list):
        return "stats" in results or "evalId" in first
    return {"promptIdx", "testIdx", "provider"} <= first.keys()


def read(document: Document, answers: Answers) -> None:
    """Read results of summary version 3 (promptfoo 0.100 and later).

    An item is an output, "test/prompt/provider". A metric of the assertions is a question, and those without
    one ask whether the output passes; one whose grader gave no grade is left out. The kind of assertion is the rater, with
    the model that grades. The output is a prediction of the test by the provider.
    """
    for result in _results(document):
        provider = result.need("provider")
        if _is_object(provider):
            label = provider.get("label")
            provider = label if label is not None and label.value != "" else provider.need("id")
        test, prompt = result.need("testIdx").text(), result.need("promptIdx").text()
        reason = result.get("failureReason")
        if reason is not None and reason.value == ERROR:
            answers.left_out["results without an output"] += 1
            continue
        _add_judgements(result, f"{test}/{prompt}/{provider.text()}", answers)
        response = result.get("response")
        if response is not None and (output := response.get("output")) is not None:
            text = output.value if isinstance(output.value, str) else None
            answers.predict(result, f"prompt {prompt}", test, provider.text(), text)


def _results(document: Document) -> Iterator[Node]:
    """Results of a file, which are nested in JSON, and lines in JSON lines."""
    if isinstance(document.whole, list):
        return document.records(what="result")
    return document.records(document.node.need("results").need("results"), "result")


def _is_object(node: Node) -> bool:
    """Whether a value is an object."""
    return isinstance(node.value, dict)


def _add_judgements(result: Node, item: str, answers: Answers) -> None:
    """Add the results of the assertions on one output."""
    grading = result.get("gradingResult")
    components = None if grading is None else grading.get("componentResults")
    if components is None or not components.value:
        answers.left_out["results without assertions"] += 1
        return
    seen: Counter[tuple[str, str]] = Counter()
    for own in components.members("assertion"):
        metadata, assertion = own.get("metadata"), own.get("assertion")
        reason = own.get("reason")
        failed = reason is not None and NO_GRADE.match(str(reason.value)) is not None
        if failed or (metadata is not None and metadata.get("graderError") is not None):
            answers.left_out[FAILED] += 1
            continue
        question, rater = (ONLY, "assertion") if assertion is None else _asked(assertion)
        seen[question, rater] += 1
        times = seen[question, rater]
        rater = rater if times == 1 else f"{rater} {times}"
        label = "pass" if own.need("pass").expect(bool, "true or false") else "fail"
        score = meaning_of(own.get("score")).score
        answers.add(result, question, item, rater, Meaning(label, score))


def _asked(assertion: Node) -> tuple[str, str]:
    """Question and rater of an assertion."""
    metric, grader = assertion.get("metric"), assertion.get("provider")
    if grader is not None and _is_object(grader):
        grader = grader.get("id")
    kind = assertion.need("type").text()
    rater = kind if grader is None else f"{kind} by {grader.text()}"
    return (ONLY if metric is None else metric.text()), rater


TOOL = Tool("promptfoo", "promptfoo", ("promptIdx", "results"), recognises, read)
