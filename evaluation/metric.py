"""What a metric is: which truth it compares predictions with, and how it scores one item."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .errors import EvaluationError

__all__ = ["Metric", "Truth"]

Truth = Literal["label", "set", "ranking", "plausibility", "sampled"]


@dataclass(frozen=True)
class Metric:
    """A score of predictions against one draw of the truth, item by item.

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
        ``score(truth, predictions) -> (..., item)``. Labels: truth (..., item), predictions (item,
        position) best first. Sets and rankings: truth (..., item, position). Plausibility: truth
        (..., item, category), predictions (item, category).
    top : int
        How many labels of a prediction count, and of the truth if it is a set or a ranking.
    """

    name: str
    truth: Truth
    score: Callable[[np.ndarray, np.ndarray], np.ndarray]
    top: int = 1

    def __post_init__(self) -> None:
        if self.truth not in Truth.__args__:
            raise EvaluationError(f"truth={self.truth!r}: expected one of {Truth.__args__}")
        if not isinstance(self.top, int) or self.top < 1:
            raise EvaluationError(f"{self.name}: {self.top!r} labels; expected a positive integer")
