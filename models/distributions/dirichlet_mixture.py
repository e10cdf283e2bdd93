"""DirichletMixture: matrices whose rows are Dirichlet, all by the concentrations of one component of a mixture."""

from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.transforms import _default_transform
from pymc.logprob.abstract import _logprob
from pymc.logprob.transforms import SimplexTransform
from pytensor.link.numba.dispatch.basic import numba_njit
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.variable import TensorVariable

from .compiling import source_digest


class DirichletMixtureRV(RandomVariable):
    """Random variable of matrices."""

    name = "dirichlet_mixture"
    signature = "(c),(c,j,l)->(j,l)"
    dtype = "floatX"
    _print_name = ("DirichletMixture", "\\operatorname{DirichletMixture}")

    @classmethod
    def rng_fn(cls, rng, weight, concentration, size=None):
        """Draw matrices; `size` is the batch shape."""
        batch = np.broadcast_shapes(weight.shape[:-1], concentration.shape[:-3])
        batch = batch if size is None else tuple(size)
        below = np.broadcast_to(weight, (*batch, weight.shape[-1])).cumsum(axis=-1)[..., :-1]
        component = (rng.random((*batch, 1)) > below).sum(axis=-1)
        whole = np.broadcast_to(concentration, (*batch, *concentration.shape[-3:]))
        own = np.take_along_axis(whole, component[..., None, None, None], axis=-3)[..., 0, :, :]
        gamma = rng.standard_gamma(own)
        return gamma / gamma.sum(axis=-1, keepdims=True)


@cast(Any, _logprob).register(DirichletMixtureRV)
def _log_probability(op, values, *inputs, **kwargs) -> TensorVariable:
    """Return the log density of each matrix."""
    *_, weight, concentration = inputs
    log_value, gammaln = cast(Any, pt.log(values[0])), cast(Any, pt.gammaln)
    powers = ((concentration - 1) * log_value[..., None, :, :]).sum(axis=(-2, -1))
    constant = (gammaln(concentration.sum(axis=-1)) - gammaln(concentration).sum(axis=-1)).sum(axis=-1)
    return cast(TensorVariable, cast(Any, pt).logsumexp(pt.log(weight) + powers + constant, axis=-1))


class SimplexRows(SimplexTransform):
    """Transform of matrices, each row a simplex: one determinant a matrix."""

    ndim_supp = 2

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the sum of the log determinants of the rows."""
        return cast(Any, super().log_jac_det(value, *inputs)).sum(axis=-1)


@cast(Any, _default_transform).register(DirichletMixtureRV)
def _simplex_rows(op, rv) -> SimplexRows:
    return SimplexRows()


@numba_core_rv_funcify.register(DirichletMixtureRV)
def _numba_dirichlet_mixture(op, node):
    @numba_njit
    def random_fn(rng, weight, concentration):
        place, component = rng.random(), 0
        while component < len(weight) - 1 and place > weight[component]:
            place -= weight[component]
            component += 1
        own = concentration[component]
        matrix = np.empty(own.shape)
        for j in range(len(own)):
            for label in range(own.shape[1]):
                matrix[j, label] = rng.standard_gamma(own[j, label])
            matrix[j] /= matrix[j].sum()
        return matrix

    return random_fn, source_digest(__file__)


class DirichletMixture(pm.Continuous):
    """Matrices of probabilities, the rows of each Dirichlet by the concentrations of one component.

        c    ~ Categorical(w)                    summed out
        pi_j ~ Dirichlet(beta_cj)                for all rows j of a matrix, by the same component c

    ====================  ==========================================================  =============================
    symbol                argument                                                    dims
    ====================  ==========================================================  =============================
    w                     weight                                                      ..., component
    beta                  concentration                                               ..., component, row, answer
    pi                    value: the matrices, rows sum to one                        ..., row, answer
    ====================  ==========================================================  =============================

    Parameters
    ----------
    weight : tensor, shape (..., component)
        Probability of each component; they sum to one.
    concentration : tensor, shape (..., component, row, answer)
        Dirichlet concentrations of the rows by component, positive.

    Examples
    --------
    A rater who is as in an earlier study, or anybody:

    >>> import numpy as np, pymc as pm
    >>> from raterzoo.models.distributions import DirichletMixture
    >>> known, anybody = np.array([[90.0, 10.0], [20.0, 80.0]]), np.array([[3.0, 1.0], [1.0, 3.0]])
    >>> confusion = DirichletMixture.dist([0.5, 0.5], np.stack([known, anybody]))
    >>> pm.logp(confusion, [[0.9, 0.1], [0.2, 0.8]]).eval().round(2)
    np.float64(4.22)

    References
    ----------
    Schmidli et al. (2014), Robust meta-analytic-predictive priors in clinical trials with historical control information,
    Biometrics 70, section 3, doi:10.1111/biom.12242: a historical prior mixed with a vague one.
    """

    rv_op = DirichletMixtureRV()

    @classmethod
    def dist(cls, weight, concentration, **kwargs) -> TensorVariable:
        """Return the distribution as a tensor variable outside a model."""
        return super().dist([pt.as_tensor_variable(x) for x in (weight, concentration)], **kwargs)

    def support_point(rv, size, weight, concentration) -> TensorVariable:
        """Return the mean, at which chains start."""
        rows = concentration / concentration.sum(axis=-1, keepdims=True)
        mean = (weight[..., None, None] * rows).sum(axis=-3)
        return cast(TensorVariable, pt.broadcast_to(mean, cast(Any, rv).shape))
