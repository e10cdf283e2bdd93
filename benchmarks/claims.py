"""Claims against known truths: `RATERZOO_DATA=... python -m benchmarks.claims` prints the tables of docs/claims.md."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import collections
import itertools
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.inference.labels.kernels.effective_votes import effective_truth
from raterzoo.inference.labels.recognition import as_table, read_labels
from raterzoo.models._prior_arguments import effective_power
from raterzoo.models.data.labels import expand_answers
from raterzoo.models.distributions.marginal_labels_kernels import UNKNOWN, Answers, answer_codes
from raterzoo.models.labels import vote_correlation
from raterzoo.models.labels.population import RaterPopulation, learnt_concentrations
from raterzoo.reports.sections.vote_correlation import MAY_BE_INDEPENDENT

SETS = (
    *("bluebird", "temp", "cf", "dog", "CF_amt", "Face_Sentiment_Identification", "MS", "SP", "SP_amt"),
    *("ZenCrowd_in", "ZenCrowd_us", "jn-product", "rte", "wsd"),
)
OPTIONS = {"draws": 250, "thin": 4, "progressbar": False, "log_likelihood": False}
FLOOR, POWER = 0.16, 0.37  # each the best for all of these with a fixed prior of the matrices
GOLD, CHOICES = 50, 6
TAIL = 0.05
LEAST_ANSWERS, ROUNDING = 10, 1e-9


def answers_of(name: str) -> pd.DataFrame:
    """Return item, rater, label and gold of a public set."""
    folder = Path(os.environ["RATERZOO_DATA"])
    if name == "bluebird":
        truth: Any = pd.read_csv(folder / "bluebird_truth.csv", dtype=str).set_index("item")["truth"]
        table = pd.read_csv(folder / "bluebird_answers.csv", dtype=str)
        return table.assign(gold=table["item"].map(truth))
    own = folder / f"gold_{name}.csv"
    table = pd.read_csv(own if own.exists() else folder / "gold" / f"{name}.csv.gz", dtype=str)
    return table.drop_duplicates(["item", "rater"])


def simulated(categories: int, answers: int, ability: float, items: int, seed: int) -> pd.DataFrame:
    """Return answers of 40 raters who err independently, with the truth as gold."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(categories, size=items)
    able = np.clip(rng.normal(ability, 0.08, 40), 1 / categories + 0.05, 0.98)
    rater = np.array([rng.permutation(40)[:answers] for _ in range(items)])
    wrong = (truth[:, None] + rng.integers(1, categories, rater.shape)) % categories
    label = np.where(rng.random(rater.shape) < able[rater], truth[:, None], wrong)
    item = np.repeat(np.arange(items), answers)
    columns = {"item": item, "rater": rater.ravel(), "label": label.ravel(), "gold": truth[item]}
    return pd.DataFrame(columns).astype(str)


def labels_and_truth(table: pd.DataFrame, known: np.ndarray | None) -> tuple[Any, np.ndarray]:
    """Return labels, told the truth of the `known` items, and the truth (item,)."""
    items: Any = () if known is None else known
    told = table["gold"].where(table["item"].isin(items), "")
    categories = sorted({*table["label"], *table["gold"].dropna()})
    labels = models.Labels.from_table(table.assign(gold=told), gold="gold", categories=categories)
    truth = table.drop_duplicates("item").set_index("item")["gold"].reindex(labels.items)
    return labels, pd.Categorical(truth, categories).codes.astype(int)


def fitted(table: pd.DataFrame, known: np.ndarray | None, seed: int) -> tuple[xr.DataTree, Any, np.ndarray]:
    """Sample `correlated_votes`, told the truth of the `known` items; return tree, model and the truth (item,)."""
    labels, truth = labels_and_truth(table, known)
    model = models.correlated_votes(labels)
    return inference.sample(model, random_seed=seed, **OPTIONS), model, truth


