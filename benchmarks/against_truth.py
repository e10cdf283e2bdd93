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

`python -m benchmarks.against_truth coverage` prints the table of the joint estimate for all `DESIGNS`, those in which its law is
false too: items that all find hard, and a judge who repeats the classifier. With it stand how often a check of the joint
posterior fails, the estimate by `correlated_votes`, and, where there is a judge, that by `shared_guess` with judge and
classifier as one group.

`python -m benchmarks.against_truth soft --simulations 100` compares what a classifier's labels tell of the truth with what
its probabilities tell (`evaluation.prediction_features`). `python -m benchmarks.against_truth timing` is the cost of three
classifiers beside five people.

`python -m benchmarks.against_truth bound` prints, for the designs in which the law of independent errors is false, how often the
best test of that law would find it out. The probability of each pattern of the answers to an item is summed up exactly, and the
nearest law of independent errors is found by EM. The logarithm of the likelihood ratio of the two laws is nearly normal: printed
is the power of its one-sided test at level .05, which knows in which direction the law is false.
"""

import argparse
import resource
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from raterzoo.models.labels.vote_correlation import correlation_evidence
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom, norm

__all__ = ["DESIGNS", "Design", "coverage_row", "estimates", "simulated", "summary"]

FEW: dict[str, int] = {"draws": 400, "chains": 1, "thin": 1}  # of the table: options of `inference.sample`
REPLICATES = 99  # of the checks; 200 by default
CHECKED = 100  # simulations of a design whose joint posterior is checked
NAMES = ("majority", "adjusted", "joint", "matrix", "gold")


class Design(NamedTuple):
    """People, items and categories, the prevalence of the first category (None: all alike), and how often who is right."""

    people: int = 3
    items: int = 300
    categories: int = 2
    prevalence: float | None = None
    right_people: float = 0.8
    right_classifier: float = 0.824
    hardness: float = (
        0.0  # standard deviation over items of the log odds of being right, the same for all raters
    )
    copies: float | None = (
        None  # there is a judge, as good as the classifier, who repeats it with this probability
    )


DESIGNS = {
    "three people who are right in .8": Design(),
    "two people": Design(people=2),
    "five people": Design(people=5),
    "people better than the classifier: .9 and .75": Design(right_people=0.9, right_classifier=0.75),
    "people worse: .7 and .9": Design(right_people=0.7, right_classifier=0.9),
    "three categories": Design(categories=3),
    "a category with a prevalence of .05": Design(prevalence=0.05),
    "a judge who errs independently": Design(copies=0.0),
    "some items hard for all": Design(hardness=1.0),
    "a judge who repeats half of what the classifier says": Design(copies=0.5),
    "both": Design(hardness=1.0, copies=0.5),
}
LAW_HOLDS = 8  # the first designs: all raters err independently


def simulated(design: Design, rng: np.random.Generator) -> tuple[np.ndarray, Any, Any]:
    """Return true categories (item,), labels of the people, and predictions (classifier, item, position) of "net" and a judge."""
    import xarray as xr
    from raterzoo import models

    n = design.categories
    first = 1 / n if design.prevalence is None else design.prevalence
    truth = rng.choice(n, design.items, p=[first, *[(1 - first) / (n - 1)] * (n - 1)])
    easy = design.hardness * rng.normal(size=design.items) if design.hardness else 0.0

    def answers(right: float, raters: int) -> np.ndarray:
        other = (truth[:, None] + rng.integers(1, n, (len(truth), raters))) % n
        probability = expit(_log_odds(right, design.hardness) + np.reshape(easy, (-1, 1)))
        return np.where(rng.random(other.shape) < probability, truth[:, None], other)

    label = answers(design.right_people, design.people)
    item, rater = np.indices(label.shape)
    table = {
        "item": item.ravel(),
        "rater": np.array([f"person {k}" for k in range(design.people)])[rater.ravel()],
    }
    labels = models.Labels.from_table(table | {"label": label.ravel()}, categories=range(n))
    said = {"net": answers(design.right_classifier, 1)}
    if design.copies is not None:
        repeated = rng.random((design.items, 1)) < design.copies
        said["judge"] = np.where(repeated, said["net"], answers(design.right_classifier, 1))
    coords = {"item": labels.items, "classifier": list(said)}
    return truth, labels, xr.DataArray(np.stack([*said.values()]), coords, ("classifier", "item", "position"))


def _log_odds(right: float, hardness: float) -> float:
    """Return the log odds of being right at an item of mean difficulty, so that the mean over items is `right`."""
    if not hardness:
        return float(np.log(right / (1 - right)))
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    return float(brentq(lambda a: weights @ expit(a + hardness * nodes) - right, -20, 20))


def _fitted(model: Any, seed: int) -> Any:
    """Draw a posterior."""
    from raterzoo import inference

    options: dict[str, Any] = {"draws": 300, "chains": 2, "log_likelihood": False, "progressbar": False}
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        return inference.sample(model, random_seed=seed, **options)


def _scored(tree: Any, predictions: Any, seed: int, source: str = "both") -> list[float]:
    """Return the accuracy of "net" by a posterior, and the ends of its interval."""
    from raterzoo import evaluation

    own = predictions.sel(classifier=["net"])
    found = evaluation.metric_intervals(
        evaluation.top_k_accuracy(1), tree, own, random_seed=seed, progressbar=False
    )
    found = found.sel(source=source, classifier="net")
    return [float(found["mean"]), *found["interval"].to_numpy().tolist()]


class Estimates(NamedTuple):
    """Accuracy of "net" and the ends of its interval by models of all raters, and whether a check of the first fails."""

    independent: list[float]
    correlated: list[float]
    grouped: list[float] | None
    alarm: bool | None  # None: not checked


class Posteriors(NamedTuple):
    """Posteriors of people and classifiers by models of their errors."""

    independent: Any
    correlated: Any
    grouped: Any | None  # judge and classifier share a guess


class Samplers:
    """Callable that draws the posteriors of a design's simulations, as `inference.sample` does with the options `FEW`.

    Models are built for one simulation; others have their own answers, as the same raters answer the same items.
    Dawid-Skene and correlated votes, with its prior, have the same draws of prevalence and confusion, which are made once. What
    `inference.sample` does beside, such as a pilot run and a diagnosis of every quantity, is left out.
    """

    def __init__(self, seen: Any, shares: bool) -> None:
        from raterzoo import models
        from raterzoo.inference.labels.correlated_votes import read_correlated_votes
        from raterzoo.inference.labels.shared_guess import constant_guess_prior, read_shared_guess
        from raterzoo.inference.runs.trees import Completion

        self._votes = models.correlated_votes(seen, confusion_concentration=None)
        self._structure = read_correlated_votes(self._votes)
        self._completed = [Completion(model) for model in (models.dawid_skene(seen), self._votes)]
        self._guesses = None
        if shares:
            guesses = models.shared_guess(seen, "kind", ("person",))
            law = read_shared_guess(guesses)
            self._guesses = guesses, law, constant_guess_prior(guesses, law)
            self._completed.append(Completion(guesses))

    def __call__(self, seen: Any, seed: int) -> Posteriors:
        """Draw the posteriors of labels by the same raters of the same items."""
        from raterzoo.inference.labels.correlated_votes import begin_correlated_votes
        from raterzoo.inference.labels.shared_guess import begin_shared_guess
        from raterzoo.inference.runs.run import Draws
        from raterzoo.models.distributions.marginal_labels_kernels import answer_codes

        labels, (n, n_raters) = self._structure.labels, (len(seen.categories), len(seen.raters))
        code = answer_codes(seen.annotation_rater, seen.label_code, n)
        answers = labels.answers._replace(code=code)
        plan = Draws(
            FEW["draws"], None, FEW["chains"], 1, seed, False, FEW["thin"], "float32", densities=False
        )
        alone, prior = {"thinning": np.array(plan.thin)}, self._structure.prior
        beta = prior.confusion.reshape(n_raters, n, n).swapaxes(1, 2)
        evidence = correlation_evidence(seen, prior.prevalence, beta)
        own = replace(
            self._structure, labels=replace(labels, answers=answers), correlation=(evidence.a, evidence.b)
        )
        groups = begin_correlated_votes(own, self._votes, plan, alone).advance(plan.draws)
        posterior = groups["posterior"]
        independent = posterior.drop_vars(["vote_correlation", "independent_plausibility"])
        independent = independent.assign(plausibility=posterior["independent_plausibility"])
        found = [groups | {"posterior": independent}, groups]
        if self._guesses is not None:
            model, law, of_guesses = self._guesses
            law = replace(law, answers=answers)
            found.append(begin_shared_guess((law, of_guesses), model, plan, alone).advance(plan.draws))
        trees = [done(own) for done, own in zip(self._completed, found, strict=True)]
        for tree in trees:  # else those of the first simulation
            observed = tree["observed_data"].to_dataset()
            label = observed["observed_label"].copy(data=seen.label_code)
            tree["observed_data"] = observed.assign(observed_label=label)
        return Posteriors(trees[0], trees[1], trees[2] if self._guesses is not None else None)


@lru_cache
def samplers_of(design: Design) -> Samplers:
    """Return the samplers of a design, built once in each process."""
    _, labels, predictions = simulated(design, np.random.default_rng(0))
    return Samplers(labels.with_predictions(predictions), design.copies is not None)


def of_joint(design: Design, simulation: tuple[int, bool]) -> Estimates:
    """Return the joint estimates of one simulation, given by its seed and whether the joint posterior is checked."""
    from raterzoo import evaluation

    seed, is_checked = simulation
    _, labels, predictions = simulated(design, np.random.default_rng(seed))
    trees = samplers_of(design)(labels.with_predictions(predictions), seed)
    own = predictions.sel(classifier=["net"])

    def scored(tree: Any) -> list[float]:
        drawn = evaluation.metric_draws(
            evaluation.top_k_accuracy(1), tree, own, resamples=1, random_seed=seed, progressbar=False
        )["both"].to_numpy()
        return [float(drawn.mean()), *np.quantile(drawn, [0.05, 0.95]).tolist()]

    grouped = None if trees.grouped is None else scored(trees.grouped)
    alarm = None
    if is_checked:
        found = evaluation.model_checks(trees.independent, "kind", replicates=REPLICATES, random_seed=seed)
        alarm = not found.attrs["fits"]
    return Estimates(scored(trees.independent), scored(trees.correlated), grouped, alarm)


def coverage_row(design: Design, found: list[Estimates]) -> list[str]:
    """Return the cells of a design in the table of coverage."""

    def cells(estimates: list[Any]) -> list[str]:
        if None in estimates:
            return [""] * 3
        mean, lower, upper = np.array(estimates).T
        accuracy = design.right_classifier
        covered = ((lower <= accuracy) & (accuracy <= upper)).mean()
        return [f"{covered:.3f}", f"{(mean - accuracy).mean():+.4f}", f"{(upper - lower).mean():.3f}"]

    by = Estimates(*map(list, zip(*found, strict=True)))
    alarms = np.mean([alarm for alarm in by.alarm if alarm is not None])
    return [*cells(by.independent), f"{alarms:.2f}", *cells(by.correlated), *cells(by.grouped)[:2]]


def coverage(simulations: int, cores: int, only: str) -> None:
    """Print the table of coverage."""
    low, high = binom.ppf([0.005, 0.995], simulations, 0.9) / simulations
    print(
        f"90 % intervals, {simulations} simulations each; 99 % of correct ones are in {low:.3f} to {high:.3f}"
    )
    columns = [
        "design",
        "independent",
        "bias",
        "width",
        "a check fails",
        "correlated",
        "bias",
        "width",
        "one group",
        "bias",
    ]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    with ProcessPoolExecutor(cores) as pool:
        for k, (name, design) in enumerate(DESIGNS.items()):
            if only in name:
                seeds = [(100_000 * k + s, s < CHECKED) for s in range(simulations)]
                row = coverage_row(design, [*pool.map(partial(of_joint, design), seeds, chunksize=10)])
                print(f"| {name} | {' | '.join(row)} |", flush=True)
    spent = sum(resource.getrusage(own).ru_utime for own in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"{spent:,.0f} CPU s")


SOFT = ("people", "labels", "probabilities", "mixed")


class Soft(NamedTuple):
    """Estimates by a classifier whose probabilities are known."""

    log_score: np.ndarray  # of the truth of each item (item,)
    claimed: float  # mean probability of the most probable category
    right: float  # share of the items in which it is the truth
    error: float  # of the classifier's estimated accuracy in these items


def simulated_soft(
    rng: np.random.Generator,
    *,
    items: int = 300,
    people: int = 3,
    prevalence: float = 0.5,
    overconfidence: float = 1.0,
) -> tuple[np.ndarray, Any, Any]:
    """Return true categories (item,), labels of people who are right in .8, and probabilities (classifier, item, category).

    The log odds of the classifier, before a factor of overconfidence, are calibrated and normal given the truth; its best label
    is right in .824 of the items of equally frequent categories.
    """
    import xarray as xr
    from raterzoo import models

    distance = 2 * norm.ppf(Design().right_classifier)
    truth = (rng.random(items) < prevalence).astype(int)
    label = np.where(rng.random((items, people)) < Design().right_people, truth[:, None], 1 - truth[:, None])
    log_odds = (2 * truth - 1) * distance**2 / 2 + distance * rng.normal(size=items)
    p = expit(overconfidence * (log_odds + np.log(prevalence / (1 - prevalence))))
    item, rater = np.indices(label.shape)
    table = {"item": item.ravel(), "rater": np.array([f"person {k}" for k in range(people)])[rater.ravel()]}
    labels = models.Labels.from_table(table | {"label": label.ravel()}, categories=range(2))
    coords = {"classifier": ["net"], "item": labels.items, "category": [0, 1]}
    dims = ("classifier", "item", "category")
    return truth, labels, xr.DataArray(np.stack([1 - p, p], axis=-1)[None], coords, dims)


def estimates_of_soft(truth: np.ndarray, labels: Any, predictions: Any, seed: int) -> list[Soft]:
    """Return the estimates of `SOFT`: point estimates by people alone, with the classifier's labels, and with its probabilities.

    The last one is wrong on purpose: how sure the classifier is of an item is that of another item with the same best label.
    """
    from raterzoo import evaluation, inference

    best = predictions.to_numpy()[0].argmax(axis=1)
    rng, place = np.random.default_rng(seed), np.arange(len(best))
    for category in range(2):
        place[best == category] = rng.permutation(place[best == category])
    mixed = predictions.copy(data=predictions.to_numpy()[:, place])
    joint = labels.with_predictions(predictions)
    fits = [inference.dawid_skene_em(own, restarts=0) for own in (labels, joint)]
    for own in (predictions, mixed):
        features = evaluation.prediction_features(own)
        fits.append(inference.dawid_skene_em(labels, features=features, restarts=0))
    found, each = [], np.arange(len(truth))
    for fit in fits:
        p = fit["plausibility"].to_numpy()
        right, error = (p.argmax(axis=1) == truth).mean(), p[each, best].mean() - (best == truth).mean()
        found.append(Soft(np.log(p[each, truth]), p.max(axis=1).mean(), right, error))
    return found


def soft(simulations: int) -> None:
    """Print what probabilities of a classifier tell beside its labels, for several designs."""
    designs: dict[str, dict[str, Any]] = {
        "three people": {},
        "two people": {"people": 2},
        "a category with a prevalence of .1": {"prevalence": 0.1},
        "an overconfident classifier: log odds times three": {"overconfidence": 3.0},
    }
    print("| design | evidence | log score | claimed | right | bias of the accuracy | its error |")
    print(f"|{'---|' * 7}")
    for design, options in designs.items():
        found = []
        for seed in range(simulations):
            data = simulated_soft(np.random.default_rng(seed), **options)
            found.append(estimates_of_soft(*data, seed))
        for k, name in enumerate(SOFT):
            own = [run[k] for run in found]
            score, error = (
                np.mean([one.log_score.mean() for one in own]),
                np.array([one.error for one in own]),
            )
            claimed, right = (np.mean([getattr(one, part) for one in own]) for part in ("claimed", "right"))
            cells = f"{score:.3f} | {claimed:.3f} | {right:.3f} | {error.mean():+.4f} | {np.sqrt((error**2).mean()):.4f}"
            print(f"| {design} | {name} | {cells} |", flush=True)


def pattern_probabilities(design: Design) -> np.ndarray:
    """Return the probability of each pattern of answers (0 or 1, one axis for each rater: people, "net", judge) of an item."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    raters = [design.right_people] * design.people + [design.right_classifier] * (
        1 + (design.copies is not None)
    )
    log_odds = [_log_odds(right, design.hardness) for right in raters]
    right = expit(np.add.outer(log_odds, design.hardness * nodes))  # (rater, node)
    patterns = np.zeros((2,) * len(raters))
    for truth in range(2):
        for pattern in np.ndindex(patterns.shape):
            p = np.where(np.array(pattern)[:, None] == truth, right, 1 - right)
            if design.copies is not None:
                p[-1] = design.copies * (pattern[-1] == pattern[-2]) + (1 - design.copies) * p[-1]
            patterns[pattern] += weights / weights.sum() @ p.prod(axis=0) / 2
    return patterns


