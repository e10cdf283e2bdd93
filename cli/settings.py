"""What a fit was asked for on the command line, checked."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Settings"]


DEFAULT_MODEL = {"rankings": "plackett_luce", "labels": "dawid_skene"}
DEFAULT_RELIABILITY = {"plackett_luce": "3", "prirn": "3", "tempered_plackett_luce": "3"}
OPTIONS = {
    "plackett_luce": {"reliability", "concentration", "unranked"},
    "tempered_plackett_luce": {"reliability", "concentration", "unranked"},
    "prirn": {"reliability", "tie_weight"},
    "dirichlet": {"reliability", "concentration"},
}


@dataclass(frozen=True)
class Settings:
    """Model, priors and sampler of a fit.

    Attributes
    ----------
    kind, model : str
        Kind of annotation and name of the model.
    reliabilities : tuple of float
        Trust in the raters; the first is reported in full. One, and without meaning, where the model has none.
    priors : dict
        Further arguments of the builder.
    draws, chains, seed : int
        For the sampler.
    categories : Path or None
        Text file of the closed set of categories, one a line.
    layout : str
        Of labels: long, wide or counts.
    """

    kind: str
    model: str
    reliabilities: tuple[float, ...]
    draws: int
    chains: int
    seed: int
    categories: Path | None = None
    layout: str = "long"
    priors: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, kind: str, model: str | None, reliability: str | None, concentration: float | None,
        unranked: str | None, tie_weight: str | None, draws: int, chains: int, seed: int,
        categories: Path | None, layout: str = "long",
    ) -> "Settings":  # fmt: skip
        """Check the options against the catalog."""
        from ..models import catalog

        if kind not in DEFAULT_MODEL:
            raise ValueError(
                f"--kind {kind} cannot be read yet; this version reads {' and '.join(DEFAULT_MODEL)}"
            )
        model = model or DEFAULT_MODEL[kind]
        if model not in catalog:
            raise ValueError(
                f"--model {model}: there is no such model; the catalog has {', '.join(catalog)}"
            )
        if catalog[model].data != kind:
            raise ValueError(f"--model {model} is a model of {catalog[model].data}, not of {kind}")
        priors = {"concentration": concentration, "unranked": unranked, "tie_weight": tie_weight}
        given = {name: value for name, value in priors.items() if value is not None}
        takes = OPTIONS.get(model, set())
        asked = {*given, *(["reliability"] if reliability is not None else [])}
        if wrong := sorted(asked - takes):
            raise ValueError(
                f"--{wrong[0].replace('_', '-')} is not an option of the model {model}"
            )
        trust = _numbers(reliability or DEFAULT_RELIABILITY.get(model, "1"))
        return cls(kind, model, trust, draws, chains, seed, categories, layout, given)

    @property
    def has_reliability(self) -> bool:
        """Whether the model weighs its raters by a reliability that is given."""
        return "reliability" in OPTIONS.get(self.model, set())


def _numbers(text: str) -> tuple[float, ...]:
    """Read '1,2.5' as numbers; whole ones stay whole."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--reliability {text}: write numbers with commas between them, such as 1,2,3"
        ) from None
    if wrong := [v for v in values if not 0 < v < float("inf")]:
        raise ValueError(f"--reliability {text}: {wrong[0]:g} is not a positive number")
    if len(set(values)) < len(values):
        raise ValueError(f"--reliability {text}: each number once")
    return tuple(int(v) if v == int(v) else v for v in values)
