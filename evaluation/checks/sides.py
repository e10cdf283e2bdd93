"""Two sides of raters who agree within and not between, as if each had a truth of its own.

Agreement is kappa of two raters on the items that both answered. If all raters have one truth, and err independently of each
other, raters of a side agree with the other side more than the less able side agrees within. The number is

    min(mean kappa within one side, mean kappa within the other) - mean kappa between the sides

on the sides for which kappa, less the means of both raters, is largest within and least between. It is found in the same way in
replicates, and so allows for the choice of the sides.
"""

import numpy as np

from .label_laws import Answers, LabelLaw

FEWEST_OF_SIDE = 3  # raters
APART = 0.1  # least difference of kappa that is named
FEWEST_COMMON = 20  # items that both raters of a pair answered


def sides_of(answers: Answers, law: LabelLaw, rng: np.random.Generator) -> list[list[str]]:
    """Return the raters of two sides, the larger first; none unless the sides are further apart than those of all replicates."""
    apart, side = _apart(answers, answers.label)
    if apart < APART:
        return []
    for draw in range(law.draws):
        (label,) = law.replicate(range(draw, draw + 1), rng)
        if _apart(answers, label)[0] >= apart:
            return []
    names = answers.raters[answers.chosen].astype(str)
    return sorted((names[own].tolist() for own in (side, ~side)), key=len, reverse=True)


def _apart(answers: Answers, label: np.ndarray) -> tuple[float, np.ndarray]:
    """Return how far the sides are apart, -1 without sides, and whether each chosen rater is of the first (chosen,)."""
    kappa, known = _kappas(answers, label)
    raters = len(kappa)
    if not known.any():
        return -1.0, np.zeros(raters, bool)
    mean = np.array([own[some].mean() if some.any() else 0.0 for own, some in zip(kappa, known, strict=True)])
    beyond = np.where(known, kappa - mean[:, None] - mean + kappa[known].mean(), 0.0)
    sign = np.where(np.linalg.eigh(beyond)[1][:, -1] > 0, 1.0, -1.0)
    for _ in range(5 * raters):
        gain = -sign * (beyond @ sign)
        if gain.max() <= 1e-12:
            break
        sign[gain.argmax()] *= -1
    first = sign > 0
    blocks = [kappa[known & np.outer(*own)] for own in ((first, first), (~first, ~first), (first, ~first))]
    if min(first.sum(), (~first).sum()) < FEWEST_OF_SIDE or not all(map(len, blocks)):
        return -1.0, first
    within, others, between = (float(own.mean()) for own in blocks)
    return min(within, others) - between, first


def _kappas(answers: Answers, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return kappa of each pair of chosen raters, and whether they have enough items in common (chosen, chosen)."""
    (items, raters, n), chosen = answers.shape, answers.chosen
    place = np.full(raters, -1)
    place[chosen] = np.arange(len(chosen))
    own = place[answers.rater] >= 0
    said = np.zeros((n, items, len(chosen)))
    said[label[own], answers.item[own], place[answers.rater[own]]] = 1.0
    gave = said.max(axis=0)
    common = gave.T @ gave
    agree, by_chance = np.zeros_like(common), np.zeros_like(common)
    for of_label in said:
        often = of_label.T @ gave  # of a rater on the items of another
        agree += of_label.T @ of_label
        by_chance += often * often.T / np.maximum(common, 1.0)
    known = (common >= FEWEST_COMMON) & (by_chance < common) & ~np.eye(len(chosen), dtype=bool)
    return np.where(known, (agree - by_chance) / np.where(known, common - by_chance, 1.0), 0.0), known
