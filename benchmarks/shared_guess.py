"""Raters who share guesses: claimed and right on eleven designs, and speed. `python -m benchmarks.shared_guess [designs|speed]`.

Designs: people who answer for themselves beside judges of whom a share copies one guess. Printed are, over repetitions, how often
the most plausible label is right and how probable it is said to be, by Dawid-Skene and by the shared-guess model, the mean share
of copies, and the gap: claimed less right, with its standard error. Speed: CPU time of a Gibbs sweep and of a gradient on 500,000
answers of 1,000 raters in 3 groups and 5 categories; CPU time for an effective sample size of 400 of all shares and of the
prevalence on 5,000 answers.
"""

import argparse
import sys
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

__all__ = ["DESIGNS", "Design", "simulated"]


class Design(NamedTuple):
    """People and judges, how often each is right, and how often judges copy."""

    people: int
    judges: int
    right_people: float
    right_judges: float
    copied: float
    categories: int = 2


DESIGNS = (
    Design(3, 9, 0.8, 0.7, 0.8),
    Design(3, 9, 0.8, 0.7, 0.66),
    Design(3, 9, 0.8, 0.8, 0.66),
    Design(3, 9, 0.9, 0.85, 0.66),
    Design(3, 9, 0.8, 0.8, 0.5),
    Design(3, 9, 0.8, 0.7, 0.0),
    Design(3, 3, 0.8, 0.8, 0.66),
    Design(3, 9, 0.7, 0.6, 0.66, 4),
    Design(3, 9, 0.7, 0.6, 0.0, 4),
    Design(3, 6, 0.7, 0.5, 0.8, 4),
    Design(0, 9, 0.8, 0.8, 0.66),
)


def simulated(design: Design, items: int, rng: np.random.Generator) -> tuple[np.ndarray, Any]:
    """Return true categories (item,) and labels of all raters with their ``kind``, person or llm."""
    from raterzoo import models

    n = design.categories
    truth = rng.integers(n, size=items)

    def noisy(right: float, raters: int) -> np.ndarray:
        other = (truth[:, None] + rng.integers(1, n, (items, raters))) % n
        return np.where(rng.random((items, raters)) < right, truth[:, None], other)

    guess, own = noisy(design.right_judges, 1), noisy(design.right_judges, design.judges)
    judged = np.where(rng.random(own.shape) < design.copied, guess, own)
    label = np.concatenate([noisy(design.right_people, design.people), judged], axis=1)
    item, rater = np.indices(label.shape)
    table = {"item": item.ravel(), "rater": rater.ravel(), "label": label.ravel()}
    table["kind"] = np.array(["person", "llm"])[(rater.ravel() >= design.people).astype(int)]
    return truth, models.Labels.from_table(table, rater_attributes=["kind"], categories=range(n))


def claims(design: Design, items: int, seed: int) -> np.ndarray:
    """Return right and claimed of Dawid-Skene and of the shared-guess model, and the mean share, of one simulation."""
    from raterzoo import inference, models

    truth, labels = simulated(design, items, np.random.default_rng(seed))
    found, tree = [], None
    independent = "person" if design.people else ()
    for model in (models.dawid_skene(labels), models.shared_guess(labels, "kind", independent)):
        with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
            options = {"draws": 200, "chains": 2, "thin": 2, "log_likelihood": False, "progressbar": False}
            tree = inference.sample(model, random_seed=seed + 1, **options)
        p = tree["posterior"]["plausibility"].mean(("chain", "draw")).to_numpy()
        found += [(p.argmax(axis=1) == truth).mean(), p.max(axis=1).mean()]
    assert tree is not None
    return np.array([*found, float(tree["posterior"]["shared"].mean())])


def of_designs(items: int, repetitions: int) -> None:
    """Print a line for each design."""
    for design in DESIGNS:
        each = np.array([claims(design, items, 1000 * k) for k in range(repetitions)])
        line = "DS right {:.3f} claimed {:.3f}; shared guess right {:.3f} claimed {:.3f}; s {:.2f}".format(
            *each.mean(axis=0)
        )
        gap = each[:, 3] - each[:, 2]
        error = gap.std(ddof=1) / np.sqrt(repetitions)
        print(
            f"{design}: {line}; gap {gap.mean():+.4f} +- {error:.4f}; {repetitions} x {items:,} items",
            flush=True,
        )


def grouped(items: int, raters: int, answers: int, categories: int) -> Any:
    """Return simulated labels of raters in three groups."""
    from raterzoo import models

    options = {"items": items, "raters": raters, "answers": answers, "categories": categories}
    labels = models.simulators.labels(model="shared_guess", random_seed=1, **options).data
    return models.shared_guess(labels, np.array(["a", "b", "c"])[np.arange(len(labels.raters)) % 3])


def of_speed() -> None:
    """Print CPU times."""
    from pymc.blocking import DictToArrayBijection
    from raterzoo import inference, models
    from raterzoo.inference.labels.shared_guess import (
        constant_guess_prior,
        draw_guess_model,
        read_shared_guess,
    )
    from raterzoo.inference.runs.run import ChainPlan

    model = grouped(50_000, 1000, 10, 5)
    structure = read_shared_guess(model)
    prior = constant_guess_prior(model, structure)

    def cpu(sweeps: int) -> float:
        began = time.process_time()
        draw_guess_model(structure, prior, ChainPlan(1, 1, sweeps, 1, 1))
        return time.process_time() - began

    cpu(1)
    print(f"Gibbs sweep: {1000 * min(cpu(41) - cpu(1) for _ in range(3)) / 40:.1f} CPU ms")
    density = model.logp_dlogp_function(ravel_inputs=True, mode="NUMBA")
    point = DictToArrayBijection.map(model.initial_point()).data
    density._pytensor_function(point)
    began = time.process_time()
    for _ in range(20):
        density._pytensor_function(point)
    print(f"log density and gradient: {1000 * (time.process_time() - began) / 20:.1f} CPU ms")
    drawn = models.simulators.labels(model="shared_guess", items=1000, raters=30, answers=5, random_seed=1)
    small = models.shared_guess(drawn.data, "kind", "person")
    options = {"cores": 1, "thin": 3, "log_likelihood": False, "progressbar": False, "random_seed": 1}
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        inference.sample(small, draws=10, **options)  # compiles
        began = time.process_time()
        tree = inference.sample(small, **options)
    spent = time.process_time() - began
    import arviz as az

    ess = az.ess(tree, var_names=["shared", "prevalence"])
    least = min(float(ess[name].min()) for name in ("shared", "prevalence"))
    print(f"5,000 answers: {spent:.1f} CPU s, smallest ESS of shares and prevalence {least:.0f}")


def main() -> None:
    """Run the named part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shared_guess", description=__doc__)
    parser.add_argument("part", choices=("designs", "speed"))
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=5)
    asked = parser.parse_args()
    if asked.part == "speed":
        of_speed()
    else:
        of_designs(asked.items, asked.repetitions)


if __name__ == "__main__":
    sys.exit(main())
