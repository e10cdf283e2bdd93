"""Published accuracies by a posterior that has seen the lists: `python -m benchmarks.joint_rankings`, two CPU minutes.

`python -m benchmarks.joint_rankings simulated`, six CPU minutes: coverage of both estimates where the consensus is known.

For the six pairs of a published case and a classifier, of which the paper prints twelve accuracies (Plackett-Luce and PrIRN): the
top-3 accuracy by Plackett-Luce at the paper's reliability, by a model that learns the reliability of each reader, and by the same
model when it has seen the lists of the classifiers too; and how well the reliability of each classifier is known.
"""

import sys
import warnings

import numpy as np
import xarray as xr
from raterzoo import evaluation, inference, models

QUIET = {"random_seed": 1, "progressbar": False, "draws": 4000, "tune": 1000}
METRIC = evaluation.top_k_accuracy(3)


def posterior(rankings: models.PartialRankings, model: str, **options: object) -> xr.DataTree:
    """Fit a model of rankings to the cases."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # the verdict is printed
        tree = inference.sample(getattr(models, model)(rankings, candidates="all", **options), **QUIET)
    print(
        f"{model}, {len(rankings.raters)} raters: {inference.diagnose(tree).attrs['verdict'].splitlines()[0][:110]}"
    )
    return tree


def accuracies(tree: xr.DataTree, predictions: xr.DataArray, pairs: list[tuple[str, str]]) -> list[float]:
    """Return the accuracy of the list of each pair (item, classifier)."""
    plausibility = tree["posterior"]["plausibility"]
    found = []
    for item, classifier in pairs:
        own = predictions.sel(classifier=[classifier], item=[item])
        drawn = evaluation.uncertainty_adjusted(METRIC, plausibility.sel(item=[item]), own, random_seed=1)
        found.append(float(drawn.mean()))
    return found


def main() -> None:
    """Print the table."""
    cases, printed = models.published_ddx_cases(), models.published_ddx_accuracies()
    lists = models.published_ddx_predictions()
    predictions = evaluation.predictions_from_table(lists, rank="rank", classifier="classifier")
    pairs = [
        (str(item), str(classifier))
        for item, classifier, model in zip(
            printed["item"], printed["classifier"], printed["model"], strict=True
        )
        if model == "plackett_luce"
    ]
    trees = {
        "reliability 3, as the paper": posterior(cases, "plackett_luce", reliability=3),
        "readers learnt": posterior(cases, "hierarchical_plackett_luce"),
        "and the lists seen": posterior(cases.with_predictions(predictions), "hierarchical_plackett_luce"),
    }
    table = {name: accuracies(tree, predictions, pairs) for name, tree in trees.items()}
    print("\ncase     classifier   " + "   ".join(table))
    for k, (item, classifier) in enumerate(pairs):
        print(
            f"{item:8s} {classifier:12s} "
            + "   ".join(f"{own[k]:{len(name)}.2f}" for name, own in table.items())
        )
    reliability = trees["and the lists seen"]["posterior"]["reliability"]
    for classifier in predictions["classifier"].to_numpy().tolist():
        low, middle, high = np.quantile(reliability.sel(rater=classifier), [0.05, 0.5, 0.95])
        cases_of = len(
            {item for item, own in zip(lists["item"], lists["classifier"], strict=True) if own == classifier}
        )
        print(f"reliability of {classifier}, {cases_of} cases: {middle:.2f} (90 %: {low:.3f} to {high:.1f})")


def simulated(seed: int, ratio: float, readers: int = 3) -> dict[str, tuple[float, bool]]:
    """Return error of the mean and whether the 90 % interval holds the truth, of the lists' top-1 accuracy by both posteriors.

    40 items with six categories; readers and a classifier, `ratio` times as reliable, rank the first two of each item.
    """
    reader = ratio ** (-1 / (readers + 1))  # geometric mean one
    drawn = models.simulators.rankings(
        items=40, categories=6, reliability=[reader] * readers + [ratio * reader], random_seed=seed
    )
    table = {name: np.asarray(column) for name, column in drawn.data.to_table().items()}
    own = table["rater"] == readers
    alone = models.PartialRankings.from_table(
        {name: column[~own] for name, column in table.items()}, categories=range(6)
    )
    table = {name: column[own] for name, column in table.items()} | {"rater": np.full(own.sum(), readers)}
    lists = evaluation.predictions_from_table(table, rank="rank", classifier="rater").sel(classifier=readers)
    best = drawn.truth["log_worth"].argmax(axis=1)[drawn.data.items]
    predicted = lists.sel(item=drawn.data.items).to_numpy()[:, 0].astype(int)
    truth = (best == predicted).mean()
    found = {}
    for name, rankings in {"raters": alone, "joint": alone.with_predictions(lists)}.items():
        model = models.hierarchical_plackett_luce(rankings, candidates="all")
        with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
            tree = inference.sample(model, random_seed=seed, progressbar=False, draws=250, tune=150, chains=2)
        # the accuracy in these items: no bootstrap of them
        share = evaluation.uncertainty_adjusted(
            evaluation.top_k_accuracy(1), tree, lists, random_seed=1, progressbar=False
        ).to_numpy()
        low, high = np.quantile(share, [0.05, 0.95])
        found[name] = float(share.mean() - truth), bool(low - 1e-9 <= truth <= high + 1e-9)
    return found


def print_simulated(simulations: int = 20) -> None:
    """Print bias and coverage of both estimates for classifiers that are less, as and more reliable than readers."""
    print("| classifier to reader | posterior | bias | coverage |\n|---|---|---|---|")
    for ratio in (1 / 3, 1.0, 3.0):
        runs = [simulated(seed, ratio) for seed in range(simulations)]
        for name in runs[0]:
            error, held = np.array([run[name] for run in runs]).T
            se = error.std(ddof=1) / np.sqrt(simulations)
            print(
                f"| {ratio:.2g} | {name} | {error.mean():+.3f} ± {se:.3f} | {held.mean():.2f} |", flush=True
            )


if __name__ == "__main__":
    print_simulated() if sys.argv[1:] == ["simulated"] else main()
