"""Joint answers of the raters of a group to one item: their law if they copy a shared guess, and what they tell together.

p(y_g | T = j) = sum_h Phi_jh prod_k (s_k [y_k = h] + (1 - s_k) pi_kj[y_k]), and without a guess prod_k pi_kj[y_k].
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import xarray as xr
from scipy.special import xlogy

from ...posterior.errors import EvaluationError
from ...posterior.plausibility import in_threads
from ...posterior.schema import SAMPLE, posterior_with_attributes
from .quality import of_raters

MOST_OUTCOMES = 1_024  # joint answers of a group that are enumerated
SIMULATED = 400  # joint answers of a group in each draw, where there are more
BLOCK_SIZE = 1_000_000  # probabilities in one block
MATRIX = ("category", "answer")
COPIES_NOBODY = -1


@dataclass(frozen=True)
class JointLaw:
    """Law of the answers of all raters to one item, by draw."""

    prevalence: np.ndarray  # (draw, category)
    own: np.ndarray  # of answers that are not copied (draw, rater, category, answer)
    guess: np.ndarray  # (draw, copied group, category, answer)
    shared: np.ndarray  # probability of a copy (draw, rater), 0 for raters who copy nobody
    copied: np.ndarray  # group whose guess each rater copies, -1 for none (rater,)

    def confusion(self, members: np.ndarray) -> np.ndarray:
        """Probabilities of the answers of some raters, copied or not (draw, member, category, answer)."""
        own, often = self.own[:, members], self.shared[:, members, None, None]
        if not self.guess.shape[1]:
            return own
        return often * self.guess[:, np.maximum(self.copied[members], 0)] + (1 - often) * own


def joint_law(tree: xr.DataTree) -> JointLaw:
    """Return the law of a posterior of raters, with the guesses of groups if it has any, or raise."""
    confusion = of_raters(tree, "confusion", ("rater", *MATRIX))
    posterior = posterior_with_attributes(tree)
    has_guess = {"guess", "own_confusion", "shared"} <= set(posterior)
    own = (posterior["own_confusion"] if has_guess else confusion).transpose(*SAMPLE, "rater", *MATRIX)
    matrices = own.to_numpy().astype(float).reshape(-1, *own.shape[2:])
    matrices /= matrices.sum(axis=-1, keepdims=True)
    prevalence = (
        of_raters(tree, "prevalence", ("category",)).transpose(*SAMPLE, "category").to_numpy().astype(float)
    )
    prevalence = prevalence.reshape(len(matrices), -1)
    prevalence = prevalence / prevalence.sum(axis=-1, keepdims=True)
    n, raters = matrices.shape[:2]
    if not has_guess:
        return JointLaw(
            prevalence, matrices, np.zeros((n, 0, *own.shape[3:])), np.zeros((n, raters)), np.full(raters, -1)
        )
    guess = posterior["guess"].transpose(*SAMPLE, "group_of_raters", *MATRIX).to_numpy().astype(float)
    guess = guess.reshape(n, *guess.shape[2:])
    shared = np.zeros((n, raters))
    place = posterior.get_index("rater").get_indexer(posterior["copier"].to_numpy())
    shared[:, place] = posterior["shared"].transpose(*SAMPLE, "copier").to_numpy().reshape(n, -1)
    return JointLaw(
        prevalence, matrices, guess / guess.sum(axis=-1, keepdims=True), shared, copied_groups(posterior)
    )


def joint_information(law: JointLaw, members: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the information in bits about the truth of one answer of each of some raters of one group (draw,).

    All joint answers are enumerated, or 400 of them simulated in each draw.
    """
    n = law.own.shape[-1]
    exact = n ** len(members) <= MOST_OUTCOMES
    outcomes = np.array(list(product(range(n), repeat=len(members)))) if exact else None
    step = max(1, BLOCK_SIZE // ((len(outcomes) if outcomes is not None else SIMULATED) * n * n))
    firsts = range(0, len(law.own), step)
    generators = rng.spawn(len(firsts))

    def block(first: int, own_rng: np.random.Generator) -> np.ndarray:
        part = slice(first, first + step)
        told = _simulated(law, members, part, own_rng) if outcomes is None else outcomes[None]
        # (draw, outcome, category)
        joint = law.prevalence[part, None] * _likelihood(law, members, part, told)
        seen = joint.sum(axis=-1, keepdims=True)
        truth = np.where(seen > 0, joint / np.where(seen > 0, seen, 1), 0)
        gain = xlogy(truth, truth).sum(axis=-1) - xlogy(truth, law.prevalence[part, None]).sum(axis=-1)
        return (gain.mean(axis=1) if outcomes is None else (seen[..., 0] * gain).sum(axis=1)) / np.log(2)

    return np.concatenate(list(in_threads(block, firsts, generators)))


def _likelihood(law: JointLaw, members: np.ndarray, part: slice, told: np.ndarray) -> np.ndarray:
    """Return p(joint answers | truth) (draw, outcome, category); `told` is (draw or 1, outcome, member)."""
    group = law.copied[members].max()
    n = law.own.shape[-1]
    draws = np.arange(len(law.own[part]))[:, None]
    product_of = np.ones((len(draws), told.shape[1], n, n if group >= 0 else 1))
    for place, rater in enumerate(members):
        label = told[:, :, place]
        own = np.moveaxis(law.own[part, rater], -1, 1)[draws, label]  # (draw, outcome, category)
        often = law.shared[part, rater, None, None, None]
        copies = (label[..., None] == np.arange(product_of.shape[-1]))[:, :, None]
        product_of *= often * copies + (1 - often) * own[..., None]
    if group < 0:
        return product_of[..., 0]
    return np.einsum("dojh,djh->doj", product_of, law.guess[part, group])


def _simulated(law: JointLaw, members: np.ndarray, part: slice, rng: np.random.Generator) -> np.ndarray:
    """Simulate joint answers (draw, outcome, member)."""
    draws = np.repeat(np.arange(len(law.own[part])), SIMULATED)
    truth = drawn(law.prevalence[part][draws], rng)
    group = law.copied[members].max()
    guess = drawn(law.guess[part, group][draws, truth], rng) if group >= 0 else truth
    told = []
    for rater in members:
        alone = drawn(law.own[part, rater][draws, truth], rng)
        told.append(np.where(rng.random(len(draws)) < law.shared[part, rater][draws], guess, alone))
    return np.stack(told, axis=1).reshape(-1, SIMULATED, len(members))


def residual_correlation(law: JointLaw, members: np.ndarray) -> np.ndarray:
    """Return the mean correlation of the residuals of two raters of one group, given the truth (draw,).

    Two who copy the same guess have the covariance s_k s_l (1 - sum_h Phi_jh^2); others none.
    """
    if len(members) < 2:
        return np.zeros(len(law.own))
    group = law.copied[members].max()
    squares = (law.confusion(members) ** 2).sum(axis=-1)  # (draw, member, category)
    sd = np.sqrt(1 - squares)

    def pairs(values: np.ndarray) -> np.ndarray:
        return values.sum(axis=1) ** 2 - (values**2).sum(axis=1)

    norm = (law.prevalence * pairs(sd)).sum(axis=-1)
    if group < 0:
        return np.zeros(len(law.own))
    spread = 1 - (law.guess[:, group] ** 2).sum(axis=-1)
    covariance = (law.prevalence * spread).sum(axis=-1) * pairs(law.shared[:, members])
    return covariance / norm


def copied_groups(posterior: xr.Dataset) -> np.ndarray:
    """Return the code of the group whose guess each rater copies, -1 for a rater who copies nobody, from the coordinates."""
    names = posterior["group_of_raters"].to_numpy().astype(str)
    copies = posterior.get_index("copier").get_indexer(posterior["rater"].to_numpy()) >= 0
    if len(names) == 1:  # perhaps a classifier that was shown, which no attribute names
        return np.where(copies, 0, COPIES_NOBODY)
    for coordinate in posterior.coords.values():
        if (
            coordinate.dims == ("rater",)
            and np.isin(own := coordinate.to_numpy().astype(str)[copies], names).all()
        ):
            order = np.argsort(names)
            code = np.full(len(copies), COPIES_NOBODY)
            code[copies] = order[np.searchsorted(names, own, sorter=order)]
            return code
    raise EvaluationError(
        "the tree does not say in which group each rater is: read the groups as an attribute of the raters, "
        "Labels.from_table(..., rater_attributes=['kind']), and name it, shared_guess(labels, 'kind')"
    )


def drawn(probability: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one code from each row of probabilities (row, code)."""
    edges = np.cumsum(probability, axis=1)
    u = rng.random(len(edges)) * edges[:, -1]
    return (edges[:, :-1] <= u[:, None]).sum(axis=1)
