"""Sampler of correlated votes: the Gibbs loop of Dawid-Skene, and the truth by the effective number of votes."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.basic import BetaRV
from scipy.special import betaln, xlog1py, xlogy

from ...models.distributions.marginal_labels import RaterLabelsRV
from ...models.distributions.marginal_labels_kernels import Answers
from ...models.labels.correlated_votes import SPEC as CORRELATED_VOTES
from ...posterior.schema import CORRELATION, INDEPENDENT, SAMPLE
from ..runs.model_graph import NotConjugate, positive_constant
from ..runs.run import Draws, ItemBlocks, Run, Sampler, Tuning, in_threads
from ..runs.trees import as_dataset
from .gibbs import begin_labels_gibbs
from .kernels.effective_votes import effective_truth
from .kernels.gibbs import ConfusionPrior
from .recognition import LabelStructure, as_table, constant_prior, read_labels

EFFECTIVE = "plausibility"
STREAM = 1  # of the correlations, beside that of the chain


@dataclass(frozen=True, eq=False)
class VotesStructure:
    """Label model whose truth is inferred with a correlation of the votes, and its priors."""

    labels: LabelStructure
    prior: ConfusionPrior
    correlation: tuple[float, float]  # Beta prior


def read_correlated_votes(model: pm.Model) -> VotesStructure:
    """Read a label model with conjugate confusion whose likelihood has no correlation; NotConjugate for others."""
    structure, correlation = read_labels(model), model[CORRELATION]
    if correlation not in model.free_RVs or not isinstance(correlation.owner.op, BetaRV):
        raise NotConjugate(f"{CORRELATION!r} is not a free Beta random variable of the model")
    if correlation in ancestors(model.observed_RVs):
        raise NotConjugate(f"the answers depend on {CORRELATION!r}")
    prior = constant_prior(model, structure, (correlation,))
    a, b = (
        float(positive_constant(p, "a concentration"))
        for p in correlation.owner.op.dist_params(correlation.owner)
    )
    return VotesStructure(structure, prior, (a, b))


def begin_correlated_votes(
    votes: VotesStructure, model: pm.Model, plan: Draws, found: Tuning | None = None
) -> Run:
    """Set up the Gibbs loop of the labels; each draw then has its correlation and the truth given it."""
    run = begin_labels_gibbs((votes.labels, votes.prior), model, plan, found, truth=True)
    of_labels = run.draw

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        groups = of_labels(drawn, n)
        correlation = draw_correlations(votes.correlation, plan.seed, plan.chains, (drawn, n))
        return _with_effective_truth(groups, votes, model, plan, correlation)

    blocks_of_labels = run.by_items
    assert blocks_of_labels is not None

    def by_items(n: int, advance: Callable[[int], None]) -> ItemBlocks:
        blocks = blocks_of_labels(n, advance)
        correlation = draw_correlations(votes.correlation, plan.seed, plan.chains, (0, n))
        shared = _with_correlation(blocks.shared, votes, plan, correlation)
        parameters = _parameters(shared["posterior"])

        def of(items: slice, kept: slice) -> dict[str, dict[str, xr.Variable]]:
            groups, answers = blocks.of(items, kept), votes.labels.answers
            independent = groups["posterior"][EFFECTIVE]
            own = Answers(
                answers.start[items.start : items.stop + 1], answers.code, answers.gold_category[items]
            )
            effective = np.empty_like(independent.to_numpy())
            _fill_effective(own, parameters, correlation, effective, plan)
            found = {INDEPENDENT: independent, EFFECTIVE: independent.copy(data=effective)}
            return groups | {"posterior": found}

        return replace(blocks, shared=shared, of=of)

    run.draw, run.by_items = draw, by_items
    return run


def draw_correlations(
    prior: tuple[float, float], seed: int, chains: int, part: tuple[int, int]
) -> np.ndarray:
    """Draw the correlations (chain, draw) of a Beta prior, whatever the parts of a run.

    `part` holds the number of draws before this part, and of this part.
    """
    drawn, n = part
    streams = (np.random.SeedSequence(seed, spawn_key=(chain, STREAM)) for chain in range(chains))
    return np.stack([np.random.default_rng(own).beta(*prior, drawn + n)[drawn:] for own in streams])


def _with_effective_truth(
    groups: dict[str, xr.Dataset],
    votes: VotesStructure,
    model: pm.Model,
    plan: Draws,
    correlation: np.ndarray,
) -> dict[str, xr.Dataset]:
    """Return the groups with correlation (chain, draw), and both plausibilities under their names."""
    groups = _with_correlation(groups, votes, plan, correlation)
    posterior = groups["posterior"]
    independent = posterior[EFFECTIVE].to_numpy()
    effective = np.empty_like(independent)
    _fill_effective(votes.labels.answers, _parameters(posterior), correlation, effective, plan)
    arrays = {INDEPENDENT: independent, EFFECTIVE: effective}
    groups["posterior"] = posterior.assign(as_dataset(model, arrays, SAMPLE).data_vars)
    return groups


def _with_correlation(
    groups: dict[str, xr.Dataset], votes: VotesStructure, plan: Draws, correlation: np.ndarray
) -> dict[str, xr.Dataset]:
    """Return the groups with the correlation (chain, draw), and its log prior where there are others."""
    stored = (SAMPLE, correlation.astype(plan.dtype))
    groups = groups | {"posterior": groups["posterior"].assign({CORRELATION: stored})}
    if "log_prior" in groups:
        a, b = votes.correlation
        density = xlogy(a - 1, correlation) + xlog1py(b - 1, -correlation) - betaln(a, b)
        groups["log_prior"] = groups["log_prior"].assign({CORRELATION: (SAMPLE, density)})
    return groups


# of each chain, (draw, category) and (draw, rater * answer, category)
Parameters = list[tuple[np.ndarray, np.ndarray]]


def _parameters(posterior: xr.Dataset) -> Parameters:
    """Return the stored prevalence and confusion of each chain as the kernel reads them."""
    confusion, prevalence = posterior["confusion"].to_numpy(), posterior["prevalence"].to_numpy()
    tables = (np.stack([as_table(draw) for draw in own]) for own in confusion)
    return list(zip(prevalence, tables, strict=True))


def _fill_effective(
    answers: Answers, parameters: Parameters, correlation: np.ndarray, effective: np.ndarray, plan: Draws
) -> None:
    """Overwrite the plausibility (chain, draw, item, category) of the items of some answers, given the stored parameters."""

    def fill(chain: int) -> None:
        effective_truth(answers, *parameters[chain], correlation[chain], effective[chain])

    in_threads(fill, zip(range(plan.chains)), plan.cores or plan.chains)


SAMPLER = Sampler(
    law=RaterLabelsRV,
    variables=(CORRELATION, INDEPENDENT, EFFECTIVE),
    read=read_correlated_votes,
    begin=begin_correlated_votes,
    reason="given the true categories, prevalence and confusion are conjugate, and the correlation has its prior",
    name=CORRELATED_VOTES.name,
    names_refused=True,
)
