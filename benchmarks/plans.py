"""Are plans of studies kept? `python -m benchmarks.plans [--designs 20] [--studies 20]`.

Each design, at random, is planned with stated skills by `inference.design.plan`; then studies are simulated by the code of this
file, fitted by `inference.sample` with its defaults, and measured by `evaluation.metric_intervals`. Printed are the promised and
the found mean width, both with Monte Carlo errors, and how many errors they are apart; last, the largest of these, and what a
plan of 6 x 5 designs with 200 simulations each costs.
"""

import argparse
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

__all__ = ["StudyDesign", "found_width", "random_design"]


class StudyDesign(NamedTuple):
    """A study: items, people for each of them, and how often who is right."""

    items: int
    categories: int
    people: tuple[float, ...]
    net: float


def random_design(rng: np.random.Generator) -> StudyDesign:
    """Draw a design."""
    people = tuple(rng.uniform(0.65, 0.95, rng.integers(2, 6)).round(2).tolist())
    return StudyDesign(
        int(rng.integers(50, 401)), int(rng.integers(2, 4)), people, round(rng.uniform(0.6, 0.95), 2)
    )


def found_width(design: StudyDesign, seed: int) -> float:
    """Return the width of the 90 % interval of the accuracy in a simulated study."""
    import xarray as xr
    from raterzoo import evaluation, inference, models

    rng, n = np.random.default_rng(seed), design.categories
    truth = rng.integers(0, n, design.items)

    def answers(right: np.ndarray) -> np.ndarray:
        size = (len(truth), len(right))
        other = (truth[:, None] + rng.integers(1, n, size)) % n
        return np.where(rng.random(size) < right, truth[:, None], other)

    said = answers(np.array(design.people))
    item, rater = np.indices(said.shape)
    people = np.array([f"person {k}" for k in range(len(design.people))])
    rows = {"item": item.ravel(), "rater": people[rater.ravel()], "label": said.ravel()}
    labels = models.Labels.from_table(rows, categories=range(n))
    coords = {"item": labels.items, "classifier": "net"}
    predictions = xr.DataArray(answers(np.array([design.net])), coords, ("item", "position"))
    options: dict[str, Any] = {"random_seed": seed, "progressbar": False}
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        model = models.dawid_skene(labels.with_predictions(predictions))
        tree = inference.sample(model, log_likelihood=False, **options)
    metric = evaluation.top_k_accuracy(1)
    interval = evaluation.metric_intervals(metric, tree, predictions, **options)["interval"].sel(
        source="both"
    )
    return float(interval.diff("bound").item())


def main() -> None:
    """Plan and simulate designs, and time a grid."""
    from raterzoo.inference.design import Precision, plan, stated_skills

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--designs", type=int, default=20)
    parser.add_argument("--studies", type=int, default=20)
    asked = parser.parse_args()
    rng, apart = np.random.default_rng(1), []
    for number in range(asked.designs):
        design = random_design(rng)
        people = {f"person {k}": right for k, right in enumerate(design.people)}
        skills = stated_skills(people, {"net": design.net}, prevalence=design.categories, random_seed=1)
        sizes = {"items": [design.items], "raters": [len(people)]}
        promised = plan(Precision(0.1), skills, **sizes, random_seed=number, progressbar=False).squeeze()
        widths = [found_width(design, 1000 * number + k) for k in range(asked.studies)]
        mean, error = np.mean(widths), np.std(widths, ddof=1) / np.sqrt(len(widths))
        width, own = float(promised["width"]), float(promised["width_mcse"])
        apart.append((width - mean) / np.hypot(error, own))
        print(
            f"{design}: promised {width:.4f} +- {own:.4f}, found {mean:.4f} +- {error:.4f}, z {apart[-1]:+.2f}",
            flush=True,
        )
    print(f"largest |z| of {asked.designs}: {np.abs(apart).max():.2f}, mean z {np.mean(apart):+.2f}")
    grid = {"items": [50, 100, 200, 300, 400, 600], "raters": [1, 2, 3, 4, 5]}
    skills = stated_skills((0.8, 0.05), {"net": (0.85, 0.05)}, random_seed=1)
    start = time.process_time()
    plan(Precision(0.1), skills, **grid, simulations=200, random_seed=1, progressbar=False)
    print(f"a grid of 6 x 5 designs, 200 simulations each: {time.process_time() - start:.0f} CPU s")


if __name__ == "__main__":
    main()
