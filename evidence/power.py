"""Power of the evidence: the smallest dose of a parameter that a test catches with a given probability.

A dose moves the statistic of the parameter's score by a known `shift`, see `prior_scores`. It is caught with probability `POWER`
if this is so much more than the bound. `caught_again` counts how often that is so for a sampler that is told a prior with a dose.
"""

from collections.abc import Mapping

import numpy as np
from scipy.stats import norm

from tests.support.monte_carlo import seed_of

from .chains import Chains, chains_of
from .joint_law import JointLaw
from .prior_scores import PriorScores
from .stationarity import moved, scores_z, threshold_of
from .studies import FEW_DATA
from .twins import REPEATED

__all__ = ["PAIRS", "POWER", "REPETITIONS", "caught_again", "smallest_doses"]

POWER = 0.9
LEARNING, REPETITIONS = 4, 30  # rounds that tell the dose, and rounds with the dose
PAIRS = 2000  # of few data in each round


def smallest_doses(threshold: float, shift: Mapping[str, float]) -> dict[str, float]:
    """Return the smallest dose of each parameter that is caught with probability `POWER`, to first order.

    Parameters
    ----------
    threshold : float
        Bound of a standard normal statistic.
    shift : mapping of str to float
        Change of the statistic by a dose of one; a parameter whose shift is zero has no dose.
    """
    needed = threshold + float(norm.ppf(POWER))
    return {name: needed / by for name, by in shift.items() if by > 0}


def caught_again(study: str, law: JointLaw, name: str) -> tuple[float, int]:
    """Tell the sampler a prior with the smallest dose, and repeat the test of few data over independent seeds.

    Parameters
    ----------
    study : str
        One of `REPEATED`.
    law : JointLaw
        Of the study with few data.
    name : str
        Seeds the simulations.

    Returns
    -------
    dose : float
        Smallest dose that should be caught with probability `POWER`.
    caught : int
        How many of `REPETITIONS` tests caught it.
    """
    parameter, told = REPEATED[study]
    scores = PriorScores(law.model)
    chains = chains_of(study)
    schedule = FEW_DATA[study].schedule
    seed, rounds = seed_of(name), LEARNING + REPETITIONS
    truth, answers = law.simulate(rounds * PAIRS, seed)

    def tested(sampler: Chains, repetition: int) -> tuple[np.ndarray, np.ndarray]:
        own = slice(repetition * PAIRS, (repetition + 1) * PAIRS)
        simulated = ({variable: x[own] for variable, x in truth.items()}, answers[own])
        return scores_z(scores, moved(law, sampler.move, simulated, seed + repetition))

    right = chains(law.model, schedule)
    shift = np.mean([tested(right, r)[1] for r in range(LEARNING)], axis=0)
    threshold = threshold_of(shift)
    dose = smallest_doses(threshold, dict(zip(scores.names, shift, strict=True)))[parameter]
    wrong = chains(told(dose), schedule)
    caught = sum(np.abs(tested(wrong, r)[0]).max() > threshold for r in range(LEARNING, rounds))
    return dose, int(caught)
