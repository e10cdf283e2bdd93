"""Point estimate of Dawid and Skene's model by EM, with every distinct optimum that random starts find."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from scipy.optimize import linear_sum_assignment

from ..._messages import OUR_FILES
from ...models.data.labels import Labels
from ...models.data.prior_arguments import default_confusion
from ...models.distributions.marginal_labels_kernels import answer_sweeps
from ..diagnostics import EstimateWarning
from ..parallel.workers import AnyExecutor
from . import sharded_answers
from .kernels.em import AnswerPatterns, EmResult, pattern_plausibility, run_em, run_em_on_patterns
from .sharded_answers import LabelWork, label_work, total
from .votes import (
    UNIDENTIFIED,
    check_search,
    estimate_coords,
    patterns_of,
    seeded_generator,
    unconverged,
    vote_starts,
)

Prior = tuple[np.ndarray, np.ndarray]


@contextmanager
def open_labels(
    labels: Labels, executor: AnyExecutor, shards: int | None, folder: str | Path | None
) -> "Iterator[EmData]":
    """Context manager: labels in memory, or in shards if an executor or a number of shards is given."""
    if executor is None and shards is None:
        yield InMemory(patterns_of(labels), len(labels.categories))
    else:
        with label_work(labels, executor, shards, folder) as work:
            yield InShards(work)


class InMemory:
    """Labels in the memory of this process."""

    def __init__(self, patterns: AnswerPatterns, n_categories: int) -> None:
        self._patterns, self._n = patterns, n_categories

    def runs(
        self, restarts: int, random_seed: int | None, prior: Prior, stop: tuple[int, float]
    ) -> Iterator[EmResult]:
        """Yield the EM result from the vote shares, then from `restarts` random starts near them.

        `prior` holds the pseudo-counts of prevalence and confusion; `stop` the largest number of iterations
        and the relative gain of the objective below which a start has converged.
        """
        rng = np.random.default_rng(random_seed)
        for plausibility in vote_starts(self._patterns, self._n, restarts, rng):
            yield run_em_on_patterns(self._patterns, plausibility, prior, *stop)

    def expected_labels(self, run: EmResult) -> np.ndarray:
        """Return the expected labels by true category, shape (rater * label, category)."""
        patterns, counts = self._patterns, np.empty(run.table.shape)
        plausibility, _ = pattern_plausibility(patterns, run.prevalence, run.table)
        answer_sweeps(self._n).counts(plausibility, patterns.multiplicity, patterns.answers, counts)
        return counts

    def plausibility(self, run: EmResult) -> np.ndarray:
        """Return p(true category | estimate, answers), shape (item, category)."""
        plausibility, _ = pattern_plausibility(self._patterns, run.prevalence, run.table)
        return plausibility[self._patterns.pattern]


class InShards:
    """Labels in shards that workers process."""

    def __init__(self, work: LabelWork) -> None:
        self._work = work

    def runs(
        self, restarts: int, random_seed: int | None, prior: Prior, stop: tuple[int, float]
    ) -> Iterator[EmResult]:
        """Yield the EM result of every start; the starts do not depend on the division into shards."""
        work = self._work
        seed = int(np.random.SeedSequence(random_seed).generate_state(1)[0])
        for number in range(restarts + 1):
            if number:
                sweep = sharded_answers.Sweep(seed, number, 0)
                expected = total(work.map(sharded_answers.counts_near_vote, work.shape, sweep, False))
            else:
                expected = total(work.map(sharded_answers.vote_counts, work.shape))

            def expect(prevalence, table, expected=expected):
                counts, log_likelihood = self._expected(prevalence, table)
                for whole, summed in zip(expected, counts, strict=True):
                    whole[...] = summed
                return log_likelihood

            yield run_em(expect, expected, prior, *stop)

    def expected_labels(self, run: EmResult) -> np.ndarray:
        """Return the expected labels by true category, shape (rater * label, category)."""
        (_, labels), _ = self._expected(run.prevalence, run.table)
        return labels

    def plausibility(self, run: EmResult) -> np.ndarray:
        """Return p(true category | estimate, answers), shape (item, category)."""
        parameters = run.prevalence, np.ascontiguousarray(run.table)
        parts = self._work.map(sharded_answers.plausibility, parameters)
        return np.concatenate([part for part, _ in parts])

    def _expected(self, prevalence, table):
        """Return expected counts and log likelihood, summed over the shards."""
        parameters, log_p = (prevalence, np.ascontiguousarray(table)), []

        def counts():
            for part, log_likelihood in self._work.map(sharded_answers.expected_counts, parameters):
                log_p.append(log_likelihood)
                yield part

        return total(counts()), sum(log_p)


EmData = InMemory | InShards

# --- The estimator ---

SAME_OBJECTIVE, SAME_PLAUSIBILITY = 1e-6, 0.01  # largest relative and absolute difference at one optimum
LEAST_ANSWERS = (
    0.01  # expected answers to items of a category from which maximum likelihood gives a rater's row
)


def dawid_skene_em(
    labels: Labels,
    *,
    start: Literal["vote"] = "vote",
    prior: Literal["diagonal"] | None = "diagonal",
    restarts: int = 20,
    max_iterations: int = 1000,
    tolerance: float = 1e-10,
    random_seed: int | None = None,
    executor: AnyExecutor = None,
    shards: int | None = None,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Estimate prevalence, confusion matrices and true categories by EM.

        T_i ~ Categorical(p),   P(rater k says l | T_i = j) = pi^k_jl
        E-step  P(T_i = j | answers) proportional to  p_j prod of pi^k_jl over the answers to i
        M-step  p_j and pi^k_jl proportional to  pseudo-counts + expected counts

    ======  ================  ================  =======================
    symbol  meaning           variable          dims
    ======  ================  ================  =======================
    p       prevalence        ``prevalence``    category
    pi      confusion matrix  ``confusion``     rater, category, answer
    P(T)    plausibility      ``plausibility``  item, category
    ======  ================  ================  =======================

    Parameters
    ----------
    labels : Labels
        Labels of identified raters. Gold labels are taken as known true categories; if all items have one,
        the estimate has a closed form.
    start : {"vote"}, default "vote"
        First start: the share of each label among an item's answers.
    prior : {"diagonal"} or None, default "diagonal"
        Prior of the confusion matrices and the prevalence, as in `models.dawid_skene`; the estimate maximises
        the posterior of the log odds. None maximises the likelihood, which overfits raters with few answers;
        the row of a rater with less than .01 expected answers to items of a category is not identified, and NaN.
    restarts : int, default 20
        Number of random starts near the vote shares, from Dirichlet(20 share + .3).
    max_iterations : int, default 1000
        Largest number of iterations per start.
    tolerance : float, default 1e-10
        Relative gain of the objective below which a start has converged.
    random_seed : int, optional
        Seed of the random starts.
    executor : Executor, dask.distributed.Client or int, optional
        Executor of shards of items: anything with ``submit``, or a number of processes. The estimate does not
        depend on it, and equals that of this process but for rounding; random starts are drawn item by item there.
    shards : int, optional
        Number of shards, by default one per million answers; without `executor` a pool of processes shares them.
    folder : path, optional
        Folder of the shards during use, which all workers must see; by default that of temporary files.

    Returns
    -------
    Dataset
        ``prevalence`` (category), ``confusion`` (rater, category, answer), ``plausibility`` (item, category),
        ``log_likelihood`` and ``objective`` (with the log prior) of the best optimum, and ``trace``
        (iteration) of the start that found it. The same with the prefix ``optimum_`` for every distinct
        ``optimum``, the best first; ``optimum_found``, the number of starts that ended there;
        ``vote_optimum``, the optimum reached from the vote shares. Attributes ``log_likelihood``,
        ``converged`` (0 or 1) and ``iterations``.

    Raises
    ------
    ValueError
        If the raters are anonymous, or an argument is out of range.

    Warns
    -----
    EstimateWarning
        If the likelihood alone is maximised, a rater has hardly any expected answers to items of some category
        (the row is NaN), no item has two answers (only the vote is identified), or starts differ or have not
        converged.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> drawn = models.simulators.labels(items=60, raters=5, answers=5, random_seed=3)
    >>> estimate = inference.dawid_skene_em(drawn.data, restarts=3, random_seed=1)
    >>> estimate["confusion"].dims, estimate.sizes["optimum"], estimate.attrs["converged"]
    (('rater', 'category', 'answer'), 1, 1)

    References
    ----------
    Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, JRSS
    C 28(1), doi:10.2307/2346806.
    """
    check_search(labels, "dawid_skene_em", restarts, max_iterations, tolerance)
    if start != "vote":
        raise ValueError(f"start={start!r} is not 'vote'")
    if prior not in ("diagonal", None):
        raise ValueError(f"prior={prior!r} is neither 'diagonal' nor None")
    seeded_generator(random_seed)
    pseudo, stop = _pseudo_counts(labels, prior), (max_iterations, tolerance)
    with open_labels(labels, executor, shards, folder) as em_data:
        runs = list(em_data.runs(restarts, random_seed, pseudo, stop))
        if prior is None and (labels.gold < 0).all():
            runs = [_aligned(run, em_data) for run in runs]
        optima, ended = _distinct(runs, em_data)
        answers = None if prior else np.stack([em_data.expected_labels(run) for run, _ in optima])
    result = _dataset(labels, optima, answers)
    result["optimum_found"] = ("optimum", np.bincount(ended, minlength=len(optima)))
    result["vote_optimum"] = ended[0]
    _warn(labels, prior, result, runs)
    return result


