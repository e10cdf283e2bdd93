"""Gibbs chains of the shared-guess law: truth T with the guesses summed out, guesses G, copies, then the parameters.

    T_i | p, pi, Phi, s                p(T_i = j) proportional to  p_j prod_g p(answers of g | j), see `guess_item_log_p`
    G_ig | T_i                         proportional to  Phi_g,T,h prod_a ((1 - s_k) pi_k,T,l + s_k [l = h])
    answer a is a copy | T, G          never unless l = G, else s_k / (s_k + (1 - s_k) pi_k,T,l)
    p | T                              Dirichlet(alpha + number of items of each category)
    Phi_gj | T, G                      Dirichlet(phi_gj + number of guesses of g)
    pi_kj | T, copies                  Dirichlet(beta_kj + number of the rater's answers that are not copied)
    s_k | copies                       Beta(a_k + copied, b_k + not copied)

Which answers are copies, the rows pi and the shares s depend on the items only through the number of answers of each
rater and label that are the guess of the group, on items of each category. To draw these three five times in a sweep
therefore costs next to nothing, and makes three times as many effective draws of the shares.

A guess of a group without answers to the item is not drawn. Every stored draw has a Rao-Blackwellised plausibility,
p(T | parameters, answers), from the pass over the answers that follows it.

References
----------
The law is that of `models.shared_guess`; data augmentation by copies as in Hovy et al. (2013), section 2, where spam is.
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.shared_guesses_kernels import (
    GroupedAnswers,
    GuessLaw,
    guess_item_log_p,
    guess_space,
)
from ....models.distributions.vector_math import copy_into
from ...kernels.random_streams import category_at, exp_normalise, log_standard_gamma, uniform
from .gibbs import ConfusionPrior, draw_prevalence, draw_rows


class GuessPrior(NamedTuple):
    """Dirichlet and Beta priors."""

    rows: ConfusionPrior  # of prevalence and of the raters' own answers, FREE_ROWS
    guess: np.ndarray  # (group, category, answer), concentration
    shared: np.ndarray  # (rater, 2): a, b; unused for raters of no group


class GuessCounts(NamedTuple):
    """Numbers of items, guesses and answers given truth, guesses and copies; the state of a chain."""

    items: np.ndarray  # int64 (category,)
    labels: np.ndarray  # int64 (rater * label, category), answers that were not copied
    guesses: np.ndarray  # int64 (group, category, answer)
    copied: np.ndarray  # int64 (rater * label, category), answers that were copied
    # int64 (rater * label, category), answers that are the guess of the group, copied or not
    agreeing: np.ndarray


class GuessParameters(NamedTuple):
    """Parameters, overwritten in place."""

    prevalence: np.ndarray  # (category,)
    # (rater * label, category), p(label | rater, true category) of answers that are not copied
    table: np.ndarray
    guess: np.ndarray  # (group, category, answer)
    shared: np.ndarray  # (rater,), 0 for raters of no group


class GuessDraws(NamedTuple):
    """Output arrays of a chain."""

    prevalence: np.ndarray  # (draw, category)
    table: np.ndarray  # (draw, rater * label, category)
    guess: np.ndarray  # (draw, group, category, answer)
    shared: np.ndarray  # (draw, rater)
    plausibility: np.ndarray  # (draw, item, category), p(true category | draw, answers)
    log_p: np.ndarray  # (draw, item), log p(answers of the item | draw)


@inner_njit(error_model="numpy")
def draw_shares(
    rng: np.ndarray, prior: GuessPrior, group: np.ndarray, counts: GuessCounts, shared: np.ndarray
) -> None:
    """Draw the share of copies of every rater of a group, group int64 (rater,); overwrites shared (rater,)."""
    n = counts.labels.shape[1]
    for k in range(len(shared)):
        shared[k] = 0.0
        if group[k] < 0:
            continue
        own, copied = 0, 0
        for row in range(k * n, (k + 1) * n):
            for j in range(n):
                own += counts.labels[row, j]
                copied += counts.copied[row, j]
        # s ~ Beta(a + copied, b + not copied)
        log_copied = log_standard_gamma(rng, prior.shared[k, 0] + copied)
        log_own = log_standard_gamma(rng, prior.shared[k, 1] + own)
        shared[k] = 1.0 / (1.0 + math.exp(log_own - log_copied))


@inner_njit(error_model="numpy")
def draw_guess_rows(rng: np.ndarray, prior: GuessPrior, counts: GuessCounts, guess: np.ndarray) -> None:
    """Draw the rows of every group's guess (group, category, answer), overwritten."""
    for g in range(len(guess)):
        for j in range(guess.shape[1]):
            for h in range(guess.shape[2]):
                # Dirichlet(phi_gjh + n_gjh)
                guess[g, j, h] = log_standard_gamma(rng, prior.guess[g, j, h] + counts.guesses[g, j, h])
            exp_normalise(guess[g, j])


CYCLES = 5  # of copies, rows and shares in a sweep


@inner_njit(error_model="numpy")
def draw_copies(rng: np.ndarray, group: np.ndarray, counts: GuessCounts, parameters: GuessParameters) -> None:
    """Draw which of the answers that are the guess of their group are copies, and take them from the rater's own."""
    n = counts.labels.shape[1]
    for k in range(len(group)):
        if group[k] < 0:
            continue
        s = parameters.shared[k]
        for row in range(k * n, (k + 1) * n):
            for j in range(n):
                share = s / (s + (1.0 - s) * parameters.table[row, j])
                # each of the answers independently: s / (s + (1 - s) pi)
                copied = 0
                for _ in range(counts.agreeing[row, j]):
                    copied += uniform(rng) < share
                counts.labels[row, j] += counts.copied[row, j] - copied
                counts.copied[row, j] = copied


