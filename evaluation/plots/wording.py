"""Display names of metrics."""

import re

__all__ = ["in_words"]

# metrics of the k best labels, with k at the end of their names
OF_THE_BEST = (
    "set_accuracy",
    "overlap",
    "average_overlap",
    "rank_biased_overlap",
    "kendall_tau",
    "spearman_footrule",
    "ndcg",
)
WORDS = {
    "cross_entropy": "cross-entropy",
    "rank_biased": "rank-biased",
    "kendall_tau": "Kendall's tau",
    "spearman_footrule": "Spearman's footrule",
    "cohen_kappa": "Cohen's kappa",
    "matthews_correlation": "Matthews correlation",
    "matthews_corrcoef": "Matthews correlation",
    "brier": "Brier",
    "f1": "F1",
    "ndcg": "nDCG",
    "roc_auc": "ROC AUC",
}


def in_words(name: object) -> str:
    """Return the display name of a metric: "top-3 accuracy" for ``top_3_accuracy``."""
    text, best = _without_number(str(name))
    text = re.sub(r"^top_(\d+|k)_", r"top-\1 ", text)
    for raw, words in WORDS.items():
        text = re.sub(rf"(?<![a-z]){raw}(?![a-z0-9])", words, text)
    return text.replace("_", " ") + best


def _without_number(name: str) -> tuple[str, str]:
    kind, _, number = name.rpartition("_")
    if kind in OF_THE_BEST and number.isdecimal():
        return kind, f", {number} best"
    return name, ""
