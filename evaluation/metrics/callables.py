"""Metrics from Python functions such as those of scikit-learn, called draw by draw.

For scikit-learn's metrics the form of truth and predictions follows from the name, otherwise from the
caller's arguments. The default is one true and one predicted label for every item.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature

import numpy as np

from ..errors import EvaluationError
from .metric import Metric, Response, Truth

ByDraw = Callable[..., object]
PROBABILITIES = {"log_loss", "brier_score_loss", "d2_log_loss_score", "d2_brier_score"}
SCORES = {"roc_auc_score", "average_precision_score", "top_k_accuracy_score", "hinge_loss"}
GRADES = {"ndcg_score", "dcg_score"}

# modules with metrics of labels, not of numbers
LABEL_METRIC_MODULES = {"sklearn.metrics._classification", "sklearn.metrics._ranking"}
ONE_COLUMN_IF_BINARY = SCORES  # expect one column if there are two categories
LIST_TRUTHS = ("set", "ranking")
LOSSES = ("_loss", "_error", "_deviance")


class FailedDrawError(Exception):
    """Error of a user function at one draw.

    `args` are the number of the draw in its block and the original error.
    """


@dataclass(frozen=True)
class PerDraw:
    """Score over all items that calls a function at every draw; truth and response as in `Metric`."""

    function: ByDraw  # f(y_true, y_pred, **arguments) -> one number
    arguments: Mapping[str, object]
    truth: Truth
    response: Response
    names: np.ndarray  # (code,), label of every code, ascending except for a last OTHER

    def named(self, names: np.ndarray) -> "PerDraw":
        """Return a copy for these labels, passed to the function if it has an argument ``labels``."""
        self._check_positive(names)
        arguments = dict(self.arguments)
        if self._depends_on_order_only():
            names = np.arange(len(names))  # scikit-learn is much slower with text labels
        if self._takes("labels") and "labels" not in arguments and self.truth != "plausibility":
            arguments["labels"] = names
        return replace(self, arguments=arguments, names=np.append(names, _filler_label(names)))

    def __call__(
        self, truth: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None, n_labels: int
    ) -> np.ndarray:
        """Return the value of every draw (sample,).

        Shapes: truth (sample, item[, position or category]); predictions (item, position or category);
        weights (sample or 1, item).
        """
        predicted = self._predicted(predictions, n_labels)
        arguments = dict(self.arguments)
        values = np.empty(len(truth))
        for i, true in enumerate(truth):
            if weights is not None:
                arguments["sample_weight"] = np.broadcast_to(weights, truth.shape[:2])[i]
            try:
                values[i] = _number(self.function(self._true(true), predicted, **arguments))
            except Exception as error:  # any error is reported with the number of its draw
                raise FailedDrawError(i, error) from error
        return values

    def check_weights(self) -> None:
        """Raise if the function has no argument ``sample_weight``."""
        if not self._takes("sample_weight"):
            raise EvaluationError(
                f"{name_of(self.function)} takes no sample_weight, which carries the weights of subgroups and resamples; add it"
            )

    def _true(self, truth: np.ndarray) -> np.ndarray:
        """Convert the truth of one draw to the labels that the function expects."""
        return truth if self.truth == "plausibility" else self.names[truth]

    def _predicted(self, predictions: np.ndarray, n_labels: int) -> np.ndarray:
        """Convert predictions to the labels or scores that the function expects."""
        if self.response != "labels":
            two = n_labels == 2 and _of_scikit_learn(self.function) in ONE_COLUMN_IF_BINARY
            return self._positive(predictions) if two and self.truth != "plausibility" else predictions
        named = self.names[predictions]
        return named if self.truth in LIST_TRUTHS else named[:, 0]

    def _positive(self, predictions: np.ndarray) -> np.ndarray:
        """Scores of the positive one of two labels, by default the second."""
        names = self.names.tolist()[:2]
        positive = self.arguments.get("pos_label")
        return predictions[:, names.index(positive) if positive in names else 1]

    def _depends_on_order_only(self) -> bool:
        """Whether scikit-learn's function depends on labels only through their order."""
        named = {"labels", "pos_label"} & set(self.arguments)
        positive = self._takes("pos_label") and self._average() in (None, "binary")
        of_labels = self.truth in ("label", "sampled")
        module = getattr(self.function, "__module__", "")
        return module in LABEL_METRIC_MODULES and of_labels and not named and not positive

    def _average(self) -> object:
        """Value of the argument ``average``, or its default, or None."""
        parameter = signature(self.function).parameters.get("average")
        return self.arguments.get("average", parameter.default if parameter else None)

    def _takes(self, argument: str) -> bool:
        return argument in signature(self.function).parameters

    def _check_positive(self, names: np.ndarray) -> None:
        """Raise if scikit-learn's binary average has no ``pos_label`` and there is no label 1."""
        if self._average() == "binary" and "pos_label" not in self.arguments and 1 not in names.tolist():
            raise EvaluationError(
                f'{name_of(self.function)}: pass average="macro", "micro" or "weighted", '
                f"or the positive label as pos_label=, such as {names.tolist()[0]!r}"
            )


def metric_from_callable(
    function: ByDraw,
    arguments: Mapping[str, object],
    truth: Truth | None = None,
    response: Response | None = None,
    top: int = 1,
    larger_is_better: bool | None = None,
) -> Metric:
    """Convert a function ``f(y_true, y_pred, **arguments) -> float`` to a metric, or raise.

    Defaults: `truth` is one label, or plausibilities for scikit-learn's metrics of graded relevance;
    `response` as scikit-learn's metric needs it, else labels; `larger_is_better` unless the name ends in
    loss, error or deviance.
    """
    if not callable(function):
        raise EvaluationError(
            f"metric={function!r}: expected a Metric, or a function of true and predicted labels"
        )
    try:
        signature(function)
    except (TypeError, ValueError):
        raise EvaluationError(
            f"metric={name_of(function)}: a built-in without a signature; wrap it: lambda y_true, y_pred: ..."
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


def has_known_direction(function: ByDraw) -> bool:
    """Whether the direction of a function is known, from scikit-learn or the name of a loss."""
    return bool(_of_scikit_learn(function)) or name_of(function).endswith(LOSSES)


def name_of(function: ByDraw) -> str:
    """Name of a function, a partial or a callable object."""
    if isinstance(function, partial):
        return name_of(function.func)
    return getattr(function, "__name__", type(function).__name__)


def _of_scikit_learn(function: ByDraw) -> str:
    """Name of a function of scikit-learn, else ""."""
    of_it = getattr(function, "__module__", "").startswith("sklearn.")
    return name_of(function) if of_it else ""


def _filler_label(names: np.ndarray) -> str | int:
    """Filler label at negative codes, after the end of a set or ranking."""
    return "" if names.dtype.kind == "U" else int(np.iinfo(np.int64).min)


def _number(value: object) -> float:
    """Convert a return value to a float, or raise if it has dims."""
    number = np.asarray(value)
    if number.ndim:
        raise EvaluationError(f"it returned shape {number.shape}, expected one number")
    return float(number)