@inner_njit(error_model="numpy")
def draw_parameters(
    rng: np.ndarray, prior: GuessPrior, group: np.ndarray, counts: GuessCounts, parameters: GuessParameters
) -> None:
    """Draw all parameters given the counts, and several times anew which answers are copies, rows and shares."""
    draw_prevalence(rng, prior.rows, counts.items, parameters.prevalence)
    draw_guess_rows(rng, prior, counts, parameters.guess)
    draw_rows(rng, prior.rows, counts.labels, parameters.table)
    draw_shares(rng, prior, group, counts, parameters.shared)
    for _ in range(CYCLES - 1):
        draw_copies(rng, group, counts, parameters)
        draw_rows(rng, prior.rows, counts.labels, parameters.table)
        draw_shares(rng, prior, group, counts, parameters.shared)


@inner_njit(error_model="numpy")
def draw_latents(
    rng: np.ndarray,
    answers: GroupedAnswers,
    parameters: GuessParameters,
    counts: GuessCounts,
    pointwise: tuple[np.ndarray, np.ndarray],
) -> None:
    """Draw truth, guesses and copies of all items given the parameters, and overwrite their counts.

    Shapes: pointwise, overwritten: log p of the item's answers (item,), p(true category | answers) (item, category).
    """
    log_p, plausibility = pointwise
    n = len(parameters.prevalence)
    own = np.empty(parameters.table.shape)
    for row in range(len(own)):
        for j in range(n):
            own[row, j] = (1.0 - parameters.shared[row // n]) * parameters.table[row, j]
    law = GuessLaw(parameters.prevalence, own, parameters.guess, parameters.shared)
    space = guess_space(law)
    guessed = np.empty(len(law.guess), np.int64)
    counts.items[:] = 0
    counts.labels[:] = 0
    counts.guesses[:] = 0
    counts.copied[:] = 0
    counts.agreeing[:] = 0
    for i in range(len(log_p)):
        log_p[i] = guess_item_log_p(answers, law, space, i, plausibility[i])
        j = category_at(plausibility[i], uniform(rng))
        counts.items[j] += 1
        for g in range(len(guessed)):
            if space.seen[g]:
                guessed[g] = category_at(space.posterior[g, j], uniform(rng))
                counts.guesses[g, j, guessed[g]] += 1
        for a in range(answers.start[i], answers.start[i + 1]):
            k, label = answers.rater[a], answers.label[a]
            row, g = k * n + label, answers.group[k]
            counts.labels[row, j] += 1
            if g >= 0 and guessed[g] == label:
                counts.agreeing[row, j] += 1
    draw_copies(rng, answers.group, counts, parameters)


@inner_njit(error_model="numpy", inline="always")
def _store(draws, d, parameters, pointwise):
    """Copy parameters and pointwise quantities to the output arrays."""
    log_p, plausibility = pointwise
    copy_into(draws.prevalence[d], parameters.prevalence)
    copy_into(draws.shared[d], parameters.shared)
    copy_into(draws.log_p[d], log_p)
    for row in range(len(parameters.table)):
        copy_into(draws.table[d, row], parameters.table[row])
    for g in range(len(parameters.guess)):
        for j in range(parameters.guess.shape[1]):
            copy_into(draws.guess[d, g, j], parameters.guess[g, j])
    for i in range(len(log_p)):
        copy_into(draws.plausibility[d, i], plausibility[i])


@cached_njit(nogil=True, error_model="numpy")
def sample_guesses(
    rng: np.ndarray,
    answers: GroupedAnswers,
    prior: GuessPrior,
    schedule: tuple[int, int],
    state_and_draws: tuple[GuessCounts, GuessDraws],
) -> None:
    """Run one chain on from its counts, in place; schedule: (sweeps before the first draw, sweeps per draw)."""
    (sweeps, thin), (counts, draws) = schedule, state_and_draws
    n_items, n = len(answers.gold_category), len(counts.items)
    parameters = GuessParameters(
        np.empty(n),
        np.empty(counts.labels.shape),
        np.empty(counts.guesses.shape),
        np.empty(len(answers.group)),
    )
    pointwise = (np.empty(n_items), np.empty((n_items, n)))
    for d in range(len(draws.prevalence)):
        sweeps += thin
        for _ in range(sweeps):
            draw_parameters(rng, prior, answers.group, counts, parameters)
            draw_latents(rng, answers, parameters, counts, pointwise)
        sweeps = 0
        _store(draws, d, parameters, pointwise)


@cached_njit(error_model="numpy")
def sweep_guesses(
    rng: np.ndarray, answers: GroupedAnswers, prior: GuessPrior, parameters: GuessParameters
) -> None:
    """Run one sweep from parameters, overwritten: truth, guesses and copies given them, then these given those."""
    n_items, n = len(answers.gold_category), len(parameters.prevalence)
    counts = GuessCounts(
        np.empty(n, np.int64),
        np.empty(parameters.table.shape, np.int64),
        np.empty(parameters.guess.shape, np.int64),
        np.empty(parameters.table.shape, np.int64),
        np.empty(parameters.table.shape, np.int64),
    )
    draw_latents(rng, answers, parameters, counts, (np.empty(n_items), np.empty((n_items, n))))
    draw_parameters(rng, prior, answers.group, counts, parameters)
