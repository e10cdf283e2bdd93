"""Further rows of `python -m benchmarks.size`: votes, scores, a crowd with spammers, metrics; each beside its peer."""

import contextlib
import io
import os
import resource
import shutil
import subprocess
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

RATERS, EACH = 1000, 10
QUIET: dict[str, Any] = {"random_seed": 1, "progressbar": False}


def cpu(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and its CPU seconds."""
    start = time.process_time()
    return run(), time.process_time() - start


def peak() -> float:
    """Return the peak memory of this process, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def answers(n: int, kind: str, order: str) -> dict[str, np.ndarray]:
    """Simulate columns item, rater and label of raters who err by their own rates."""
    rng = np.random.default_rng(1)
    items = n // EACH
    truth, right = rng.random(items) < 0.4, rng.beta(6, 2, (RATERS, 2))
    item = np.repeat(np.arange(items), EACH)
    first, step = rng.integers(0, RATERS, items), 1 + rng.integers(0, RATERS // EACH, items)
    rater = ((first[:, None] + step[:, None] * np.arange(EACH)) % RATERS).ravel()
    label = (truth[item] ^ (rng.random(len(item)) > right[rater, truth[item].astype(int)])).astype(np.int64)
    columns = {"item": item, "rater": rater, "label": label}
    if order == "shuffled":
        rows = rng.permutation(len(item))
        columns = {name: column[rows] for name, column in columns.items()}
    if kind == "text":
        columns = {name: np.char.add(name[0], column.astype("U7")) for name, column in columns.items()}
    return columns


def votes(n: int, items: int = 130) -> dict[str, np.ndarray]:
    """Simulate anonymous votes between items, as of a leaderboard."""
    rng = np.random.default_rng(1)
    quality = rng.normal(0, 1, items)
    left, step = rng.integers(0, items, n), rng.integers(1, items, n)
    right = (left + step) % items
    wins = rng.random(n) < 1 / (1 + np.exp(quality[right] - quality[left]))
    return {"left": left, "right": right, "winner": np.where(wins, "left", "right")}


def posterior_of_votes(n: int) -> str:
    """Time a frame of votes to the full posterior, 4 x 500 draws."""
    import pandas as pd
    from raterzoo import inference, models

    frame = pd.DataFrame(votes(n))
    few = models.Comparisons.from_table(frame[:20_000])
    warnings.simplefilter("ignore", inference.ConvergenceWarning)
    inference.sample(models.bradley_terry(few), draws=20, **QUIET)  # compiles
    data, read = cpu(lambda: models.Comparisons.from_table(frame))
    tree, drawn = cpu(lambda: inference.sample(models.bradley_terry(data), draws=500, **QUIET))
    verdict = inference.diagnose(tree).attrs["verdict"].partition(" over")[0]
    return f"{read + drawn:.2f} CPU s (table {read:.2f}), {peak():.2f} GB; {verdict}"


def votes_by_evalica(n: int) -> str:
    """Time evalica's estimate, which has no intervals, from the same frame."""
    if not find_spec("evalica"):
        return "not installed; 2 CPU s where it was"
    import evalica
    import pandas as pd

    frame = pd.DataFrame(votes(n))

    def fit() -> Any:
        x, y = (evalica.Winner.X, evalica.Winner.Y)
        winners = [x if winner == "left" else y for winner in frame["winner"]]
        return evalica.bradley_terry(frame["left"], frame["right"], winners)

    _, seconds = cpu(fit)
    return f"{seconds:.2f} CPU s, {peak():.2f} GB; an estimate without intervals"


def votes_by_arena_rank(n: int) -> str:
    """Time arena-rank's estimate with its sandwich intervals, from the same frame, with compilation."""
    if not find_spec("arena_rank"):
        return "not installed; 7 to 11 CPU s where it was"
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    own = votes(n)
    winner = np.where(own["winner"] == "left", "model_a", "model_b")
    frame = pd.DataFrame({"model_a": own["left"], "model_b": own["right"], "winner": winner})

    def fit() -> Any:
        data = PairDataset.from_pandas(frame)
        return BradleyTerry(len(data.competitors)).compute_ratings_and_cis(data)

    _, seconds = cpu(fit)
    return f"{seconds:.2f} CPU s, {peak():.2f} GB; sandwich intervals"


def rank_biased_overlap() -> str:
    """Time rank-biased overlap of four classifiers with the lists of 4,000 draws of the dermatology set."""
    if not os.environ.get("RATERZOO_DATA"):
        return "RATERZOO_DATA is not set"
    from raterzoo import evaluation, inference, models

    from benchmarks.evaluation import CLASSIFIERS, probabilities, read

    rankings = read()
    tree = inference.sample(models.plackett_luce(rankings, reliability=3), **QUIET)
    guesses = probabilities(rankings.items, rankings.categories, CLASSIFIERS)
    metric = evaluation.rank_biased_overlap()
    evaluation.uncertainty_adjusted(
        metric, tree.isel(draw=slice(0, 2)), guesses, **QUIET
    )  # compiles and imports
    _, seconds = cpu(lambda: evaluation.uncertainty_adjusted(metric, tree, guesses, **QUIET))
    return f"{seconds:.1f} CPU s"


def installed() -> str:
    """Time installation and a small table to its labels, each package in a fresh virtual environment."""
    from benchmarks.start import FIRST_LABELS, first_label

    if not shutil.which("uv"):
        return "uv is not installed"
    found = []
    for name in FIRST_LABELS:
        try:
            installing, first, later, _ = first_label(name)
        except subprocess.CalledProcessError:
            found.append(f"{name} cannot be installed here")
            continue
        found.append(
            f"{name} {installing:.1f} s wall to install, first run {first[1]:.1f} CPU s, later {later[1]:.1f}"
        )
    return "; ".join(found)


def posterior_of_scores(items: int, raters: int = 10) -> str:
    """Time the hierarchical posterior of items that all raters scored, 4 x 1,000 draws, by defaults."""
    import pandas as pd
    from raterzoo import inference, models

    rng = np.random.default_rng(1)
    item, rater = (a.ravel() for a in np.meshgrid(np.arange(items), np.arange(raters), indexing="ij"))
    bias, scale = rng.normal(0, 0.5, raters), rng.uniform(0.5, 1.2, raters)
    score = rng.normal(0, 1, items)[item] + bias[rater] + scale[rater] * rng.standard_normal(len(item))
    frame = pd.DataFrame({"item": item, "rater": rater, "score": score})
    warnings.simplefilter("ignore", inference.CostWarning)  # that not all draws are kept
    data = models.Scores.from_table(frame)
    tree, seconds = cpu(lambda: inference.sample(models.hierarchical_scores(data), **QUIET))
    verdict = inference.diagnose(tree).attrs["verdict"].partition(" over")[0]
    return f"{seconds:.0f} CPU s with compilation, {peak():.2f} GB; {verdict}"


def crowd_with_spammers(law: str) -> str:
    """Time MACE by Gibbs beside Dawid-Skene's model: 25,000 answers of 176 raters, 4 x 1,000 draws with the pilot's thinning."""
    from raterzoo import inference, models

    simulate, categories = models.simulators.labels, 2 if law == "mace" else 4
    few = simulate(model=law, items=50, raters=10, answers=5, categories=categories, random_seed=1).data
    data = simulate(model=law, items=5000, raters=176, answers=5, categories=categories, random_seed=1).data
    warnings.simplefilter("ignore", inference.ConvergenceWarning)
    found = {}
    for build in (models.mace, models.dawid_skene):
        inference.sample(build(few), draws=10, tune=10, **QUIET)  # compiles
        model = build(data)
        tree, seconds = cpu(lambda model=model: inference.sample(model, log_likelihood=False, **QUIET))
        found[build.__name__] = seconds, int(tree["sample_stats"]["thinning"])
    (mace, thin), (plain, other) = found["mace"], found["dawid_skene"]
    return f"{mace:.1f} CPU s ({thin} sweeps a draw), Dawid-Skene {plain:.1f} ({other}): {mace / plain:.1f} times"


def metrics_of_groups() -> str:
    """Time intervals of metrics in 20 groups of items: 2,000 items, 10 categories, 4,000 draws."""
    import xarray as xr
    from raterzoo import evaluation

    from benchmarks.evaluation import dense

    tree, guesses = dense(2_000, 10, (4, 1000))
    group = xr.DataArray(np.random.default_rng(1).integers(0, 20, 2_000), {"item": tree["item"]}, ("item",))
    found, some = [], {"by": group, **QUIET}
    for metric in (evaluation.f1(), evaluation.matthews_correlation(), evaluation.roc_auc()):
        few = tree.isel(draw=slice(0, 2))
        evaluation.metric_intervals(metric, few, guesses, resamples=2, **some)  # compiles and imports
        _, seconds = cpu(lambda metric=metric: evaluation.metric_intervals(metric, tree, guesses, **some))
        found.append(f"{metric.name} {seconds:.1f}")
    return f"{', '.join(found)} CPU s"


def searches(estimator: str, n: int) -> str:
    """Time the search for optima of binary answers by defaults, beside 20 random starts that are all run to their end."""
    import pandas as pd
    from raterzoo import inference, models, papers

    warnings.simplefilter("ignore", inference.EstimateWarning)
    labels = models.Labels.from_table(pd.DataFrame(answers(n, "integers", "sorted")))
    few = labels.select(items=labels.items[:200])
    estimate, groups = getattr(papers, estimator), {}
    if estimator == "shared_guess_em":
        groups = {"groups": {rater: "ab"[k % 2] for k, rater in enumerate(labels.raters.tolist())}}
        estimate(few, {rater: groups["groups"][rater] for rater in few.raters.tolist()})  # compiles
    else:
        estimate(few)
    search, seconds = cpu(lambda: estimate(labels, random_seed=1, **groups))
    every, longer = cpu(lambda: estimate(labels, random_seed=1, restarts=20, **groups))
    worse = (every.attrs["objective"] - search.attrs["objective"]) / abs(every.attrs["objective"])
    return f"{seconds:.1f} CPU s, all to the end {longer:.1f}: {longer / seconds:.1f} times; objective lower by {worse:.0e} of it"


def metrics() -> str:
    """Time metrics of a posterior beside the loop over its draws: 2,000 items, 10 categories, 4,000 draws."""
    from benchmarks.evaluation import against_loops

    names = ("top_3_accuracy", "macro_f1", "matthews_correlation")
    with contextlib.redirect_stdout(io.StringIO()):
        ratios = against_loops(names)
    return ", ".join(f"{name} {ratio:.0f} times" for name, ratio in ratios.items())


Row = tuple[str, Callable[..., str], tuple[Any, ...], str]  # what it is, function, arguments, limit


def further_rows(n: int) -> list[Row]:
    """Return the rows; those of many votes, scores or answers have the stated size where `n` is ten million."""
    ballots, items, some = max(20_000, n // 10), max(1000, n // 100), max(20_000, n // 100)
    return [
        (
            f"{ballots:,} votes on 130 items to the posterior, 4 x 500",
            posterior_of_votes,
            (ballots,),
            "2.5 CPU s",
        ),
        ("the same votes by evalica", votes_by_evalica, (ballots,), ""),
        ("the same votes by arena-rank", votes_by_arena_rank, (ballots,), ""),
        (
            f"{items:,} items scored by 10 raters, hierarchical, 4 x 1,000",
            posterior_of_scores,
            (items,),
            "2 GB",
        ),
        ("MACE by Gibbs, two categories", crowd_with_spammers, ("mace",), "twice Dawid-Skene"),
        (
            "MACE by Gibbs, four categories, confused raters",
            crowd_with_spammers,
            ("dawid_skene",),
            "the same",
        ),
        *[
            (f"{own:,} answers to the estimate of {name}, restarts='auto'", searches, (name, own), "")
            for name, own in (("mace_em", ballots), ("glad_em", ballots), ("shared_guess_em", some))
        ],
        ("metrics beside the loop over draws", metrics, (), "50 times"),
        ("metrics with intervals in 20 groups of items", metrics_of_groups, (), ""),
        ("rank-biased overlap, dermatology, four classifiers", rank_biased_overlap, (), "5 CPU s"),
        ("installation to the labels of a small table", installed, (), "twice crowd-kit"),
    ]
