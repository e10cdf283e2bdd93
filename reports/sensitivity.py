"""Sensitivity sections of a report: reliability of the raters, and prior."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ..evaluation.sensitivity.reweighting import MAX_PARETO_K
from .metrics import metric_rows
from .page import Section
from .wording import few, interval, percent, share_interval, share_with_interval, with_interval

CERTAINTY = "certainty"

NORMAL_90 = 1.6449  # normal quantile of 90 % intervals from Monte-Carlo errors

ITEMS_SHOWN = 10


class Step(NamedTuple):
    """Results at one reliability."""

    certainty: xr.Dataset  # metric intervals of the most plausible label
    scores: xr.Dataset | None  # predictions: `evaluation.compare` or `metric_intervals`
    reweighted: bool = False  # whether draws of another reliability were reweighted
    unreliable: Sequence[str] = ()  # items with unreliable importance weights


def reliability_section(steps: Mapping[float, Step], metric: str, figures: Sequence[Figure] = ()) -> Section:
    """Section with certainty and a metric as functions of the reliability of the raters.

    `steps` maps reliabilities to results; `metric` names the metric of the predictions.
    """
    rows = [row for r in sorted(steps) for row in _rows(r, steps[r], metric)]
    shown = [
        {
            "reliability": f"{row['reliability']:g}",
            "draws": row["draws"],
            "of": row["quantity"],
            "classifier": row["classifier"] or "(most plausible label)",
            "mean": row["mean"],
            "90 % interval": interval(row["lower"], row["upper"]),
            "P(best)": "" if (p := row["probability_best"]) is None else percent(p),
        }
        for row in rows
    ]
    unreliable = {f"{r:g}": list(step.unreliable) for r, step in steps.items() if step.reweighted}
    return Section(
        "Trust in the raters",
        _reliability_in_words(steps, metric),
        figures,
        rows,
        "reliability",
        key="sensitivity.reliability",
        facts={"metric": metric if _scored(steps) else None, "unreliable_items": unreliable},
        shown=shown,
        part=True,
    )


def _rows(reliability: float, step: Step, metric: str) -> list[dict[str, Any]]:
    draws = "reweighted" if step.reweighted else "fitted"
    found = {CERTAINTY: step.certainty}
    if step.scores is not None:
        found[metric] = step.scores
    rows = []
    for row in metric_rows(found):
        of_labels = row["metric"] == CERTAINTY
        best = None
        if step.scores is not None and not of_labels and "probability_best" in step.scores:
            own = step.scores["probability_best"].sel(source="both", classifier=row["classifier"])
            best = float(own)
        rows.append(
            {
                "reliability": float(reliability),
                "draws": draws,
                "quantity": row["metric"],
                "classifier": None if of_labels else row["classifier"],
                **{name: row[name] for name in ("mean", "lower", "upper", "mcse")},
                "probability_best": best,
            }
        )
    return rows


def _scored(steps: Mapping[float, Step]) -> bool:
    return any(step.scores is not None for step in steps.values())


def _reliability_in_words(steps: Mapping[float, Step], metric: str) -> str:
    known = sorted(steps)
    means = [float(steps[r].certainty["mean"].sel(source="raters")) for r in known]
    first, last = (f"{r:g}" for r in (known[0], known[-1]))
    text = (
        f"The more the raters are trusted, the more certain their most plausible label looks: it is right with probability "
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
    found = {}
    for r in sorted(steps):
        scores = steps[r].scores
        if scores is not None and "probability_best" in scores:
            best = scores["probability_best"].sel(source="both")
            found[r] = str(best["classifier"].to_numpy()[best.to_numpy().argmax()])
    return found


def _weights_in_words(steps: Mapping[float, Step]) -> str:
    text = (
        "One reliability was fitted; its draws were reweighted, item by item, for the other values. "
        "--reliability with several numbers refits each. "
    )
    for r in sorted(steps):
        if bad := steps[r].unreliable:
            text += (
                f"At {r:g} the weights of {len(bad):,} items are unreliable (Pareto k above {MAX_PARETO_K}: "
                f"{few(bad)}). "
            )
    if not any(step.unreliable for step in steps.values()):
        text += f"All weights are reliable (Pareto k below {MAX_PARETO_K}). "
    return text


def prior_section(
    found: xr.Dataset, totals: Mapping[str, xr.Dataset], figures: Sequence[Figure] = ()
) -> Section:
    """Section on prior sensitivity: a row for each item, the most sensitive first.

    `found` is a result of `evaluation.prior_sensitivity` for the certainty; `totals` maps other quantities to
    such results, of which only the totals are reported.
    """
    rows = _prior_rows(found)
    threshold = found.attrs["threshold"]
    leans = [row["item"] for row in rows if row["prior"] >= threshold]
    lower, upper = share_interval(len(leans), len(rows))
    conclusions = [_total(name, own) for name, own in {CERTAINTY: found, **totals}.items()]
    text = (
        f"{len(leans):,} of {len(rows):,} items, {share_with_interval(len(leans), len(rows))}, lean on the prior: doubling its "
        f"weight would move their certainty by {threshold:g} or more{': ' + few(leans) if leans else ''}. "
        + " ".join(_total_in_words(row) for row in conclusions)
        + _unreliable_in_words(rows)
        + " The weaker prior is raised to the power .8, the stronger one to 1.25."
    )
    facts = {
        "threshold": threshold,
        "items_that_lean": leans,
        "share": len(leans) / len(rows),
        "share_lower": lower,
        "share_upper": upper,
        "conclusions": conclusions,
    }
    return Section(
        "Prior",
        text,
        figures,
        rows,
        "prior",
        key="sensitivity.prior",
        facts=facts,
        shown=[_shown(row) for row in rows],
        part=True,
        most=max(ITEMS_SHOWN, min(len(leans), 2 * ITEMS_SHOWN)),
    )


def _prior_rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Rows for each item, the most sensitive to the prior first."""
    mean = {a: found["mean"].sel(component="prior", alpha=a).to_numpy() for a in (0.8, 1.0, 1.25)}
    prior, likelihood = found["prior"].to_numpy(), found["likelihood"].to_numpy()
    k = found["pareto_k"].sel(component="prior").to_numpy()
    return [
        {
            "item": str(found["item"].to_numpy()[i]),
            "certainty": float(mean[1.0][i]),
            "weaker_prior": float(mean[0.8][i]),
            "stronger_prior": float(mean[1.25][i]),
            "prior": float(prior[i]),
            "likelihood": float(likelihood[i]),
            "diagnosis": str(found["diagnosis"].to_numpy()[i]),
            "pareto_k": float(k[i]),
        }
        for i in np.argsort(-prior, kind="stable")
    ]


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "item": row["item"],
        "certainty": row["certainty"],
        "weaker prior": row["weaker_prior"],
        "stronger prior": row["stronger_prior"],
        "change by doubling": row["prior"],
        "diagnosis": row["diagnosis"],
    }


def _unreliable_in_words(rows: Sequence[Mapping[str, Any]]) -> str:
    count = sum(row["pareto_k"] > MAX_PARETO_K for row in rows)
    return (
        f" For {count:,} items the means under other priors are unreliable (Pareto k above {MAX_PARETO_K})."
        if count
        else ""
    )


def _total(name: str, found: xr.Dataset) -> dict[str, Any]:
    """Change of the mean over items if the weight of the prior is doubled.

    The interval is of its Monte-Carlo error.
    """
    change = float(found["total_gradient"].sel(component="prior"))
    error = float(found["total_gradient_mcse"].sel(component="prior"))
    return {
        "quantity": name,
        "change": change,
        "lower": change - NORMAL_90 * error,
        "upper": change + NORMAL_90 * error,
        "mcse": error,
    }


def _total_in_words(row: Mapping[str, Any]) -> str:
    change = with_interval(row["change"], row["lower"], row["upper"], 4)
    return f"It would change the mean {row['quantity']} by {change}."
