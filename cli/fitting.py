"""Commands that fit: settings to posterior, posterior to file."""

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pymc as pm
import xarray as xr

from .. import inference, models
from .posterior_files import stored, write_posterior
from .reading import Container, read_annotations
from .scales import draw_scale, read_scale
from .screen import say
from .settings import Settings
from .votes import build_votes, draw_votes, read_votes

__all__ = ["build", "draw", "fit_to_file", "resume_fit"]


def build(annotations: Container, settings: Settings, reliability: float) -> pm.Model:
    """Build the model of the settings with this reliability, if the model has one."""
    further: dict[str, Any] = dict(settings.priors)
    if settings.has_reliability:
        further["reliability"] = reliability
    if settings.model == "ordinal":
        further["order"] = annotations.categories  # as they were declared
    return getattr(models, settings.model)(annotations, **further)


def draw(
    annotations: Container, settings: Settings, store: Path | None = None
) -> dict[float, xr.DataTree]:
    """Sample the posterior at every reliability of the settings; `store` needs a single one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # the verdict is printed
        return inference.sweep(
            lambda reliability: build(annotations, settings, reliability),
            settings.reliabilities,
            random_seed=settings.seed,
            draws=settings.draws,
            chains=settings.chains,
            **stored(store),
        )


def fit_to_file(
    annotations: Path, columns: Sequence[str], settings: Settings, output: Path
) -> None:
    """Sample, print the convergence verdict, and write the posterior to `output` (``.nc`` or ``.zarr``).

    A ``.zarr`` store is written while sampling, so that an interruption loses nothing.
    """
    if output.suffix not in (".nc", ".zarr"):
        raise ValueError(f"-o {output}: name a .nc or a .zarr file")
    store = output if output.suffix == ".zarr" and _writes_draws(settings.model) else None
    if settings.kind == "comparisons":
        votes = read_votes(annotations, columns, settings)
        tree = draw_votes(build_votes(votes, settings), settings, store=store)
    elif settings.kind == "scores":
        tree = draw_scale(read_scale(annotations, columns, settings), settings, store)
    else:
        (tree,) = draw(read_annotations(annotations, settings, columns), settings, store).values()
    say(inference.diagnose(tree).attrs["verdict"])
    if store is None:
        write_posterior(tree, output)
    say(f"wrote {output}")


def _writes_draws(model: str) -> bool:
    """Return whether draws of a model can be written while sampling; for NUTS only with nutpie."""
    return models.catalog[model].methods[0] != "nuts" or find_spec("nutpie") is not None


def resume_fit(store: Path) -> None:
    """Resume an interrupted fit from its zarr store, and print the convergence verdict."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # the verdict is printed
        tree = inference.resume(store)
    say(inference.diagnose(tree).attrs["verdict"])
    say(f"wrote {store}")