def claim(p: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Return what draws (draw, item, category) claim of the most probable categories, and what is right.

    The 90 % interval is that of reports: of draws, of truths drawn from them and of a Bayesian bootstrap of the items.
    """
    known = truth >= 0
    p, truth = p[:, known].astype(float), truth[known]
    mean = p.mean(axis=0)
    best = mean.argmax(axis=1)
    own = p[:, np.arange(len(best)), best]
    rng = np.random.default_rng(1)
    weight = rng.dirichlet(np.ones(len(best)), len(p))
    lower, upper = np.quantile((weight * (rng.random(own.shape) < own)).sum(axis=1), [TAIL, 1 - TAIL])
    right = (best == truth).mean()
    of_truth = np.maximum(mean[np.arange(len(truth)), truth], 1e-12)
    return {
        "claimed": own.mean(),
        "right": right,
        "gap": own.mean() - right,
        "log loss": -np.log(of_truth).mean(),
        "lower": lower,
        "upper": upper,
        "covers": float(lower <= right <= upper),
    }


def roads(tree: xr.DataTree, model: Any) -> Mapping[str, np.ndarray]:
    """Return the plausibilities (draw, item, category) by road, all of the same draws of the parameters."""
    posterior = tree["posterior"].to_dataset().stack(sample=("chain", "draw")).transpose("sample", ...)
    independent = posterior["independent_plausibility"].to_numpy()
    prevalence = posterior["prevalence"].to_numpy()
    table = np.stack([as_table(own) for own in posterior["confusion"].to_numpy()])
    power = np.empty_like(independent)
    of_all = np.full(len(power), POWER)
    effective_truth(read_labels(model).answers, prevalence, table, of_all, power)
    return {
        "independent raters": independent,
        f"a floor of {FLOOR}": (1 - FLOOR) * independent + FLOOR * prevalence[:, None, :],
        f"rho = {POWER} in every study": power,
        "correlated_votes": posterior["plausibility"].to_numpy(),
    }


def row(*cells: object) -> None:
    """Print a row of a table."""
    print("| " + " | ".join(f"{c:.3f}" if isinstance(c, float) else str(c) for c in cells) + " |", flush=True)


def public_sets() -> None:
    """Print claims and shares right of the public sets, by road."""
    row("set", "road", "claimed", "90 % interval", "right", "gap", "log loss")
    row(*["---"] * 7)
    found: dict[str, list[dict[str, float]]] = {}
    for name in SETS:
        table = answers_of(name)
        tree, model, truth = fitted(table, None, 1)
        for road, p in roads(tree, model).items():
            own = claim(p, truth)
            found.setdefault(road, []).append(own)
            ends = f"{own['lower']:.2f} to {own['upper']:.2f}"
            row(name, road, own["claimed"], ends, own["right"], own["gap"], own["log loss"])
    print()
    _means(found)


def gold_items() -> None:
    """Print means over choices of gold items on the small public sets."""
    found: dict[str, list[dict[str, float]]] = {}
    for name in SETS[:4]:
        table = answers_of(name)
        told = [fitted(table, _chosen(table, seed), seed) for seed in range(CHOICES)]
        own = [claim(roads(t, m)["correlated_votes"], truth) for t, m, truth in told]
        found.setdefault(f"{GOLD} gold items", []).extend(own)
    _means(found)


def _chosen(table: pd.DataFrame, seed: int) -> np.ndarray:
    """Return items whose truth is told."""
    items = table.loc[table["gold"].notna(), "item"].unique()
    return np.random.default_rng(seed).choice(items, GOLD, replace=False)


def _means(found: Mapping[str, list[dict[str, float]]]) -> None:
    """Print means over studies of each road."""
    row("road", "mean gap", "mean of abs(gap)", "log loss", "right", "intervals that cover")
    row(*["---"] * 6)
    for road, own in found.items():
        of = {name: np.array([study[name] for study in own]) for name in own[0]}
        gap = of["gap"]
        means = (gap.mean(), np.abs(gap).mean(), of["log loss"].mean(), of["right"].mean())
        row(road, *map(float, means), f"{of['covers'].sum():.0f} of {len(gap)}")


def independent_raters() -> None:
    """Print claims on simulated raters who err independently."""
    row(
        "categories",
        "answers an item",
        "items",
        "gap",
        "lowest gap",
        "intervals that cover",
        "may be independent",
    )
    row(*["---"] * 7)
    designs = (
        (2, 10, 0.75, 300),
        (2, 10, 0.75, 1000),
        (2, 39, 0.7, 108),
        (4, 10, 0.6, 500),
        (10, 10, 0.6, 500),
    )
    for categories, answers, ability, items in designs:
        trees = [fitted(simulated(categories, answers, ability, items, s), None, s) for s in range(8)]
        own = [claim(roads(tree, model)["correlated_votes"], truth) for tree, model, truth in trees]
        gap = np.array([study["gap"] for study in own])
        sure = [float(tree["constant_data"].to_dataset()["independent_probability"]) for tree, _, _ in trees]
        covers = sum(study["covers"] for study in own)
        looks = sum(probability > MAY_BE_INDEPENDENT for probability in sure)
        of = len(own)
        shares = (f"{covers:.0f} of {of}", f"{looks} of {of}")
        row(categories, answers, items, float(gap.mean()), float(gap.min()), *shares)


# --- Simulated crowds who share errors, at the posterior mode ---

# how the raters of an item err: items hard for all; an attractor in .15 of the items, or in all to a degree of their own;
# attractors that are the next category, or the most frequent one; not together
ERRORS = ("hard", "tricky", "spread", "next", "frequent", "independent")
# categories, answers an item, share of the first category (0: even)
SHAPES = (
    (2, 5, 0),
    (2, 10, 0),
    (4, 5, 0),
    (8, 5, 0),
    (5, 20, 0),
    (2, 3, 0.88),
    (2, 10, 0.9),
    (4, 10, 0.7),
    (8, 10, 0.5),
)


def crowd(errors: str, shape: tuple[int, int, float], seed: int, items: int = 600) -> tuple[Any, np.ndarray]:
    """Return labels of 60 raters of unequal ability and diligence, a tenth of them spammers, and the truth."""
    n, answers, first = shape
    rng = np.random.default_rng(seed)
    share = np.r_[first, np.full(n - 1, (1 - first) / (n - 1))] if first else np.full(n, 1 / n)
    truth = rng.choice(n, items, p=share)
    able, spams = np.clip(rng.normal(0.8, 0.08, 60), 1 / n + 0.05, 0.97), rng.random(60) < 0.1
    often = rng.gamma(1.0, 1.0, 60) + 0.05
    rater = np.array([rng.choice(60, answers, replace=False, p=often / often.sum()) for _ in range(items)])
    right, other = able[rater], (truth + rng.integers(1, n, items)) % n
    if errors == "hard":
        log_odds = np.log(right / (1 - right) * (n - 1)) * np.exp(rng.normal(0, 1, items))[:, None]
        right = np.exp(log_odds) / (np.exp(log_odds) + n - 1)
    wrong = (truth[:, None] + rng.integers(1, n, rater.shape)) % n
    label = np.where(rng.random(rater.shape) < right, truth[:, None], wrong)
    drawn = {"tricky": 0.7 * (rng.random(items) < 0.15), "next": rng.beta(0.3, 1, items)}
    drawn |= dict.fromkeys(("spread", "frequent"), rng.beta(0.4, 2, items))
    attractor = {"next": (truth + 1) % n, "frequent": np.full(items, share.argmax())}.get(errors, other)
    if errors in drawn:
        label = np.where(rng.random(rater.shape) < drawn[errors][:, None], attractor[:, None], label)
    label = np.where(spams[rater] & (rng.random(rater.shape) < 0.8), rng.integers(0, n, rater.shape), label)
    table = {"item": np.repeat(np.arange(items), answers), "rater": rater.ravel(), "label": label.ravel()}
    return models.Labels.from_table(table, categories=range(n)), truth


class Mode(NamedTuple):
    """Dawid-Skene at its posterior mode, with residual correlations: its own, and that of independent raters."""

    fitted: Any
    evidence: Any  # of the correlation
    votes: np.ndarray  # number of answers (item,)

    @classmethod
    def of(cls, labels: Any) -> "Mode":
        """Return the mode of labels without gold."""
        item, rater, label = expand_answers(labels)
        n, raters = len(labels.categories), len(labels.raters)
        start = np.searchsorted(item, np.arange(len(labels.items) + 1)).astype(np.int64)
        answers = Answers(start, answer_codes(rater, label, n), np.full(len(labels.items), UNKNOWN))
        beta = learnt_concentrations(labels, RaterPopulation(), np.ones(n))
        prior = np.ones(n), beta.transpose(0, 2, 1).reshape(-1, n)
        fitted = vote_correlation._fitted(answers, raters, prior)
        evidence = vote_correlation.correlation_evidence(labels, np.ones(n), beta)
        return cls(fitted, evidence, np.diff(start))

    def powers(self, rng: np.random.Generator, draws: int = 60) -> np.ndarray:
        """Return the power of the answers to an item by draws of the correlation (draw, item, 1)."""
        return effective_power(self.votes, rng.beta(self.evidence.a, self.evidence.b, (draws, 1)))[..., None]

    def plausibility(self, of_prevalence: Any, of_likelihood: Any) -> np.ndarray:
        """Return the plausibilities (draw, item, category) with powers of prevalence and likelihood."""
        log_p = of_prevalence * self.fitted.log_prevalence + of_likelihood * self.fitted.log_p
        p = np.exp(log_p - log_p.max(axis=-1, keepdims=True))
        return p / p.sum(axis=-1, keepdims=True)


def claims_of_crowd(labels: Any, truth: np.ndarray, seed: int) -> dict[str, dict[str, float]]:
    """Return the claims by road, with parameters at the posterior mode and draws of the correlation."""
    mode = Mode.of(labels)
    power = mode.powers(np.random.default_rng(seed))
    by_road = {
        "independent raters": mode.plausibility(1, 1)[None],
        "power of the likelihood": mode.plausibility(1, power),
        "correlated_votes": mode.plausibility(power, power),
    }
    return {road: claim(p, truth) for road, p in by_road.items()}


def crowds() -> None:
    """Print claims on simulated crowds, by the kind of their errors and whether the categories are even."""
    row("errors", "categories", "road", "gap", "mean of abs(gap)", "log loss", "right")
    row(*["---"] * 7)
    every: dict[str, list[dict[str, float]]] = {}
    for errors in ERRORS:
        for even in (True, False):
            found: dict[str, list[dict[str, float]]] = {}
            for shape in SHAPES:
                if (shape[2] == 0) == even:
                    for road, own in claims_of_crowd(*crowd(errors, shape, 1), 1).items():
                        found.setdefault(road, []).append(own)
                        every.setdefault(road, []).append(own)
            _by_road((errors, "even" if even else "uneven"), found)
    _by_road(("all", "all"), every)


def _by_road(names: tuple[str, str], found: Mapping[str, list[dict[str, float]]]) -> None:
    """Print a row for each road."""
    for road, own in found.items():
        of = {name: np.array([study[name] for study in own]) for name in ("gap", "log loss", "right")}
        means = (of["gap"].mean(), np.abs(of["gap"]).mean(), of["log loss"].mean(), of["right"].mean())
        row(*names, road, *map(float, means))


# --- Another prior probability of raters who err independently ---

CANDIDATES = tuple(itertools.product((0.08, 0.1, 0.13, 0.16, 0.2), (0.6, 0.8, 1.0), (1 / 16, 1 / 2)))
CONSTANTS = ("SHOWN", "SPREAD_OF_SHOWN", "INDEPENDENT")


def constants() -> None:
    """Print claims on the public sets by constants of the correlation, and by those chosen on the other sets by log loss."""
    chosen = tuple(getattr(vote_correlation, name) for name in CONSTANTS)
    studies = [_drawn(name) for name in SETS]
    claims: dict[tuple[float, ...], list[dict[str, float]]] = {}
    for values in {chosen, *CANDIDATES}:
        with mock.patch.multiple(vote_correlation, **dict(zip(CONSTANTS, values, strict=True))):
            claims[values] = [_claim_of(*study) for study in studies]
    losses = {values: np.array([study["log loss"] for study in own]) for values, own in claims.items()}
    best = [min(losses, key=lambda v: np.delete(losses[v], left_out).sum()) for left_out in range(len(SETS))]
    by_name = {"of the model": claims[chosen], "of the other 13": [claims[v][k] for k, v in enumerate(best)]}
    _means(by_name | {str(values): claims[values] for values in CANDIDATES})
    print(collections.Counter(best))


def _drawn(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
    """Return plausibilities of independent raters (draw, item, category), truth and answers (item,), and the evidence."""
    tree, _, truth = fitted(answers_of(name), None, 1)
    drawn = tree["posterior"]["independent_plausibility"].stack(sample=("chain", "draw"))
    item = tree["constant_data"]["annotation_item"].to_numpy()
    p = drawn.transpose("sample", "item", "category").to_numpy()
    return p, truth, np.bincount(item, minlength=len(truth)), tree["constant_data"].to_dataset()


def _claim_of(p: np.ndarray, truth: np.ndarray, answers: np.ndarray, data: xr.Dataset) -> dict[str, float]:
    """Return the claim with today's constants of the correlation."""
    keys = ("residual_correlation", "residual_correlation_error")
    own, expected = (tuple(float(data[f"{of}{key}"]) for key in keys) for of in ("", "expected_"))
    of_residuals = own, expected, vote_correlation.share_shown(answers)
    found = vote_correlation._beta_of(of_residuals, np.zeros(len(vote_correlation.GRID) + 1), 0)
    rho = np.random.default_rng(1).beta(found.a, found.b, len(p))
    log_p = effective_power(answers, rho[:, None])[..., None] * np.log(np.maximum(p, np.finfo(float).tiny))
    p = np.exp(log_p - log_p.max(axis=-1, keepdims=True))
    return claim(p / p.sum(axis=-1, keepdims=True), truth)


def of_models() -> None:
    """Print claims on the public sets by models whose raters err independently, given the truth or the kind of the item."""
    row("set", "model", "claimed", "right", "gap", "log loss")
    row(*["---"] * 6)
    for name in SETS[:4]:
        labels, truth = labels_and_truth(answers_of(name), None)
        for build in (models.dawid_skene, models.one_coin, models.mace, models.ebcc):
            tree = inference.sample(build(labels), random_seed=1, **OPTIONS)
            drawn = tree["posterior"]["plausibility"].stack(sample=("chain", "draw"))
            own = claim(drawn.transpose("sample", "item", "category").to_numpy(), truth)
            row(name, build.__name__, *(float(own[key]) for key in ("claimed", "right", "gap", "log loss")))


def of_raters() -> None:
    """Print how many answers of raters are right, by the truth and by two estimates, of raters with ten answers or more."""
    row("set", "raters", "right", "estimate", "mean", "width of its 90 % interval", "raters it covers")
    row(*["---"] * 7)
    for name in SETS:
        tree, _, truth = fitted(answers_of(name), None, 1)
        if (truth < 0).any():
            continue
        constant, label = tree["constant_data"], tree["observed_data"]["observed_label"].to_numpy()
        item, rater = (constant[f"annotation_{of}"].to_numpy() for of in ("item", "rater"))
        number = np.bincount(rater)
        right, some = np.bincount(rater, truth[item] == label) / number, number >= LEAST_ANSWERS
        of_items = evaluation.answers_right(tree)["right"]
        of_matrices = evaluation.rater_quality(tree)["accuracy"]
        for which, draws in (("answers_right", of_items), ("accuracy of rater_quality", of_matrices)):
            draws = draws.isel(rater=some)
            lower, upper = draws.quantile([TAIL, 1 - TAIL], ("chain", "draw")).to_numpy()
            covers = (lower - ROUNDING <= right[some]) & (right[some] <= upper + ROUNDING)
            found = float(draws.mean()), (upper - lower).mean(), covers.mean()
            row(name, int(some.sum()), right[some].mean(), which, *found)


PARTS: Mapping[str, Callable[[], None]] = {
    "public": public_sets,
    "independent": independent_raters,
    "crowds": crowds,
    "constants": constants,
    "gold": gold_items,
    "models": of_models,
    "raters": of_raters,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore", inference.ConvergenceWarning)
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
        print()
