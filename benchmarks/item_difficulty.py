"""NUTS on `item_difficulty` against quadrature of its whole posterior: `python -m benchmarks.item_difficulty`.

Two labels, m answers to every item, so that the answers are a histogram of k of m and the posterior has five dimensions: the
prevalence p, and the mean eta_j and spread chi_j of each category j. With f_j(k) the probability of a sequence of k first labels,

    p(p, eta, chi | counts)  proportional to  prior * product over k of (p f_0(k) + (1 - p) f_1(k)) ^ (items with k)

is a polynomial in p, which Gauss-Legendre nodes integrate exactly; nodes of chi are Gauss-Legendre too, those of eta equally
spaced, and both converge exponentially. Nothing is shared with the model but the law. Prints, for each design, the largest |z| of
all statistics (posterior means of parameters, squares, products, plausibilities and effects, against the average of the draws by
its Monte Carlo error), how many are above 2 and 3, and the change by a coarser grid, in Monte Carlo errors.

With three categories the posterior has fourteen dimensions, too many for a grid. `--categories 3` moves draws of parameters and
data from the joint law by transitions of NUTS, as the evidence does for two, and prints the largest |z| of all statistics.
"""

import argparse
import math
import warnings
from typing import Any, NamedTuple

import arviz as az
import numpy as np
from raterzoo import inference, models

from evidence import designs
from evidence.joint_law import JointLaw
from evidence.nuts import NutsMoves
from evidence.prior_scores import PriorScores
from evidence.stationarity import invariance_z, scores_z, threshold_of
from evidence.studies import STUDIES
from tests.support.monte_carlo import seed_of

DIAGONAL = 2.0  # prior mean of the log odds of the right label
DESIGNS = ((30, 5, 1), (60, 4, 2), (100, 8, 3))  # items, answers to each, seed of the data
GRID = (0.25, 26)  # step of eta, number of nodes of chi
COARSE = (0.375, 18)
FARTHEST = 5.5  # prior standard deviations


class Category(NamedTuple):
    """Grid of one category: (point,) each, and by number of first labels (point, k)."""

    eta: np.ndarray
    chi: np.ndarray
    weight: np.ndarray  # quadrature weight times prior density
    confusion: np.ndarray  # E[sigmoid(theta)]
    p: np.ndarray  # probability of a sequence of answers with k first labels
    effect: np.ndarray  # E[theta | k]


def category_grid(mean: float, answers: int, grid: tuple[float, int]) -> Category:
    """Return the grid of (eta, chi) of a category with this prior mean of eta."""
    eta = np.arange(mean - FARTHEST, mean + FARTHEST + 1e-9, grid[0])
    node, weight = np.polynomial.legendre.leggauss(grid[1])
    chi = (node + 1) / 2 * FARTHEST
    prior = np.exp(-0.5 * (eta[:, None] - mean) ** 2 - 0.5 * chi**2) * weight
    eta, chi = (np.ravel(x) for x in np.meshgrid(eta, chi, indexing="ij"))
    z = np.linspace(-8, 8, 161)
    normal = np.exp(-0.5 * z**2)
    normal /= normal.sum()
    theta = eta[:, None] + chi[:, None] * z
    first = 1 / (1 + np.exp(-theta))
    k = np.arange(answers + 1)
    joint = normal[:, None] * first[..., None] ** k * (1 - first[..., None]) ** (answers - k)
    p = joint.sum(axis=1)
    effect = (theta[..., None] * joint).sum(axis=1) / p
    return Category(eta, chi, prior.ravel(), first @ normal, p, effect)


