"""Report sections on the sensitivity to the reliability of the raters and to the prior."""

import gc
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ... import evaluation
from ..._messages import way
from ...evaluation import plots
from ...evaluation.sensitivity.densities import ItemDensities
from ...evaluation.sensitivity.prior import sensitivity_of
from ...evaluation.sensitivity.reweighting import (
    FEWEST_DRAWS,
    MAX_PARETO_K,
    MODELS,
    ReweightingWarning,
    reweighted,
)
from ...models import PartialRankings, catalog
from ...models._prior_arguments import PUBLIC_MEAN, effective_power
from ...models._prior_predictions import STRENGTH
from ..metric_names import metric_named
from ..page import Section, table_rows
from ..posterior_files import thinned
from ..study import Study
from ..wording import first_names, percent, share_interval, share_with_interval, shown_interval, with_interval
from .certainty import NORMAL_90, BestGuesses, best_guess_scores
from .metrics import metric_rows, order_of, scored

CERTAINTY = "certainty"
CORRELATION = "vote_correlation"  # constant of rankings that count by their effective number
ITEMS_SHOWN = 10


class Step(NamedTuple):
    """Results at one reliability."""

    certainty: xr.Dataset  # metric intervals of the most plausible label
    scores: xr.Dataset | None  # predictions: `evaluation.compare` or `metric_intervals`
    reweighted: int = 0  # draws of another reliability that were reweighted; 0 if this one was fitted
    unreliable: Sequence[str] = ()  # items with unreliable importance weights


def reliability_section(steps: Mapping[float, Step], metric: str, figures: Sequence[Figure] = ()) -> Section:
    """Section with certainty and `metric` as functions of the raters' reliability; `steps` maps reliabilities to results."""
    rows = [row for r in sorted(steps) for row in _rows(r, steps[r], metric)]
    shown = [
        {
            "reliability": f"{row['reliability']:g}",
            "draws": row["draws"],
            "of": row["quantity"],
            "classifier": row["classifier"] or "(most plausible label)",
            "mean": row["mean"],
            **shown_interval(row),
            "P(best)": "" if (p := row["probability_best"]) is None else percent(p),
        }
        for row in rows
    ]
    unreliable = {f"{r:g}": list(step.unreliable) for r, step in steps.items() if step.reweighted}
    facts = {
        "metric": None if all(step.scores is None for step in steps.values()) else metric,
        "unreliable_items": unreliable,
    }
    title, key = "Reliability of the raters", "sensitivity.reliability"
    text = _reliability_in_words(steps, metric)
    return Section(title, text, figures, rows, "reliability", key, facts, shown=shown, part=True)


def _rows(reliability: float, step: Step, metric: str) -> list[dict[str, Any]]:
    draws = "reweighted" if step.reweighted else "fitted"
    found = {CERTAINTY: step.certainty} | ({} if step.scores is None else {metric: step.scores})
    rows = []
    for row in metric_rows(found):
        classifier = best = None
        if row["metric"] != CERTAINTY:
            classifier = row["classifier"]
            if step.scores is not None and "probability_best" in step.scores:
                best = float(step.scores["probability_best"].sel(source="both", classifier=classifier))
        own = {
            "reliability": float(reliability),
            "draws": draws,
            "quantity": row["metric"],
            "classifier": classifier,
        }
        own |= {name: row[name] for name in ("mean", "lower", "upper", "mcse")}
        rows.append(own | {"probability_best": best})
    return rows


def _reliability_in_words(steps: Mapping[float, Step], metric: str) -> str:
    known = sorted(steps)
    means = [float(steps[r].certainty["mean"].sel(source="raters")) for r in known]
    first, last = (f"{r:g}" for r in (known[0], known[-1]))
    text = (
        f"The most plausible label is the more certain, the higher the reliability: it is right with probability "
        f"{_certainty(steps[known[0]])} at reliability {first}, and {_certainty(steps[known[-1]])} at {last}. "
        if means[-1] >= means[0]
        else ""
    )
    if leaders := _leaders(steps):
        who = list(dict.fromkeys(leaders.values()))
        text += (
            f"By {metric} {who[0]} is most probably the best at every reliability. "
            if len(who) == 1
            else f"Who is most probably the best by {metric} depends on it: "
            + ", ".join(f"{name} at {r:g}" for r, name in leaders.items())
            + ". "
        )
    if any(step.reweighted for step in steps.values()):
        text += _weights_in_words(steps)
    return text.strip()


