"""Dispatch: the sampler for each model, by the structure of its graph."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pymc as pm

from ..models._catalog import RECIPES, Spec, catalog
from ..models.distributions.marginal_labels import RaterLabelsRV
from ..models.distributions.shared_guesses import SharedGuessRV
from .comparisons import hmc
from .labels import (
    correlated_votes,
    cultural_consensus,
    dirichlet,
    ebcc,
    item_response,
    item_states,
    multi_label,
    ordinal,
    shared_guess,
    skill_in_time,
    stated_probabilities,
)
from .labels import gibbs as labels_gibbs
from .labels import predicted as predicted_counts
from .rankings import gibbs as rankings_gibbs
from .rankings import hierarchical as hierarchical_rankings
from .rankings import predicted as predicted_worths
from .runs.model_graph import NotConjugate, graph_lock, refuse_part
from .runs.run import Draws, Run, Sampler, Tuning, observes
from .scores import hierarchical as hierarchical_scores
from .scores import normal

SAMPLERS: tuple[Sampler, ...] = (
    rankings_gibbs.INDEPENDENT,
    correlated_votes.SAMPLER,
    cultural_consensus.SAMPLER,
    ebcc.SAMPLER,
    item_response.SAMPLER,
    multi_label.SAMPLER,
    ordinal.SAMPLER,
    skill_in_time.SAMPLER,
    stated_probabilities.SAMPLER,
    labels_gibbs.SAMPLER,
    shared_guess.SAMPLER,
    predicted_counts.SAMPLER,
    predicted_worths.SAMPLER,
    dirichlet.SAMPLER,
    item_states.SAMPLER,
    hmc.SAMPLER,
    normal.SAMPLER,
    hierarchical_scores.SAMPLER,
    hierarchical_rankings.SAMPLER,
    rankings_gibbs.SAMPLER,
)
"""Own samplers, a special case before the general one; the first that is of the law of a model draws it, or NUTS does."""


@dataclass(frozen=True)
class Route:
    """Sampler of a model: its name, the method, the reason, and the function that sets the sampler up."""

    name: str
    method: str
    reason: str
    begin: Callable[[pm.Model, Draws, Tuning | None], Run] | None  # None: NUTS
    sampler: Sampler | None = None  # of the law of the model

    @property
    def items_share(self) -> str:
        """Parameter shared by items that are independent otherwise, in words; empty if there is none."""
        return "" if self.sampler is None else self.sampler.items_share


def samplers_of(model: pm.Model) -> list[Sampler]:
    """Return the samplers of the laws of a model, the special one first."""
    return [sampler for sampler in SAMPLERS if sampler.draws(model)]


def route_of(model: pm.Model) -> Route:
    """Return the fastest exact sampler of a model, by its graph; raise ValueError for a part of it that depends on the rest."""
    refuse_part(model)
    if prefixed := [rv.name for rv in model.free_RVs if "::" in str(rv.name)]:
        reason = (
            f"{prefixed[0]!r} has the prefix of a named model, and the compiled samplers write plain names"
        )
        return Route(_name_of(model), "nuts", reason, None)
    sampler = samplers_of(model)[0]
    try:
        law = sampler.read(model)
    except NotConjugate as refusal:
        return Route(_name_of(model, sampler), "nuts", str(refusal), None, sampler)
    name = _name_of(model, sampler, law)
    return Route(name, sampler.method, sampler.reason, partial(sampler.begin, law), sampler)


def begin_run(model: pm.Model, plan: Draws, found: Tuning | None = None, route: Route | None = None) -> Run:
    """Set up the model's own sampler before its first draw; `found` restores the tuning; `route` may be known."""
    with graph_lock:
        begin = (route or route_of(model)).begin
    if begin is None:
        raise ValueError("the model has no sampler of its own")
    return begin(model, plan, found)


def catalog_entry(model: pm.Model) -> Spec | None:
    """Spec of a model: that of its builder, or for a label model changed since, by the marks among its variables."""
    entry = _unchanged(model)
    if entry is not None or not (observes(model, RaterLabelsRV) or observes(model, SharedGuessRV)):
        return entry
    marked = (e for e in catalog.values() if e.marks and set(e.marks) <= set(model.named_vars))
    return max(marked, key=lambda e: len(e.marks), default=None)


def _unchanged(model: pm.Model) -> Spec | None:
    """Spec of a model of the catalog whose variables are those of its builder; None for any other."""
    recipe = RECIPES.get(model)
    if recipe is None or recipe.variables != tuple(model.named_vars):
        return None
    return catalog.get(recipe.builder)


def _name_of(model: pm.Model, sampler: Sampler | None = None, law: Any = None) -> str:
    """Name of a model: that of its builder or else of its law, as read by the sampler, or "pm.Model"."""
    own = None if sampler is None or _unchanged(model) is not None else sampler.name_of(model, law)
    if own is not None:
        return own
    entry = catalog_entry(model)
    return "pm.Model" if entry is None else entry.name
