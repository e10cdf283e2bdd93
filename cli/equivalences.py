"""How many raters a classifier is worth, from files: the command, and the part of a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from .options import Categories, Chains, Columns, Draws, Layout, LayoutOption, Seed

if TYPE_CHECKING:
    import xarray as xr

    from ..models import Labels
    from ..reports import Section
    from .settings import Settings
    from .study import Study

__all__ = ["equivalence", "equivalence_part"]

COMBINERS = ("abc", "plurality", "frequency", "mean")
ADDITIVE = ("cross-entropy", "agreement", "brier")
SCORERS = (*ADDITIVE, "precision", "recall", "f1", "auc", "mcc", "dmi", "soft-dmi", "pearson")
SCORERS += ("spearman",)
MODEL = "item_states"
LONGEST = 50  # of the posterior's curve
TITLES = ("scores", "k raters; P(a classifier is better)", "the better classifier first")
NOT_CONVERGED = 1  # exit code


class Extras(NamedTuple):
    """What is wanted besides the equivalences."""

    calibrate: bool
    posterior: tuple[int, int] | None  # draws and chains
    plot: Path | None
    out: Path | None


def equivalence(
    labels: Annotated[Path, typer.Argument(help="Table of labels: CSV, TSV, Parquet, JSON lines.")],
    predictions: Annotated[
        Path,
        typer.Argument(help="Table: item, category, score (a probability) or rank[, classifier]."),
    ],
    layout: LayoutOption = Layout.long,
    column: Columns = None,
    categories: Categories = None,
    combiner: Annotated[
        str | None,
        typer.Option(
            help=f"{', '.join(COMBINERS)}; by default abc, of hard predictions plurality."
        ),
    ] = None,
    scorer: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(SCORERS)}; cross-entropy, of hard predictions agreement."),
    ] = None,
    clip: Annotated[float, typer.Option(help="Least probability that is scored.")] = 0.02,
    items: Annotated[str, typer.Option(help="available or common (to all k).")] = "available",
    estimand: Annotated[str, typer.Option(help="pooled or mean.")] = "pooled",
    learn: Annotated[
        str | None,
        typer.Option(
            help="Of abc: leave-one-out, in-sample (of f1, auc ...), or a number of folds."
        ),
    ] = None,
    base: Annotated[float, typer.Option(help="Of the logarithm.")] = 2,
    positive: Annotated[
        str | None, typer.Option(help="The category that precision, recall, f1 and auc are about.")
    ] = None,
    max_raters: Annotated[int | None, typer.Option(help="Where the curve ends.")] = None,
    bootstrap: Annotated[int, typer.Option(help="Resamples of the items; 0 for none.")] = 500,
    prob: Annotated[float, typer.Option(help="Probability of the intervals.")] = 0.9,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Add isotonic calibration, cross-fitted.")
    ] = False,
    posterior: Annotated[
        bool, typer.Option("--posterior", help="Fit item states; a curve beyond the raters.")
    ] = False,
    draws: Draws = 1000,
    chains: Chains = 4,
    plot: Annotated[Path | None, typer.Option(help="Picture: curve.svg or curve.png.")] = None,
    out: Annotated[Path | None, typer.Option(help="All figures: worth.csv or worth.json.")] = None,
    seed: Seed = 1,
) -> None:
    """Say how many raters each classifier is worth."""
    from .settings import Settings

    rules = {
        "clip": clip, "items": items, "estimand": estimand, "base": base, "positive": positive,
        "max_raters": max_raters, "bootstrap": bootstrap, "probability": prob, "random_seed": seed,
    }  # fmt: skip
    _check_files(plot, out)
    for option, value, allowed in (
        ("combiner", combiner, COMBINERS),
        ("scorer", scorer, SCORERS),
        ("items", items, ("available", "common")),
        ("estimand", estimand, ("pooled", "mean")),
    ):
        if value is not None and value not in allowed:
            raise ValueError(f"--{option} {value}: expected one of {', '.join(allowed)}")
    settings = Settings.of(
        "labels", MODEL, {"categories": categories}, draws=draws, chains=chains, seed=seed, layout=layout
    )  # fmt: skip
    data, law, hard = _read(labels, predictions, column or [], settings)
    rules |= _natural(hard, combiner, scorer, learn)
    extras = Extras(calibrate, (draws, chains) if posterior else None, plot, out)
    _tell(data, law, rules, extras)


def equivalence_part(study: "Study") -> "list[Section]":
    """Return how many raters each classifier is worth, of labels with predictions and items with two labels or more.

    Parameters
    ----------
    study : Study
        Annotations and predictions.
    """
    from ..evaluation import EvaluationError
    from ..models import Labels
    from ..reports import Section
    from ..reports.equivalence import TITLE, equivalence_sections

    data, predicted = study.data, study.predicted
    if predicted is None or not isinstance(data, Labels) or data.counts.sum(axis=1).max() < 2:
        return []
    rules = _natural("category" not in predicted.dims, None, None, None)
    rules |= {"probability": 0.9, "random_seed": study.seed}
    try:
        found = _worth(data, _probabilities(predicted, data), rules)
    except EvaluationError as problem:
        return [Section(TITLE, f"Not computed: {problem}.", key="equivalence")]
    return equivalence_sections(found, _picture(found))


def _check_files(plot: Path | None, out: Path | None) -> None:
    """Raise before anything is computed if a file cannot be written in the format of its name."""
    if plot is not None and plot.suffix.lower() not in (".svg", ".png"):
        raise ValueError(f"--plot {plot}: name a .svg or a .png file")
    if out is not None and out.suffix.lower() not in (".csv", ".json"):
        raise ValueError(f"--out {out}: name a .csv or a .json file")


def _natural(
    hard: bool, combiner: str | None, scorer: str | None, learn: str | None
) -> dict[str, Any]:
    """Return what combines, scores and learns: as asked, or what fits hard or soft predictions."""
    by_label = hard or combiner == "plurality"
    scorer = scorer or ("agreement" if by_label else "cross-entropy")
    combiner = combiner or ("plurality" if scorer == "agreement" else "abc")
    if learn is None:
        learn = "leave-one-out" if scorer in ADDITIVE or combiner != "abc" else "in-sample"
    if learn not in ("leave-one-out", "in-sample") and not learn.isdecimal():
        raise ValueError(f"--learn {learn}: write leave-one-out, in-sample, or a number of folds")
    learned = int(learn) if learn.isdecimal() else learn
    return {"combiner": combiner, "scorer": scorer.replace("-", "_"), "learn": learned}


def _read(
    labels: Path, predictions: Path, columns: list[str], settings: "Settings"
) -> "tuple[Labels, xr.DataArray, bool]":
    """Return labels, probabilities, and whether they are hard."""
    from ..reports.words import few
    from .reading import labels_of, read_annotations, read_predictions

    predicted = read_predictions(predictions, [])
    data: Any = read_annotations(labels, settings, columns)
    known = data.categories.tolist()
    if unheard := [name for name in labels_of(predicted) if name not in known]:
        raise ValueError(
            f"{predictions}: {few(unheard)}: given by no rater, who gave {few(known)}; correct the spelling, or declare the "
            "closed set by --categories"
        )
    return data, _probabilities(predicted, data), "category" not in predicted.dims


def _probabilities(predicted: "xr.DataArray", data: "Labels") -> "xr.DataArray":
    """Return predictions (classifier, item, category): as they are, or 1 for the first of a ranking."""
    import numpy as np

    from ..evaluation import EvaluationError
    from ..reports.metrics import ALONE

    if "classifier" not in predicted.dims:
        predicted = predicted.drop_vars("classifier", errors="ignore")
        predicted = predicted.expand_dims(classifier=[ALONE])
    predicted = predicted.isel(item=np.isin(predicted["item"], data.items))
    if "category" in predicted.dims:
        law = predicted.reindex(category=data.categories)
        law = law.where(law > -np.inf, 0.0)  # no row: not predicted
        missing = (predicted == -np.inf).all("category")
    else:
        first = predicted.isel(position=0)
        law = (first.expand_dims(category=data.categories, axis=-1)) == data.categories
        law, missing = law.astype(float), first == ""
    if missing.any():
        classifier, item = np.argwhere(missing.transpose("classifier", "item").to_numpy())[0]
        names = [predicted[dim].to_numpy() for dim in ("classifier", "item")]
        raise EvaluationError(
            f"predictions: {names[0][classifier]} predicts nothing for item {names[1][item]}; add it, or leave the item out"
        )
    return law


def _worth(data: "Labels", law: "xr.DataArray", rules: dict[str, Any]) -> "xr.Dataset":
    """Return the equivalences, with a note if a label that nobody gave counts as possible."""
    from ..evaluation import survey_equivalence
    from ..reports.words import few

    found = survey_equivalence(data, law, **rules)
    if never := data.categories[data.counts.sum(axis=0) == 0].tolist():
        note = f"no rater gave {few(never)}; that it counts as possible may lower the score of no labels"
        found.attrs["note"] = "; ".join(part for part in (found.attrs["note"], note) if part)
    return found


def _tell(data: "Labels", law: "xr.DataArray", rules: dict[str, Any], extras: Extras) -> None:
    """Compute, and say, draw and write what came of it."""
    from .. import evaluation
    from ..reports.equivalence import equivalence_sections, left_out, sentences
    from .screen import say, show, working

    with working("Computing"):
        if extras.calibrate:
            law = evaluation.calibrated(law, data, random_seed=rules["random_seed"])
        found = _worth(data, law, rules | ({"max_raters": None} if extras.posterior else {}))
        drawn = [_beyond(data, law, rules, extras.posterior)] if extras.posterior else []
    sections = equivalence_sections(found)
    for sentence in [*sentences(found), left_out(found)]:
        if sentence:
            say(sentence)
    how = f"{rules['combiner']}, {rules['scorer'].replace('_', '-')}"
    for section, title in zip(sections, TITLES, strict=False):
        say("")
        rows = [{name: row[name] for name in row if name != "worth"} for row in section.table]
        whole = [name for name in rows[0] if name.endswith(("interval", "more"))]
        show(rows, f"{title} ({how})", whole=whole)
    for section in drawn:
        say(f"\n{section.text}")
    _write(found, sections + drawn, extras)
    if not all(section.facts["converged"] for section in drawn):
        raise typer.Exit(NOT_CONVERGED)


def _beyond(
    data: "Labels", law: "xr.DataArray", rules: dict[str, Any], sampler: tuple[int, int]
) -> "Section":
    """Fit item states, and return what they say beyond the raters there were."""
    import warnings

    import xarray as xr

    from .. import evaluation, inference, models
    from ..reports.equivalence import posterior_section

    chosen = {name: rules[name] for name in ("combiner", "scorer", "clip", "base", "random_seed")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # the verdict is said anyway
        tree = inference.sample(
            models.item_states(data, plausibility=False),
            draws=sampler[0], chains=sampler[1], random_seed=rules["random_seed"], progressbar=False,
        )  # fmt: skip
    longest = rules["max_raters"] or LONGEST
    drawn = evaluation.survey_equivalence(tree, law, max_raters=longest, **chosen)
    judged = drawn[["power_curve", "asymptote", "score"]]
    diagnosis = inference.diagnose(xr.DataTree.from_dict({"posterior": judged}))
    summed = evaluation.survey_summary(drawn, probability=rules["probability"])
    converged = bool(diagnosis.attrs["converged"])
    return posterior_section(summed, converged, diagnosis.attrs["verdict"])


def _picture(found: "xr.Dataset") -> Any:
    from ..evaluation import plots

    return plots.power_curve(found, backend="matplotlib").figure


def _write(found: "xr.Dataset", sections: "list[Section]", extras: Extras) -> None:
    """Write picture and figures; of CSV the further tables are files of their own."""
    from ..reports import machine, page
    from .screen import say

    if extras.plot is not None:
        extras.plot.parent.mkdir(parents=True, exist_ok=True)
        _picture(found).savefig(extras.plot)
        say(f"wrote {extras.plot}")
    out = extras.out
    if out is None:
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix.lower() == ".json":
        machine.write_json(out, machine.document({}, sections))
        say(f"wrote {out}")
        return
    for section in sections:
        name = section.key.removeprefix("equivalence").replace(".", "-")
        path = out.with_name(f"{out.stem}{name}{out.suffix}")
        page.write_table(path, section.rows)
        say(f"wrote {path}")
