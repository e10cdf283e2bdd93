"""Where NUTS starts in models of labels: raters are right, so that no chain begins with categories exchanged."""

import numpy as np
import pymc as pm
from pytensor.tensor.random.basic import BetaRV, DirichletRV

from .model_graph import NotConjugate, constant_value

RIGHT = 0.9  # samplers jitter the log odds of a start by up to two


def likely_right(model: pm.Model) -> dict[str, np.ndarray]:
    """Return starts of confusion matrices and abilities whose prior is constant and favours the right answer, by name.

    From the mean of the prior the jitter of a chain may exchange two categories; among few raters it then stays there, where
    the posterior has next to no mass. Rows start with `RIGHT` on the diagonal, or the mean of the prior if that is more. Of
    other variables PyMC chooses the start.
    """
    starts: dict[str, np.ndarray] = {}
    n, n_answers = (len(model.coords.get(dim) or ()) for dim in ("category", "answer"))
    if n < 2:
        return starts
    square = n_answers == n  # not where one can answer "unsure"
    for variable in model.free_RVs:
        name, op = str(variable.name), variable.owner.op
        dims = model.named_vars_to_dims.get(name, ())
        rows = square and isinstance(op, DirichletRV) and dims[-2:] == ("category", "answer")
        ability = isinstance(op, BetaRV) and name == "ability" and dims[:1] == ("rater",)
        if not rows and not ability:
            continue
        try:
            parameters = [constant_value(own, name) for own in op.dist_params(variable.owner)]
        except NotConjugate:
            continue
        shape = tuple(variable.shape.eval())
        if rows:
            starts[name] = np.broadcast_to(_rows(*parameters), shape)
        else:
            right, wrong = parameters
            mean = right / (right + wrong)
            favoured = mean > 1 / n
            starts[name] = np.broadcast_to(np.where(favoured, np.maximum(mean, RIGHT), mean), shape)
    return starts


def _rows(concentration: np.ndarray) -> np.ndarray:
    """Return starts of the rows of confusion matrices with this Dirichlet prior, both (..., category, answer)."""
    mean = concentration / concentration.sum(axis=-1, keepdims=True)
    diagonal = np.eye(mean.shape[-1], dtype=bool)
    right = np.where(diagonal, mean, 0).sum(axis=-1, keepdims=True)
    others = np.where(diagonal, 0, mean).max(axis=-1, keepdims=True)
    raised = np.maximum(right, RIGHT)
    started = np.where(diagonal, raised, mean * (1 - raised) / (1 - right))
    return np.where(right > others, started, mean)
