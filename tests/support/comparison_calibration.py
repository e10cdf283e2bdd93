"""Simulation-based calibration of the Laplace-split sampler on models of comparisons.

``python -m tests.support.comparison_calibration`` runs 1,000 simulations of every structure of the models, and
prints how many quantities leave their simultaneous 99 % band.
"""

import numpy as np
import pymc as pm
from raterzoo import models
from raterzoo.inference.comparisons import recognition
from raterzoo.inference.comparisons.kernels import hmc as laplace_hmc
from raterzoo.inference.comparisons.kernels import posterior
from raterzoo.inference.comparisons.kernels.hmc import HmcSchedule

from tests.support.comparison_samplers import fit_laplace, pair_cells, pair_log_p
from tests.support.monte_carlo import sbc_ranks, seed_of, within_sbc_band
from tests.support.random_streams import stream

KEPT, THIN, TUNE, STEPS = 49, 12, 40, 4
ROLES = ("quality", "rater", "quality_scale", "rater_scale", "left_bias", "tie", "effect")
STRUCTURES = {
    "ties": ("bradley_terry", {"ties": "davidson"}),
    "thresholds": ("thurstone", {"ties": "threshold"}),
    "signed": ("bradley_terry", {"signed": True}),
    "left bias": ("thurstone", {"left_bias": True}),
    "per rater": ("thurstone", {"reliability": "per rater"}),
    "shared": ("bradley_terry", {"reliability": "shared", "ties": "davidson"}),
    "covariates": ("bradley_terry", {"vote_covariates": 2, "reliability": "shared", "left_bias": True}),
    "covariates, raters": ("thurstone", {"vote_covariates": 1, "ties": "threshold"}),
    "box": ("bradley_terry", {"reliability_range": (1, 5)}),
    "normal box": ("thurstone", {"reliability_range": (0.5, 3), "ties": "threshold"}),
}


def design():
    """Return votes whose pairs and raters are those of the simulations: four items, three raters, some pairs in both orders."""
    rows = [
        (r, i, j, "left")
        for r in range(3)
        for i, j in ((0, 1), (1, 0), (1, 2), (2, 3), (3, 0), (0, 2))
        for _ in range(1 + (r + i) % 2)
    ]
    rater, left, right, winner = zip(*rows, strict=True)
    return models.Comparisons.from_table(
        {"rater": list(rater), "left": list(left), "right": list(right), "winner": list(winner)}
    )


def built(structure):
    """Build the model of a structure."""
    name, options = STRUCTURES[structure]
    if columns := options.get("vote_covariates"):
        options = options | {"vote_covariates": with_covariates(columns)}
    return getattr(models, name)(design(), **options)


def with_covariates(columns):
    """Return the votes of the design, one a row, with covariates; some votes have equal ones."""
    table = {name: np.repeat(cells, design().count) for name, cells in design().to_table().items()}
    del table["count"]
    values = np.random.default_rng(4).integers(-2, 3, (columns, len(table["left"]))).astype(float)
    return table | {f"covariate {c}": own for c, own in enumerate(values)}


def cells_of(structure, codes, counts):
    """Return answers as the kernel reads them; codes: left, right and rater, or with covariates the vote."""
    prior, votes, oriented = structure.prior, structure.votes, "left_bias" in structure.variables
    left, right, who = codes
    of_votes = () if votes is None else (votes.covariate[who],)
    who = np.zeros_like(who) if prior.n_raters == 1 else who if votes is None else votes.rater[who]
    return pair_cells(
        structure.cells.law.code, (left, right, who), counts, prior.n_raters, oriented, *of_votes
    )


def hmc_ranks(model, simulations, seed, sampler=laplace_hmc, spoil=None):
    """Rank free variables and the log likelihood of draws from the prior among draws of the sampler.

    `spoil` may change what the sampler is told of the answers: left, right, rater and counts.
    """
    structure = recognition.read_comparisons(model)
    prior = structure.prior
    (observed,) = model.observed_RVs
    codes = tuple(np.asarray(p.eval()) for p in observed.owner.op.dist_params(observed.owner)[4:7])
    with model:
        simulated = pm.sample_prior_predictive(simulations, random_seed=seed)
    truth, answers = simulated["prior"], simulated["prior_predictive"][observed.name].to_numpy()[0]
    rng, ranks = np.random.default_rng(seed), []
    for s in range(simulations):
        told = (codes, answers[s]) if spoil is None else spoil(codes, answers[s])
        cells = cells_of(structure, *told)
        centre = fit_laplace(cells, prior)
        laplace = centre.laplace
        start = laplace.centre + rng.standard_normal(len(laplace.centre)) @ laplace.inverse
        draws = np.empty((KEPT * THIN, len(start)))
        schedule = HmcSchedule(TUNE, STEPS, centre.open_scales, centre.second_mode is not None)
        sampler.sample_pairs(stream(rng), (cells, prior), laplace, schedule, (start, draws))
        values = recognition.values_of(draws[THIN - 1 :: THIN], prior)
        own = {role: truth[rv.name].to_numpy()[0, s] for role, rv in structure.variables.items()}
        cells = cells_of(structure, codes, answers[s])
        drawn = [values[role].reshape(KEPT, -1) for role in ROLES if role in own]
        drawn.append(np.array([log_likelihood(values, cells, d) for d in range(KEPT)])[:, None])
        true = {role: np.asarray(value)[None] for role, value in own.items()}
        true["reliability"] = reliability_of(true, prior)
        known = [np.ravel(own[role]) for role in ROLES if role in own]
        known.append([log_likelihood(true, cells, 0)])
        row = np.concatenate(known)[None]
        ranks.append(sbc_ranks(row, np.concatenate(drawn, axis=1)[None], rng))
    return np.concatenate(ranks)


def reliability_of(values, prior):
    """Return the reliabilities behind what a model draws of its raters."""
    if "rater" not in values:
        return np.ones((1, prior.n_raters))
    forms = {
        posterior.LOG: np.exp(values["rater"]),
        posterior.SIGNED: 1 + values["rater"],
        posterior.BOX: values["rater"],
    }
    return forms[prior.form]


def log_likelihood(values, cells, draw):
    """Return the log likelihood of one draw."""
    quality = np.ascontiguousarray(values["quality"][draw])
    rho = np.ones(1) if "rater" not in values else np.ascontiguousarray(values["reliability"][draw])
    shared = (float(values["left_bias"][draw]) if "left_bias" in values else 0.0, 1.0)
    if "tie" in values:
        shared = (shared[0], float(values["tie"][draw]))
    effect = np.ascontiguousarray(values["effect"][draw]) if "effect" in values else np.empty(0)
    sums = (np.empty(len(quality)), np.empty(len(rho)), np.empty(len(effect)))
    return pair_log_p(cells, (quality, rho, effect), shared, sums)[0]


def calibrated(ranks):
    """Tell whether all quantities stay inside a simultaneous 99 % band."""
    return within_sbc_band(ranks, KEPT, 1 - 0.01 / ranks.shape[1]).all()


if __name__ == "__main__":
    for structure in STRUCTURES:
        ranks = hmc_ranks(built(structure), 1000, seed_of(f"long {structure}"))
        verdict = "calibrated" if calibrated(ranks) else "NOT CALIBRATED"
        print(f"{structure}: {verdict}, 1,000 simulations of {ranks.shape[1]} quantities")
