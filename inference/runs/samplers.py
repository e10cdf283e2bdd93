"""Sampler of a law: which models it draws, how it reads them and how a run begins."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from .run import Run

Groups = dict[str, xr.Dataset]


def observes(model: pm.Model, law: type) -> bool:
    """Whether an observed variable of the model has this random variable as its law."""
    return any(isinstance(rv.owner.op, law) for rv in model.observed_RVs)


def always(_: pm.Model) -> bool:
    """Condition that every model meets."""
    return True


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """Own sampler of the models of a law; `SAMPLER` at the end of its file."""

    law: type | None  # random variable that the model observes, if it must
    where: Callable[[pm.Model], bool] = always  # further condition
    read: Callable[[pm.Model], Any]  # numbers of the law, or raises NotConjugate with the reason for NUTS
    begin: Callable[..., Run]  # of what was read, the model, `Draws` and the tuning that was found
    reason: str  # why it draws exactly
    method: str = "gibbs"
    # name of a model that no builder of the catalog made, given what was read, or None if it was refused
    name: str | Callable[[pm.Model, Any], str | None]
    names_refused: bool = False  # whether models that `read` refuses bear the name, too
    items_share: str = ""  # what all items share, in a model whose items are independent otherwise
    # numbers of the prior and reliabilities by item: name -> dim of the first axis, array
    numbers_by_item: Callable[[pm.Model], dict[str, tuple[str, np.ndarray]]] | None = None
    storage: Callable[..., Any] | None = None  # of model, draws and dtype, where it must hold more digits
    finish: Callable[[pm.Model, Groups], Groups] | None = None  # of draws by PyMC, as the sampler has them

    def draws(self, model: pm.Model) -> bool:
        """Whether the model is of this law."""
        return (self.law is None or observes(model, self.law)) and self.where(model)

    def name_of(self, model: pm.Model, law: Any) -> str | None:
        """Return the name of a model of this law, given what was read; None if it has no name."""
        if callable(self.name):
            return self.name(model, law)
        return self.name if law is not None or self.names_refused else None
