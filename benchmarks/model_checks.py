"""False alarms and power of `evaluation.model_checks`. `python -m benchmarks.model_checks labels [--studies 400] [--first 1]`.

For each design of a kind of annotation: in how many simulated studies the verdict is that the model does not fit, and how
often each check fails. Posteriors are short chains of the model that is checked.

Labels: 500 items and 8 raters who answer all of them, checked after Dawid-Skene. "independent": matrices of its simulator, of
raters who are right in .6 on average. Else all are right in .8, and five raters copy .3 of their answers: a guess of theirs,
right in .8 ("guess"), or the answers of the first of them ("copies").
"""

import argparse
import collections
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

ITEMS, RATERS, COPIERS, COPIED, RIGHT = 500, 8, 5, 0.3, 0.8
CHAINS = {"draws": 100, "tune": 50, "chains": 2, "cores": 1, "progressbar": False}


def labels_study(design: str, categories: int, seed: int) -> Any:
    """Return a posterior of Dawid-Skene given labels by raters who are independent, or who copy."""
    from raterzoo import inference, models

    rng = np.random.default_rng([seed, categories])
    shape = {"items": ITEMS, "raters": RATERS, "answers": RATERS, "categories": categories}
    made = models.simulators.labels(**shape, prevalence_concentration=5.0, random_seed=rng)
    table, label = made.data.to_table(), made.data.categories[made.data.label_code]
    if design != "independent":
        item, rater = made.data.annotation_item, made.data.annotation_rater
        truth = made.truth["true_category"]

        def answers(of: np.ndarray) -> np.ndarray:
            other = (of + rng.integers(1, categories, len(of))) % categories
            return np.where(rng.random(len(of)) < RIGHT, of, other)

        code, guess = answers(truth[item]), answers(truth)
        if design == "copies":
            guess[item[rater == 0]] = code[rater == 0]
        copied = (rater < COPIERS) & (rng.random(len(code)) < COPIED)
        label = made.data.categories[np.where(copied, guess[item], code)]
    columns = {name: np.asarray(table[name]) for name in ("item", "rater")}
    data = models.Labels.from_table({**columns, "label": label})
    return inference.sample(models.dawid_skene(data), random_seed=seed, **CHAINS)


STUDIES: dict[str, dict[str, Callable[[int], Any]]] = {
    "labels": {
        f"{design}, {n} categories": lambda seed, design=design, n=n: labels_study(design, n, seed)
        for design in ("independent", "guess", "copies")
        for n in (2, 3, 4)
    }
}


def main(arguments: list[str]) -> None:
    """Print the share of studies that do not fit, by design."""
    from raterzoo import evaluation

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=list(STUDIES))
    parser.add_argument("--design", help="only designs with this text in their name", default="")
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--first", type=int, default=1, help="seed of the first study")
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    for name, study in STUDIES[chosen.kind].items():
        if chosen.design not in name:
            continue
        failed, checks, begun = 0, collections.Counter(), time.process_time()
        for seed in range(chosen.first, chosen.first + chosen.studies):
            found = evaluation.model_checks(study(seed))
            failed += not found.attrs["fits"]
            checks.update(found["check"].to_numpy()[found["fails"].to_numpy()].tolist())
        seconds = (time.process_time() - begun) / chosen.studies
        by_check = "; ".join(f"{check} {number}" for check, number in checks.most_common())
        print(
            f"{name}: {failed} of {chosen.studies} do not fit, {seconds:.1f} CPU s each. {by_check}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
