"""Answers that are more than a category: laws that read them beside the flat treatment of the same answers.

    python -m benchmarks.answers no_answer --studies 20

A study is drawn, fitted in each way, and judged against its truth. Rows: share right, log loss, claim less share right, and their
95 % intervals over the studies; differences are paired by study.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pymc as pm
from raterzoo import inference, models

UNSURE = "unsure"
Row = dict[str, float]


# --- 1. Answers that are no truth ---


def study_of_unsure(
    rng: np.random.Generator, why: str, items: int = 500
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return truth and table of 12 raters, five an item, who are unsure of hard items, or of one category, or at random."""
    truth = rng.choice(3, items, p=[0.5, 0.35, 0.15])
    hard, ability = rng.beta(2, 2, items), rng.normal(1.6, 0.6, 12)
    rows = []
    for i in range(items):
        for k in rng.choice(12, 5, replace=False):
            q = 1 / (1 + np.exp(-(ability[k] + 1.5 - 4 * hard[i])))
            unsure = {"difficulty": 0.63 * (1 - q), "truth": [0.05, 0.05, 0.5][truth[i]], "chance": 0.15}[why]
            if rng.random() < unsure:
                said = UNSURE
            else:
                said = str(truth[i] if rng.random() < q + (1 - q) / 3 else rng.integers(3))
            rows.append((i, int(k), said))
    return truth, dict(zip(("item", "rater", "label"), zip(*rows, strict=True), strict=True))


def fitted(ways: dict[str, pm.Model], judge: Callable[[Any], Row], seed: int, draws: int) -> dict[str, Row]:
    """Return the figures of the posterior of each model, and what it cost."""
    found = {}
    for way, model in ways.items():
        begun = time.process_time()
        tree = inference.sample(model, draws=draws, random_seed=seed, cores=1, progressbar=False)
        found[way] = judge(tree) | {"CPU s": time.process_time() - begun}
    return found


def judged(tree: Any, truth: np.ndarray) -> Row:
    """Return the figures of a posterior against the truth of its items, named 0 to 2."""
    mean = tree["posterior"]["plausibility"].mean(("chain", "draw"))
    named = mean["category"].to_numpy().astype(str)
    p = np.zeros((len(truth), 4))
    for place, name in enumerate(named):
        p[mean["item"].to_numpy(), 3 if name == UNSURE else int(name)] = mean.to_numpy()[:, place]
    best = p.argmax(axis=1)
    right = best == truth
    found = {
        "right": right.mean(),
        "log loss": -np.log(np.maximum(p[np.arange(len(truth)), truth], 1e-6)).mean(),
        "claim - right": p.max(axis=1).mean() - right.mean(),
        "no truths": float((best == 3).sum()),
    }
    prevalence = tree["posterior"]["prevalence"].to_numpy().reshape(-1, len(named))
    inside = [
        lower <= share <= upper
        for share, lower, upper in zip(
            [0.5, 0.35, 0.15], *np.quantile(prevalence[:, :3], [0.05, 0.95], axis=0), strict=True
        )
    ]
    return found | {"prevalence covers": float(np.mean(inside))}


def no_answer(why: str, seed: int, draws: int) -> dict[str, Row]:
    """Return the figures of one study in each treatment."""
    truth, table = study_of_unsure(np.random.default_rng([44, seed]), why)
    with_word = models.Labels.from_table(table)
    apart = models.Labels.from_table(table, no_answer=UNSURE)
    ways = {
        "category": models.dawid_skene(with_word),
        "dropped": models.dawid_skene(apart, no_answer="ignored"),
        "rectangular": models.dawid_skene(apart),
    }
    return fitted(ways, lambda tree: judged(tree, truth), seed, draws)


# --- 2. Choices and rankings among what was shown ---


SHAPE_OF_WORTHS = 3.0


