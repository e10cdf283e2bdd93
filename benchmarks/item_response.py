"""Leaderboards of correctness whose key has errors: ranks, wrong keys and cost.

`python -m benchmarks.item_response [study|speed]`. Study: models answer items of 4 options, and 5 % of the published keys are
wrong. Printed are the area under the curve of P(key wrong) against the truth, beside that of the share of models that miss the
key; and how often 90 % rank intervals hold the rank by true ability, of the model and of its wrong twin, a key taken for the
truth. With `--popular` every third item has a wrong answer that most wrong models share, which the model believes of none.

Speed: CPU seconds from the table to the tree, 100 models and 10,000 items, with the defaults of `inference.sample`.
"""

import argparse
import sys
import time
import warnings
from typing import Any

import numpy as np
from raterzoo import evaluation, inference, models
from sklearn.metrics import roc_auc_score

__all__ = ["drawn_study", "labels_of"]

OPTIONS, WRONG_KEYS, PROB = 4, 0.05, 0.9
POPULAR = 0.6  # share of wrong answers that are the popular one


def drawn_study(
    rng: np.random.Generator, n_models: int, n_items: int, popular: bool = False
) -> dict[str, np.ndarray]:
    """Draw abilities (model,), answers (item, model), truth and key (item,)."""
    ability, difficulty = rng.normal(0.5, 0.6, n_models), rng.normal(0, 1.2, n_items)
    truth = rng.integers(0, OPTIONS, n_items)
    right = rng.random((n_items, n_models)) < 1 / (1 + np.exp(difficulty[:, None] - ability))
    other = (truth[:, None] + rng.integers(1, OPTIONS, right.shape)) % OPTIONS
    if popular:
        has = rng.random(n_items) < 1 / 3
        favourite = (truth + rng.integers(1, OPTIONS, n_items)) % OPTIONS
        follows = has[:, None] & (rng.random(right.shape) < POPULAR)
        other = np.where(follows, favourite[:, None], other)
    key = np.where(
        rng.random(n_items) < WRONG_KEYS, (truth + rng.integers(1, OPTIONS, n_items)) % OPTIONS, truth
    )
    return {"ability": ability, "answer": np.where(right, truth[:, None], other), "truth": truth, "key": key}


def labels_of(answer: np.ndarray) -> Any:
    """Return the labels of answers (item, model)."""
    n_items, n_models = answer.shape
    table = {"item": np.repeat(np.arange(n_items), n_models), "rater": np.tile(np.arange(n_models), n_items)}
    return models.Labels.from_table(table | {"label": answer.ravel()}, categories=range(OPTIONS))


def fitted(answer: np.ndarray, key: np.ndarray, seed: int, **options: Any) -> Any:
    """Return the posterior of a model with this key; `options` of the builder, or of `sample`."""
    draws = {name: options.pop(name) for name in ("draws", "chains") if name in options}
    model = models.item_response(labels_of(answer), key=dict(enumerate(key.tolist())), **options)
    with warnings.catch_warnings(action="ignore"):
        return inference.sample(model, random_seed=seed, progressbar=False, **draws)


def covered(tree: Any, ability: np.ndarray) -> float:
    """Return the share of models whose 90 % rank interval holds the rank by true ability."""
    board = evaluation.rank_intervals(tree, PROB)
    rank = 1 + (ability[:, None] < ability).sum(axis=1)
    rank = rank[board["model"].to_numpy()]
    return float(((board["lower"] <= rank) & (rank <= board["upper"])).mean())


def study(repetitions: int, n_models: int, n_items: int, popular: bool) -> None:
    """Print one line of a design."""
    found = []
    for seed in range(repetitions):
        own = drawn_study(np.random.default_rng(seed), n_models, n_items, popular)
        few = {"draws": 250}
        tree = fitted(own["answer"], own["key"], seed, **few)
        fixed = fitted(own["answer"], own["key"], seed, key_reliability=(1e6, 1e-3), **few)
        wrong = own["key"] != own["truth"]
        at_key = tree["posterior"]["plausibility"].mean(("chain", "draw")).to_numpy()
        suspect = 1 - at_key[np.arange(n_items), own["key"]]
        missed = (own["answer"] != own["key"][:, None]).mean(axis=1)
        reliability = float(tree["posterior"]["key_reliability"].mean())
        aucs = roc_auc_score(wrong, suspect), roc_auc_score(wrong, missed)
        found.append((*aucs, covered(tree, own["ability"]), covered(fixed, own["ability"]), reliability))
    mean = np.mean(found, axis=0)
    error = np.std(found, axis=0) / np.sqrt(repetitions)
    design = f"{n_models} models, {n_items:,} items{', popular wrong answers' if popular else ''}"
    print(
        f"{design}, {repetitions} studies: AUC {mean[0]:.3f} (share of misses {mean[1]:.3f}), rank intervals "
        f"cover {mean[2]:.3f} +- {error[2]:.3f}, with a fixed key {mean[3]:.3f} +- {error[3]:.3f}, "
        f"key right in {mean[4]:.3f}",
        flush=True,
    )


def speed(n_models: int, n_items: int, discrimination: bool) -> None:
    """Print the CPU seconds of one run with the defaults."""
    own = drawn_study(np.random.default_rng(1), n_models, n_items)
    labels, key = labels_of(own["answer"]), dict(enumerate(own["key"].tolist()))
    began = time.process_time()
    model = models.item_response(labels, key=key, discrimination=discrimination)
    built = time.process_time()
    tree = inference.sample(model, random_seed=1, progressbar=False)
    spent = time.process_time()
    worst = float(inference.diagnose(tree)["r_hat"].max())
    print(
        f"{n_models} models, {n_items:,} items, discrimination={discrimination}: {built - began:.1f} CPU s to build, "
        f"{spent - built:.1f} to draw, thinning {int(tree['sample_stats']['thinning'])}, largest R-hat {worst:.3f}",
        flush=True,
    )


def main() -> None:
    """Print the study, or the cost."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("which", choices=("study", "speed"))
    parser.add_argument("--repetitions", type=int, default=24)
    parser.add_argument("--models", type=int)
    parser.add_argument("--items", type=int)
    parser.add_argument("--discrimination", action="store_true")
    parser.add_argument("--popular", action="store_true")
    asked = parser.parse_args()
    if asked.which == "speed":
        speed(asked.models or 100, asked.items or 10_000, asked.discrimination)
    else:
        study(asked.repetitions, asked.models or 12, asked.items or 400, asked.popular)


if __name__ == "__main__":
    sys.exit(main())
