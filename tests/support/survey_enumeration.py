"""Survey power curves by brute force: every ordered choice of raters of every item, one by one."""

from collections import Counter
from itertools import permutations

import numpy as np
import xarray as xr

__all__ = ["answers", "brute_curve", "counts_of", "ragged_items", "score_of_rows"]


def ragged_items(rng, n_categories, sizes=(2, 3, 3, 4, 4, 5, 5)):
    """Return the labels of each item's raters, of unequal numbers; the last has every category."""
    law = rng.dirichlet(np.ones(n_categories), len(sizes))
    items = [rng.choice(n_categories, size, p=p).tolist() for size, p in zip(sizes, law, strict=True)]
    items[-1][:n_categories] = range(n_categories)
    return items


def counts_of(items, n_categories):
    counts = np.array([[labels.count(c) for c in range(n_categories)] for labels in items])
    coords = {"item": [f"i{i}" for i in range(len(items))], "category": [str(c) for c in range(n_categories)]}
    return xr.DataArray(counts, coords, ("item", "category"))


def answers(items, n_categories, k, reference=1, against=None):
    """Return rows (item, labels of k raters as counts, further label, probability), the raters in every order."""
    rows = []
    for i, labels in enumerate(items):
        theirs = labels if against is None else against[i]
        if against is None:
            choices = [
                (chosen, further)
                for order in permutations(range(len(labels)), k + reference)
                for chosen, further in [(order[:k], order[k:])]
            ]
        else:
            choices = [
                (chosen, further)
                for chosen in permutations(range(len(labels)), k)
                for further in permutations(range(len(theirs)), reference)
            ]
        for chosen, further in choices:
            said = Counter(theirs[j] for j in further)
            most = [label for label, n in said.items() if n == max(said.values())]
            y = tuple(sum(labels[j] == c for j in chosen) for c in range(n_categories))
            rows += [(i, y, label, 1 / len(choices) / len(most)) for label in most]
    return rows


def brute_abc(rows, n_categories, left_out):
    """Return the prediction after the labels y of an item: frequencies of the further label after y among the other items."""

    def predict(item, y):
        total = np.zeros(n_categories)
        for other, other_y, label, chance in rows:
            if other_y == y and not left_out(item, other):
                total[label] += chance
        return total / total.sum() if total.sum() > 1e-14 else np.full(n_categories, 1 / n_categories)

    return predict


def brute_frequency(items, n_categories, uniform=False):
    def predict(item, y):
        if sum(y):
            return np.array(y) / sum(y)
        shares = np.bincount([label for labels in items for label in labels], minlength=n_categories).astype(
            float
        )
        return np.full(n_categories, 1 / n_categories) if uniform else shares / shares.sum()

    return predict


def brute_plurality(item, y):
    return np.array(y, float)


def weighted_rows(rows, predict, decide):
    """Return item, probability, label and weight of every answer; of a decision, each label that ties."""
    cache, out = {}, []
    for item, y, label, chance in rows:
        if (item, y) not in cache:
            cache[item, y] = predict(item, y)
        p = cache[item, y]
        if not decide:
            out.append((item, p, label, chance))
            continue
        best = np.flatnonzero(p > p.max() - 1e-12)
        out += [(item, np.eye(len(p))[b], label, chance / len(best)) for b in best]
    item, p, label, weight = zip(*out, strict=True)
    return np.array(item), np.array(p), np.array(label), np.array(weight)


def score_of_rows(scorer, p, label, weight, *, clip=0.02, base=2, positive=1, values=None):
    """Return a score from its definition, row by row."""
    n = p.shape[1]
    weight = weight / weight.sum()
    clipped = np.clip(p, clip, 1 - clip)
    clipped = clipped / clipped.sum(axis=1, keepdims=True)
    own = clipped[np.arange(len(p)), label]
    if scorer == "cross_entropy":
        return weight @ np.log(own) / np.log(base)
    if scorer == "brier":
        return -weight @ ((clipped - np.eye(n)[label]) ** 2).sum(axis=1)
    top = p > p.max(axis=1, keepdims=True) - 1e-12  # sums in another order differ by rounding
    top = top / top.sum(axis=1, keepdims=True)
    if scorer == "agreement":
        return weight @ top[np.arange(len(p)), label]
    if scorer in ("pearson", "spearman"):
        x, y = p @ np.arange(n), label.astype(float)
        if scorer == "spearman":
            x, y = mid_ranks(x, weight), mid_ranks(y, weight)
        x, y = x - weight @ x, y - weight @ y
        size = np.sqrt((weight @ x**2) * (weight @ y**2))
        return weight @ (x * y) / size if size > 1e-12 else 0.0
    if scorer == "auc":
        x = np.round(p[:, positive] if values is None else p @ values, 12)
        above = (x[:, None] > x) + (x[:, None] == x) / 2
        w, v = weight * (label == positive), weight * (label != positive)
        return w @ above @ v / (w.sum() * v.sum())
    joint = (p if scorer == "soft_dmi" else top).T @ (weight[:, None] * np.eye(n)[label])
    if scorer in ("dmi", "soft_dmi"):
        return abs(np.linalg.det(joint))
    if scorer == "mcc":
        said, true = joint.sum(axis=1), joint.sum(axis=0)
        size = np.sqrt((1 - said @ said) * (1 - true @ true))
        if true.max() > 1 - 1e-9:
            return np.nan
        return (np.trace(joint) - said @ true) / size if size > 1e-6 else 0.0
    hit, said, true = joint[1, 1], joint[1].sum(), joint[:, 1].sum()
    return {"precision": hit / said if said else 0.0, "recall": hit / true, "f1": 2 * hit / (said + true)}[
        scorer
    ]


def mid_ranks(x, weight):
    x = np.round(x, 12)
    return np.array([weight[x < value].sum() + weight[x == value].sum() / 2 for value in x])


def brute_curve(
    items, n_categories, combiner, scorer, *, learn="leave-one-out", largest, reference=1, against=None, **how
):
    """Return the curve k = 0 ... largest; of ABC with folds (an array), the mean over folds of scores that are not additive."""
    curve = []
    for k in range(largest + 1):
        rows = answers(items, n_categories, k, reference, against)
        left_out = {
            "leave-one-out": lambda item, other: item == other,
            "in-sample": lambda item, other: False,
        }.get(learn) if isinstance(learn, str) else lambda item, other: learn[item] == learn[other]  # fmt: skip
        predict = {
            "abc": brute_abc(rows, n_categories, left_out),
            "frequency": brute_frequency(items if against is None else against, n_categories),
            "mean": brute_frequency(items if against is None else against, n_categories),
            "uniform": brute_frequency(items, n_categories, uniform=True),
            "plurality": brute_plurality,
        }[combiner]
        item, *told = weighted_rows(rows, predict, combiner == "plurality")
        folds = np.zeros(len(items), int) if isinstance(learn, str) else learn
        if scorer in ("cross_entropy", "brier", "agreement"):
            folds = np.zeros(len(items), int)
        parts = []
        for fold in np.unique(folds[item]):
            here = folds[item] == fold
            parts.append((score_of_rows(scorer, *(t[here] for t in told), **how), told[2][here].sum()))
        curve.append(sum(s * w for s, w in parts) / sum(w for _, w in parts))
    return np.array(curve)
