"""Tasks: every kind of evidence for every model and method, and every wrong twin; each runs on its own."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pymc as pm
from raterzoo.inference.nuts.drawing import nuts_options

from tests.support.monte_carlo import seed_of
from tests.support.source_twins import in_place_of, rebuilt

from .calibration import calibration_ranks, deviation, equals_end_to_end
from .chains import Chains
from .exact_draws import EXACT, ITEMS, closed_form_z, item_ranks
from .joint_law import JointLaw, Values
from .nuts import NutsMoves, NutsRuns
from .power import POWER, REPETITIONS, caught_again, smallest_doses
from .prior_scores import PriorScores
from .rater_chains import sampler_of
from .stationarity import Moved, invariance_z, joint_z, moved, scores_z, threshold_of
from .studies import FEW_DATA, STUDIES, Study, methods_of
from .twins import REPEATED, TWINS, Kind, Twin

__all__ = ["Outcome", "Task", "all_tasks", "kinds_of", "quick_tasks", "settled"]

OWN, BY_NUTS, PAIRS, CHAINS = 1000, 300, 1000, 250  # simulations, by kind
# a calibration between one and so many widths of its band is repeated, with so many times the simulations
DOUBTFUL, AGAIN = 1.5, 4
BEFORE = "before it was repeated"  # note of the statistic of the first
MOST_OFF = 3.0  # standard deviations of the share of repetitions that catch a dose
FEW = 20_000  # pairs, of few data each
FEW_OF_WEAK = {
    "hierarchical_scores": 40_000,
    "hierarchical_scores_with_features": 40_000,
}  # so that a dose of .1 of each of its shapes is caught
QUICK = {  # seconds each: every kind, method and family, wrong twins by their names, and a placebo
    *(f"dawid_skene.gibbs.{kind}" for kind in ("calibration", "invariance", "joint", "few data")),
    *(f"plackett_luce.{method}.invariance" for method in ("gibbs", "nuts")),
    "hierarchical_scores.gibbs.invariance",
    "bradley_terry.hmc.invariance",
    *(f"dirichlet.exact.{kind}" for kind in ("calibration", "closed form")),
    "bradley_terry: the first winners are exchanged",
    "dawid_skene: totals of answers are stale",
    "ebcc: items are counted by category alone",
    "dawid_skene: rows + 0.1",
    "dirichlet: the same random numbers in every chain",
    "dirichlet: concentrations + 0.0",
}  # fmt: skip
CHAINS_OF_HMC = 60  # fewer: the Laplace centre is computed again for all new annotations


@dataclass(frozen=True)
class Outcome:
    """Result of a task.

    Attributes
    ----------
    statistic, threshold : float
        Largest statistic of all quantities, and its bound.
    worst : str
        Quantity with the largest statistic.
    simulations : int
        Number of simulations.
    ranks : ndarray of uint8, shape (simulation, quantity), optional
        Ranks of a calibration.
    quantities : tuple of str
        Names of the columns of `ranks`.
    notes : dict of str to Any
        Further facts, such as divergences, and the smallest dose of each parameter that is caught with probability `POWER`.

    Raises
    ------
    ValueError
        If a statistic is NaN, which would count as a caught bug. It may be infinite.
    """

    statistic: float
    threshold: float
    worst: str
    simulations: int
    ranks: np.ndarray | None
    quantities: tuple[str, ...]
    notes: dict[str, Any]

    def __post_init__(self) -> None:
        if np.isnan(self.statistic) or np.isnan(self.threshold):
            raise ValueError(
                f"{self.statistic} of {self.threshold} at {self.worst}: NaN is no verdict; find its cause"
            )

    @property
    def within(self) -> bool:
        """Whether the statistic is below its bound and the draws equal those of `inference.sample`."""
        return self.statistic < self.threshold and self.notes.get("equals inference.sample", True)


@dataclass(frozen=True)
class Task:
    """One kind of evidence of one sampler, or of a wrong twin of it."""

    study: str
    method: str
    kind: Kind
    twin: int | None = None
    quick: bool = False

    @property
    def name(self) -> str:
        """Name of the files of the task."""
        ours = f"{self.study}.{self.method}.{self.kind.replace(' ', '_')}"
        return ours if self.twin is None else f"twin.{ours}.{seed_of(TWINS[self.twin].name):08x}"

    @property
    def bug(self) -> Twin | None:
        """The bug of a twin."""
        return None if self.twin is None else TWINS[self.twin]

    @property
    def is_wrong(self) -> bool:
        """Whether the evidence must reject the sampler: a twin that is no placebo."""
        return self.bug is not None and not self.bug.placebo

    @property
    def simulations(self) -> int:
        """Simulations, pairs or chains."""
        whole = {
            "calibration": BY_NUTS if self.method == "nuts" else OWN,
            "invariance": PAIRS,
            "few data": FEW_OF_WEAK.get(self.study, FEW),
            "joint": CHAINS_OF_HMC if self.method == "hmc" else CHAINS,
            "closed form": OWN,
            "power": REPETITIONS,
        }[self.kind]
        return whole // 10 if self.quick else whole

    def run(self) -> Outcome:
        """Run the task; a twin replaces the functions that it changes meanwhile."""
        links = self.bug.links if self.bug else ()
        with in_place_of(rebuilt(*links)) if links else nullcontext():
            if self.method == "exact":
                return self._exactly()
            return self._calibrated() if self.kind == "calibration" else self._stationary()

    def _exactly(self) -> Outcome:
        study = EXACT[self.study]
        told = self.bug.told() if self.bug and self.bug.told else None
        if self.kind == "calibration":
            return _of_ranks(item_ranks(study, self.simulations, self.name, told), study.names, {})
        z, shift = closed_form_z(study, self.name, told)
        return _of_z(z, _closed_form_names(z, [*shift]), 1, shift)

    @property
    def _study(self) -> Study:
        return (FEW_DATA if self.kind in ("few data", "power") else STUDIES)[self.study]

    def _model(self) -> pm.Model:
        """Return the model that the sampler is given: the study's, or a twin's."""
        told = self.bug.told if self.bug else None
        return (told or self._study.build)()

    def _calibrated(self) -> Outcome:
        law, notes = law_of(self._study), {}
        if self.method == "nuts":
            runs: Any = NutsRuns(self._model(), **nuts_options(law.model, {}))
        else:
            runs = self._chains()
            if not self.bug:
                notes["equals inference.sample"] = equals_end_to_end(law, self._chains(), self.name)
        spoil: Callable[[np.ndarray], np.ndarray] = (self.bug and self.bug.spoil) or (lambda y: y)

        def ranked(simulations: int, name: str) -> Outcome:
            ranks = calibration_ranks(law, lambda y, s: runs.run(spoil(y), s), simulations, name)
            return _of_ranks(ranks, tuple(law.labels()), dict(notes))

        found = settled(ranked, self.simulations, self.name)
        if self.method == "nuts":
            total = found.simulations + (self.simulations if BEFORE in found.notes else 0)
            found.notes["divergences in a thousand"] = runs.divergences / total
        return found

    def _chains(self) -> Chains:
        return sampler_of(self.study)(self._model(), self._study.schedule)

    def _mover(self, law: JointLaw) -> Any:
        if self.method != "nuts":
            return self._chains()
        seed = seed_of(f"{self.name} learning")
        values, answers = law.simulate(1, seed)
        first: Values = {name: x[0] for name, x in values.items()}
        return NutsMoves(self._model(), first, answers[0], seed)

    def _stationary(self) -> Outcome:
        law = law_of(self._study)
        if self.kind == "power":
            return _of_repetitions(self.study, *caught_again(self.study, law, self.name))
        mover, n = self._mover(law), self.simulations
        if self.kind == "joint":
            return _of_z(joint_z(law, mover.move, n, self.name), _names_of_products(law), n)
        if self.kind == "few data":
            seed = seed_of(self.name)
            return _of_scores(law, moved(law, mover.move, law.simulate(n, seed), seed), np.empty(0), [])
        z, pairs = invariance_z(law, mover.move, n, self.name)
        return _of_scores(law, pairs, z, _names_of_products(law))


def settled(ranked: Callable[[int, str], Outcome], simulations: int, name: str) -> Outcome:
    """Return a calibration, or a larger one if it is just outside its band.

    One right sampler in a hundred is there by chance, and the deviation of a wrong one grows with the simulations.

    Parameters
    ----------
    ranked : callable
        From a number of simulations and a name that seeds them to an outcome.
    simulations : int
        Of the first.
    name : str
        Of the task.

    Returns
    -------
    Outcome
        Of other simulations, `AGAIN` times as many, if the first was doubtful: its notes have the statistic of the first.
    """
    found = ranked(simulations, name)
    if not found.threshold <= found.statistic < DOUBTFUL:
        return found
    again = ranked(AGAIN * simulations, f"{name} again")
    again.notes[BEFORE] = round(found.statistic, 3)
    return again


@cache
def law_of(study: Study) -> JointLaw:
    """Return the joint law of a study, compiled once in each process."""
    return JointLaw(study.build(), study.derived, study.ranked)


def _of_scores(law: JointLaw, pairs: Moved, others: np.ndarray, names: list[str]) -> Outcome:
    """Return the outcome of the scores of the priors together with other statistics."""
    scores = PriorScores(law.model)
    z, shift = scores_z(scores, pairs)
    by_name = dict(zip(scores.names, shift.tolist(), strict=True))
    return _of_z(np.concatenate([others, z]), [*names, *scores.names], len(pairs.answers), by_name)


def _of_ranks(ranks: np.ndarray, names: tuple[str, ...], notes: dict[str, Any]) -> Outcome:
    strayed = deviation(ranks)
    worst = names[int(strayed.argmax())]
    return Outcome(float(strayed.max()), 1.0, worst, len(ranks), ranks.astype(np.uint8), names, notes)  # fmt: skip


def _of_repetitions(study: str, dose: float, caught: int) -> Outcome:
    """Return the outcome of the number of repetitions that caught a dose, in binomial standard deviations from `POWER`."""
    off = abs(caught - POWER * REPETITIONS) / np.sqrt(POWER * (1 - POWER) * REPETITIONS)
    notes = {"dose": round(dose, 4), "caught": caught}
    return Outcome(float(off), MOST_OFF, REPEATED[study][0], REPETITIONS, None, (), notes)


def _of_z(
    z: np.ndarray, names: list[str], simulations: int, shift: Mapping[str, float] | None = None
) -> Outcome:
    """Return the outcome of statistics that are standard normal; `shift` is the change of some by a dose of one.

    A dose is caught with probability `POWER` if it moves its statistic so far beyond the bound; others may catch a smaller one.
    """
    size, threshold = np.abs(z), threshold_of(z)
    worst = int(size.argmax())
    doses = smallest_doses(threshold, shift or {})
    notes = {"doses": {name: round(dose, 4) for name, dose in doses.items()}} if doses else {}
    return Outcome(float(size[worst]), threshold, names[worst], simulations, None, (), notes)


def _names_of_products(law: JointLaw) -> list[str]:
    """Return names of the quantities and of their products, as the tests of stationarity list them."""
    names = law.labels()
    first, second = np.triu_indices(len(names))
    return names + [f"{names[a]} x {names[b]}" for a, b in zip(first, second, strict=True)]


def _closed_form_names(z: np.ndarray, scores: list[str]) -> list[str]:
    """Return names of the statistics of a closed form."""
    items = [f"item {k // 2}" for k in range(2 * ITEMS)]
    return items + ["a correlation"] * (len(z) - len(items) - len(scores)) + scores


def kinds_of(method: str) -> tuple[Kind, ...]:
    """Return the kinds of evidence that apply to a method."""
    if method == "exact":
        return ("calibration", "closed form")
    if method == "nuts":
        return ("calibration", "invariance")
    own = ("calibration", "invariance", "joint")
    return (*own, "few data") if method == "gibbs" else own


def all_tasks(quick: bool = False) -> list[Task]:
    """Return every task of the whole catalog and of the twins.

    Parameters
    ----------
    quick : bool, default False
        Whether with a tenth of the simulations.
    """
    found = [
        Task(name, method, kind, quick=quick)
        for name in STUDIES
        for method in methods_of(name)
        for kind in kinds_of(method)
    ]
    found += [Task(study, "gibbs", "power", quick=quick) for study in REPEATED]
    return found + [Task(t.study, t.method, t.kind, i, quick) for i, t in enumerate(TWINS)]


def quick_tasks() -> list[Task]:
    """Return the tasks of `QUICK` with a tenth of the simulations."""
    return [
        task for task in all_tasks(quick=True)
        if (task.bug.name if task.bug else f"{task.study}.{task.method}.{task.kind}") in QUICK
    ]  # fmt: skip
