"""Judges that change, answers that arrive: `python -m benchmarks.time CELL [studies]`; cells by `CELLS`."""

import sys
import time
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any, cast

import arviz as az
import numpy as np
import pymc as pm
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.evaluation.checks.labels import LATE, TIME
from raterzoo.models.distributions import PairedVotes

QUIET = {"random_seed": 1, "progressbar": False}


# --- Did the judge change? ---


def confused(
    rng: np.random.Generator, confusion: np.ndarray, truth: np.ndarray, u: np.ndarray | None = None
) -> np.ndarray:
    """Labels by a confusion matrix; `u` are uniform numbers, (item,)."""
    u = rng.random(len(truth)) if u is None else u
    return (u[:, None] > confusion[truth].cumsum(axis=1)).sum(axis=1).clip(0, len(confusion) - 1)


def judge_study(
    seed: list[int], change: float, dependent: float, common: str, categories: int = 2
) -> tuple[bool, ...]:
    """Simulate two runs of 300 items, and 100 that both versions and three people label.

    `common` says from which run these are. Returns whether intervals cover the parts of judge and items, and whether the judge
    seems to have changed.
    """
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(categories, 5.0), 2)
    old = 0.8 * np.eye(categories) + 0.2 * rng.dirichlet(np.ones(categories), categories)
    new = (1 - change) * old + change * rng.dirichlet(np.ones(categories), categories)
    person = 0.75 * np.eye(categories) + 0.25 / categories
    rows: dict[str, list[tuple[str, str, int]]] = {"old": [], "new": []}

    def add(name: str, n: int, share: np.ndarray, versions: str, people: int) -> None:
        truth, u = rng.choice(categories, n, p=share), rng.random(n)
        for version in versions.split():
            own = np.where(rng.random(n) < dependent, u, rng.random(n))
            labels = confused(rng, old if version == "old" else new, truth, own)
            rows[version] += [(f"{name}{i}", "judge", int(label)) for i, label in enumerate(labels)]
        for k in range(people):
            rows["old"] += [
                (f"{name}{i}", f"p{k}", int(label)) for i, label in enumerate(confused(rng, person, truth))
            ]

    add("common ", 100, shares[0] if common == "old" else shares.mean(axis=0), "old new", 3)
    add("old ", 300, shares[0], "old", 0)
    add("new ", 300, shares[1], "new", 0)
    runs = [
        models.Labels.from_table(
            dict(zip(("item", "rater", "label"), zip(*own, strict=True), strict=True)),
            categories=range(categories),
        )
        for own in rows.values()
    ]
    tree = inference.sample(
        models.correlated_votes(models.two_runs(*runs, ["judge"])), draws=300, chains=2, **QUIET
    )
    found = evaluation.judge_change(tree, dict(zip(range(categories), np.eye(categories)[0], strict=True)))
    true = {
        "by_judge": (shares.mean(axis=0) @ (new - old))[0],
        "by_items": ((shares[1] - shares[0]) @ (old + new))[0] / 2,
    }
    ends = {name: found[name].quantile([0.05, 0.95]).to_numpy() for name in true}
    covered = [bool(ends[name][0] <= value <= ends[name][1]) for name, value in true.items()]
    return (*covered, bool(found["changed"].item()))


def judge(studies: int) -> None:
    """Coverage of the parts of a drift, and how often a judge seems to have changed."""
    print("change  dependent  common  covered: judge  items  changed  CPU s")
    for change, dependent, common in product((0.0, 0.3), (0.0, 0.8), ("old", "both")):
        begun = time.process_time()
        found = [
            judge_study([k, int(10 * change), int(10 * dependent)], change, dependent, common)
            for k in range(studies)
        ]
        cost = (time.process_time() - begun) / studies
        print(
            f"{change:6} {dependent:9} {common:>7}",
            *np.mean(found, axis=0).round(3),
            round(cost, 2),
            flush=True,
        )


# --- Answers that arrive ---