def _pseudo_counts(labels: Labels, prior: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the pseudo-counts: prevalence (category,), confusion (rater * label, category)."""
    n = len(labels.categories)
    if prior is None:
        return np.zeros(n), np.zeros((len(labels.raters) * n, n))
    return np.ones(n), default_confusion(labels).reshape(-1, n)  # symmetric in category and label


def _aligned(run: EmResult, em_data: EmData) -> EmResult:
    """Permute the categories so that raters are right as often as possible; the likelihood is invariant."""
    n = len(run.prevalence)
    right = em_data.expected_labels(run).reshape(-1, n, n).sum(axis=0)  # (label, category)
    _, category = linear_sum_assignment(right, maximize=True)
    return run._replace(prevalence=run.prevalence[category], table=run.table[:, category])


def _distinct(runs: list[EmResult], em_data: EmData) -> tuple[list[tuple[EmResult, np.ndarray]], np.ndarray]:
    """Return one run and plausibility per distinct optimum, the best first; and the optimum of each run."""
    order = np.argsort([-run.trace[-1] for run in runs], kind="stable")
    optima: list[tuple[EmResult, np.ndarray]] = []
    ended = np.empty(len(runs), int)
    for place in order:
        run, own = runs[place], em_data.plausibility(runs[place])
        for k, (other, theirs) in enumerate(optima):
            near = abs(run.trace[-1] - other.trace[-1]) <= SAME_OBJECTIVE * (1 + abs(run.trace[-1]))
            if near and np.abs(own - theirs).max() < SAME_PLAUSIBILITY:
                ended[place] = k
                break
        else:
            ended[place] = len(optima)
            optima.append((run, own))
    return optima, ended


def _dataset(
    labels: Labels, optima: list[tuple[EmResult, np.ndarray]], answers: np.ndarray | None
) -> xr.Dataset:
    """Assemble the result from the optima; rows with hardly any expected answers are NaN, unless these are None.

    Shape: answers, expected labels by true category (optimum, rater * label, category).
    """
    n, runs = len(labels.categories), [run for run, _ in optima]
    tables = np.stack([run.table for run in runs]).reshape(len(runs), -1, n, n)
    if answers is not None:
        total = answers.reshape(tables.shape).sum(axis=2, keepdims=True)
        tables = np.where(total < LEAST_ANSWERS, np.nan, tables)
    variables: dict[str, Any] = {
        "prevalence": (("category",), np.stack([run.prevalence for run in runs])),
        "confusion": (("rater", "category", "answer"), tables.swapaxes(2, 3)),
        "plausibility": (("item", "category"), np.stack([own for _, own in optima])),
        "log_likelihood": ((), np.array([run.log_likelihood for run in runs])),
        "objective": ((), np.array([run.trace[-1] for run in runs])),
    }
    data = {name: (dims, values[0]) for name, (dims, values) in variables.items()}
    data |= {f"optimum_{k}": (("optimum", *dims), v) for k, (dims, v) in variables.items()}
    data["trace"] = (("iteration",), runs[0].trace)
    attrs = {"log_likelihood": float(runs[0].log_likelihood), "converged": int(runs[0].converged)}
    return xr.Dataset(data, estimate_coords(labels), attrs | {"iterations": len(runs[0].trace)})


def _warn(labels: Labels, prior: str | None, result: xr.Dataset, runs: list[EmResult]) -> None:
    """Warn of overfitting, unidentified raters, several optima or starts that have not converged."""
    reasons = [] if labels.identified else [UNIDENTIFIED]
    if prior is None:
        problem = "maximum likelihood is overconfident and overfits raters with few answers"
        reasons.append(f"{problem}; prior='diagonal' does not")
        unseen = np.argwhere(result["confusion"].isnull().any("answer").to_numpy())
        if len(unseen):
            rater, category = (labels.raters[unseen[0][0]].item(), labels.categories[unseen[0][1]].item())
            one = len(unseen) == 1
            reasons.append(
                f"{'a row' if one else f'{len(unseen):,} rows'} of confusion matrices with less than {LEAST_ANSWERS} expected "
                f"answers {'is' if one else 'are'} NaN: {'' if one else 'first '}rater {rater!r} on items of category "
                f"{category!r}"
            )
    if (several := result.sizes["optimum"]) > 1:
        reasons.append(
            f"{len(runs)} starts ended at {several} distinct optima; see the variables optimum_..."
        )
    reasons += unconverged([run.converged for run in runs])
    if reasons:
        warnings.warn("; ".join(reasons), EstimateWarning, skip_file_prefixes=OUR_FILES)
