"""Search for the optima of EM: short runs of many starts on a sample of the items, long runs of the best on all items.

Many starts are affordable on a sample, whose optima are near those of all items; what is reported are runs on all
items until they converge. Few answers are their own sample. A run that has come to a known optimum is not followed.

References
----------
Biernacki, Celeux and Govaert (2003), Choosing starting values for the EM algorithm for getting the highest likelihood in
multivariate Gaussian mixture models, Computational Statistics & Data Analysis 41, 561-575,
doi:10.1016/S0167-9473(02)00163-6.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import xarray as xr

from ...models.data.labels import Labels
from ...models.distributions.marginal_labels_kernels import Answers
from .kernels.em import ASKED_EVERY, AnswerPatterns, answer_patterns, coded_answers
from .votes import LabelIds, estimate_coords, patterns_of, seeded_generator, warn_estimate


class Ascent(Protocol):
    """Result of a run of EM."""

    @property
    def trace(self) -> np.ndarray:
        """Objective of every iterate."""
        ...

    @property
    def converged(self) -> bool:
        """Whether the last gain was below the tolerance."""
        ...


Ended = Callable[[Any, float], bool]  # of parameters and objective: whether a run need not be followed


class Ascents[Run: Ascent](Protocol):
    """EM of a model on some items."""

    @property
    def n_answers(self) -> int | None:
        """Number of answers that a pass reads, None if they are not in the memory of this process."""
        ...

    def from_vote(self) -> Run:
        """Run EM from the vote."""
        ...

    def near_vote(self, rng: np.random.Generator, ended: Ended | None = None) -> Run:
        """Run EM from a random start near the vote."""
        ...

    def from_parameters(self, parameters: Any, ended: Ended | None = None) -> Run:
        """Run EM from the estimate on other items of the same raters, as `elsewhere` gives it."""
        ...

    def elsewhere(self, run: Run) -> Any:
        """Return the parameters from which EM on other items starts."""
        ...

    def parameters(self, run: Run) -> Any:
        """Return the parameters at the end of a run, as `Ended` is asked about them."""
        ...

    def compared(self, parameters: Any) -> np.ndarray:
        """Return p(true category | parameters, answers), shape (pattern, category)."""
        ...


# --- Optima ---

SAME_OBJECTIVE, SAME_PLAUSIBILITY = 1e-6, 0.01  # largest relative and absolute difference at one optimum


class RemotePlausibility(Protocol):
    """Plausibilities that workers compute where they are asked for."""

    def apart(self, other: Any) -> float:
        """Largest difference to another one."""
        ...


class Plausible[Run](Protocol):
    """Plausibilities of all items at the end of a run."""

    def plausibility(self, run: Run) -> Any:
        """Return p(true category | estimate, answers), an array (item, category) or `RemotePlausibility`."""
        ...


def distinct_optima[Run: Ascent](
    runs: Sequence[Run], data: Plausible[Run]
) -> tuple[list[tuple[Run, Any]], np.ndarray]:
    """Return one run and plausibility per distinct optimum, the best first; and the optimum of each run."""
    order = np.argsort([-run.trace[-1] for run in runs], kind="stable")
    optima: list[tuple[Run, Any]] = []
    ended = np.empty(len(runs), int)
    for place in order:
        run, own = runs[place], data.plausibility(runs[place])
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


def _near(objective: float, run: Ascent) -> bool:
    """Whether an objective is that of a run but for rounding and a last gain."""
    return abs(objective - run.trace[-1]) <= SAME_OBJECTIVE * (1 + abs(objective))


class _Known[Run: Ascent]:
    """Optima that runs have come to; plausibilities are compared on the items in memory."""

    def __init__(self, few: Ascents[Run], run: Run, own: Ascents[Run]) -> None:
        self._few, self._own, self.runs = few, own, [run]
        self._plausibility = [few.compared(own.parameters(run))]

    def place(self, parameters: Any, objective: float) -> int | None:
        """Return the number of the optimum at these parameters, None if it is not known."""
        alike = [k for k, run in enumerate(self.runs) if _near(objective, run)]
        if not alike:
            return None
        own = self._few.compared(parameters)
        apart = (np.abs(own - self._plausibility[k]).max() for k in alike)
        return next((k for k, far in zip(alike, apart, strict=True) if far < SAME_PLAUSIBILITY), None)

    def ended(self, parameters: Any, objective: float) -> bool:
        """Whether a run has come to a known optimum."""
        return self.place(parameters, objective) is not None

    def settled(self, run: Run) -> int:
        """Return the number of the optimum of a run, which is added if it is not known."""
        parameters = self._own.parameters(run)
        place = self.place(parameters, run.trace[-1])
        if place is None:
            self.runs.append(run)
            self._plausibility.append(self._few.compared(parameters))
            return len(self.runs) - 1
        if run.converged and run.trace[-1] > self.runs[place].trace[-1]:
            self.runs[place] = run
        return place


# --- Iterations ---


def ascended(
    iterate: Callable[[], tuple[float, Any]],
    max_iterations: int,
    tolerance: float,
    ended: Ended | None = None,
) -> tuple[np.ndarray, bool]:
    """Repeat an iteration of EM until it gains less than `tolerance`, relative to the objective.

    ``iterate()`` returns the objective and the parameters, about which ``ended(parameters, objective)`` is asked after every
    ten iterations. Returns the trace of the objective (iteration,), and whether the run has converged.
    """
    trace: list[float] = []
    while len(trace) < max_iterations:
        objective, parameters = iterate()
        trace.append(objective)
        if len(trace) > 1 and trace[-1] - trace[-2] <= tolerance * (abs(trace[-1]) + 1):
            return np.array(trace), True
        if ended and len(trace) % ASKED_EVERY == 0 and ended(parameters, objective):
            break
    return np.array(trace), False


# --- Search ---

LARGE = 400_000  # answers; fewer are their own sample
SAMPLE, SAMPLE_OF_RATER = 100_000, 100  # least number of answers of a sample, and of them for each rater
ROUND, MOST_ROUNDS = 20, 5  # random starts of a round, and rounds
MOST_PASSES = 2_000_000  # answers times starts, beyond which there is one round
LONG = 3  # runs on all items from optima of the sample other than that of the vote


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


class Found[Run: Ascent](NamedTuple):
    """Result of a search."""

    runs: list[Run]  # one for each optimum, the first from the vote
    run_of_start: np.ndarray  # (start,), the run at whose optimum a start ended; the vote is the first


def searched[Run: Ascent](
    labels: Labels | ShardedLabels,
    whole: Ascents[Run],
    of_patterns: Callable[[AnswerPatterns], Ascents[Run]],
    rng: np.random.Generator,
) -> Found[Run]:
    """Search for optima of all items; `of_patterns` makes the runs of a sample of them."""
    vote = whole.from_vote()
    are_few = len(labels) <= max(LARGE, 2 * _size_of_sample(labels))
    if are_few and whole.n_answers is not None:
        return of_many_starts(whole, vote, rng)
    few = of_patterns(_all_patterns(labels, rng) if are_few else _sampled_patterns(labels, rng))
    home = few.from_parameters(whole.elsewhere(vote))
    short = of_many_starts(few, home, rng)
    optima, ended = distinct_optima(short.runs, _OfPatterns(few))
    known, long = _Known(few, vote, whole), {ended[0]: 0}
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


def of_many_starts[Run: Ascent](
    few: Ascents[Run], first: Run, rng: np.random.Generator, size: int = ROUND
) -> Found[Run]:
    """Run EM from rounds of random starts near the vote, more while they find optima that are not known."""
    known, ends, found = _Known(few, first, few), [0], 0
    most = size * MOST_ROUNDS
    if (few.n_answers or 0) * most > MOST_PASSES:
        most = size
    while found < len(known.runs) and len(ends) <= most:
        found = len(known.runs)
        ends += [known.settled(few.near_vote(rng, known.ended)) for _ in range(size)]
    return Found(known.runs, np.array(ends))


class _OfPatterns[Run: Ascent]:
    """Plausibilities of the distinct patterns of answers at the end of a run."""

    def __init__(self, ascents: Ascents[Run]) -> None:
        self._ascents = ascents

    def plausibility(self, run: Run) -> np.ndarray:
        """Return p(true category | estimate, answers), shape (pattern, category)."""
        return self._ascents.compared(self._ascents.parameters(run))


# --- Estimators of labels in memory ---


class Optima[Run: Ascent](NamedTuple):
    """Distinct optima, the best first, and where the starts ended."""

    runs: list[Run]
    optimum_of_start: np.ndarray  # (start,), the vote first
    start_objective: np.ndarray  # (start,), of the run at whose optimum a start ended


def optima_of[Run: Ascent](
    labels: Labels,
    of_patterns: Callable[[AnswerPatterns], Ascents[Run]],
    restarts: int | Literal["auto"],
    random_seed: int | None,
) -> tuple[AnswerPatterns, Optima[Run]]:
    """Find the optima from the vote and from random starts near it, all run to their end if `restarts` is a number; warn."""
    rng, patterns = seeded_generator(random_seed), patterns_of(labels)
    ascents = of_patterns(patterns)
    if isinstance(restarts, str):
        found = searched(labels, ascents, of_patterns, rng)
    else:
        runs = [ascents.from_vote(), *(ascents.near_vote(rng) for _ in range(restarts))]
        found = Found(runs, np.arange(len(runs)))
    optima, of_run = distinct_optima(found.runs, _OfPatterns(ascents))
    ended = [found.runs[k] for k in found.run_of_start]
    objectives = np.array([run.trace[-1] for run in ended])
    warn_estimate(labels, objectives, [run.converged for run in ended])
    return patterns, Optima([run for run, _ in optima], of_run[found.run_of_start], objectives)


Variables = dict[str, tuple[tuple[str, ...], Any]]  # name -> dims, values


def estimate_of_optima[Run: Ascent](
    labels: Labels, found: Optima[Run], variables: Callable[[Run], Variables]
) -> xr.Dataset:
    """Assemble an estimate: variables of the best optimum, the same of every `optimum`, and where the starts ended."""
    of_optima = [variables(run) for run in found.runs]
    best, run = of_optima[0], found.runs[0]
    data: dict[str, Any] = {**best, "trace": (("iteration",), run.trace)}
    data |= {
        f"optimum_{name}": (("optimum", *dims), np.stack([own[name][1] for own in of_optima]))
        for name, (dims, _) in best.items()
    }
    data["optimum_objective"] = ("optimum", np.array([own.trace[-1] for own in found.runs]))
    data["optimum_found"] = ("optimum", np.bincount(found.optimum_of_start, minlength=len(found.runs)))
    data["vote_optimum"] = ((), found.optimum_of_start[0])
    data["start_objective"] = ("start", found.start_objective)
    attrs = {"objective": float(run.trace[-1]), "converged": int(run.converged)}
    attrs |= {"iterations": len(run.trace), "start": int(found.start_objective.argmax())}
    return xr.Dataset(data, estimate_coords(labels), attrs)
