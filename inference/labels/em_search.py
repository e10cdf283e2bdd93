"""EM of a model, and the search for its optima: short runs of many starts on a sample of the items, long runs of the best.

Many starts are affordable on a sample, whose optima are near those of all items; what is reported are runs on all
items until they converge. Few answers are their own sample. A run that has come to a known optimum is not followed.

References
----------
Biernacki, Celeux and Govaert (2003), Choosing starting values for the EM algorithm for getting the highest likelihood in
multivariate Gaussian mixture models, Computational Statistics & Data Analysis 41, 561-575,
doi:10.1016/S0167-9473(02)00163-6.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import xarray as xr

from ..._messages import warn_user
from ...models._prior_arguments import HasCategories, positive_array
from ...models.data.container import require_container
from ...models.data.labels import Labels, expand_answers, require_answers
from ...models.distributions.marginal_labels_kernels import Answers
from ..diagnostics import EstimateWarning
from ..runs.run import check_whole
from .kernels.em import AnswerPatterns, answer_patterns, coded_answers, jittered_vote, vote_share

ASKED_EVERY = 10  # iterations between two questions whether a run has come to a known optimum

Ended = Callable[[Any, float], bool]  # of parameters and objective: whether a run need not be followed
Variables = dict[str, tuple[tuple[str, ...], Any]]  # name -> dims, values


class Rule(NamedTuple):
    """Rule by which a run stops."""

    max_iterations: int
    tolerance: float  # relative gain of the objective below which a run has converged


class EmRun[Parameters](NamedTuple):
    """Result of a run of EM."""

    parameters: Parameters
    trace: np.ndarray  # (iteration,); the objective of every iterate
    log_likelihood: float  # of the parameters
    converged: bool  # whether the last gain was below the tolerance


class EmModel[Parameters, Expected](ABC):
    """EM of a model on some items: a subclass gives both steps, the start, and the variables of the result."""

    round: int = 20  # random starts, after which those that found other optima ask for more
    sampled: bool = True  # whether many items are searched on a sample
    vote_weight: np.ndarray | None = None  # (answer,), of each answer in the vote; None: one

    def __init__(self, patterns: AnswerPatterns | None, n_categories: int, rule: Rule) -> None:
        self.patterns: Any = patterns  # None: not in the memory of this process
        self.n_categories: int = n_categories
        self.rule: Rule = rule

    @abstractmethod
    def expected_of_vote(self, plausibility: np.ndarray) -> Expected:
        """Return the expected counts given p(true category), shape (pattern, category)."""

    @abstractmethod
    def e_step(self, parameters: Parameters) -> tuple[Expected, float]:
        """Return the expected counts and the log likelihood."""

    @abstractmethod
    def m_step(self, expected: Expected) -> tuple[Parameters, float]:
        """Return the parameters, and what the objective adds to their log likelihood."""

    @abstractmethod
    def plausibility(self, parameters: Parameters) -> Any:
        """Return p(true category | parameters, answers), an array (pattern, category) or `RemotePlausibility`."""

    @abstractmethod
    def variables(self, run: EmRun[Parameters]) -> Variables:
        """Return the variables of the result of a run but for the plausibility."""

    def elsewhere(self, run: EmRun[Parameters]) -> Parameters:
        """Return the parameters from which EM on other items of the same raters starts."""
        return run.parameters

    def identified(self, run: EmRun[Parameters]) -> EmRun[Parameters]:
        """Permute the categories of a run if the objective leaves their order open."""
        return run

    @property
    def n_answers(self) -> int | None:
        """Number of answers that a pass reads, None if they are not in the memory of this process."""
        return self.patterns and len(self.patterns.answers.code)

    @property
    def row_of_item(self) -> np.ndarray:
        """Row of each item in the plausibilities, (item,)."""
        return self.patterns.pattern

    def from_vote(self) -> EmRun[Parameters]:
        """Run EM from the vote shares."""
        share = vote_share(self.patterns.answers, self.n_categories, self.vote_weight)
        return self.run(lambda: self.expected_of_vote(share))

    def near_vote(self, rng: np.random.Generator, ended: Ended | None = None) -> EmRun[Parameters]:
        """Run EM from a random start near the vote shares."""
        start = jittered_vote(self.patterns.answers, self.n_categories, rng, self.vote_weight)
        return self.run(lambda: self.expected_of_vote(start), ended)

    def from_parameters(self, parameters: Parameters, ended: Ended | None = None) -> EmRun[Parameters]:
        """Run EM from the estimate on other items, as `elsewhere` gives it."""
        return self.run(lambda: self.e_step(parameters)[0], ended)

    def run(self, start: Callable[[], Expected], ended: Ended | None = None) -> EmRun[Parameters]:
        """Run EM from expected counts."""
        return self.identified(self.iterated(start(), ended))

    def iterated(
        self,
        expected: Expected,
        ended: Ended | None = None,
        begun: Sequence[float] = (),
        passed: Callable[[Expected, list[float]], None] | None = None,
    ) -> EmRun[Parameters]:
        """Repeat both steps until the objective gains less than the tolerance.

        ``ended(parameters, objective)`` is asked after every ten iterations. ``passed(expected, trace)`` is called after
        every iteration that another one follows; `begun` is such a trace of a run that goes on from its counts.
        """
        (most, tolerance), trace = self.rule, [*begun]
        while True:
            parameters, log_prior = self.m_step(expected)
            expected, log_likelihood = self.e_step(parameters)
            trace.append(log_likelihood + log_prior)
            converged = len(trace) > 1 and trace[-1] - trace[-2] <= tolerance * (abs(trace[-1]) + 1)
            is_over = converged or len(trace) >= most
            if not is_over and ended and len(trace) % ASKED_EVERY == 0:
                is_over = ended(parameters, trace[-1])
            if is_over:
                return EmRun(parameters, np.array(trace), log_likelihood, bool(converged))
            if passed:
                passed(expected, trace)


# --- Optima ---

SAME_OBJECTIVE, SAME_PLAUSIBILITY = 1e-6, 0.01  # largest relative and absolute difference at one optimum


class RemotePlausibility(Protocol):
    """Plausibilities that workers compute where they are asked for."""

    def apart(self, other: Any) -> float:
        """Largest difference to another one."""
        ...

    def collected(self) -> np.ndarray | None:
        """Return the array (item, category), unless workers write it."""
        ...


def distinct_optima(
    runs: Sequence[EmRun[Any]], plausibility: Callable[[Any], Any]
) -> tuple[list[tuple[EmRun[Any], Any]], np.ndarray]:
    """Return one run and plausibility per distinct optimum, the best first; and the optimum of each run."""
    order = np.argsort([-run.trace[-1] for run in runs], kind="stable")
    optima: list[tuple[EmRun[Any], Any]] = []
    ended = np.empty(len(runs), int)
    for place in order:
        run, own = runs[place], plausibility(runs[place].parameters)
        for k, (other, theirs) in enumerate(optima):
            if _near(run.trace[-1], other) and _apart(own, theirs) < SAME_PLAUSIBILITY:
                ended[place] = k
                break
        else:
            ended[place] = len(optima)
            optima.append((run, own))
    return optima, ended


def _apart(own: Any, theirs: Any) -> float:
    """Largest difference of plausibilities, arrays or `RemotePlausibility`."""
    return np.abs(own - theirs).max() if isinstance(own, np.ndarray) else own.apart(theirs)


def _near(objective: float, run: EmRun[Any]) -> bool:
    """Whether an objective is that of a run but for rounding and a last gain."""
    return abs(objective - run.trace[-1]) <= SAME_OBJECTIVE * (1 + abs(objective))


class _Known:
    """Optima that runs have come to; plausibilities are compared on the items in memory."""

    def __init__(self, few: EmModel[Any, Any], run: EmRun[Any]) -> None:
        self._few, self.runs = few, [run]
        self._plausibility = [few.plausibility(run.parameters)]

    def place(self, parameters: Any, objective: float) -> int | None:
        """Return the number of the optimum at these parameters, None if it is not known."""
        alike = [k for k, run in enumerate(self.runs) if _near(objective, run)]
        if not alike:
            return None
        own = self._few.plausibility(parameters)
        return next((k for k in alike if _apart(own, self._plausibility[k]) < SAME_PLAUSIBILITY), None)

    def ended(self, parameters: Any, objective: float) -> bool:
        """Whether a run has come to a known optimum."""
        return self.place(parameters, objective) is not None

    def settled(self, run: EmRun[Any]) -> int:
        """Return the number of the optimum of a run, which is added if it is not known."""
        place = self.place(run.parameters, run.trace[-1])
        if place is None:
            self.runs.append(run)
            self._plausibility.append(self._few.plausibility(run.parameters))
            return len(self.runs) - 1
        if run.converged and run.trace[-1] > self.runs[place].trace[-1]:
            self.runs[place] = run
        return place


# --- Search ---

LARGE = 400_000  # answers; fewer are their own sample
SAMPLE, SAMPLE_OF_RATER = 100_000, 100  # least number of answers of a sample, and of them for each rater
MOST_ROUNDS = 5  # of random starts
MOST_PASSES = 2_000_000  # answers times starts, beyond which there is one round
LONG = 3  # runs on all items from optima of the sample other than that of the vote


class LabelIds(HasCategories, Protocol):
    """Ids of labels: those of a `Labels`, or of shards that no process holds together."""

    @property
    def items(self) -> np.ndarray:
        """Ids of the items."""
        ...


class ShardedLabels(LabelIds, Protocol):
    """Labels that no process holds together."""

    @property
    def identified(self) -> bool:
        """Whether raters can be told from rare labels; see `Labels.identified`."""
        ...

    @property
    def has_gold(self) -> bool:
        """Whether an item has a gold label."""
        ...

    def __len__(self) -> int:
        """Return the number of answers."""
        ...

    def sample(self, rng: np.random.Generator, share: float) -> Answers:
        """Draw a share of the items, all if it is 1, and return their answers."""
        ...


class Found(NamedTuple):
    """Result of a search."""

    runs: list[EmRun[Any]]  # one for each optimum, the first from the vote
    run_of_start: np.ndarray  # (start,), the run at whose optimum a start ended; the vote is the first


def found_runs(
    labels: Labels | ShardedLabels,
    whole: EmModel[Any, Any],
    of_patterns: Callable[[AnswerPatterns], EmModel[Any, Any]],
    restarts: int | Literal["auto"],
    rng: np.random.Generator,
) -> Found:
    """Run EM from the vote and from random starts near it, to their end if `restarts` is a number; else search."""
    if isinstance(restarts, str):
        return searched(labels, whole, of_patterns, rng)
    runs = [whole.from_vote(), *(whole.near_vote(rng) for _ in range(restarts))]
    return Found(runs, np.arange(len(runs)))


def searched(
    labels: Labels | ShardedLabels,
    whole: EmModel[Any, Any],
    of_patterns: Callable[[AnswerPatterns], EmModel[Any, Any]],
    rng: np.random.Generator,
) -> Found:
    """Search for optima of all items; `of_patterns` makes the model of a sample of them."""
    vote = whole.from_vote()
    are_few = len(labels) <= max(LARGE, 2 * _size_of_sample(labels))
    if not whole.sampled or (are_few and whole.n_answers is not None):
        return of_many_starts(whole, vote, rng)
    few = of_patterns(_all_patterns(labels, rng) if are_few else _sampled_patterns(labels, rng))
    home = few.from_parameters(whole.elsewhere(vote))
    short = of_many_starts(few, home, rng)
    optima, ended = distinct_optima(short.runs, few.plausibility)
    known, long = _Known(few, vote), {ended[0]: 0}
    for number in [k for k in range(len(optima)) if k != ended[0]][:LONG]:
        run = whole.from_parameters(few.elsewhere(optima[number][0]), known.ended)
        long[number] = known.settled(run)
    ends = [long[number] for number in ended[short.run_of_start[1:]] if number in long]
    return Found(known.runs, np.array([0, *ends]))


def _size_of_sample(labels: Labels | ShardedLabels) -> int:
    """Return the number of answers of a sample."""
    return max(SAMPLE, SAMPLE_OF_RATER * len(labels.raters))


def _all_patterns(labels: Labels | ShardedLabels, rng: np.random.Generator) -> AnswerPatterns:
    """Return the answer patterns of all items."""
    if isinstance(labels, Labels):
        return patterns_of(labels)
    return answer_patterns(labels.sample(rng, 1.0))


def _sampled_patterns(labels: Labels | ShardedLabels, rng: np.random.Generator) -> AnswerPatterns:
    """Draw items, and return their answer patterns."""
    share = _size_of_sample(labels) / len(labels)
    if not isinstance(labels, Labels):
        return answer_patterns(labels.sample(rng, share))
    chosen = rng.random(len(labels.items)) < share
    rows = np.flatnonzero(chosen[labels.annotation_item])
    times = labels.count[rows]
    item = np.repeat((np.cumsum(chosen) - 1)[labels.annotation_item[rows]], times)
    rater, label = (np.repeat(code[rows], times) for code in (labels.annotation_rater, labels.label_code))
    return answer_patterns(coded_answers(item, rater, label, labels.gold[chosen], len(labels.categories)))


def of_many_starts(few: EmModel[Any, Any], first: EmRun[Any], rng: np.random.Generator) -> Found:
    """Run EM from rounds of random starts near the vote, more while they find optima that are not known."""
    known, ends, found = _Known(few, first), [0], 0
    most = few.round * MOST_ROUNDS
    if (few.n_answers or 0) * most > MOST_PASSES:
        most = few.round
    while found < len(known.runs) and len(ends) <= most:
        found = len(known.runs)
        ends += [known.settled(few.near_vote(rng, known.ended)) for _ in range(few.round)]
    return Found(known.runs, np.array(ends))


# --- Estimates ---

UNIDENTIFIED = "no item has two answers: the raters are not identified, the estimate repeats the vote and the prior"  # fmt: skip


class Optima(NamedTuple):
    """Distinct optima, the best first, and the runs of the starts."""

    runs: list[EmRun[Any]]
    ended: list[EmRun[Any]]  # for each start, the vote first, the run at whose optimum it ended


def estimate_of_labels(
    labels: Labels,
    of_patterns: Callable[[AnswerPatterns], EmModel[Any, Any]],
    restarts: int | Literal["auto"],
    random_seed: int | None,
) -> tuple[xr.Dataset, Optima]:
    """Estimate from labels in memory; warn of lower optima and of what `warn_estimate` names."""
    rng, model = seeded_generator(random_seed), of_patterns(patterns_of(labels))
    result, optima = estimate_of_runs(labels, model, found_runs(labels, model, of_patterns, restarts, rng))
    objective = result["start_objective"].to_numpy()
    lower = int((objective < objective.max() - SAME_OBJECTIVE * (1 + abs(objective.max()))).sum())
    ended_lower = f"{lower} of {len(objective)} starts ended at a lower optimum; see start_objective"
    warn_estimate(labels, optima, [ended_lower] * bool(lower))
    return result, optima


def estimate_of_runs(
    labels: Labels | ShardedLabels, model: EmModel[Any, Any], found: Found
) -> tuple[xr.Dataset, Optima]:
    """Assemble an estimate: variables of the best optimum, the same of every `optimum`, and where the starts ended."""
    optima, of_run = distinct_optima(found.runs, model.plausibility)
    optimum_of_start, ended = of_run[found.run_of_start], [found.runs[k] for k in found.run_of_start]
    of_optima = []
    for run, own in optima:
        by_item = own[model.row_of_item] if isinstance(own, np.ndarray) else own.collected()
        plausibility = {} if by_item is None else {"plausibility": (("item", "category"), by_item)}
        of_optima.append(model.variables(run) | plausibility)
    best, run = of_optima[0], optima[0][0]
    data: dict[str, Any] = {**best, "trace": (("iteration",), run.trace)}
    data |= {
        f"optimum_{name}": (("optimum", *dims), np.stack([own[name][1] for own in of_optima]))
        for name, (dims, _) in best.items()
    }
    data["optimum_objective"] = ("optimum", np.array([run.trace[-1] for run, _ in optima]))
    data["optimum_found"] = ("optimum", np.bincount(optimum_of_start, minlength=len(optima)))
    data["vote_optimum"] = ((), optimum_of_start[0])
    data["start_objective"] = ("start", np.array([run.trace[-1] for run in ended]))
    attrs = {"objective": float(run.trace[-1]), "converged": int(run.converged)}
    attrs |= {"iterations": len(run.trace), "start": int(data["start_objective"][1].argmax())}
    result = xr.Dataset(data, estimate_coords(labels, "plausibility" in best), attrs)
    return result, Optima([run for run, _ in optima], ended)


def warn_estimate(labels: Labels | ShardedLabels, optima: Optima, reasons: list[str]) -> None:
    """Warn if no item has two answers, for `reasons`, or if starts have not converged."""
    stopped = [run.converged for run in optima.ended].count(False)
    unconverged = f"{stopped} of {len(optima.ended)} starts have not converged; raise max_iterations"
    said = [UNIDENTIFIED] * (not labels.identified) + reasons + [unconverged] * bool(stopped)
    if said:
        warn_user("; ".join(said), EstimateWarning)


# --- Arguments, answers and coordinates of estimates ---


def check_search(
    labels: Labels, estimator: str, restarts: int | Literal["auto"], max_iterations: int, tolerance: float
) -> None:
    """Raise unless raters are identified and arguments in range; `estimator` is named in the message."""
    require_container(labels, Labels)
    require_answers(labels)
    if labels.anonymous:
        raise ValueError(
            f"{estimator} describes each rater, but these labels are counts of anonymous raters; read a table with raters"
        )
    check_iterations(restarts, max_iterations, tolerance)


def check_iterations(restarts: int | Literal["auto"], max_iterations: int, tolerance: float) -> None:
    """Raise unless the arguments of a search are in range."""
    if isinstance(restarts, str):
        if restarts != "auto":
            raise ValueError(f"restarts={restarts!r} must be 'auto' or a whole number from 0")
    else:
        check_whole("restarts", restarts, 0)
    check_whole("max_iterations", max_iterations)
    number = isinstance(tolerance, int | float | np.integer | np.floating)
    if not number or isinstance(tolerance, bool) or tolerance != tolerance:
        raise ValueError(f"tolerance={tolerance!r} must be a number; below zero every iteration is made")


def prevalence_concentrations(
    concentration: Any | Literal["uniform"], n_categories: int
) -> np.ndarray | None:
    """Return the Dirichlet concentrations (category,) of the prevalence; None if it is fixed as uniform."""
    if isinstance(concentration, str) and concentration == "uniform":
        return None
    return positive_array("prevalence_concentration", concentration, (n_categories,))


def seeded_generator(random_seed: int | None) -> np.random.Generator:
    """Return the random generator of a seed; raise unless it is a whole number from 0, or None."""
    whole = isinstance(random_seed, int | np.integer) and not isinstance(random_seed, bool)
    if random_seed is not None and (not whole or random_seed < 0):
        raise ValueError(f"random_seed={random_seed!r} must be a whole number from 0, or None")
    return np.random.default_rng(random_seed)


def patterns_of(labels: Labels) -> AnswerPatterns:
    """Return the distinct answer patterns of the items, with their multiplicities."""
    item, rater, label = expand_answers(labels)
    return answer_patterns(coded_answers(item, rater, label, labels.gold, len(labels.categories)))


def estimate_coords(labels: LabelIds, items: bool = True) -> dict[str, Any]:
    """Return the coordinates of an estimate: ids of items, unless it has none, and raters, categories and answers."""
    coords = {"item": labels.items} if items else {}
    return coords | {"rater": labels.raters} | dict.fromkeys(("category", "answer"), labels.categories)
