"""Definition of a metric: the form of the truth, the form of the predictions, and the score."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import cleandoc
from typing import Literal, get_args

import numpy as np

from ...posterior.errors import EvaluationError
from ..argument_checks import check_whole

Truth = Literal["label", "set", "ranking", "plausibility", "sampled"]
Response = Literal["labels", "scores", "probabilities", "ranks"]


@dataclass(frozen=True)
class Metric:
    """Score of predictions against one draw of the truth.

    Labels are passed to `score` as integer codes: within an item, equal codes are the same label. A negative
    code is no label, and the one of the truth differs from the one of the predictions.

    Attributes
    ----------
    name : str
        Name of the result.
    truth : {"label", "set", "ranking", "plausibility", "sampled"}
        Form of the truth: the top-1 label of a draw; its top-j set; the same set, best first; the
        plausibilities themselves; or one label drawn from them.
    score : callable
        Over ``"item"``: ``score(truth, predictions) -> (..., item)``. Labels: truth (..., item), predictions
        (item, position) best first. Sets and rankings: truth (..., item, position). Plausibility: truth (...,
        item, category), predictions (item, category); an optional method ``of_labels`` takes labels as the
        truth, and ``of_graded`` takes `Graded` truths of one item, as with ranks. Ranks: ``score(truth,
        ranks) -> (classifier, ...)`` of one item, where truth is `Graded`.

        Over ``"items"``: ``score(truth, predictions, weights, n_labels) -> (...)``, where weights (..., item)
        are those of the items, and codes of labels are below n_labels: labels that are true or predicted in
        some draw or, with scores, all categories. For plausibilities, an optional method
        ``of_predicted(right, predictions, weights)`` takes instead the plausibilities (..., item) of the
        category with the largest score.
    top : int
        Number of labels of a prediction that count, and of the truth if it is a set or a ranking.
    response : {"labels", "scores", "probabilities", "ranks"}
        Form of the predictions; by default probabilities to compare with plausibilities, else labels.
        Probabilities of an item sum to one. Ranks (classifier, category) are of all categories, 1 = best,
        ties share their mean, and categories without a prediction are tied last.
    over : {"item", "items"}
        Whether each item has a score, which are averaged, or only all items together.
    larger_is_better : bool
        Whether a larger value is better.

    Examples
    --------
    >>> from raterzoo import evaluation
    >>> metric = evaluation.Metric("all_right", "label", lambda truth, predictions: truth == predictions[:, 0])
    >>> metric.response, metric.over
    ('labels', 'item')
    """

    name: str
    truth: Truth
    score: Callable[..., np.ndarray]
    top: int = 1
    response: Response | None = None
    over: Literal["item", "items"] = "item"
    larger_is_better: bool = True

    def __post_init__(self) -> None:
        if self.truth not in get_args(Truth):
            raise EvaluationError(f"truth={self.truth!r}: expected one of {get_args(Truth)}")
        check_whole("top", self.top, 1)
        if self.response is None:
            natural = "probabilities" if self.truth == "plausibility" else "labels"
            object.__setattr__(self, "response", natural)
        if self.response not in get_args(Response) or self.over not in ("item", "items"):
            raise EvaluationError(
                f"{self.name}: response={self.response!r} and over={self.over!r}; expected one of "
                f'{get_args(Response)}, and "item" or "items"'
            )
        if self.response == "ranks" and (self.over == "items" or self.truth in ("set", "ranking")):
            raise EvaluationError(
                f'{self.name}: response="ranks" compares single items with plausibilities or labels; '
                f"found over={self.over!r} and truth={self.truth!r}"
            )

    @property
    def grader(self) -> Callable[..., np.ndarray] | None:
        """Score of one item against `Graded` plausibilities, or None."""
        return self.score if self.response == "ranks" else getattr(self.score, "of_graded", None)

    def against(self, truth: Truth) -> "Metric":
        """Return the same metric against another form of truth.

        A label may be sampled, not the most plausible; a metric of plausibilities takes either as certain.

        Raises
        ------
        EvaluationError
            If the metric is not defined for that form of truth.
        """
        if truth == self.truth:
            return self
        if truth not in ("label", "sampled") or self.truth in ("set", "ranking"):
            raise EvaluationError(
                f"truth={truth!r}: {self.name} compares with truth={self.truth!r}"
                + ("" if self.truth in ("set", "ranking") else ', or with "label" or "sampled"')
            )
        if self.truth != "plausibility" or self.response == "ranks":
            return replace(self, truth=truth)
        score = getattr(self.score, "of_labels", None) or OneHotScore(self.score)
        return replace(self, truth=truth, score=score)


@dataclass(frozen=True)
class OneHotScore:
    """Score of plausibilities that takes codes of labels, as one-hot plausibilities."""

    score: Callable[..., np.ndarray]

    def __call__(self, truth: np.ndarray, predictions: np.ndarray, *further: object) -> np.ndarray:
        """Return the score of one-hot plausibilities."""
        categories = np.arange(predictions.shape[-1])
        return self.score((truth[..., None] == categories).astype(float), predictions, *further)


def ratio(part: np.ndarray, whole: np.ndarray, undefined: float = 0.0) -> np.ndarray:
    """Divide elementwise, with `undefined` where the denominator is not positive."""
    positive = np.broadcast_to(whole > 0, part.shape)
    return np.divide(part, whole, out=np.full(part.shape, undefined), where=positive)


LISTS = 'xr.DataArray([["x", "y"], ["z", "y"]], {"item": ["a", "b"]}, ("item", "position"))'
PROBABILITIES = "truth.copy(data=[[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])"
EXAMPLE = """

Examples
--------
>>> import xarray as xr
>>> from raterzoo import evaluation
>>> truth = xr.DataArray([[.6, .3, .1], [.2, .5, .3]], [("item", ["a", "b"]), ("category", list("xyz"))])
>>> predicted = {predicted}
>>> round(evaluation.uncertainty_adjusted(evaluation.{call}, truth, predicted).item(), 3)
{value}
"""


def example[**P](
    call: str, predicted: str, value: float
) -> Callable[[Callable[P, Metric]], Callable[P, Metric]]:
    """Return a decorator that appends to a docstring the value of a metric for two items, of `LISTS` or `PROBABILITIES`."""

    def decorate(metric: Callable[P, Metric]) -> Callable[P, Metric]:
        metric.__doc__ = cleandoc(metric.__doc__ or "") + EXAMPLE.format(
            call=call, predicted=predicted, value=value
        )
        return metric

    return decorate
