"""Names of metrics in reports and on the command line, without imports of plots: a misspelt name is refused at once."""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import partial

from .. import evaluation

CONCORDANCE = "concordance"

PLAIN: dict[str, Callable[..., evaluation.Metric]] = {
    "accuracy": partial(evaluation.top_k_accuracy, 1),
    "balanced-accuracy": evaluation.balanced_accuracy,
    "precision": evaluation.precision,
    "recall": evaluation.recall,
    "f1": evaluation.f1,
    "kappa": evaluation.cohen_kappa,
    "mcc": evaluation.matthews_correlation,
    "log-loss": evaluation.cross_entropy,
    "cross-entropy": evaluation.cross_entropy,
    "brier": evaluation.brier_score,
    "auc": evaluation.roc_auc,
    "calibration-error": evaluation.calibration_error,
    "kendall-tau": evaluation.kendall_tau,
    "footrule": evaluation.spearman_footrule,
    "rbo": evaluation.rank_biased_overlap,
    "ndcg": evaluation.ndcg,
}

AVERAGED = {name: PLAIN[name] for name in ("precision", "recall", "f1")}

AT: dict[str, Callable[[int], evaluation.Metric]] = {
    "set-accuracy": evaluation.set_accuracy,
    "overlap": evaluation.overlap,
    "average-overlap": evaluation.average_overlap,
    "kendall-tau": evaluation.kendall_tau,
    "footrule": evaluation.spearman_footrule,
    "ndcg": evaluation.ndcg,
}

AVERAGES = ("macro", "micro", "weighted")

NAMES = (
    "top-3-accuracy",
    *(f"{name}@3" for name in AT),
    *(f"{name}-{average}" for name in AVERAGED for average in AVERAGES),
    *PLAIN,
    CONCORDANCE,
)


class MetricError(ValueError):
    """A metric is unknown, or does not suit the predictions; the command line shows the text `with_option`."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"metric {problem}")
        self.with_option: str = f"--metric {problem}"


def metric_named(name: str) -> evaluation.Metric:
    """Return a metric by its command-line name, such as ``f1-weighted``; raise MetricError if there is no such metric."""
    if name in PLAIN:
        return PLAIN[name]()
    if top := re.fullmatch(r"top-([1-9]\d{0,5})-accuracy", name):
        return evaluation.top_k_accuracy(int(top[1]))
    kind, at, number = name.partition("@")
    if kind in AT and at and re.fullmatch(r"[1-9]\d{0,5}", number):
        return AT[kind](int(number))
    kind, _, average = name.rpartition("-")
    if kind in AVERAGED and average in AVERAGES:
        return AVERAGED[kind](average)
    known = {re.sub(r"\d+", "3", own): own for own in NAMES}  # any number is as near as another
    near = get_close_matches(re.sub(r"\d+", "3", name.lower()), known, n=1, cutoff=0.5)
    meant = f"did you mean {known[near[0]]}? They" if near else "they"
    raise MetricError(
        f"{name}: there is no such metric; {meant} are top-3-accuracy, {', '.join(f'{n}@3' for n in AT)} (any "
        f"number), {', '.join(PLAIN)}, {' and '.join(AVERAGED)} also with -{', -'.join(AVERAGES)}; of comparisons {CONCORDANCE}"
    )


def check_metrics(names: Iterable[str]) -> None:
    """Raise MetricError if any name is of no metric."""
    for name in names:
        if name != CONCORDANCE:
            metric_named(name)
