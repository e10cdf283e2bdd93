"""LaplaceHMC: the transition of the Laplace-split sampler as a PyMC step.

The step and the compiled loop of `inference.sample` share the kernels of `kernels.hmc`.
"""

from typing import Any

import numpy as np
import pymc as pm
from pytensor.graph.basic import Variable

from ..runs.model_graph import GibbsStep, compiled_values
from ..runs.run import check_whole, stream
from .kernels.centre import fit_laplace
from .kernels.hmc import MOST_WARM_UP_FACTOR, WARM_UP_FACTOR, HmcSchedule, sample_pairs
from .kernels.posterior import BOX
from .recognition import coordinates_of, read_comparisons, values_of

SMALLEST = 1e-12  # margin, as a share of the box, at which its transform is finite


class LaplaceHMC(GibbsStep):
    """Laplace-split HMC step of a comparison model: all its free variables in one block.

    The normal approximation of the posterior is computed when the step is built; transitions follow its flow.

    Parameters
    ----------
    vars : list of Variable, optional
        All free variables of the model, which is also the default; no other block is accepted.
    steps : int, default 3
        Gradient steps in a transition: more raise acceptance and cost in proportion. In warm-up up to 64
        times as many are made, while the chain moves in from PyMC's initial point.
    model, rng, initial_point, compile_kwargs, blocked
        As PyMC passes them to every step; `initial_point` is not used.

    Raises
    ------
    ValueError
        If `steps` is not a whole number from 1.
    NotConjugate
        If the sampler does not apply to the model; the message says where it differs.

    Examples
    --------
    >>> import pymc as pm
    >>> from raterzoo import inference, models
    >>> votes = models.simulators.comparisons(items=8, raters=4, degree=4, random_seed=1).data
    >>> with models.bradley_terry(votes):
    ...     step = inference.LaplaceHMC()
    ...     trace = pm.sample(
    ...         200, tune=20, chains=2, cores=1, step=step, random_seed=1, progressbar=False,
    ...         compute_convergence_checks=False, quiet=True,
    ...     )
    >>> dict(trace["posterior"]["quality"].sizes)
    {'chain': 2, 'draw': 200, 'item': 8}

    References
    ----------
    Shahbaba, Lan, Johnson and Neal (2014), Split Hamiltonian Monte Carlo, Statistics and Computing 24,
    section 2.1, doi:10.1007/s11222-012-9373-1.
    """

    name = "laplace_hmc"
    stats_dtypes_shapes = {"tune": (bool, []), "acceptance_rate": (np.float64, [])}  # noqa: RUF012

    def __init__(
        self,
        vars: list[Variable] | None = None,
        *,
        model: pm.Model | None = None,
        steps: int = 3,
        rng: np.random.Generator | int | None = None,
        initial_point: dict[str, np.ndarray] | None = None,
        compile_kwargs: dict[str, Any] | None = None,
        blocked: bool = True,
    ) -> None:
        check_whole("steps", steps)
        self._steps = int(steps)
        super().__init__(vars, model=model, rng=rng, compile_kwargs=compile_kwargs, blocked=blocked)

    def _read(self, model: pm.Model) -> list[Any]:
        structure = read_comparisons(model)
        self._answers, self._prior = structure.cells, structure.prior
        self._roles = list(structure.variables)
        return list(structure.variables.values())

    def _compile(self, model: pm.Model, own: list[Any], options: dict[str, Any]) -> None:
        drawn = model.replace_rvs_by_values(own)
        self._state = model.compile_fn(drawn, on_unused_input="ignore", **options)
        self._values = compiled_values(model, own, options)
        centre = fit_laplace(self._answers, self._prior)
        self._laplace = centre.laplace
        self._schedule = HmcSchedule(0, self._steps, centre.open_scales, centre.second_mode is not None)
        self._finer = WARM_UP_FACTOR

    def step(self, point: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[dict]]:
        """Run one transition; return the new point and its statistics."""
        prior = self._prior
        values = dict(zip(self._roles, map(np.asarray, self._state(point)), strict=True))
        # no variable holds the means of the coordinates: they are drawn from their prior
        sizes = np.sqrt([prior.n_items, prior.n_raters])
        theta = coordinates_of(values, prior, self.rng.standard_normal(2) / sizes)
        draws = np.empty((1, len(theta)))
        schedule = self._schedule._replace(steps=self._schedule.steps * (self._finer if self.tune else 1))
        answers = (self._answers, prior)
        accepted = sample_pairs(stream(self.rng), answers, self._laplace, schedule, (theta, draws))
        self._finer = (
            min(2 * self._finer, MOST_WARM_UP_FACTOR) if accepted < 0.5 else max(self._finer // 2, 1)
        )
        moved = values_of(draws[0], prior)
        if prior.form == BOX:  # the transform of a value on the boundary is infinite
            margin = SMALLEST * (prior.high - prior.low)
            moved["quality"] = np.clip(moved["quality"], SMALLEST, 1 - SMALLEST)
            moved["rater"] = np.clip(moved["rater"], prior.low + margin, prior.high - margin)
        raw = self._values(*(moved[role] for role in self._roles))
        stats = {"tune": self.tune, "acceptance_rate": accepted}
        return point | dict(zip(self._names, raw, strict=True)), [stats]
