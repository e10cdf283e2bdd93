"""Tasks: every kind of evidence for every model and method, and every wrong twin; each runs on its own."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pymc as pm
from raterzoo import models
from raterzoo.inference.methods import nuts_options

from tests.support.monte_carlo import seed_of

from .calibration import calibration_ranks, deviation, equals_end_to_end
from .chains import Chains, chains_of
from .exact_draws import EXACT, closed_form_z, item_ranks
from .joint_law import JointLaw, Values
from .nuts import NutsMoves, NutsRuns
from .stationarity import invariance_z, joint_z, threshold_of
from .studies import STUDIES, methods_of
from .twin_sources import in_place_of, rebuilt
from .twins import TWINS, Kind, Twin

__all__ = ["Outcome", "Task", "all_tasks", "kinds_of"]

OWN, BY_NUTS, PAIRS, CHAINS = 1000, 300, 1000, 250  # simulations, by kind
ITEMS = 5  # items of the closed-form test, each with two variables
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
        Further facts, such as divergences.

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
    def simulations(self) -> int:
        """Simulations, pairs or chains."""
        whole = {
            "calibration": BY_NUTS if self.method == "nuts" else OWN,
            "invariance": PAIRS,
            "joint": CHAINS_OF_HMC if self.method == "hmc" else CHAINS,
            "closed form": OWN,
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
        z = closed_form_z(study, self.name, told)
        return _of_z(z, None, 1)

    def _model(self) -> pm.Model:
        """Return the model that the sampler is given: the study's, or a twin's."""
        told = self.bug.told if self.bug else None
        return (told or STUDIES[self.study].build)()

    def _calibrated(self) -> Outcome:
        law, notes = law_of(self.study), {}
        if self.method == "nuts":
            runs: Any = NutsRuns(self._model(), **nuts_options(law.model, {}))
        else:
            runs = self._chains()
            if not self.bug:
                notes["equals inference.sample"] = equals_end_to_end(law, self._chains(), self.name)
        spoil: Callable[[np.ndarray], np.ndarray] = (self.bug and self.bug.spoil) or (lambda y: y)
        ranks = calibration_ranks(law, lambda y, s: runs.run(spoil(y), s), self.simulations, self.name)  # fmt: skip
        if self.method == "nuts":
            notes["divergences in a thousand"] = runs.divergences / self.simulations
        return _of_ranks(ranks, tuple(law.labels()), notes)

    def _chains(self) -> Chains:
        return chains_of(self.study)(self._model(), STUDIES[self.study].schedule)

    def _stationary(self) -> Outcome:
        law = law_of(self.study)
        if self.method == "nuts":
            seed = seed_of(f"{self.name} learning")
            values, answers = law.simulate(1, seed)
            first: Values = {name: x[0] for name, x in values.items()}
            mover: Any = NutsMoves(self._model(), first, answers[0], seed)
        else:
            mover = self._chains()
        test = invariance_z if self.kind == "invariance" else joint_z
        return _of_z(test(law, mover.move, self.simulations, self.name), law, self.simulations)


@cache
def law_of(study: str) -> JointLaw:
    """Return the joint law of a study, compiled once in each process."""
    own = STUDIES[study]
    return JointLaw(own.build(), own.derived, own.ranked)


def _of_ranks(ranks: np.ndarray, names: tuple[str, ...], notes: dict[str, Any]) -> Outcome:
    strayed = deviation(ranks)
    worst = names[int(strayed.argmax())]
    return Outcome(float(strayed.max()), 1.0, worst, len(ranks), ranks.astype(np.uint8), names, notes)  # fmt: skip


def _of_z(z: np.ndarray, law: JointLaw | None, simulations: int) -> Outcome:
    size = np.abs(z)
    worst = int(size.argmax())
    names = law.labels() if law else []
    first, second = np.triu_indices(len(names))
    if worst < len(names):
        what = names[worst]
    elif law:
        at = worst - len(names)
        what = f"{names[first[at]]} x {names[second[at]]}"
    else:
        what = f"item {worst // 2}" if worst < 2 * ITEMS else "a correlation"
    return Outcome(float(size.max()), threshold_of(z), what, simulations, None, (), {})


def kinds_of(method: str) -> tuple[Kind, ...]:
    """Return the kinds of evidence that apply to a method."""
    if method == "exact":
        return ("calibration", "closed form")
    return ("calibration", "invariance") if method == "nuts" else ("calibration", "invariance", "joint")  # fmt: skip


def all_tasks(quick: bool = False) -> list[Task]:
    """Return every task of the whole catalog and of the twins.

    Parameters
    ----------
    quick : bool, default False
        Whether to run a tenth of the simulations.
    """
    found = [
        Task(name, method, kind, quick=quick)
        for name in models.catalog
        for method in methods_of(name)
        for kind in kinds_of(method)
    ]
    return found + [Task(t.study, t.method, t.kind, i, quick) for i, t in enumerate(TWINS)]