def exact(items_with: np.ndarray, grid: tuple[float, int]) -> dict[str, float]:
    """Return the posterior mean of every statistic; items_with (k,), items with k first labels."""
    answers = len(items_with) - 1
    one, two = category_grid(DIAGONAL, answers, grid), category_grid(-DIAGONAL, answers, grid)
    node, weight = np.polynomial.legendre.leggauss(items_with.sum() // 2 + 3)
    prevalence, weight = (node + 1) / 2, weight / 2
    total, sums, largest = 0.0, {}, -np.inf
    for q, w in zip(prevalence, weight, strict=True):
        for rows in np.array_split(np.arange(len(one.eta)), 12):
            mixed = q * one.p[rows, None, :] + (1 - q) * two.p[None, :, :]
            log_p = np.log(mixed) @ items_with
            if largest == -np.inf:
                largest = log_p.max()
            density = np.exp(log_p - largest) * (w * one.weight[rows, None] * two.weight)
            total += density.sum()
            first = Category(*(x[rows] for x in one))
            for name, value in _means(q, first, two, density, mixed).items():
                sums[name] = sums.get(name, 0.0) + value
    return {name: value / total for name, value in sums.items()}


def _means(
    q: float, one: Category, two: Category, density: np.ndarray, mixed: np.ndarray
) -> dict[str, float]:
    """Return unnormalised sums of all statistics over a block of the grid; density (point, point), mixed (..., k)."""
    by_one, by_two, mass = density.sum(axis=1), density.sum(axis=0), density.sum()
    own = {
        "eta0": (by_one, one.eta), "chi0": (by_one, one.chi), "confusion0": (by_one, one.confusion),
        "eta1": (by_two, two.eta), "chi1": (by_two, two.chi), "confusion1": (by_two, two.confusion),
    }  # fmt: skip
    found = {"p": q * mass, "p p": q * q * mass}
    for name, (sums, x) in own.items():
        found |= {name: sums @ x, f"{name} {name}": sums @ x**2, f"p {name}": q * (sums @ x)}
    for j in (0, 1):
        sums, eta, chi = own[f"eta{j}"][0], own[f"eta{j}"][1], own[f"chi{j}"][1]
        found[f"eta{j} chi{j}"] = sums @ (eta * chi)
    for a in ("eta", "chi"):
        for b in ("eta", "chi"):
            found[f"{a}0 {b}1"] = own[f"{a}0"][1] @ density @ own[f"{b}1"][1]
    share = q * one.p[:, None, :] / mixed  # p(category 0 | parameters, k)
    effect = share * one.effect[:, None, :] + (1 - share) * two.effect
    for k in range(mixed.shape[-1]):
        found[f"plausibility[{k}]"] = (density * share[..., k]).sum()
        found[f"plausibility[{k}] squared"] = (density * share[..., k] ** 2).sum()
        found[f"effect[{k}]"] = (density * effect[..., k]).sum()
        found[f"effect[{k}] squared"] = (density * effect[..., k] ** 2).sum()
    return found


def drawn(labels: Any, first: np.ndarray, draws: int, seed: int) -> dict[str, np.ndarray]:
    """Return draws (chain, draw) of every statistic by NUTS; first (item,), number of first labels."""
    with warnings.catch_warnings(action="ignore"):
        model = models.item_difficulty(labels, diagonal=DIAGONAL)
        tree = inference.sample(model, draws=draws, random_seed=seed, progressbar=False, log_likelihood=False)
    posterior = tree["posterior"]
    x = {"p": posterior["prevalence"].to_numpy()[..., 0]}
    for j in (0, 1):
        x[f"eta{j}"] = posterior["effect_mean"].to_numpy()[..., j, 0]
        x[f"chi{j}"] = posterior["effect_spread"].to_numpy()[..., j, 0]
        x[f"confusion{j}"] = posterior["confusion"].to_numpy()[..., j, 0]
    names = list(x)
    for a in names:
        for b in names:
            x[f"{a} {b}"] = x[a] * x[b]
    for k in np.unique(first):
        item = int(np.flatnonzero(first == k)[0])
        for name, variable in (("plausibility", "plausibility"), ("effect", "expected_effect")):
            x[f"{name}[{k}]"] = posterior[variable].to_numpy()[..., item, 0]
            x[f"{name}[{k}] squared"] = x[f"{name}[{k}]"] ** 2
    return x


def compare(items: int, answers: int, data_seed: int, draws: int, seed: int) -> None:
    """Print how far the averages of NUTS are from the exact means of one design."""
    design = {"items": items, "raters": answers, "answers": answers, "categories": 2}
    labels = models.simulators.labels(model="item_difficulty", **design, random_seed=data_seed).data
    first = np.bincount(labels.annotation_item, (labels.label_code == 0) * labels.count, items).astype(int)
    items_with = np.bincount(first, minlength=answers + 1)
    fine, coarse = exact(items_with, GRID), exact(items_with, COARSE)
    chains = drawn(labels, first, draws, seed)
    z, change = {}, 0.0
    for name in fine.keys() & chains.keys():
        error = chains[name].std() / math.sqrt(float(az.ess(chains[name])))
        z[name] = (chains[name].mean() - fine[name]) / error
        change = max(change, abs(coarse[name] - fine[name]) / error)
    size = np.abs(list(z.values()))
    worst = max(z, key=lambda name: abs(z[name]))
    print(
        f"{items} items x {answers}, seed {seed}: {len(z)} statistics, max |z| {size.max():.2f} ({worst}), above 2: "
        f"{(size > 2).mean():.1%}, above 3: {(size > 3).sum()}; ESS of {worst}: {float(az.ess(chains[worst])):,.0f}; "
        f"coarser grid: {change:.4f}",
        flush=True,
    )


def moved(categories: int, items: int, pairs: int, spread: float = 1.0) -> None:
    """Print how far transitions of NUTS move draws of the joint law; it is told a prior of the spreads wider by `spread`."""
    study = STUDIES["item_difficulty"]
    labels = designs.labels(categories, items)
    model = models.item_difficulty(labels)
    law = JointLaw(model, study.derived, study.ranked)
    name = f"item_difficulty, {categories} categories"
    values, answers = law.simulate(1, seed_of(f"{name} learning"))
    told = models.item_difficulty(labels, spread=spread)
    start = {variable: x[0] for variable, x in values.items()}
    mover = NutsMoves(told, start, answers[0], seed_of(f"{name} learning"))
    z, pairs_moved = invariance_z(law, mover.move, pairs, name)
    z = np.concatenate([z, scores_z(PriorScores(law.model), pairs_moved)[0]])
    print(
        f"{categories} categories, {items} items, {pairs:,} pairs, spread told {spread:g}: {len(z)} statistics, max |z| "
        f"{np.abs(z).max():.2f} of {threshold_of(z):.2f}, above 2: {(np.abs(z) > 2).mean():.1%}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.item_difficulty", description=__doc__)
    parser.add_argument("--draws", type=int, default=20_000, help="of each of four chains")
    parser.add_argument("--seed", type=int, default=1, help="of NUTS")
    parser.add_argument(
        "--designs", type=int, nargs="*", default=[1, 2, 3], help="numbers of designs of two categories"
    )
    parser.add_argument("--categories", type=int, choices=(2, 3), default=2)
    parser.add_argument(
        "--pairs", type=int, default=300, help="of draws from the joint law, of three categories"
    )
    asked = parser.parse_args()
    if asked.categories == 3:
        for told in (1.0, 1.5):  # the second is a wrong twin
            moved(3, 12, asked.pairs, told)
    else:
        for number in asked.designs:
            compare(*DESIGNS[number - 1], asked.draws, asked.seed)
