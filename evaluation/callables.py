"""Any function of true and predicted labels as a metric: scikit-learn's or the user's, called draw by draw.

What a function wants of truth and predictions is told by its name where it is scikit-learn's, else by the
caller; the default is one true and one predicted label of every item.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature

import numpy as np

from .errors import EvaluationError
from .metric import Metric, Response, Truth

__all__ = ["FailedDrawError", "PerDraw", "metric_of", "name_of", "says_what_is_better"]

ByDraw = Callable[..., object]
PROBABILITIES = {"log_loss", "brier_score_loss", "d2_log_loss_score", "d2_brier_score"}
SCORES = {"roc_auc_score", "average_precision_score", "top_k_accuracy_score", "hinge_loss"}
GRADES = {"ndcg_score", "dcg_score"}
OF_LABELS = {"sklearn.metrics._classification", "sklearn.metrics._ranking"}  # not of numbers
OF_TWO = SCORES  # want one column if there are two categories
IN_ORDER = ("set", "ranking")
LOSSES = ("_loss", "_error", "_deviance")


class FailedDrawError(Exception):
    """A function raised at one draw; `args` are the number of the draw in its block and the error."""


@dataclass(frozen=True)
class PerDraw:
    """A function as the score of a metric over all items.

    Attributes
    ----------
    function : callable
        ``f(y_true, y_pred, **arguments)``, one number.
    arguments : mapping
        Handed over with every draw.
    truth, response : str
        What it is given; see `Metric`.
    names : ndarray
        Label of every code; ascending, but for a last OTHER.
    """

    function: ByDraw
    arguments: Mapping[str, object]
    truth: Truth
    response: Response
    names: np.ndarray

    def named(self, names: np.ndarray) -> "PerDraw":
        """Return the same for these labels, told to the function if it asks for them."""
        self._check_positive(names)
        arguments = dict(self.arguments)
        if self._is_blind_to_names():
            names = np.arange(len(names))  # scikit-learn is much slower on text
        if self._takes("labels") and "labels" not in arguments and self.truth != "plausibility":
            arguments["labels"] = names
        return replace(self, arguments=arguments, names=np.append(names, _nothing(names)))

    def __call__(
        self,
        truth: np.ndarray,
        predictions: np.ndarray,
        weights: np.ndarray | None,
        n_labels: int,
    ) -> np.ndarray:
        """Return the value of every draw."""
        predicted = self._predicted(predictions, n_labels)
        arguments = dict(self.arguments)
        values = np.empty(len(truth))
        for i, true in enumerate(truth):
            if weights is not None:
                arguments["sample_weight"] = np.broadcast_to(weights, truth.shape[:2])[i]
            try:
                values[i] = _number(self.function(self._true(true), predicted, **arguments))
            except Exception as error:  # whatever it is: the user needs to know at which draw
                raise FailedDrawError(i, error) from error
        return values

    def check_weights(self) -> None:
        """Raise if the function cannot weigh items."""
        if not self._takes("sample_weight"):
            raise EvaluationError(
                f"{name_of(self.function)} takes no sample_weight, by which items of subgroups and resamples count; add it"
            )

    def _true(self, truth: np.ndarray) -> np.ndarray:
        return truth if self.truth == "plausibility" else self.names[truth]

    def _predicted(self, predictions: np.ndarray, n_labels: int) -> np.ndarray:
        if self.response != "labels":
            two = n_labels == 2 and _of_scikit_learn(self.function) in OF_TWO
            return (
                self._positive(predictions) if two and self.truth != "plausibility" else predictions
            )
        named = self.names[predictions]
        return named if self.truth in IN_ORDER else named[:, 0]

    def _positive(self, predictions: np.ndarray) -> np.ndarray:
        """Return the scores of the positive one of two labels, by default the second."""
        names = self.names.tolist()[:2]
        positive = self.arguments.get("pos_label")
        return predictions[:, names.index(positive) if positive in names else 1]

    def _is_blind_to_names(self) -> bool:
        """Return whether scikit-learn needs of the labels no more than their order."""
        named = {"labels", "pos_label"} & set(self.arguments)
        positive = self._takes("pos_label") and self._average() in (None, "binary")
        of_labels = self.truth in ("label", "sampled")
        module = getattr(self.function, "__module__", "")
        return module in OF_LABELS and of_labels and not named and not positive

    def _average(self) -> object:
        parameter = signature(self.function).parameters.get("average")
        return self.arguments.get("average", parameter.default if parameter else None)

    def _takes(self, argument: str) -> bool:
        return argument in signature(self.function).parameters

    def _check_positive(self, names: np.ndarray) -> None:
        """Raise if scikit-learn would look for the label 1 in vain."""
        if (
            self._average() == "binary"
            and "pos_label" not in self.arguments
            and 1 not in names.tolist()
        ):
            raise EvaluationError(
                f'{name_of(self.function)}: say average="macro", "micro" or "weighted", or which of the labels, such as '
                f"{names.tolist()[0]!r}, is pos_label="
            )


def metric_of(
    function: ByDraw,
    arguments: Mapping[str, object],
    truth: Truth | None = None,
    response: Response | None = None,
    top: int = 1,
    larger_is_better: bool | None = None,
) -> Metric:
    """Return a function as a metric.

    Parameters
    ----------
    function : callable
        ``f(y_true, y_pred, **arguments)``, one number.
    arguments : mapping
        Of the function.
    truth : {"label", "set", "ranking", "plausibility", "sampled"}, optional
        By default one label; plausibilities for scikit-learn's metrics of graded relevance.
    response : {"labels", "scores", "probabilities"}, optional
        By default as scikit-learn's metric needs it, else labels.
    top : int
        Labels of a set or a ranking.
    larger_is_better : bool, optional
        By default as the name says: not where it ends in loss, error or deviance.
    """
    if not callable(function):
        raise EvaluationError(
            f"metric={function!r}: expected a Metric, or a function of true and predicted labels"
        )
    try:
        signature(function)
    except (TypeError, ValueError):
        raise EvaluationError(
            f"metric={name_of(function)}: a built-in that does not tell its arguments; wrap it: lambda y_true, y_pred: ..."
        ) from None
    if isinstance(function, partial) and not function.args:
        function, arguments = function.func, {**function.keywords, **arguments}
    known = _of_scikit_learn(function)
    if truth is None:
        truth = "plausibility" if known in GRADES else "label"
    if response is None:
        scored = known in SCORES or known in GRADES
        natural = "scores" if scored or truth == "plausibility" else "labels"
        response = "probabilities" if known in PROBABILITIES else natural
    name = name_of(function)
    score = PerDraw(function, arguments, truth, response, np.empty(0))
    if larger_is_better is None:
        larger_is_better = not name.endswith(LOSSES)
    return Metric(name, truth, score, top, response, "items", larger_is_better)


def says_what_is_better(function: ByDraw) -> bool:
    """Return whether the name of a function tells if more is better."""
    return bool(_of_scikit_learn(function)) or name_of(function).endswith(LOSSES)


def name_of(function: ByDraw) -> str:
    """Return the name of a function or of what acts as one."""
    if isinstance(function, partial):
        return name_of(function.func)
    return getattr(function, "__name__", type(function).__name__)


def _of_scikit_learn(function: ByDraw) -> str:
    """Return the name of a metric of scikit-learn, else nothing."""
    of_it = getattr(function, "__module__", "").startswith("sklearn.")
    return name_of(function) if of_it else ""


def _nothing(names: np.ndarray) -> str | int:
    """Return what stands where a set or a ranking has ended: codes below zero find it last."""
    return "" if names.dtype.kind == "U" else int(np.iinfo(np.int64).min)


def _number(value: object) -> float:
    number = np.asarray(value)
    if number.ndim:
        raise EvaluationError(f"it returned shape {number.shape}, expected one number")
    return float(number)
