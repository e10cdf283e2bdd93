"""The parts of a report on labels: how certain the true categories are, and what each rater is worth."""

from itertools import combinations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from .. import evaluation
from ..evaluation import plots
from ..models import Labels
from ..reports import Section
from .certain import certainty_in_words

__all__ = ["truth_sections"]

FEW_RATERS = 8  # whose matrices and pairs fit on a page
RESAMPLES = 200


def truth_sections(tree: xr.DataTree, data: Labels, seed: int = 1) -> list[Section]:
    """Return the certainty of the true categories, and the raters, best first.

    Parameters
    ----------
    tree : DataTree
        Posterior of a model of labels.
    data : Labels
        The annotations.
    seed : int
        For the weights of the items.

    Returns
    -------
    list of Section
        Certainty; raters, where the model tells them apart.
    """
    truth = evaluation.truth_certainty(tree)
    certainty = truth["certainty"].to_numpy()
    answers = data.counts.sum(axis=1)
    rows = [
        {
            "item": str(data.items[i]),
            "answers": int(answers[i]),
            "most probable": str(truth["label"].to_numpy()[i]),
            "certainty": float(certainty[i]),
        }
        for i in np.argsort(certainty, kind="stable")
    ]
    words, facts = certainty_in_words(tree, certainty, seed)
    text = (
        "The certainty of an item is the posterior probability of its most probable true category. "
        f"{words} The least certain items come first."
    )
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    plots.sorted_certainty(truth["certainty"], ax=left)
    left.set_ylabel("certainty")
    plots.certainty_histogram(truth["certainty"], ax=right)
    sections = [
        Section(
            "Certainty", text, [figure], rows, "certainty", key="certainty", facts=facts, most=10
        ),
        _prevalence_section(tree),
    ]
    if "rater" in tree["posterior"]["confusion"].dims:
        sections.append(_raters_section(tree))
        if 1 < len(data.raters) <= FEW_RATERS and data.identified:
            sections.append(_agreement_section(tree))
    return sections


def _prevalence_section(tree: xr.DataTree) -> Section:
    """Return how frequent the true categories are, with 90 % intervals."""
    prevalence = tree["posterior"]["prevalence"]
    mean = prevalence.mean(("chain", "draw")).to_numpy()
    low, high = prevalence.quantile([0.05, 0.95], ("chain", "draw")).to_numpy()
    rows = [
        {"category": str(name), "prevalence": float(m), "5 %": float(a), "95 %": float(b)}
        for name, m, a, b in zip(prevalence["category"].to_numpy(), mean, low, high, strict=True)
    ]
    text = "How frequent each true category is among the items from which these are a sample."
    return Section("Prevalence", text, rows=rows, file="prevalence", key="prevalence")


def _raters_section(tree: xr.DataTree) -> Section:
    """Return what each rater's label is worth, with 90 % intervals."""
    quality = evaluation.rater_quality(tree)
    mean = quality["information"].mean(("chain", "draw")).to_numpy()
    bounds = {
        name: quality[name].quantile([0.05, 0.95], ("chain", "draw")).to_numpy()
        for name in ("information", "accuracy")
    }
    rows = [
        {
            "rater": str(quality["rater"].to_numpy()[r]),
            "information (bits)": float(mean[r]),
            "5 %": float(bounds["information"][0, r]),
            "95 %": float(bounds["information"][1, r]),
            "accuracy": float(quality["accuracy"].mean(("chain", "draw"))[r]),
            "5 % ": float(bounds["accuracy"][0, r]),
            "95 % ": float(bounds["accuracy"][1, r]),
        }
        for r in np.argsort(-mean, kind="stable")
    ]
    text = (
        "Information is how many bits one label of the rater says about the truth; accuracy how often it is the truth. A rater "
        "who always confuses two categories has no accuracy, but all information."
    )
    figures = [plots.rater_forest(quality["information"], label="information in bits")]
    if quality.sizes["rater"] <= FEW_RATERS:
        text += " Of the confusion matrices the mean is shown, and the 90 % interval."
        matrices = evaluation.confusion_intervals(tree)
        figures.append(plots.confusion_matrices(matrices, matrices["rater"].to_numpy().tolist()))
    return Section("Raters", text, figures, rows, "raters", key="raters")


def _agreement_section(tree: xr.DataTree) -> Section:
    """Return the agreement beyond chance, with 90 % intervals over resampled items."""
    try:
        found = evaluation.label_agreement(
            evaluation.ratings_of(tree), bootstrap=RESAMPLES, random_seed=1
        )
    except evaluation.EvaluationError as missing:
        return Section("Agreement", f"Not computed: {missing}.")
    raters = found["rater"].to_numpy()
    figures = {"Krippendorff's alpha": ("alpha", {}), "Gwet's AC1": ("ac1", {})}
    for a, b in combinations(raters.tolist(), 2):
        figures[f"kappa of {a} and {b}"] = ("kappa", {"rater": a, "other": b})
    rows = [
        {
            "coefficient": name,
            "value": float(found[statistic].sel(**place)),
            "5 %": float(found[f"{statistic}_interval"].sel(**place, bound="lower")),
            "95 %": float(found[f"{statistic}_interval"].sel(**place, bound="upper")),
        }
        for name, (statistic, place) in figures.items()
    ]
    text = (
        "How much more the raters agree than chance would, of the most frequent answer of each to an item. It says nothing of "
        "who is right; the section above does."
    )
    return Section("Agreement", text, rows=rows, file="agreement", key="agreement")