def nearest_independent(patterns: np.ndarray, iterations: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Return the patterns' probabilities by the nearest law of independent errors, and the raters' probabilities of being right.

    EM on the expected counts, from raters who are right in .75. Shapes: patterns (2, ... by rater); right (rater, truth).
    """
    answer = np.indices(patterns.shape).reshape(patterns.ndim, -1)
    observed, prevalence, right = patterns.ravel(), np.full(2, 0.5), np.full((patterns.ndim, 2), 0.75)
    for _ in range(iterations):
        agrees = answer[:, None] == np.arange(2)[:, None]  # (rater, truth, pattern)
        joint = prevalence[:, None] * np.where(agrees, right[:, :, None], 1 - right[:, :, None]).prod(axis=0)
        expected = observed * joint / joint.sum(axis=0)
        prevalence = expected.sum(axis=1)
        right = (expected * agrees).sum(axis=2) / prevalence
    return joint.sum(axis=0).reshape(patterns.shape), right


def bound() -> None:
    """Print the power of the best test of independent errors, for the designs in which that law is false."""
    print("| design | the classifier's accuracy by the nearest law | power of the best test |")
    print(f"|{'---|' * 3}")
    for name, design in list(DESIGNS.items())[LAW_HOLDS:]:
        patterns = pattern_probabilities(design)
        nearest, right = nearest_independent(patterns)
        divergence = float((patterns * np.log(patterns / nearest)).sum())
        power = norm.sf(norm.isf(0.05) - np.sqrt(2 * design.items * divergence))
        print(f"| {name} | {right[design.people].mean():.3f} | {power:.2f} |")


def timing(items: int = 20_000) -> None:
    """Print CPU times of `inference.sample` of Dawid-Skene by five people an item, without and with three classifiers."""
    import xarray as xr
    from raterzoo import models

    rng = np.random.default_rng(1)
    _, labels, one = simulated(Design(people=5, items=items, categories=3), rng)
    said = one.isel(classifier=0).to_numpy()
    wrong = rng.random((3, *said.shape)) < 0.2
    predicted = np.where(wrong, (said + rng.integers(1, 3, wrong.shape)) % 3, said)
    coords = {"classifier": ["a", "b", "c"], "item": labels.items}
    joint = labels.with_predictions(xr.DataArray(predicted, coords, ("classifier", "item", "position")))
    _fitted(
        models.dawid_skene(labels.select(items=labels.items[:100])), 1
    )  # compiles, or reads what is compiled
    seconds: list[float] = []
    for name, own in {"people": labels, "people and classifiers": joint}.items():
        begun = time.process_time()
        _fitted(models.dawid_skene(own), 1)
        seconds.append(time.process_time() - begun)
        print(f"{items:,} items, {len(own):,} answers of {name}: {seconds[-1]:.1f} CPU s", flush=True)
    print(f"{seconds[1] / seconds[0]:.2f} times the time without classifiers")


def estimates(design: Design, seed: int) -> np.ndarray:
    """Return mean, lower and upper end (estimate, 3) by the estimates of `NAMES`, of one simulation."""
    import xarray as xr
    from raterzoo import inference, models

    truth, labels, predictions = simulated(design, np.random.default_rng(seed))
    joint = _fitted(models.dawid_skene(labels.with_predictions(predictions)), seed)
    coords = {"item": labels.items, "category": labels.categories}
    gold = xr.DataArray(np.eye(design.categories)[truth], coords, ("item", "category"))
    drawn = joint["posterior"].to_dataset()
    confusion = drawn["confusion"].sel(rater="net").to_numpy()
    right = (np.diagonal(confusion, axis1=-2, axis2=-1) * drawn["prevalence"].to_numpy()).sum(axis=-1)
    votes = inference.majority_vote(labels)["plausibility"]
    return np.array(
        [
            _by_vote(votes, predictions.sel(classifier="net"), seed),
            _scored(_fitted(models.dawid_skene(labels), seed), predictions, seed),
            _scored(joint, predictions, seed),
            [right.mean(), *np.quantile(right, [0.05, 0.95])],
            _scored(gold, predictions, seed, "items"),
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
    parser.add_argument(
        "table", nargs="?", choices=["coverage", "soft", "timing", "bound"], help="of all designs"
    )
    parser.add_argument("--simulations", type=int, default=500)
    parser.add_argument("--cores", type=int, default=1, help="of the table")
    parser.add_argument("--only", default="", help="designs of the table whose names have this text")
    for name, default in Design()._asdict().items():
        kind = float if default is None else type(default)
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default)
    given = vars(parser.parse_args())
    table, simulations, cores, only = (given.pop(name) for name in ("table", "simulations", "cores", "only"))
    if table == "soft":
        return soft(simulations)
    if table == "timing":
        return timing()
    if table == "bound":
        return bound()
    if table:
        return coverage(simulations, cores, only)
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