def study_of_shown(
    rng: np.random.Generator, how: str, items: int = 20, raters: int = 40
) -> tuple[np.ndarray, list[Any], list[Any]]:
    """Return log worths (item, category), and blocks and sets (item, rater) of six categories, some shown four times as often."""
    log_worth = np.log(rng.gamma(SHAPE_OF_WORTHS, size=(items, 6)))
    often = np.array([1.0, 1.0, 1.0, 4.0, 4.0, 4.0])
    size = {"ranked": 3, "best": 4, "best-worst": 4}[how]
    nested, sets = [], []
    for own in log_worth:
        nested.append([])
        sets.append([])
        for _ in range(raters):
            seen = rng.choice(6, size, replace=False, p=often / often.sum())
            order = seen[np.argsort(-own[seen] - rng.gumbel(size=size))].tolist()
            ends = {"ranked": [[k] for k in order], "best": [order[:1]]}
            nested[-1].append(ends.get(how) or [order[:1], order[1:-1], order[-1:]])
            sets[-1].append(seen.tolist())
    return log_worth, nested, sets


def centred(log_worth: np.ndarray) -> np.ndarray:
    """Return log worths less their mean over the categories, the last axis."""
    return log_worth - log_worth.mean(axis=-1, keepdims=True)


def judged_worths(lower: np.ndarray, middle: np.ndarray, upper: np.ndarray, truth: np.ndarray) -> Row:
    """Return the figures of centred log worths (item, category) and their 90 % intervals."""
    return {
        "right": (middle.argmax(axis=1) == truth.argmax(axis=1)).mean(),
        "covers .9": ((lower <= truth) & (truth <= upper)).mean(),
        "mean error": np.abs(middle - truth).mean(),
    }


