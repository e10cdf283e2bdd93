"""Comparisons: reading from files, building the model, sampling."""

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pymc as pm
import xarray as xr

from .. import inference, models
from ..inference.routes import route_of
from ..models.data.connectivity import components_in_words, connected_components
from .posterior_files import stored
from .reading import read_columns
from .screen import say, working
from .settings import Settings

__all__ = ["build_votes", "draw_votes", "read_comparisons", "read_votes"]


def read_comparisons(
    path: Path, columns: Sequence[str], rater_attributes: Sequence[str] = ()
) -> models.Comparisons:
    """Read comparisons from a table: left, right, winner and, optionally, rater (or worker) and count.

    Ids are text. Without a column of raters the votes are anonymous. `rater_attributes` names columns with
    attributes of the raters.
    """
    frame, names = read_columns(path, columns)
    return models.Comparisons.from_table(
        frame,
        rater="rater" if {"rater", "worker"} & set(names) else None,  # worker: crowd-kit
        count="count" if "count" in names else None,
        rater_attributes=rater_attributes,
    )


def read_votes(path: Path, columns: Sequence[str], settings: Settings) -> models.Comparisons:
    """Read the comparisons of a fit: all of them, or those of the largest component."""
    if settings.layout != "long":
        raise ValueError(
            f"--layout {settings.layout} is a layout of labels; comparisons are long tables"
        )
    votes = read_comparisons(path, columns, settings.rater_attributes)
    votes = settings.nameless(votes)
    if not settings.largest_component:
        return votes
    largest = votes.largest_component()
    if dropped := len(votes.items) - len(largest.items):
        say(f"--largest-component leaves out {dropped:,} of the {len(votes.items):,} items")
    return largest


def build_votes(votes: models.Comparisons, settings: Settings) -> pm.Model:
    """Build a model of comparisons; anonymous raters or a single one share one reliability."""
    priors = dict(settings.priors)
    if len(votes.raters) < 2:
        found = "of raters who are not told apart" if votes.anonymous else "of one rater"
        if priors.setdefault("reliability", "shared") != "shared":
            named = priors["reliability"].replace(" ", "-")
            raise ValueError(f"--raters {named}: the votes are {found}; say --raters shared")
        if "signed" in priors:
            raise ValueError(f"--signed: the votes are {found}; leave it out")
    component = connected_components(len(votes.items), votes.left, votes.right)
    if component.any():
        warnings.warn(
            f"no chain of comparisons joins the {component.max() + 1:,} components of the items: "
            f"{components_in_words(votes.items, component)}; the prior alone places them relative to each other. "
            "--largest-component keeps the largest",
            models.DataWarning,
            stacklevel=2,
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no chain of comparisons", models.DataWarning)
        return getattr(models, settings.model)(votes, **priors)


def draw_votes(
    model: pm.Model,
    settings: Settings,
    *,
    log_likelihood: bool = True,
    store: Path | None = None,
) -> xr.DataTree:
    """Sample a model of comparisons; with `store` the draws are written while sampling."""
    own_bar = store is not None or route_of(model).method == "nuts"
    with (
        warnings.catch_warnings(),
        nullcontext() if own_bar else working("Drawing from the posterior"),
    ):
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # the verdict is printed
        return inference.sample(
            model,
            random_seed=settings.seed,
            draws=settings.draws,
            chains=settings.chains,
            log_likelihood=log_likelihood,
            **stored(store),
        )
