"""Errors of a posterior, and of the predictions and arguments that meet it."""

from .._messages import printable_line


class EvaluationError(ValueError):
    """Invalid posterior, predictions or argument of an evaluation; the message names the remedy.

    Examples
    --------
    >>> from raterzoo import evaluation
    >>> try:
    ...     evaluation.top_k_accuracy(0)
    ... except evaluation.EvaluationError as error:
    ...     print(error)
    k=0: expected a whole number from 1
    """

    def __str__(self) -> str:
        return printable_line(super().__str__())


class DrawsNotKept(EvaluationError):
    """A posterior keeps summaries of its items without their draws, and the question needs draws.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> simulated = models.simulators.labels(items=20, raters=3, random_seed=1)
    >>> model = models.dawid_skene(simulated.data)
    >>> tree = inference.sample(model, random_seed=1, keep="summary", progressbar=False)
    >>> float(evaluation.truth_certainty(tree)["certainty"][0]) > 0.3
    True
    >>> try:
    ...     evaluation.expected_value(tree, {0: 0, 1: 1, 2: 2})
    ... except evaluation.DrawsNotKept as error:
    ...     print("fit again" in str(error))
    True
    """