def _certainty(step: Step) -> str:
    (row,) = metric_rows({CERTAINTY: step.certainty})
    return with_interval(row["mean"], row["lower"], row["upper"])


def _leaders(steps: Mapping[float, Step]) -> dict[float, str]:
    """Classifier that is most probably the best, for each reliability."""
    scores = {
        r: own for r in sorted(steps) if (own := steps[r].scores) is not None and "probability_best" in own
    }
    best = {r: own["probability_best"].sel(source="both") for r, own in scores.items()}
    return {r: str(own["classifier"].to_numpy()[own.to_numpy().argmax()]) for r, own in best.items()}


def _weights_in_words(steps: Mapping[float, Step]) -> str:
    draws = max(step.reweighted for step in steps.values())
    said = [
        f"One reliability was fitted; {draws:,} of its draws were reweighted, item by item, for the other values.",
        way(
            "A report of several reliabilities (--reliability 1,3) refits each.",
            "inference.sweep refits each.",
        ),
    ]
    said += [
        f"At {r:g} the weights of {len(bad):,} items are unreliable (Pareto k above {MAX_PARETO_K}: {first_names(bad)})."
        for r in sorted(steps)
        if (bad := steps[r].unreliable)
    ]
    if len(said) == 2:
        said.append(f"All weights are reliable (Pareto k below {MAX_PARETO_K}).")
    return " ".join(said)


def prior_section(
    found: xr.Dataset, totals: Mapping[str, xr.Dataset], figures: Sequence[Figure] = ()
) -> Section:
    """Section on prior sensitivity: certainty by item (`found`), the most sensitive first, and the totals of other quantities."""
    rows = _prior_rows(found)
    threshold = found.attrs["threshold"]
    leans = [row["item"] for row in rows if row["prior"] >= threshold]
    lower, upper = share_interval(len(leans), len(rows))
    conclusions = [_total(name, own) for name, own in {CERTAINTY: found, **totals}.items()]
    text = (
        f"{len(leans):,} of {len(rows):,} items, {share_with_interval(len(leans), len(rows))}, depend on the prior: doubling its "
        f"weight would change their certainty by {threshold:g} or more{': ' + first_names(leans) if leans else ''}."
    )
    for row in conclusions:
        change = with_interval(row["change"], row["lower"], row["upper"], 4)
        text += f" It would change the mean {row['quantity']} by {change}."
    if count := sum(row["pareto_k"] > MAX_PARETO_K for row in rows):
        text += f" For {count:,} items the means under other priors are unreliable (Pareto k above {MAX_PARETO_K})."
    text += " Weaker and stronger: the prior to the power .8 and 1.25."
    facts = {"threshold": threshold, "items_that_lean": leans, "share": len(leans) / len(rows)}
    facts |= {"share_lower": lower, "share_upper": upper, "conclusions": conclusions}
    names = {name: name.replace("_", " ") for name in ("item", "certainty", "weaker_prior", "stronger_prior")}
    names |= {"prior": "change by doubling", "diagnosis": "diagnosis"}
    shown = [{label: row[name] for name, label in names.items()} for row in rows]
    given = {"facts": facts, "shown": shown, "most": max(ITEMS_SHOWN, min(len(leans), 2 * ITEMS_SHOWN))}
    return Section("Prior", text, figures, rows, "prior", "sensitivity.prior", part=True, **given)


