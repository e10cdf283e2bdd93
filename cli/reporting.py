"""A report: fit, diagnose, evaluate, and hand the parts to the page."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from .. import __version__, evaluation, inference, models
from ..evaluation import plots
from ..reports import Section, write_report
from .concordances import read_orders
from .fitting import draw, write_posterior
from .predicted import metric_section, sweep_section
from .reading import Container, labels_of, read_annotations, read_container, read_predictions
from .screen import say
from .settings import Settings
from .truth import truth_sections
from .vote_check import vote_check_section
from .voted import concordance_section, model_in_words, vote_sections
from .votes import build_votes, draw_votes, read_votes

__all__ = [
    "certainty_section",
    "convergence_section",
    "make_report",
    "strips_section",
]

MOST_STRIPS = 6


def make_report(
    annotations: Path,
    predictions: Path | None,
    columns: Sequence[str],
    settings: Settings,
    out: Path,
) -> None:
    """Write the report of a table of annotations.

    Parameters
    ----------
    annotations : Path
        Table.
    predictions : Path or None
        Table of predictions to evaluate.
    columns : sequence of str
        Renamings in the annotations.
    settings : Settings
        Model, priors, reliabilities and sampler.
    out : Path
        Folder of the report.
    """
    of_kind = _vote_parts if settings.kind == "comparisons" else _truth_parts
    parts = of_kind(annotations, predictions, columns, settings)
    sections = [*parts.sections, citation_section(settings.model)]
    write_posterior(parts.tree, out / "posterior.nc")
    say(inference.diagnose(parts.tree).attrs["verdict"])
    say(f"wrote {write_report(out, parts.title, parts.summary, sections)}")


class Parts(NamedTuple):
    """What a report is made of.

    Attributes
    ----------
    title, summary : str
        Heading, and the sentence below it.
    tree : DataTree
        Posterior.
    sections : list of Section
        In reading order, without the last one, what to cite.
    """

    title: str
    summary: str
    tree: xr.DataTree
    sections: list[Section]


def _vote_parts(
    annotations: Path, predictions: Path | None, columns: Sequence[str], settings: Settings
) -> Parts:
    """Fit votes, and lay out what they say of the items and the raters."""
    votes = read_votes(annotations, columns, settings)
    orders = None if predictions is None else read_orders(predictions, [], votes.items)
    model = build_votes(votes, settings)
    tree = draw_votes(model, settings)
    kept = "\n\nOnly the largest component of the table is kept." * settings.largest_component
    sections = [
        Section("Data", votes.report() + kept),
        _model_section(settings, tree, model_in_words(tree)),
        convergence_section(tree),
        *vote_sections(tree, votes),
        vote_check_section(model, tree, settings.seed),
    ]
    if orders is not None:
        sections.append(concordance_section(tree, orders))
    raters = "raters who are not told apart" if votes.anonymous else f"{len(votes.raters):,} raters"
    summary = f"{len(votes.items):,} items, {raters}, {len(votes):,} votes."
    return Parts("Who is best, and how sure the votes make us", summary, tree, sections)


def _truth_parts(
    annotations: Path, predictions: Path | None, columns: Sequence[str], settings: Settings
) -> Parts:
    """Fit rankings or labels, and lay out what they say of the truth."""
    predicted = read_predictions(predictions, []) if predictions else None
    data = read_annotations(annotations, settings, columns)
    unheard: list[str] = []
    if predicted is not None and settings.categories is None:
        unheard = sorted(set(labels_of(predicted)) - set(data.categories.tolist()))
    if unheard:
        everything = [*data.categories.tolist(), *unheard]
        data = read_container(
            annotations, settings.kind, columns, everything, layout=settings.layout
        )
    trees = draw(data, settings)
    tree = trees[settings.reliabilities[0]]
    sections = [
        Section("Data", data.report() + _only_predicted(unheard)),
        _model_section(settings, tree),
        convergence_section(tree),
        *_certainty_sections(tree, data),
        strips_section(tree, data),
    ]
    if predicted is not None:
        sections.append(metric_section(tree, predicted, settings.seed))
        if len(trees) > 1:
            sections.append(sweep_section(trees, predicted, data, settings.seed))
    summary = f"{len(data.items)} items, {len(data.raters)} raters, {len(data)} annotations."
    return Parts("What the raters said, and how sure that makes us", summary, tree, sections)


def _only_predicted(unheard: Sequence[str]) -> str:
    """Name the categories that belong to the closed set because a prediction names them."""
    if not unheard:
        return ""
    return (
        "\n\nThe closed set was not declared (--categories): it is what raters or predictions name. Only predicted: "
        f"{', '.join(unheard)}."
    )


def _certainty_sections(tree: xr.DataTree, data: Container) -> list[Section]:
    """Return how certain the truth is: one category, or the plausibilities themselves."""
    if isinstance(data, models.Labels) and "prevalence" in tree["posterior"]:
        return truth_sections(tree, data)
    return certainty_section(tree, data)


def _model_section(settings: Settings, tree: xr.DataTree, further: str = "") -> Section:
    """Say what was believed and how it was drawn."""
    entry = models.catalog[settings.model]
    trust = f"Reliability {settings.reliabilities[0]:g}. " if settings.has_reliability else ""
    others = ", ".join(
        f"{name} = {value}" for name, value in settings.priors.items() if value is not True
    )
    text = (
        f"{entry.summary}. {further}{trust}{others if others else 'Default priors'}; drawn by "
        f"{tree.attrs['method']} in {tree.attrs['seconds']:.1f} seconds, seed {tree.attrs['seed']}."
    )
    return Section("Model", text)


def convergence_section(tree: xr.DataTree) -> Section:
    """Return the verdict on the draws, and the items that mix worst.

    Parameters
    ----------
    tree : DataTree
        Posterior.

    Returns
    -------
    Section
        With a table of all items.
    """
    diagnosis = inference.diagnose(tree)
    names = diagnosis["quantity"].to_numpy()
    r_hat, bulk, tail = (diagnosis[name].to_numpy() for name in ("r_hat", "ess_bulk", "ess_tail"))
    smallest = np.fmin(bulk, tail)  # (quantity, item)
    worst = np.where(np.isnan(smallest), np.inf, smallest).argmin(axis=0)
    rows = [
        {
            "item": str(diagnosis["item"].to_numpy()[i]),
            "worst quantity": str(names[worst[i]]),
            "R-hat": float(r_hat[worst[i], i]),
            "bulk ESS": float(bulk[worst[i], i]),
            "tail ESS": float(tail[worst[i], i]),
        }
        for i in np.argsort(smallest[worst, np.arange(len(worst))], kind="stable")
    ]
    return Section("Convergence", diagnosis.attrs["verdict"], rows=rows, file="convergence")


def certainty_section(tree: xr.DataTree, data: Container) -> list[Section]:
    """Return how sure the annotations make us of the truth, over all items and item by item.

    Parameters
    ----------
    tree : DataTree
        Posterior.
    data : PartialRankings or Labels
        The annotations.

    Returns
    -------
    list of Section
        One section with the picture and the table.
    """
    tops = {
        f"top {j}": evaluation.annotation_certainty(tree, top=j, random_seed=1) for j in (1, 2, 3)
    }
    labels = evaluation.plausible_labels(tree, top=1, random_seed=1)
    annotations = np.bincount(data.annotation_item, minlength=len(data.items))
    if isinstance(data, models.Labels):
        annotations = data.counts.sum(axis=1)
    first = tops["top 1"].to_numpy()
    rows = [
        {
            "item": str(data.items[i]),
            "annotations": int(annotations[i]),
            "most plausible": str(labels["label"].to_numpy()[i, 0, 0]),
            **{f"certainty {name}": float(values.to_numpy()[i]) for name, values in tops.items()},
        }
        for i in np.argsort(first, kind="stable")
    ]
    text = (
        f"Annotation certainty is the posterior probability of the most probable set of best labels. It is below .99 for "
        f"{(first < 0.99).mean():.0%} of the items; {first.mean():.3f} on average. The least certain items come first."
    )
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    plots.sorted_certainty(tops, ax=figure.add_subplot())
    return [Section("Certainty", text, [figure], rows, "certainty")]


def strips_section(tree: xr.DataTree, data: Container) -> Section:
    """Return pictures of the least certain items.

    Parameters
    ----------
    tree : DataTree
        Posterior.
    data : PartialRankings or Labels
        The annotations, for the point estimates.

    Returns
    -------
    Section
        Strips.
    """
    certainty = evaluation.annotation_certainty(tree, random_seed=1)
    items = certainty["item"].to_numpy()[
        np.argsort(certainty.to_numpy(), kind="stable")[:MOST_STRIPS]
    ]
    if isinstance(data, models.PartialRankings):
        nobody = " OTHER is what nobody ranked."
        point = {
            "IRN": inference.irn(data),
            "maximum likelihood": inference.plackett_luce_mle(data)["plausibility"],
        }
    else:
        nobody, point = "", {"vote": inference.majority_vote(data)["plausibility"].fillna(0)}
    figure = plots.plausibility_strips(tree, items.tolist(), point=point)
    text = (
        "The least certain items: median, 50 % and 90 % intervals of the plausibilities, with "
        f"{' and '.join(point)} as point estimates.{nobody}"
    )
    return Section("Plausibilities", text, [figure])


def citation_section(model: str) -> Section:
    """Return what to cite.

    Parameters
    ----------
    model : str
        Name of the model.

    Returns
    -------
    Section
        One sentence.
    """
    return Section(
        "How to cite", f"Cite {models.catalog[model].reference}, and raterzoo {__version__}."
    )