def pairs_with_losers(nested: list[Any], sets: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return maximum-likelihood qualities (item, category) of one pair for each loser of a choice, and standard errors."""
    found = []
    for blocks, seen in zip(nested, sets, strict=True):
        pairs = [
            (own[0][0], k) for own, shown in zip(blocks, seen, strict=True) for k in shown if k != own[0][0]
        ]
        try:
            fit = inference.bradley_terry_mle(models.Comparisons.from_pairs(pairs, items=range(6)))
            found.append((fit["quality"].to_numpy(), fit["standard_error"].to_numpy()))
        except models.DataError:  # a category that never won has no finite estimate
            found.append((np.full(6, np.nan), np.full(6, np.nan)))
    quality, error = (np.array(own) for own in zip(*found, strict=True))
    return centred(quality), error


def shown(how: str, seed: int, draws: int) -> dict[str, Row]:
    """Return the figures of one study in each treatment."""
    log_worth, nested, sets = study_of_shown(np.random.default_rng([61, seed]), how)
    truth, ways = centred(log_worth), {}
    for way, own in {"shown": sets, "flat": None}.items():
        data = models.PartialRankings.from_blocks(nested, shown=own, categories=range(6))
        ways[way] = models.plackett_luce(data, concentration=SHAPE_OF_WORTHS, candidates="all")

    def judge(tree: Any) -> Row:
        drawn = centred(np.log(tree["posterior"]["worth"].to_numpy().astype(float))).reshape(-1, *truth.shape)
        return judged_worths(*np.quantile(drawn, [0.05, 0.5, 0.95], axis=0), truth)

    found = fitted(ways, judge, seed, draws)
    if how == "best":
        quality, error = pairs_with_losers(nested, sets)
        known = np.isfinite(quality).all(axis=1)
        own = [quality + side * 1.645 * error for side in (-1, 0, 1)]
        found["pairs"] = judged_worths(*(array[known] for array in own), truth[known])
    return found


# --- 3. Answers along a tree ---

SPECIES = {f"{genus}{k}": genus for genus in "ABC" for k in (1, 2, 3)}


def study_of_trees(rng: np.random.Generator, why: str, items: int = 600) -> tuple[np.ndarray, dict[str, Any]]:
    """Return truth and table of nine species by 12 raters, four an item: careful, more so when wrong, or always exact."""
    names = list(SPECIES)
    truth = rng.choice(names, items, p=rng.dirichlet(np.full(9, 4.0)))
    ability, caution = rng.beta(12, 4, 12), rng.beta(2, 4, 12)
    rows = []
    for i, own in enumerate(truth.tolist()):
        for k in rng.choice(12, 4, replace=False):
            siblings = [name for name in names if SPECIES[name] == SPECIES[own] and name != own]
            others = [name for name in names if SPECIES[name] != SPECIES[own]]
            meant = (
                own if rng.random() < ability[k] else rng.choice(siblings if rng.random() < 0.7 else others)
            )
            doubts = {
                "careful": caution[k],
                "careful when wrong": caution[k] + 0.4 * (meant != own),
                "exact": 0.0,
            }[why]
            rows.append((i, int(k), SPECIES[str(meant)] if rng.random() < doubts else str(meant)))
    return truth, dict(zip(("item", "rater", "label"), zip(*rows, strict=True), strict=True))


def judged_species(tree: Any, truth: np.ndarray) -> Row:
    """Return the figures of a posterior against the true species of its items; a genus is no truth."""
    mean = tree["posterior"]["plausibility"].mean(("chain", "draw"))
    names, p = mean["category"].to_numpy().astype(str), mean.to_numpy()
    own = truth[mean["item"].to_numpy()]
    best = names[p.argmax(axis=1)]
    genus = np.array([SPECIES.get(name, name) for name in names])
    of_genus = np.stack([p[:, genus == g].sum(axis=1) for g in "ABC"], axis=1)
    true_p = p[np.arange(len(own)), [names.tolist().index(name) for name in own]]
    return {
        "right": (best == own).mean(),
        "genus right": (
            np.array(list("ABC"))[of_genus.argmax(axis=1)] == [SPECIES[name] for name in own]
        ).mean(),
        "log loss": -np.log(np.maximum(true_p, 1e-6)).mean(),
        "claim - right": p.max(axis=1).mean() - (best == own).mean(),
        "no truths": float(np.isin(best, list("ABC")).sum()),
    }


def taxonomy(why: str, seed: int, draws: int) -> dict[str, Row]:
    """Return the figures of one study in each treatment."""
    truth, table = study_of_trees(np.random.default_rng([45, seed]), why)
    apart = models.Labels.from_table(table, taxonomy=SPECIES)
    ways = {
        "category": models.dawid_skene(models.Labels.from_table(table, categories=[*SPECIES, *"ABC"])),
        "dropped": models.dawid_skene(apart, no_answer="ignored"),
        "one coin": models.one_coin(apart),
        "tree": models.taxonomic(apart),
    }
    return fitted(ways, lambda tree: judged_species(tree, truth), seed, draws)


# --- 4. Probabilities as answers ---


def study_of_judges(
    rng: np.random.Generator, how: str, items: int = 1000
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return truth and table of three judges, over- and underconfident, who state p(1): of hard and easy items.

    "log odds" are normal given the truth, as the law has it; "decimals" are rounded to two of them, "only 0 and 1" to none, and
    in "mixed" two people give labels beside them.
    """
    truth, hard = rng.random(items) < 0.4, rng.normal(0, 0.8, items)
    rows = []
    for j, (skill, bias, scale) in enumerate([(1.2, 0.5, 3.0), (1.5, -0.3, 1.0), (1.0, 0.0, 2.0)]):
        own = skill * (0.77 if how == "log odds" else np.exp(-0.4 * np.abs(hard)))
        log_odds = scale * ((2 * truth - 1) * own + bias + rng.normal(0, 1.2, items))
        stated = 1 / (1 + np.exp(-log_odds))
        stated = np.round(stated, {"only 0 and 1": 0, "decimals": 2, "mixed": 2}.get(how, 15))
        rows += zip(range(items), [f"judge {j}"] * items, stated.tolist(), strict=True)
    for j in range(2 if how == "mixed" else 0):
        said = np.where(rng.random(items) < 0.8, truth, ~truth).astype(float)
        rows += zip(range(items), [f"person {j}"] * items, said.tolist(), strict=True)
    return truth.astype(int), dict(
        zip(("item", "rater", "p"), map(list, zip(*rows, strict=True)), strict=True)
    )


def judged_binary(p: np.ndarray, truth: np.ndarray) -> Row:
    """Return the figures of probabilities of the second category."""
    right = ((p > 0.5) == truth).mean()
    loss = -np.log(np.maximum(np.where(truth == 1, p, 1 - p), 1e-6)).mean()
    return {"right": right, "log loss": loss, "claim - right": np.maximum(p, 1 - p).mean() - right}


def probabilities(how: str, seed: int, draws: int) -> dict[str, Row]:
    """Return the figures of one study in each treatment."""
    truth, table = study_of_judges(np.random.default_rng([46, seed]), how)
    labels = models.Labels.from_table(table, probability="p")
    mean = np.bincount(table["item"], table["p"]) / np.bincount(table["item"])
    found = {"mean": judged_binary(mean, truth)}
    for way, use in {"votes": "ignored", "stated": "informative"}.items():
        begun = time.process_time()
        model = models.dawid_skene(labels, probability=use)
        tree = inference.sample(model, draws=draws, random_seed=seed, cores=1, progressbar=False)
        p = tree["posterior"]["plausibility"].mean(("chain", "draw")).to_numpy()[:, 1]
        found[way] = judged_binary(p, truth) | {"CPU s": time.process_time() - begun}
    return found


# --- 5. Populations with truths of their own ---

SIZES, ANSWERS = (12, 8), 8  # raters of two populations, and answers to an item
RIGHT = 0.9  # probability of the own truth


def study_of_populations(
    rng: np.random.Generator, contested: float, items: int = 400
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the truths (item, population) and the table of two populations whose binary truths differ on some items."""
    first = rng.integers(0, 2, items)
    truth = np.stack([first, np.where(rng.random(items) < contested, 1 - first, first)], axis=1)
    rater = np.stack([rng.choice(sum(SIZES), ANSWERS, replace=False) for _ in range(items)])
    own = truth[np.arange(items)[:, None], (rater >= SIZES[0]).astype(int)]
    label = np.where(rng.random(own.shape) < RIGHT, own, 1 - own)
    table = {"item": np.repeat(np.arange(items), ANSWERS), "rater": rater.ravel(), "label": label.ravel()}
    return truth, table


def judged_truths(tree: Any, truth: np.ndarray) -> Row:
    """Return the figures of a posterior against the truth of the larger population, and what it says of populations."""
    posterior = tree["posterior"].to_dataset()
    mean = posterior.mean(("chain", "draw"))
    p, items = mean["plausibility"].to_numpy(), np.arange(len(truth))
    differ = truth[:, 0] != truth[:, 1]
    right = (p.argmax(axis=1) == truth[:, 0]).mean()
    found = {
        "right": right,
        "log loss": -np.log(np.maximum(p[items, truth[:, 0]], 1e-6)).mean(),
        "claim - right": p.max(axis=1).mean() - right,
        "mean ability": mean["ability"].mean().item(),
        "R-hat": inference.diagnose(tree)["element_r_hat"].max().item(),
    }
    if "membership" not in mean:
        return found
    second = mean["population_plausibility"].to_numpy()[:, 1]
    of_second = (second.argmax(axis=1) == truth[:, 1]).mean()
    member = mean["membership"].to_numpy() > 0.5
    contested = mean["contested"].to_numpy()
    found |= {
        "membership right": (member == (mean["rater"].to_numpy() >= SIZES[0])).mean(),
        "second right": of_second,
        "second claim - right": second.max(axis=1).mean() - of_second,
        "contested said": contested.mean(),
    }
    if differ.any():
        over = contested[differ][:, None] - contested[~differ]
        found["AUC contested"] = (over > 0).mean() + 0.5 * (over == 0).mean()
    return found


def populations(share: str, seed: int, draws: int) -> dict[str, Row]:
    """Return the figures of one study in each treatment."""
    truth, table = study_of_populations(np.random.default_rng([46, seed]), float(share))
    labels = models.Labels.from_table(table)
    found = {}
    for way, model in {
        "one coin": models.one_coin(labels),
        "two truths": models.cultural_consensus(labels),
    }.items():
        begun = time.process_time()
        tree = inference.sample(model, draws=draws, random_seed=seed, cores=1, progressbar=False)
        found[way] = judged_truths(tree, truth) | {"CPU s": time.process_time() - begun}
    return found


# --- 6. Strength of preference ---


def study_of_strength(how: str, seed: int) -> tuple[np.ndarray, models.Comparisons]:
    """Return qualities and votes on a scale of four levels, or with a tie of five; in "no strength" it is drawn by a coin."""
    ties = {"tie": 0.4} if how == "five levels" else {}
    simulated = models.simulators.comparisons(
        items=12,
        raters=8,
        degree=4,
        alpha=0.25,
        quality_range=(-1.5, 1.5),
        reliability_range=(1.0, 1.001),
        cut_points=[1.5],
        random_seed=[47, seed],
        **ties,
    )
    votes = simulated.data
    if how == "no strength":
        coin = np.random.default_rng([48, seed]).integers(0, 2, len(votes.strength))
        votes = replace(votes, strength=coin.astype(np.int32))
    return simulated.truth["quality"], votes


def judged_qualities(tree: Any, quality: np.ndarray) -> Row:
    """Return the figures of a posterior against the qualities of the items."""
    q = tree["posterior"]["quality"].stack(sample=("chain", "draw")).transpose("item", "sample").to_numpy()
    truth = quality - quality.mean()
    better = truth[:, None] > truth
    p = (q[:, None] > q).mean(axis=-1)[better]
    lower, upper = np.quantile(q, [0.05, 0.95], axis=1)
    return {
        "right": (p > 0.5).mean(),
        "log loss": -np.log(np.maximum(p, 1e-4)).mean(),
        "claim - right": np.maximum(p, 1 - p).mean() - (p > 0.5).mean(),
        "covers .9": ((lower <= truth) & (truth <= upper)).mean(),
        "R-hat": float(inference.diagnose(tree)["element_r_hat"].max()),
    }


def strength(how: str, seed: int, draws: int) -> dict[str, Row]:
    """Return the figures of one study in each treatment, of pairs of items in their true order."""
    quality, votes = study_of_strength(how, seed)
    shared = {"reliability": "shared"}
    laws = {"who won": "ignored", "strength": "cut_points", "weighted": "weighted"}
    ways = {way: models.bradley_terry(votes, strength=law, **shared) for way, law in laws.items()}
    return fitted(ways, lambda tree: judged_qualities(tree, quality), seed, draws)


# --- 7. Several labels at once ---

TAGS, SHARE = ["a", "b", "c"], 0.35  # and the share of the items that have each


def study_of_tags(
    rng: np.random.Generator, dependence: float, items: int = 300
) -> tuple[np.ndarray, dict[str, Any], np.ndarray]:
    """Return tags (item, tag), correlated in pairs by `dependence`, answers of 10 raters, three an item, and what is attainable.

    The last is p(set | answers), (item, set), for one who knows the rates of the raters and the shares of the sets.

    A tag is that of the item's kind with probability sqrt(dependence), which is no law of pairs. Raters have a skill, about which
    the log odds of their sensitivities and specificities spread by .5.
    """
    kind = rng.random((items, 1)) < SHARE
    truth = np.where(rng.random((items, 3)) < np.sqrt(dependence), kind, rng.random((items, 3)) < SHARE)
    right = 1 / (1 + np.exp(-(rng.normal(1.2, 0.6, (10, 1, 1)) + rng.normal(0, 0.5, (10, 3, 2)))))
    has = (np.arange(8)[:, None] >> np.arange(3)) & 1
    follows = np.sqrt(dependence)
    p = sum(
        share
        * np.where(
            has, follows * of + (1 - follows) * SHARE, follows * (1 - of) + (1 - follows) * (1 - SHARE)
        ).prod(axis=1)
        for of, share in ((1, SHARE), (0, 1 - SHARE))
    )
    rows, known = [], np.tile(p, (items, 1))
    for i, own in enumerate(truth):
        for k in rng.choice(10, 3, replace=False):
            said = np.where(rng.random(3) < right[k, [0, 1, 2], own.astype(int)], own, ~own)
            rows.append((i, int(k), *said.astype(int).tolist()))
            q = right[k, [0, 1, 2], has]
            known[i] *= np.where(has == said, q, 1 - q).prod(axis=1)
    table = dict(zip(("item", "rater", *TAGS), map(list, zip(*rows, strict=True)), strict=True))
    return truth, table, known / known.sum(axis=1, keepdims=True)


def judged_sets(p: np.ndarray, truth: np.ndarray) -> Row:
    """Return the figures of probabilities of all sets, by their bits."""
    own = truth @ [1, 2, 4]
    right, of_tags = (p.argmax(axis=1) == own).mean(), p @ ((np.arange(8)[:, None] >> np.arange(3)) & 1)
    return {
        "set right": right,
        "log loss": -np.log(np.maximum(p[np.arange(len(own)), own], 1e-6)).mean(),
        "claim - right": p.max(axis=1).mean() - right,
        "tags right": ((of_tags > 0.5) == truth).mean(),
    }


def tags(dependence: str, seed: int, draws: int) -> dict[str, Row]:
    """Return the figures of one study in each treatment."""
    truth, table, known = study_of_tags(np.random.default_rng([49, seed]), float(dependence))
    sets = models.Labels.from_table(table, tags=TAGS)

    def mean(tree: Any) -> np.ndarray:
        return tree["posterior"]["plausibility"].mean(("chain", "draw")).sortby("item").to_numpy()

    ways = {"sets": models.dawid_skene(sets), "together": models.multi_label(sets)}
    found = fitted(ways, lambda tree: judged_sets(mean(tree), truth), seed, draws)
    begun, alone = time.process_time(), np.ones((len(truth), 1))
    for tag in TAGS:
        model = models.dawid_skene(models.Labels.from_table(table, label=tag, categories=[0, 1]))
        tree = inference.sample(model, draws=draws, random_seed=seed, cores=1, progressbar=False)
        alone = (mean(tree)[:, :, None] * alone[:, None, :]).reshape(len(truth), -1)
    own = judged_sets(alone, truth) | {"CPU s": time.process_time() - begun}
    return {"tag by tag": own} | found | {"known": judged_sets(known, truth)}


WORLDS: dict[str, tuple[tuple[str, ...], Callable[[str, int, int], dict[str, Row]], str]] = {
    "no_answer": (("truth", "difficulty", "chance"), no_answer, "dropped"),
    "taxonomy": (("careful", "careful when wrong", "exact"), taxonomy, "dropped"),
    "probabilities": (("stated", "log odds", "decimals", "mixed", "only 0 and 1"), probabilities, "votes"),
    "populations": (("0.3", "0.0"), populations, "one coin"),
    "strength": (("four levels", "five levels", "no strength"), strength, "who won"),
    "tags": (("0.3", "0.6", "0.0"), tags, "tag by tag"),
    "shown": (("ranked", "best", "best-worst"), shown, "flat"),
}


def interval(values: np.ndarray) -> str:
    """Return mean and 95 % interval of the mean."""
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():8.4f} +- {half:.4f}"


def main() -> None:
    """Run the studies of a section, and print figures and paired differences from the flat treatment."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("section", choices=WORLDS)
    parser.add_argument("--studies", type=int, default=20)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--worlds", nargs="+", help="by default all of the section")
    parser.add_argument("--json", help="file for the figures of every study")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    worlds, run, flat = WORLDS[options.section]
    every = {}
    for world in options.worlds or worlds:
        every[world] = studies = [run(world, seed, options.draws) for seed in range(options.studies)]
        for way in studies[0]:
            for name in studies[0][way]:
                own = np.array([study[way][name] for study in studies])
                than = own - np.array([study[flat].get(name, np.nan) for study in studies])
                print(
                    f"{world:12} {way:12} {name:18} {interval(own)}   less {flat}: {interval(than)}",
                    flush=True,
                )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(every, file, default=float)


if __name__ == "__main__":
    main()
