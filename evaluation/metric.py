"""What a metric is: which truth it compares with which form of a prediction, and how it scores them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from .errors import EvaluationError

__all__ = ["Certain", "Metric", "Response", "Truth"]

Truth = Literal["label", "set", "ranking", "plausibility", "sampled"]
Response = Literal["labels", "scores", "probabilities", "ranks"]


@dataclass(frozen=True)
class Metric:
    """A score of predictions against one draw of the truth.

    Labels reach `score` as integer codes: within an item, equal codes are the same label. A
    negative code is no label, and that of the truth never equals that of the predictions.

    Attributes
    ----------
    name : str
        Name of the result.
    truth : {"label", "set", "ranking", "plausibility", "sampled"}
        The top-1 label of a draw; its top-j set; the same best first; the plausibilities
        themselves; or one label drawn from them.
    score : callable
        Over ``"item"``: ``score(truth, predictions) -> (..., item)``. Labels: truth (..., item),
        predictions (item, position) best first. Sets and rankings: truth (..., item, position).
        Plausibility: truth (..., item, category), predictions (item, category); a method
        ``of_labels``, if there is one, takes labels where these are the truth, and ``of_graded``
        `Graded` truths of one item, as with ranks.
        Ranks: ``score(truth, ranks) -> (classifier, ...)`` of one item, where truth is `Graded`.
        Over ``"items"``: ``score(truth, predictions, weights, n_labels) -> (...)``, where weights
        (..., item) say how much each item counts, and codes of labels are below n_labels: those
        that are true or predicted in some draw or, with scores, all categories. Of plausibilities,
        a method ``of_predicted(right, predictions, weights)``, if there is one, takes instead those
        (..., item) of the category that is predicted with the largest score.
    top : int
        How many labels of a prediction count, and of the truth if it is a set or a ranking.
    response : {"labels", "scores", "probabilities", "ranks"}
        What it needs of a prediction; by default probabilities to compare with plausibilities,
        else labels. Probabilities of an item sum to one. Ranks (classifier, category) are of all
        categories, 1 = best, ties share their mean, and what is not predicted is tied last.
    over : {"item", "items"}
        Whether each item has a score, of which the mean is taken, or only all of them together.
    larger_is_better : bool
        Whether a classifier with more is the better one.
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
        if not isinstance(self.top, int) or isinstance(self.top, bool) or self.top < 1:
            raise EvaluationError(f"{self.name}: {self.top!r} labels; expected a positive integer")
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
        """The score of one item against `Graded` plausibilities, if it has one."""
        return self.score if self.response == "ranks" else getattr(self.score, "of_graded", None)

    def against(self, truth: Truth) -> "Metric":
        """Return the same metric against another kind of truth.

        A label may be sampled instead of being the most plausible one, and a metric of plausibilities
        takes either label as the certain one.

        Raises
        ------
        EvaluationError
            If the metric has no meaning there.
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
        score = getattr(self.score, "of_labels", None) or Certain(self.score)
        return replace(self, truth=truth, score=score)


@dataclass(frozen=True)
class Certain:
    """A score of plausibilities that takes codes of labels: each is the certain one."""

    score: Callable[..., np.ndarray]

    def __call__(self, truth: np.ndarray, predictions: np.ndarray, *further: object) -> np.ndarray:
        """Return the score of one-hot plausibilities."""
        categories = np.arange(predictions.shape[-1])
        return self.score((truth[..., None] == categories).astype(float), predictions, *further)