def large_posterior(answers: int, draws: int, rng: np.random.Generator) -> xr.DataTree:
    """Return draws as of a posterior of 5 answers to each item by 1,000 raters, of two categories."""
    items, raters = answers // 5, 1000
    right = rng.beta(800, 200, (1, draws, raters, 2))
    confusion = np.stack(
        [np.stack([right[..., 0], 1 - right[..., 0]], -1), np.stack([1 - right[..., 1], right[..., 1]], -1)],
        -2,
    )
    sure = 0.005 * rng.standard_normal((1, draws, items), np.float32) + rng.uniform(0.6, 0.97, items).astype(
        np.float32
    )
    named = {"category": [0, 1], "answer": [0, 1], "rater": np.arange(raters), "item": np.arange(items)}
    dims = {
        "prevalence": ("category",),
        "confusion": ("rater", "category", "answer"),
        "plausibility": ("item", "category"),
    }
    values = {
        "prevalence": np.full((1, draws, 2), 0.5),
        "confusion": confusion,
        "plausibility": np.stack([sure, 1 - sure], -1),
    }
    posterior = xr.Dataset(
        {name: (("chain", "draw", *own), values[name]) for name, own in dims.items()}, named
    )
    codes = {
        "annotation_item": np.repeat(np.arange(items), 5),
        "annotation_rater": rng.integers(0, raters // 2, answers),
    }
    constant = xr.Dataset({name: ("annotation", code) for name, code in codes.items()})
    observed = xr.Dataset({"observed_label": ("annotation", rng.integers(0, 2, answers))})
    return xr.DataTree.from_dict(
        {"posterior": posterior, "constant_data": constant, "observed_data": observed}
    )


def update(studies: int) -> None:
    """CPU seconds of an update by 1,000 answers, of a posterior of a million with 400 draws."""
    rng = np.random.default_rng(1)
    tree, found, effective = large_posterior(1_000_000, 400, rng), [], []
    for _ in range(studies):
        item, rater = rng.choice(200_000, 1000, replace=False), rng.integers(500, 1000, 1000)
        new = models.Labels.from_table(
            {"item": item, "rater": rater, "label": (rng.random(1000) < 0.35).astype(int)}, categories=[0, 1]
        )
        begun = time.process_time()
        own = inference.update(tree, new, items="answered", random_seed=1)
        effective.append(own.attrs["effective_draws"])
        found.append(time.process_time() - begun)
    print(
        f"update: median {np.median(found):.3f} CPU s, most {max(found):.3f}; {np.median(effective):.0f} effective draws of 400"
    )


def hard_items(seed: int, n: int = 400) -> tuple[np.ndarray, ...]:
    """Return the truth (item,), and nine raters and labels (item, answer), where 20 % of the items are hard for all raters."""
    rng, raters = np.random.default_rng(seed), 30
    truth, hard = rng.integers(0, 2, n), rng.random(n) < 0.2
    skill, who = rng.uniform(0.7, 0.9, raters), np.argsort(rng.random((n, raters)), axis=1)[:, :9]
    right = rng.random((n, 9)) < np.where(hard[:, None], 0.6, skill[who])
    return truth, who, np.where(right, truth[:, None], 1 - truth[:, None])


def fitted(who: np.ndarray, label: np.ndarray, number: np.ndarray) -> tuple[xr.DataTree, np.ndarray]:
    """Return a posterior by the first answers to each item, their `number` (item,), and its plausibilities (item, category)."""
    item, place = np.nonzero(np.arange(label.shape[1]) < number[:, None])
    table = {"item": item, "rater": who[item, place], "label": label[item, place]}
    model = models.correlated_votes(models.Labels.from_table(table, categories=[0, 1]))
    tree = inference.sample(model, draws=250, chains=2, **QUIET)
    return tree, tree["posterior"]["plausibility"].mean(("chain", "draw")).to_numpy()


def retire(studies: int) -> None:
    """Claims of retired items, and answers, beside nine answers to each: two at a time and one at a time, after three.

    An item that is retired remains so. Its claim is that of the posterior which retired it, or of the last one.
    """
    print(
        "study, at a time; retired: claimed then, at the end, right; answers; right of all, with nine to all"
    )
    found: dict[int, list[tuple[float, ...]]] = {2: [], 1: []}
    for k in range(studies):
        truth, who, label = hard_items(k)
        whole = (fitted(who, label, np.full(len(truth), 9))[1].argmax(axis=1) == truth).mean()
        for step, rows in found.items():
            asked, done, claimed, sure, correct = (
                np.full(len(truth), value) for value in (3, False, 0.0, 0.0, False)
            )
            for number in range(3, 10, step):
                asked[~done] = number
                tree, mean = fitted(who, label, asked)
                sure, correct = mean.max(axis=1), mean.argmax(axis=1) == truth
                claimed = np.where(done, claimed, sure)
                done |= inference.retire(tree, cost=20).to_numpy()
            own = (claimed[done], sure[done], correct[done], asked, correct)
            rows.append((*map(np.mean, own), whole))
            print(k, step, *np.mean(rows, axis=0).round(3), flush=True)


# --- Raters who are known from an earlier study ---

EARLIER, NOW, EACH = 40, 5, 5  # answers of each rater in the earlier study and now, and to each item


def skilled(skill: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Confusion matrices (rater, category, answer) of raters who are right as often as `skill` says, in every category."""
    errors = rng.dirichlet(np.full(n - 1, 3.0), (len(skill), n))
    matrix = np.tile(np.eye(n), (len(skill), 1, 1)) * skill[:, None, None]
    matrix[:, ~np.eye(n, dtype=bool)] = ((1 - skill)[:, None, None] * errors).reshape(len(skill), -1)
    return matrix


def answered(
    confusion: np.ndarray, number: int, rng: np.random.Generator
) -> tuple[models.Labels, np.ndarray]:
    """Labels of items with `EACH` answers, `number` by each rater, and the truth."""
    raters, n = confusion.shape[:2]
    truth = rng.integers(0, n, raters * number // EACH)
    who = np.concatenate([rng.permutation(raters) for _ in range(number)]).reshape(-1, EACH)
    below = confusion[who, truth[:, None]].cumsum(axis=-1)[..., :-1]
    label = (rng.random((*who.shape, 1)) > below).sum(axis=-1)
    table = {"item": np.repeat(np.arange(len(truth)), EACH), "rater": who.ravel(), "label": label.ravel()}
    return models.Labels.from_table(table, categories=range(n)), truth


def histories(skill: np.ndarray, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Confusion matrices of the same raters in earlier studies."""
    now = skilled(skill, n, rng)
    return {
        "the same": now,
        "names shuffled": now[rng.permutation(len(now))],
        "best are worst": skilled(skill.min() + skill.max() - skill, n, rng),
        "all better": skilled(rng.uniform(0.85, 0.97, len(skill)), n, rng),
        "all worse": skilled(rng.uniform(skill.min() - 0.05, 0.65, len(skill)), n, rng),
    }


def raters(studies: int) -> None:
    """Log loss of the truth with five answers of each rater: cold starts, and with histories of this and of other tasks."""
    print(
        "raters  categories  history  log loss: cold  cold, population learnt  with history  ratio  weights  CPU s"
    )
    quiet = {"draws": 200, "chains": 2, **QUIET}
    for size, n in ((20, 2), (20, 4), (60, 2)):
        found: dict[str, list[np.ndarray]] = {}
        for k in range(studies):
            rng = np.random.default_rng([k, size, n])
            earlier = histories(rng.uniform(0.55 if n == 2 else 0.45, 0.95, size), n, rng)
            labels, truth = answered(earlier["the same"], NOW, rng)

            def loss(
                truth: np.ndarray = truth, labels: models.Labels = labels, **options: object
            ) -> np.ndarray:
                tree = inference.sample(models.dawid_skene(labels, **options), **quiet)
                mean = tree["posterior"]["plausibility"].mean(("chain", "draw")).to_numpy()
                weight = tree["posterior"].get(
                    "history_weight", xr.DataArray(np.empty((1, 1, 0)), dims=("chain", "draw", "history"))
                )
                value = -np.log(mean[np.arange(len(truth)), truth]).mean()
                return np.append(value, weight.mean(("chain", "draw")).to_numpy())

            cold = np.concatenate([loss(), loss(confusion_concentration="population")])
            for name, confusion in earlier.items():
                begun = time.process_time()
                tree = inference.sample(models.dawid_skene(answered(confusion, EARLIER, rng)[0]), **quiet)
                with_history = loss(raters=inference.rater_prior(tree))
                cost = time.process_time() - begun
                found.setdefault(name, []).append(np.concatenate([cold, with_history, [cost]]))
        for name, rows in found.items():
            cold_loss, learnt, own, *weight, cost = np.mean(rows, axis=0)
            shares = " ".join(f"{w:.2f}" for w in weight)
            print(
                f"{size:6} {n:11}  {name:15} {cold_loss:.3f} {learnt:.3f} {own:.3f} {own / cold_loss:6.2f}  {shares}  {cost:.1f}",
                flush=True,
            )


# --- Skill in time ---

WORLDS = ("moves", "stays", "late")


def changing_study(seed: int, world: str, n: int = 3000) -> tuple[models.Labels, np.ndarray, np.ndarray]:
    """Return 4 answers to each item by nine raters, the truth, and p(truth) of known skills.

    "moves": the accuracy of each rater moves between about .6 and .9; "stays": it has its mean; "late": three raters moreover
    give label 0, whatever the truth, to six of ten items in the second half.
    """
    rng, raters = np.random.default_rng(seed), 9
    truth, when = (rng.random(n) < 0.5).astype(int), np.arange(n) / n
    low, high = rng.uniform(0.5, 0.75, raters), rng.uniform(0.8, 0.95, raters)
    low, high = np.where(rng.random(raters) < 0.5, (low, high), (high, low))
    right = np.broadcast_to(low + (high - low) * (when[:, None] if world == "moves" else 0.5), (n, raters))
    default = 0.6 * (when > 0.5)[:, None] * (np.arange(raters) < 3) * (world == "late")
    label = np.where(rng.random((n, raters)) < right, truth[:, None], 1 - truth[:, None])
    asked = np.argsort(rng.random((n, raters)), axis=1) < 4
    label = np.where(rng.random((n, raters)) < default, 0, label)
    log_p = np.empty((n, 2))
    for j in range(2):
        own = (1 - default) * np.where(label == j, right, 1 - right) + default * (label == 0)
        log_p[:, j] = (np.log(np.maximum(own, 1e-12)) * asked).sum(axis=1)
    known = np.exp(log_p - np.logaddexp(*log_p.T)[:, None])
    item, rater = np.nonzero(asked)
    table = {"item": item, "rater": rater, "label": label[asked], "time": when[item]}
    return models.Labels.from_table(table, time="time"), truth, known


def scores_of(p: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    """Return share right, mean claim and log loss of probabilities (item, category)."""
    own = p[np.arange(len(truth)), truth]
    return float((p.argmax(axis=1) == truth).mean()), float(p.max(axis=1).mean()), float(-np.log(own).mean())


def skill(studies: int) -> None:
    """Log loss of the truth with a constant and with a changing skill, and with known skills."""
    print("world, law                        right  claimed  log loss  CPU s  R-hat")
    for world in WORLDS:
        found: dict[str, list[tuple[float, ...]]] = {}
        for seed in range(studies):
            labels, truth, known = changing_study(seed, world)
            found.setdefault("known skills", []).append((*scores_of(known, truth), 0.0, 1.0))
            for law, windows in product((models.one_coin, models.dawid_skene), (None, 8)):
                begun = time.process_time()
                tree = inference.sample(
                    law(labels, time=windows), draws=150, chains=2, tune=200, thin=3, **QUIET
                )
                cost = time.process_time() - begun
                p = tree["posterior"]["plausibility"].mean(("chain", "draw")).to_numpy()
                confusion = xr.Dataset({"confusion": tree["posterior"]["confusion"]})
                worst = float(az.rhat(confusion)["confusion"].max())
                name = f"{law.__name__}, {windows or 'no'} windows"
                found.setdefault(name, []).append((*scores_of(p, truth), cost, worst))
        for name, values in found.items():
            print(f"{world}, {name:26}", *np.mean(values, axis=0).round(4), flush=True)


def changes(studies: int) -> None:
    """How often the checks find raters who change, or a late label, in studies of 300 items; and the claims."""
    print("world    right  claimed  log loss  fails: skill in time  late label  any check  CPU s")
    for world in WORLDS:
        found = []
        for seed in range(studies):
            labels, truth, _ = changing_study(1000 + seed, world, 300)
            begun = time.process_time()
            tree = inference.sample(
                models.dawid_skene(labels), draws=100, chains=2, thin=2, tune=100, **QUIET
            )
            checks = evaluation.model_checks(tree, replicates=99, random_seed=seed)
            cost = time.process_time() - begun
            failed = {*checks["check"].to_numpy()[checks["fails"].to_numpy()].tolist()}
            p = tree["posterior"]["plausibility"].mean(("chain", "draw")).to_numpy()
            found.append((*scores_of(p, truth), TIME in failed, LATE in failed, bool(failed), cost))
        print(f"{world:6}", *np.mean(found, axis=0).round(4), flush=True)


# --- Qualities that move ---


def moving_votes(
    seed: int, world: str, systems: int = 6, months: int = 6, votes: int = 900
) -> tuple[np.ndarray, ...]:
    """Return qualities (month, system) in log odds, and month, left and right system and whether the left one won, (vote,)."""
    rng = np.random.default_rng(seed)
    step = {"stays": 0.0, "walks": 0.4, "two": 0.0}[world] * rng.normal(size=(months, systems))
    true = rng.normal(size=systems) + step.cumsum(axis=0)
    if world == "two":
        true[:, :2] += np.linspace(0, 2, months)[:, None] * [1, -1]
    true -= true.mean(axis=1, keepdims=True)
    month = rng.integers(0, months, votes)
    left, right = np.array([rng.choice(systems, 2, replace=False) for _ in range(votes)]).T
    won = rng.random(votes) < 1 / (1 + np.exp(true[month, right] - true[month, left]))
    return true, month, left, right, won


def walking(month: np.ndarray, left: np.ndarray, right: np.ndarray, won: np.ndarray) -> pm.Model:
    """Build the model of docs/recipes/votes_in_time.md: qualities follow a random walk over months."""
    months, systems = int(month.max()) + 1, int(max(left.max(), right.max())) + 1
    with pm.Model() as model:
        spread = pm.LogNormal("spread", np.log(2), 1)
        first = pm.ZeroSumNormal("first", sigma=spread, shape=systems)
        step = pm.HalfNormal("step", 0.5)
        change = pm.ZeroSumNormal("change", shape=(months - 1, systems))
        walk = pm.math.concatenate([np.zeros((1, systems)), step * change.cumsum(axis=0)])
        quality = pm.Deterministic("quality", first + walk)
        codes = (month * systems + left, month * systems + right)
        PairedVotes(
            "vote",
            cast(Any, quality).flatten(),
            codes=codes,
            observed=np.stack([won, ~won], axis=1).astype(int),
        )
    return model


def votes(studies: int) -> None:
    """Qualities of the last month where they stay, where all walk and where two move steadily: constant law, and a walk."""
    print(
        "world  law: error of the last month, share of 90 % intervals that hold, log loss of its next votes; CPU s of the walk"
    )
    for world in ("stays", "walks", "two"):
        found = []
        for seed in range(studies):
            true, month, left, right, won = moving_votes(seed, world)
            table = {"left": left, "right": right, "winner": np.where(won, left, right)}
            pairs = models.Comparisons.from_table(table, rater=None)
            options = {"draws": 300, "chains": 2, "log_likelihood": False, **QUIET}
            constant = inference.sample(models.bradley_terry(pairs, reliability="shared"), **options)[
                "posterior"
            ]
            level = constant["quality"].sortby("item")
            begun = time.process_time()
            walk = inference.sample(walking(month, left, right, won), **options)["posterior"]["quality"]
            cost = time.process_time() - begun
            row = []
            for own in (level.transpose("chain", "draw", "item"), walk.isel(quality_dim_0=-1)):
                last = own.to_numpy().reshape(-1, true.shape[1])
                last = last - last.mean(axis=1, keepdims=True)
                low, high = np.quantile(last, [0.05, 0.95], axis=0)
                gap = last[:, :, None] - last[:, None, :]
                sure = 1 / (1 + np.exp(true[-1][None, :] - true[-1][:, None]))
                p = (1 / (1 + np.exp(-gap))).mean(axis=0)
                loss = -(sure * np.log(p))[~np.eye(len(p), dtype=bool)].mean() * 2
                row += [
                    np.sqrt(((last.mean(axis=0) - true[-1]) ** 2).mean()),
                    ((low <= true[-1]) & (true[-1] <= high)).mean(),
                    loss,
                ]
            found.append((*row, cost))
        mean = np.mean(found, axis=0).round(3)
        print(f"{world}  constant: {mean[:3]}; walk: {mean[3:6]}; {mean[6]}", flush=True)


CELLS: dict[str, Callable[[int], None]] = {
    "judge": judge,
    "update": update,
    "retire": retire,
    "raters": raters,
    "skill": skill,
    "changes": changes,
    "votes": votes,
}


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of short runs
    CELLS[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 20)