def _prior_rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Rows for each item, the most sensitive to the prior first."""
    mean = found["mean"].sel(component="prior")
    columns = {
        "item": found["item"].to_numpy().astype(str),
        "certainty": mean.sel(alpha=1.0),
        "weaker_prior": mean.sel(alpha=0.8),
        "stronger_prior": mean.sel(alpha=1.25),
        "prior": found["prior"],
        "likelihood": found["likelihood"],
        "diagnosis": found["diagnosis"].to_numpy().astype(str),
        "pareto_k": found["pareto_k"].sel(component="prior"),
    }
    return table_rows(columns, np.argsort(-found["prior"].to_numpy(), kind="stable"))


def _total(name: str, found: xr.Dataset) -> dict[str, Any]:
    """Change of the mean over items if the weight of the prior is doubled; the interval is of its Monte-Carlo error."""
    change = float(found["total_gradient"].sel(component="prior"))
    error = float(found["total_gradient_mcse"].sel(component="prior"))
    lower, upper = change - NORMAL_90 * error, change + NORMAL_90 * error
    return {"quantity": name, "change": change, "lower": lower, "upper": upper, "mcse": error}


STEP = 1.5  # factor to the neighbouring reliabilities
# draws of all chains that are reweighted; certainties of so few are some .001 too high: the guesses are chosen by the same draws
MOST_REWEIGHTED = 1000


def sensitivity_sections(study: Study, found: dict[str, xr.Dataset], best: BestGuesses) -> list[Section]:
    """Return the sections on sensitivity to reliability and prior.

    `found` has the metrics of the posterior that is reported in full, and `best` its best guesses.
    """
    text = "Sensitivity of the conclusions to the reliability of the raters and to the prior."
    if study.is_of_category:
        text += (
            " Not available for this model, whose items share the matrices of the raters: refit with another "
            f"{way('--model', 'model= or confusion_concentration=')}, or use az.psense_summary(tree)."
        )
        return [Section("Sensitivity", text, key="sensitivity")]
    if STRENGTH in study.tree["posterior"]:
        text += (
            " The items share the strength of the predictions in the prior, so that neither can be varied by item: fit again "
            "with another reliability, or without these predictions, and compare."
        )
    words, facts = effective_in_words(study)
    sections = [Section("Sensitivity", f"{text}{words}", key="sensitivity", facts=facts)]
    densities = ItemDensities.of(study.tree) if _can_be_reweighted(study) else None
    steps = _steps(study, found, best, densities)
    if len(steps) > 1:
        name = study.metrics[0] if study.metrics else "certainty"
        sections.append(reliability_section(steps, name, [_sweep(steps, name)]))
    return [*sections, prior_part(study.tree, study.seed, lambda: _conclusions(study, found), densities)]


def effective_in_words(study: Study) -> tuple[str, dict[str, Any]]:
    """Return sentences on the reliability of correlated rankings of an item, and its numbers; ("", {}) for other models."""
    if not isinstance(study.data, PartialRankings) or not catalog[study.settings.model].effective_reliability:
        return "", {}
    constants = study.tree["constant_data"].to_dataset()
    is_fitted = CORRELATION in constants
    rho = float(constants[CORRELATION]) if is_fitted else PUBLIC_MEAN
    counts = np.bincount(study.data.annotation_item, minlength=len(study.data.items))
    n = int(np.median(counts[counts > 0]))
    power = float(effective_power(np.array(n), rho))
    facts = {"answers": n, "correlation": rho, "effective_answers": n * power, "reliability": power}
    if n == 1:
        return "", {"effective_votes": facts}
    votes = f"the {n:,} rankings of a typical item count as {n * power:.1f} independent ones, a reliability of {power:.2f}"
    if is_fitted:
        text = f" With a correlation of {rho:.2f}, {votes} each."
    else:
        chosen = study.settings.reliabilities[0]
        much = "too much" if chosen > power else "too little"
        text = (
            f" If raters who rank share errors as raters of labels do on 14 public studies with known truth, a correlation of "
            f"{rho:.2f}, {votes} each. This report counts each as {chosen:g}: by that correlation it claims {much} certainty. "
            f"{way('--reliability effective', 'reliability=')} fits it; no rankings with known truth are at hand to tell."
        )
    return text, {"effective_votes": facts}


def _steps(
    study: Study, found: dict[str, xr.Dataset], best: BestGuesses, densities: ItemDensities | None
) -> dict[float, Step]:
    """Return certainty and scores by reliability: those fitted and, with `densities` of a single one, two reweighted ones."""
    first = study.settings.reliabilities[0]
    steps = {}
    for r, tree in study.trees.items():
        certainty = best.scores if r == first else best_guess_scores(tree, study.seed)
        steps[r] = Step(certainty, _headline(study, tree, found, r == first))
    if densities is not None:
        step = math.ceil(densities.view.n_samples / MOST_REWEIGHTED)
        if step > 1:
            densities = ItemDensities.of(thinned(study.tree, step))
        for r in (round(first / STEP, 3), round(first * STEP, 3)):
            steps[r] = _reweighted(study, r, densities)
    return steps


def _can_be_reweighted(study: Study) -> bool:
    """Return whether the only posterior of a study can stand for others, by enough draws of independent items."""
    sizes = study.tree["posterior"].sizes
    few = sizes["chain"] * sizes["draw"] < FEWEST_DRAWS
    shared = STRENGTH in study.tree["posterior"] or CORRELATION in study.tree["constant_data"]
    return not (len(study.trees) > 1 or few or shared or study.settings.model not in MODELS)


def _sweep(steps: dict[float, Step], name: str) -> Figure:
    """Plot the metric, or without predictions the certainty, against the reliability."""
    known = sorted(steps)
    each = [steps[r].certainty if (own := steps[r].scores) is None else own for r in known]
    both = [own[["mean", "interval"]].sel(source="both", drop=True) for own in each]
    reliability = xr.DataArray([float(r) for r in known], dims="reliability", name="reliability")
    figure = Figure(figsize=(7.5, 3.6), layout="constrained")
    sweep = xr.concat(both, reliability, combine_attrs="override")
    plots.reliability_sweep(sweep, metric=name, ax=figure.add_subplot())
    return figure


def _reweighted(study: Study, reliability: float, densities: ItemDensities) -> Step:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReweightingWarning)  # the section names the items
        tree = reweighted(
            densities.tree, reliability, study.seed, densities=densities, kept=("plausibility",)
        )
    k = tree["sample_stats"].to_dataset()["pareto_k"]
    bad = [str(item) for item in k["item"].to_numpy()[k.to_numpy() > MAX_PARETO_K]]
    scores = _headline(study, tree, {}, same=False)
    certainty, draws = best_guess_scores(tree, study.seed), densities.view.n_samples
    step = Step(certainty, scores, reweighted=draws, unreliable=bad)
    del tree
    gc.collect()  # a tree refers to itself: its draws would stay in memory beside those of the next
    return step


def _headline(study: Study, tree: xr.DataTree, found: dict[str, xr.Dataset], same: bool) -> xr.Dataset | None:
    """Return the first metric of the predictions for a posterior; None without predictions."""
    if study.predicted is None:
        return None
    name = study.metrics[0]
    return found[name] if same else scored(tree, study.predicted, [name], study.seed)[name]


def prior_part(
    tree: xr.DataTree,
    seed: int,
    conclusions: Callable[[], dict[str, xr.DataArray]] = dict,
    densities: ItemDensities | None = None,
) -> Section:
    """Return the section on items sensitive to the prior, with the totals of `conclusions`, further quantities by item."""
    try:
        densities = densities or ItemDensities.of(tree)
        given: dict[str, Any] = {"random_seed": seed, "densities": densities}
        certainty = sensitivity_of(tree, weighted=("prior",), **given)
        totals = {  # slopes alone
            name: sensitivity_of(tree, quantity, distance="mean", weighted=(), **given)
            for name, quantity in conclusions().items()
        }
    except evaluation.EvaluationError as missing:
        return Section("Prior", f"Not computed: {missing}.", key="sensitivity.prior", part=True)
    figure = Figure(figsize=(8.6, 4.2), layout="constrained")
    plots.sensitivity(certainty, ax=figure.add_subplot())
    return prior_section(certainty, totals, [figure])


def _conclusions(study: Study, found: dict[str, xr.Dataset]) -> dict[str, xr.DataArray]:
    """Return by item: the first metric of the best classifier, and its difference from the second best."""
    if study.predicted is None:
        return {}
    name = study.metrics[0]
    metric = metric_named(name)
    if metric.over != "item":
        return {}

    def scores(predicted: xr.DataArray) -> xr.DataArray:
        return evaluation.uncertainty_adjusted(
            metric, study.tree, predicted, reduce=None, random_seed=study.seed
        )

    if "classifier" not in study.predicted.dims:
        return {name: scores(study.predicted)}
    ids = {str(c): c for c in study.predicted["classifier"].to_numpy()}
    order = order_of(found[name])[:2]
    first, *second = (
        scores(study.predicted.sel(classifier=ids[c])).drop_vars("classifier", errors="ignore") for c in order
    )
    result = {f"{name} of {order[0]}": first}
    if second:
        exact = np.float32 if first.dtype.kind == "b" else np.float64
        result[f"difference of {order[0]} and {order[1]}"] = first.astype(exact) - second[0]
    return result
