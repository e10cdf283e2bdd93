"""WorthGibbs: the Gibbs sweep of `kernels.gibbs`, which `inference.sample` loops over, as a PyMC step."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
from pymc.distributions.transforms import LogTransform
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import explicit_graph_inputs

from ..runs.model_graph import GibbsStep, NotConjugate, shape_of
from ..runs.run import stream
from .kernels.gibbs import sweep_items
from .recognition import distinct_annotations, read_rankings, worth_posterior


class WorthGibbs(GibbsStep):
    """Gibbs step of the worths of a Plackett-Luce model.

    Shape and rate of the Gamma prior may be random (a hierarchical concentration, say): they are read at
    every step, and another step, such as NUTS, draws them.

    Parameters
    ----------
    vars : list of Variable, optional
        The worths, ``[model["worth"]]``, which is also the default.
    model, rng, initial_point, compile_kwargs, blocked
        As PyMC passes them to every step; `initial_point` is not used.

    Raises
    ------
    NotConjugate
        If the worths have no Gamma conditional; the message says why.

    Examples
    --------
    >>> import pymc as pm
    >>> from raterzoo import inference, models
    >>> rankings = models.simulators.rankings(items=2, categories=4, raters=3, random_seed=1).data
    >>> with models.plackett_luce(rankings, candidates="all"):
    ...     step = inference.WorthGibbs()
    ...     trace = pm.sample(
    ...         200, tune=20, chains=2, cores=1, step=step, random_seed=1, progressbar=False,
    ...         compute_convergence_checks=False, quiet=True,
    ...     )
    >>> dict(trace["posterior"]["worth"].sizes)
    {'chain': 2, 'draw': 200, 'item': 2, 'category': 4}

    References
    ----------
    Caron and Doucet (2012), doi:10.1080/10618600.2012.638220, section 2; Stutz et al. (2025), section 2.3.3,
    arXiv:2307.02191v2.
    """

    name = "worth_gibbs"
    stats_dtypes_shapes = {"tune": (bool, []), "log_total": (np.float64, [])}  # noqa: RUF012

    def _read(self, model: pm.Model) -> list[Any]:
        self._likelihood = read_rankings(model)
        return [self._likelihood.worth]

    def _compile(self, model: pm.Model, own: list[Any], options: dict[str, Any]) -> None:
        likelihood = self._likelihood
        self._in_logs = _is_in_logs(model, likelihood.worth)
        self._prior = _prior_parameters(model, likelihood.worth, options)
        n_candidates = int(np.prod(shape_of(likelihood.worth)))
        self._annotations = distinct_annotations(
            likelihood.block, likelihood.candidate, likelihood.reliability, n_candidates, likelihood.start
        )

    def step(self, point: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[dict]]:
        """Run one sweep; return the new point and its statistics."""
        (name,) = self._names
        value = point[name]
        log_worth = np.array(value if self._in_logs else np.log(value)).ravel()
        shape, rate = (np.broadcast_to(p, value.shape).ravel() for p in self._prior(point))
        posterior = worth_posterior(self._annotations, shape, rate)
        sweep_items(stream(self.rng), posterior, log_worth)
        moved = (log_worth if self._in_logs else np.exp(log_worth)).reshape(value.shape)
        log_total = float(np.logaddexp.reduce(log_worth))
        return point | {name: moved}, [{"tune": self.tune, "log_total": log_total}]


def _is_in_logs(model: pm.Model, worth: Variable) -> bool:
    """Return whether the value variable is the log of the worth; raise for other transforms."""
    transform = model.rvs_to_transforms[worth]
    if transform is None:
        return False
    if not isinstance(transform, LogTransform):
        raise NotConjugate(f"{worth.name!r} is transformed by {transform}; use its default, the log")
    return True


def _prior_parameters(
    model: pm.Model, worth: Variable, compile_kwargs: dict[str, Any]
) -> Callable[[dict[str, np.ndarray]], tuple[np.ndarray, np.ndarray]]:
    """Return shape and rate of the worths' prior as a function of the point."""
    alpha, scale = model.replace_rvs_by_values(worth.owner.op.dist_params(worth.owner))
    inputs = [v for v in explicit_graph_inputs([alpha, scale]) if v in model.value_vars]
    compiled = pm.pytensorf.compile(inputs, [alpha, 1 / scale], **compile_kwargs)
    if not inputs:
        constant = tuple(compiled())
        return lambda point: constant
    names = [str(v.name) for v in inputs]
    return lambda point: tuple(compiled(*(point[name] for name in names)))
