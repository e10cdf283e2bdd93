"""Features of items in models of labels: what they are worth, and speed. `python -m benchmarks.features [worth|speed]`.

Worth: Dawid-Skene with features beside Dawid-Skene alone, on labels simulated with 20 informative features and one answer an
item, and with 50 useless features and three answers. Printed are, over repetitions, how often the most plausible category is the
true one, how probable it is said to be, and the mean log score of the truth. Speed: CPU time of the log density and its gradient,
of NUTS for an effective sample size of 400 of all effects, and of the linear algebra alone of a Polya-Gamma sweep.
"""

import argparse
import sys
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

__all__ = ["DESIGNS", "Design"]


class Design(NamedTuple):
    """Numbers of features and of answers to each item."""

    informative: int
    useless: int
    answers: int


DESIGNS = (Design(20, 0, 1), Design(0, 50, 3))


def claims(design: Design, items: int, seed: int) -> np.ndarray:
    """Return right, claimed and log score of Dawid-Skene alone and with features (model, measure), of one simulation."""
    from raterzoo import inference, models

    drawn = models.simulators.labels(
        items=items,
        raters=20,
        answers=design.answers,
        prevalence_concentration=5.0,
        features=design.informative,
        useless_features=design.useless,
        random_seed=seed,
    )
    truth, found = drawn.truth["true_category"], []
    for features in (None, drawn.features):
        with warnings.catch_warnings(action="ignore"):
            model = models.dawid_skene(drawn.data, features=features)
            options = {"draws": 250, "chains": 2, "cores": 1, "log_likelihood": False, "progressbar": False}
            tree = inference.sample(model, random_seed=seed + 1, **options)
        p = tree["posterior"]["plausibility"].mean(("chain", "draw")).to_numpy()
        score = np.log(p[np.arange(items), truth]).mean()
        found.append(((p.argmax(axis=1) == truth).mean(), p.max(axis=1).mean(), score))
    return np.array(found)


def of_worth(items: int, repetitions: int) -> None:
    """Print a line for each design and model."""
    for design in DESIGNS:
        each = np.array([claims(design, items, 1000 * k + 1) for k in range(repetitions)])
        for k, name in enumerate(("alone", "with features")):
            right, claimed, score = each[:, k].mean(axis=0)
            line = f"{name}: right {right:.3f}, claimed {claimed:.3f}, log score {score:.3f}"
            print(f"{design}: {line}; {repetitions} x {items:,} items", flush=True)
        gained = each[:, 1] - each[:, 0]
        error = gained.std(axis=0, ddof=1) / np.sqrt(repetitions) if repetitions > 1 else np.full(3, np.nan)
        both = zip(gained.mean(axis=0), error, strict=True)
        print("gained: " + ", ".join(f"{mean:+.4f} +- {own:.4f}" for mean, own in both), flush=True)


def labelled(items: int, columns: int, answers: int, categories: int = 5) -> Any:
    """Return the model of simulated labels with features."""
    from raterzoo import models

    drawn = models.simulators.labels(
        items=items, raters=20, answers=answers, categories=categories, features=columns, random_seed=1
    )
    return models.dawid_skene(drawn.data, features=drawn.features)


def of_speed(items: int) -> None:
    """Print CPU times."""
    import arviz as az
    from pymc.blocking import DictToArrayBijection
    from raterzoo import inference

    model = labelled(items, 100, 5)
    density = model.logp_dlogp_function(ravel_inputs=True, mode="NUMBA")
    point = DictToArrayBijection.map(model.initial_point()).data
    density._pytensor_function(point)
    taken = []
    for _ in range(20):
        began = time.process_time()
        density._pytensor_function(point)
        taken.append(time.process_time() - began)
    print(f"log density and gradient, {items:,} items: {1000 * np.median(taken):.1f} CPU ms", flush=True)
    print(f"linear algebra of a Polya-Gamma sweep: {1000 * sweep(5000, 50, 5):.1f} CPU ms", flush=True)
    model = labelled(5000, 50, 3)
    options = {
        "draws": 300,
        "tune": 200,
        "chains": 2,
        "cores": 1,
        "log_likelihood": False,
        "progressbar": False,
    }
    began = time.process_time()
    with warnings.catch_warnings(action="ignore"):
        tree = inference.sample(model, random_seed=1, **options)
    spent = time.process_time() - began
    least = float(az.ess(tree, var_names=["feature_effect"])["feature_effect"].min())
    print(f"NUTS, 5,000 items, 50 features: least ESS {least:,.0f} in {spent:.1f} CPU s with compilation")


def sweep(items: int, columns: int, categories: int) -> float:
    """Return the CPU seconds of the Gram matrices and factors that one Polya-Gamma sweep needs, without its random numbers."""
    rng = np.random.default_rng(1)
    x, taken = rng.normal(size=(items, columns)), []
    for _ in range(10):
        weight = rng.random((categories, items))
        began = time.process_time()
        for own in weight:
            np.linalg.cholesky(x.T @ (own[:, None] * x) + np.eye(columns))
        taken.append(time.process_time() - began)
    return float(np.median(taken))


def main() -> None:
    """Print one of the two tables."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("what", choices=("worth", "speed"))
    parser.add_argument("--items", type=int, default=0)
    parser.add_argument("--repetitions", type=int, default=10)
    asked = parser.parse_args()
    if asked.what == "worth":
        of_worth(asked.items or 1000, asked.repetitions)
    else:
        of_speed(asked.items or 100_000)


if __name__ == "__main__":
    sys.exit(main())
