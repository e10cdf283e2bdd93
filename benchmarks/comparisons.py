"""Cost of point estimates of comparisons: `python benchmarks/comparisons.py`."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from raterzoo import inference, models
from raterzoo.inference.comparisons.alternating_gradient import alternating_gradient
from raterzoo.inference.comparisons.bradley_terry_mle import bradley_terry_mle
from raterzoo.inference.comparisons.pair_graph import PairTable, pair_table
from raterzoo.inference.comparisons.quite import quite
from raterzoo.inference.comparisons.vote_modes import SparseVotes, by_pair, by_rater, vote_modes
from raterzoo.inference.design.expected_information import next_to_ask
from raterzoo.inference.design.stages import second_stage
from raterzoo.models.comparisons.bradley_terry import bradley_terry
from scipy.optimize import minimize_scalar
from scipy.special import log_expit, log_ndtr
from scipy.stats import kendalltau

LOG_F = {"bradley_terry": log_expit, "thurstone": log_ndtr}
SAMPLE = 40  # pairs and raters that scipy is timed on
ITERATIONS = 20

Questions = np.ndarray  # shape (3, question): codes of left, right, rater


def timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    result = run()
    return result, time.process_time() - cpu, time.perf_counter() - wall


def scipy_loop(table: PairTable, link: str, estimate: xr.Dataset) -> float:
    """Return CPU seconds of one iteration by a bounded search for each pair and rater, timed on some and scaled to all."""
    votes = by_pair(table)
    raters = by_rater(votes, table.n_raters)
    rho = estimate["reliability"].to_numpy()
    quality = estimate["quality"].to_numpy()
    total = 0.0
    for grouped, factor, interval in (
        (votes, rho, (-1, 1)),
        (raters, quality[table.first] - quality[table.second], (1, 20)),
    ):
        n = len(grouped.start) - 1
        chosen = np.random.default_rng(1).choice(n, SAMPLE, replace=False)
        began = time.process_time()
        for g in chosen:
            own = slice(grouped.start[g], grouped.start[g + 1])
            z, a, b = factor[grouped.other[own]], grouped.wins[own], grouped.losses[own]
            minimize_scalar(
                lambda y, z=z, a=a, b=b: -(a @ LOG_F[link](z * y) + b @ LOG_F[link](-z * y)),
                bounds=interval,
                method="bounded",
                options={"xatol": 1e-8},
            )
        total += (time.process_time() - began) * n / SAMPLE
    return total


def iterations(link: str, sufficient: bool) -> None:
    """Time one iteration at N = K = 400, D = 20, alpha = 1: 1.6 million answers."""
    data = models.simulators.comparisons(
        items=400, raters=400, degree=20, alpha=1.0, link=link, random_seed=1
    ).data
    table = pair_table(data)
    if not sufficient:
        import raterzoo.inference.comparisons.quite as module

        module.vote_modes = sparse_modes
    options = {"link": link, "tolerance": 0.0}
    with warnings.catch_warnings(action="ignore"):
        quite(data, max_iterations=2, **options)  # compiles
        _, one, _ = timed(lambda: quite(data, max_iterations=1, **options))
        estimate, many, _ = timed(lambda: quite(data, max_iterations=1 + ITERATIONS, **options))
    if not sufficient:
        module.vote_modes = vote_modes
    each = (many - one) / ITERATIONS
    name = f"{link}{', sufficient statistic' if sufficient else ''}"
    limit = 0.03 if sufficient else {"bradley_terry": 0.12, "thurstone": 0.6}[link]
    print(f"QUITE, {name}: {each:.4f} CPU s an iteration, limit {limit}; start and end {one:.2f} s")
    loop = scipy_loop(table, link, estimate)
    print(f"    scipy, by pair and rater: {loop:.1f} CPU s an iteration, {loop / each:.0f} times as long")


def sparse_modes(table: PairTable, link: str) -> SparseVotes:
    votes = by_pair(table)
    return SparseVotes(link == "thurstone", votes, by_rater(votes, table.n_raters))


def many_items(items: int = 10_000, raters: int = 1000, votes: int = 1_000_000) -> None:
    """Time estimates from few votes on each of many pairs."""
    rng = np.random.default_rng(1)
    quality, rho = rng.random(items), rng.uniform(1, 20, raters)
    left = rng.integers(0, items, votes)
    right = (left + rng.integers(1, items, votes)) % items
    rater = rng.integers(0, raters, votes)
    x = rho[rater] * (quality[left] - quality[right])
    winner = np.where(rng.random(votes) < 1 / (1 + np.exp(-x)), left, right)
    table = {"rater": rater, "left": left, "right": right, "winner": winner}
    data, cpu, wall = timed(lambda: models.Comparisons.from_table(table))
    print(f"{votes:,} votes on {items:,} items: table to codes {cpu:.1f} CPU s, {wall:.1f} s wall")
    for name, estimate in (
        ("quite", lambda: quite(data, random_seed=1)),
        ("quite, Thurstone", lambda: quite(data, link="thurstone", random_seed=1)),
        ("bradley_terry_mle", lambda: bradley_terry_mle(data, random_seed=1)),
        ("alternating_gradient", lambda: alternating_gradient(data, random_seed=1)),
    ):
        with warnings.catch_warnings(action="ignore"):
            found, cpu, wall = timed(estimate)
        iterations = found.attrs["iterations"]
        near = np.corrcoef(found["quality"], quality[found["item"].to_numpy()])[0, 1]
        print(
            f"    {name}: {cpu:.1f} CPU s, {wall:.1f} s wall, limit 30 s; {iterations} iterations, "
            f"correlation with the truth {near:.3f}"
        )


def questions(items: int = 59, raters: int = 126, draws: int = 4000) -> None:
    """Time the expected information of every pair and rater."""
    rng = np.random.default_rng(1)
    posterior = xr.Dataset(
        {
            "quality": (("chain", "draw", "item"), rng.normal(size=(4, draws // 4, items))),
            "reliability": (("chain", "draw", "rater"), np.exp(0.5 * rng.normal(size=(4, draws // 4, raters)))),
            "tie": (("chain", "draw"), np.exp(0.1 * rng.normal(size=(4, draws // 4)))),
        },
        {"item": np.arange(items), "rater": np.arange(raters)},
    )  # fmt: skip
    tree = xr.DataTree.from_dict({"posterior": posterior})
    next_to_ask(tree, [(0, 1)], link="bradley_terry")  # compiles
    for link in LOG_F:
        found, cpu, wall = timed(lambda link=link: next_to_ask(tree, link=link))
        print(
            f"next_to_ask, {link} with ties, {found.sizes['question']:,} questions x {draws:,} draws: "
            f"{cpu:.1f} CPU s, {wall:.1f} s wall"
        )


def asked(
    data: models.Comparisons, truth: dict[str, np.ndarray], questions: Questions, seed: int
) -> models.Comparisons:
    """Add one answer to each question."""
    left, right, rater = questions
    x = truth["reliability"][rater] * (truth["quality"][left] - truth["quality"][right])
    won = np.random.default_rng(seed).random(len(x)) < 1 / (1 + np.exp(-x))
    before = np.where(data.outcome == 0, data.left, data.right)
    table = {
        "rater": np.r_[data.annotation_rater, rater],
        "left": np.r_[data.left, left],
        "right": np.r_[data.right, right],
        "winner": np.r_[before, np.where(won, left, right)],
    }
    return models.Comparisons.from_table(table, items=data.items)


def in_rounds(drawn, budget: int, rounds: int, about: str, seed: int) -> models.Comparisons:
    """Ask what tells most, one question about a pair in a round, nobody the same twice."""
    data, truth = drawn.data, drawn.truth
    known = set(zip(data.left.tolist(), data.right.tolist(), data.annotation_rater.tolist(), strict=True))
    for n in range(rounds):
        tree = inference.sample(bradley_terry(data), draws=250, chains=2, random_seed=seed, progressbar=False)
        found = next_to_ask(tree, about=about, link="bradley_terry")
        best: list[tuple[int, int, int]] = []
        pairs: set[tuple[int, int]] = set()
        for i, j, k in zip(
            *(found[name].to_numpy().tolist() for name in ("left", "right", "rater")), strict=True
        ):
            if (i, j) not in pairs and not known & {(i, j, k), (j, i, k)}:
                best.append((i, j, k))
                pairs.add((i, j))
            if len(best) == budget // rounds:
                break
        known |= set(best)
        data = asked(data, truth, np.array(best).T, 100 * seed + n)
    return data


def equal_budget(repeats: int = 20, items: int = 30, raters: int = 16) -> None:
    """Compare what twice the answers are worth: more of the same, a second stage, the most informative ones."""
    budget, wrong = 3 * 3 * items, {}
    for seed in range(repeats):
        options = {"items": items, "raters": raters, "degree": 6, "random_seed": seed}
        drawn = models.simulators.comparisons(alpha=3 / raters, **options)
        with warnings.catch_warnings(action="ignore"):
            first = quite(drawn.data)
            # what was not asked before on the same pairs
            more = [
                (i, j, k)
                for i, j in set(
                    zip(first["first"].to_numpy().tolist(), first["second"].to_numpy().tolist(), strict=True)
                )
                for k in np.random.default_rng([seed, i, j]).permutation(raters)[:3]
            ]
            data = {"the same pairs again": asked(drawn.data, drawn.truth, np.array(more).T, seed)}
            for name, load in (("second stage", None), ("second stage, best raters", 3 * items)):
                plan = second_stage(first, pairs=3 * items, answers=3, load=load)
                left, right = (np.repeat(plan[side].to_numpy(), 3) for side in ("left", "right"))
                questions = np.array([left, right, plan["rater"].to_numpy().ravel()])
                data[name] = asked(drawn.data, drawn.truth, questions, seed)
            for about in ("quality", "ranks"):
                data[f"next_to_ask about {about}"] = in_rounds(drawn, budget, 6, about, seed)
            for name, votes in data.items():
                quality = quite(votes)["quality"].to_numpy()
                tau = kendalltau(quality, drawn.truth["quality"]).statistic
                wrong.setdefault(name, []).append((1 - tau) / 2)
    print(
        f"{budget} answers after {budget}, {items} items, {raters} raters, {repeats} data sets: share of pairs misranked by quite"
    )
    for name, share in wrong.items():
        error = np.std(share, ddof=1) / np.sqrt(repeats)
        print(f"    {name}: {np.mean(share):.4f} ± {error:.4f}")


if __name__ == "__main__":
    iterations("bradley_terry", sufficient=True)
    iterations("bradley_terry", sufficient=False)
    iterations("thurstone", sufficient=False)
    many_items()
    questions()
    equal_budget()
