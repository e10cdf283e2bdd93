"""Metrics from Python functions such as those of scikit-learn, called draw by draw.

For scikit-learn's metrics the form of truth and predictions follows from the name, otherwise from the
caller's arguments. The default is one true and one predicted label for every item.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from inspect import Parameter, signature

import numpy as np

from ...posterior.errors import EvaluationError
from .metric import Metric, Response, Truth

ByDraw = Callable[..., object]
PROBABILITIES = {"log_loss", "brier_score_loss", "d2_log_loss_score", "d2_brier_score"}
# of these, one column if there are two categories
SCORES = {"roc_auc_score", "average_precision_score", "top_k_accuracy_score", "hinge_loss"}
GRADES = {"ndcg_score", "dcg_score"}
# modules with metrics of labels, not of numbers
LABEL_METRIC_MODULES = {"sklearn.metrics._classification", "sklearn.metrics._ranking"}
LIST_TRUTHS = ("set", "ranking")
LOSSES = ("_loss", "_error", "_deviance")


class FailedDrawError(Exception):
    """Error of a user function at one draw; `args`: the draw's number in its block, the original error."""


@dataclass(frozen=True)
class PerDraw:
    """Score over all items that calls a function at every draw; truth and response as in `Metric`."""

    function: ByDraw  # f(y_true, y_pred, **arguments) -> one number
    arguments: Mapping[str, object]
    truth: Truth
    response: Response
    names: np.ndarray  # (code,), label of every code, ascending except for a last OTHER

    def named(self, names: np.ndarray) -> "PerDraw":
        """Return a copy with the labels (code,) of the codes; a function with an argument ``labels`` receives them."""
        arguments, average = dict(self.arguments), self._average()
        if average == "binary" and "pos_label" not in arguments and 1 not in names.tolist():
            raise EvaluationError(
                f'{name_of(self.function)}: pass average="macro", "micro" or "weighted", '
                f"or the positive label as pos_label=, such as {names.tolist()[0]!r}"
            )
        module = getattr(self.function, "__module__", "")
        binary = self._takes("pos_label") and average in (None, "binary")
        if module in LABEL_METRIC_MODULES and self.truth in ("label", "sampled") and not binary:
            if not {"labels", "pos_label"} & set(arguments):  # labels matter only through their order
                names = np.arange(len(names))  # scikit-learn is much slower with text labels
        fixed = self._takes("labels") and "labels" not in arguments and self.truth != "plausibility"
        if fixed and not self._is_macro():
            arguments["labels"] = names
        # the last label fills sets and rankings after their end, at negative codes
        filler = "" if names.dtype.kind == "U" else int(np.iinfo(np.int64).min)
        return replace(self, arguments=arguments, names=np.append(names, filler))

    def __call__(
        self, truth: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None, n_labels: int
    ) -> np.ndarray:
        """Return the metric of every draw, (sample,). Shapes: truth (sample, item, ...), weights (sample or 1, item)."""
        arguments, predicted = dict(self.arguments), predictions
        if self.response == "labels":
            predicted = self.names[predictions if self.truth in LIST_TRUTHS else predictions[:, 0]]
        elif n_labels == 2 and _of_scikit_learn(self.function) in SCORES and self.truth != "plausibility":
            # the column of the positive label, by default the second
            names, positive = self.names.tolist()[:2], arguments.get("pos_label")
            predicted = predictions[:, names.index(positive) if positive in names else 1]
        macro = self._is_macro() and self._takes("labels") and "labels" not in arguments
        values = np.empty(len(truth))
        for i, true in enumerate(truth):
            own = np.ones(len(true)) if weights is None else np.broadcast_to(weights, truth.shape[:2])[i]
            if weights is not None:
                arguments["sample_weight"] = own
            if macro:  # over the labels that occur in the draw
                arguments["labels"] = self.names[np.union1d(true[own > 0], predictions[own > 0, 0])]
            try:
                labels = true if self.truth == "plausibility" else self.names[true]
                value = np.asarray(self.function(labels, predicted, **arguments))
                if value.ndim:
                    raise EvaluationError(f"it returned shape {value.shape}, expected one number")
                values[i] = float(value)
            except Exception as error:  # any error is reported with the number of its draw
                raise FailedDrawError(i, error) from error
        return values

    def check_weights(self) -> None:
        """Raise if the function has no argument ``sample_weight``."""
        if not self._takes("sample_weight"):
            raise EvaluationError(
                f"{name_of(self.function)} takes no sample_weight, which carries the weights of subgroups and resamples; add it"
            )

    def _average(self) -> object:
        """Value of the argument ``average``, or its default, or None."""
        parameter = signature(self.function).parameters.get("average")
        return self.arguments.get("average", parameter.default if parameter else None)

    def _is_macro(self) -> bool:
        """Whether the function averages over labels, each of which counts the same."""
        return self._average() == "macro" and self.response == "labels" and self.truth in ("label", "sampled")

    def _takes(self, argument: str) -> bool:
        return argument in signature(self.function).parameters


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
    `response` as scikit-learn's metric needs it, else labels; `larger_is_better` unless named loss, error or
    deviance.
    """
    refuse_factory(function)
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
        scored = known in SCORES | GRADES or truth == "plausibility"
        response = "probabilities" if known in PROBABILITIES else "scores" if scored else "labels"
    name = name_of(function)
    score = PerDraw(function, arguments, truth, response, np.empty(0))
    if larger_is_better is None:
        larger_is_better = not name.endswith(LOSSES)
    return Metric(name, truth, score, top, response, "items", larger_is_better)


def refuse_factory(function: ByDraw) -> None:
    """Raise for a function that returns a `Metric`, such as `evaluation.f1`: its call was forgotten."""
    if getattr(function, "__annotations__", {}).get("return") in (Metric, "Metric"):
        needed = [p.name for p in signature(function).parameters.values() if p.default is Parameter.empty]
        call = f"evaluation.{name_of(function)}({', '.join(needed)})"
        raise EvaluationError(f"metric={name_of(function)}: this function returns the metric; pass {call}")


def has_known_direction(function: ByDraw) -> bool:
    """Whether the direction of a function is known, from scikit-learn or the name of a loss."""
    refuse_factory(function)
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
