"""Coverage and bias of estimates of a classifier's accuracy against the truth. `python -m benchmarks.against_truth`.

Each simulation draws true categories, answers of people who err independently, each right with the same probability, and
predictions of a classifier that errs independently of them. Five estimates of its accuracy in the population of items:

- majority: the people's majority vote taken for the truth, ties shared; the interval is of the sample of items;
- adjusted: the uncertainty-adjusted accuracy by Dawid-Skene of the people alone, read as accuracy, which it is not;
- joint: the same metric by Dawid-Skene of people and predictions (`Labels.with_predictions`);
- matrix: of the same posterior, the sum over categories of prevalence times the classifier's probability of being right;
- gold: the truth known.

Printed are, for 90 % intervals, the share that hold the true accuracy, the mean error and the mean width, with standard errors.
A simulation of 300 items takes about a second on one core.
"""

import argparse
import warnings
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Design", "estimates", "simulated", "summary"]

NAMES = ("majority", "adjusted", "joint", "matrix", "gold")


class Design(NamedTuple):
    """People, items and categories, the prevalence of the first category (None: all alike), and how often who is right."""

    people: int = 3
    items: int = 300
    categories: int = 2
    prevalence: float | None = None
    right_people: float = 0.8
    right_classifier: float = 0.824


def simulated(design: Design, rng: np.random.Generator) -> tuple[np.ndarray, Any, Any]:
    """Return true categories (item,), labels of the people, and predictions (item, position) of the classifier "net"."""
    import xarray as xr
    from raterzoo import models

    n = design.categories
    first = 1 / n if design.prevalence is None else design.prevalence
    truth = rng.choice(n, design.items, p=[first, *[(1 - first) / (n - 1)] * (n - 1)])

    def answers(right: float, raters: int) -> np.ndarray:
        other = (truth[:, None] + rng.integers(1, n, (len(truth), raters))) % n
        return np.where(rng.random(other.shape) < right, truth[:, None], other)

    label = answers(design.right_people, design.people)
    item, rater = np.indices(label.shape)
    table = {
        "item": item.ravel(),
        "rater": np.array([f"person {k}" for k in range(design.people)])[rater.ravel()],
    }
    labels = models.Labels.from_table(table | {"label": label.ravel()}, categories=range(n))
    coords = {"item": labels.items, "classifier": "net"}
    return truth, labels, xr.DataArray(answers(design.right_classifier, 1), coords, ("item", "position"))


def estimates(design: Design, seed: int) -> np.ndarray:
    """Return mean, lower and upper end (estimate, 3) by the estimates of `NAMES`, of one simulation."""
    import xarray as xr
    from raterzoo import evaluation, inference, models

    truth, labels, predictions = simulated(design, np.random.default_rng(seed))
    options: dict[str, Any] = {"random_seed": seed, "progressbar": False}

    def fitted(data: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", inference.ConvergenceWarning)
            return inference.sample(
                models.dawid_skene(data), draws=300, chains=2, log_likelihood=False, **options
            )

    def scored(tree: Any, source: str) -> list[float]:
        metric = evaluation.top_k_accuracy(1)
        own = evaluation.metric_intervals(metric, tree, predictions, **options).sel(source=source)
        return [float(own["mean"]), *own["interval"].to_numpy().tolist()]

    joint = fitted(labels.with_predictions(predictions))
    coords = {"item": labels.items, "category": labels.categories}
    gold = xr.DataArray(np.eye(design.categories)[truth], coords, ("item", "category"))
    drawn = joint["posterior"].to_dataset()
    confusion = drawn["confusion"].sel(rater="net").to_numpy()
    right = (np.diagonal(confusion, axis1=-2, axis2=-1) * drawn["prevalence"].to_numpy()).sum(axis=-1)
    votes = inference.majority_vote(labels)["plausibility"]
    return np.array(
        [
            _by_vote(votes, predictions, seed),
            scored(fitted(labels), "both"),
            scored(joint, "both"),
            [right.mean(), *np.quantile(right, [0.05, 0.95])],
            scored(gold, "items"),
        ]
    )


def _by_vote(votes: Any, predictions: Any, seed: int) -> list[float]:
    """Return the mean share of the votes' majority that a prediction is, ties shared, with its interval by resampled items."""
    values = votes.to_numpy()
    best = values == values.max(axis=1, keepdims=True)
    hit = best[np.arange(len(best)), predictions.to_numpy()[:, 0]] / best.sum(axis=1)
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(hit)), 1000)
    return [float(hit.mean()), *np.quantile(weights @ hit, [0.05, 0.95]).tolist()]


def summary(found: np.ndarray, accuracy: float) -> list[dict[str, Any]]:
    """Return rows with coverage, bias and width of estimates (simulation, estimate, 3)."""
    rows = []
    for k, name in enumerate(NAMES):
        mean, lower, upper = found[:, k].T
        covered, error = (lower <= accuracy) & (accuracy <= upper), mean - accuracy
        n = np.sqrt(len(found))
        row = {"estimate": name, "coverage": covered.mean(), "coverage_error": covered.std() / n}
        rows.append(
            row | {"bias": error.mean(), "bias_error": error.std() / n, "width": (upper - lower).mean()}
        )
    return rows


def main() -> None:
    """Simulate one design, and print a line for each estimate."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--simulations", type=int, default=500)
    for name, default in Design()._asdict().items():
        kind = float if name == "prevalence" else type(default)
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default)
    given = vars(parser.parse_args())
    simulations = given.pop("simulations")
    design = Design(**given)
    found = np.array([estimates(design, 1000 * k) for k in range(simulations)])
    print(f"{design}: {simulations} simulations, 90 % intervals")
    for row in summary(found, design.right_classifier):
        print(
            "{estimate:9} coverage {coverage:.3f} +- {coverage_error:.3f}  bias {bias:+.4f} +- {bias_error:.4f}  "
            "width {width:.3f}".format(**row),
            flush=True,
        )


if __name__ == "__main__":
    main()
