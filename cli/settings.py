"""What a fit was asked for on the command line, checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Settings"]


DEFAULT_MODEL = {
    "rankings": "plackett_luce",
    "labels": "dawid_skene",
    "comparisons": "bradley_terry",
}
DEFAULT_RELIABILITY = {"plackett_luce": "3", "prirn": "3", "tempered_plackett_luce": "3"}
OF_VOTES = {"ties", "left_bias", "signed", "raters", "rater_attribute", "largest_component"}
OPTIONS = {
    "plackett_luce": {"reliability", "concentration", "unranked"},
    "tempered_plackett_luce": {"reliability", "concentration", "unranked"},
    "prirn": {"reliability", "tie_weight"},
    "dirichlet": {"reliability", "concentration"},
    "bradley_terry": OF_VOTES,
    "thurstone": OF_VOTES,
}
PRIORS = ("concentration", "unranked", "tie_weight", "ties", "left_bias", "signed")
TIES = {
    "bradley_terry": ("auto", "davidson", "none"),
    "thurstone": ("auto", "threshold", "none"),
}
RATERS = ("hierarchical", "per-rater", "shared")


@dataclass(frozen=True)
class Settings:
    """Model, priors and sampler of a fit.

    Attributes
    ----------
    kind, model : str
        Kind of annotation and name of the model.
    reliabilities : tuple of float
        Trust in the raters; the first is reported in full. One, and without meaning, where the model has none.
    draws, chains, seed : int
        For the sampler.
    categories : Path or None
        Text file of the closed set of categories, one a line.
    layout : str
        Of labels: long, wide or counts.
    rater_attributes : tuple of str
        Of comparisons: columns that say something of the raters.
    largest_component : bool
        Of comparisons: whether only the largest component is kept.
    priors : dict
        Further arguments of the builder.
    """

    kind: str
    model: str
    reliabilities: tuple[float, ...]
    draws: int
    chains: int
    seed: int
    categories: Path | None = None
    layout: str = "long"
    rater_attributes: tuple[str, ...] = ()
    largest_component: bool = False
    priors: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        kind: str,
        model: str | None,
        options: Mapping[str, Any],
        *,
        draws: int,
        chains: int,
        seed: int,
        layout: str = "long",
    ) -> "Settings":
        """Check the options against the catalog; those that were not given are None, False or empty."""
        model = _model_of(kind, model)
        given = {
            name: value
            for name, value in options.items()
            if not (value is None or value is False or value == [])
        }
        takes = OPTIONS.get(model, set()) | (set() if kind == "comparisons" else {"categories"})
        if wrong := sorted(set(given) - takes):
            raise ValueError(
                f"--{wrong[0].replace('_', '-')} is not an option of the model {model}"
            )
        _refuse_words(model, given)
        for name, number in {"draws": draws, "chains": chains}.items():
            if number < 1:
                raise ValueError(f"--{name} {number}: expected a whole number from 1")
        priors = {name: given[name] for name in PRIORS if name in given}
        if "raters" in given:
            priors["reliability"] = given["raters"].replace("-", " ")
        return cls(
            kind,
            model,
            _numbers(given.get("reliability", DEFAULT_RELIABILITY.get(model, "1"))),
            draws,
            chains,
            seed,
            categories=given.get("categories"),
            layout=layout,
            rater_attributes=tuple(given.get("rater_attribute", ())),
            largest_component=given.get("largest_component", False),
            priors=priors,
        )

    @property
    def has_reliability(self) -> bool:
        """Whether the model weighs its raters by a reliability that is given."""
        return "reliability" in OPTIONS.get(self.model, set())


def _model_of(kind: str, model: str | None) -> str:
    """Return the model that was asked for, or the default of the kind, or raise if they do not fit."""
    from ..models import catalog

    if kind not in DEFAULT_MODEL:
        *others, last = DEFAULT_MODEL
        raise ValueError(
            f"--kind {kind} cannot be read yet; this version reads {', '.join(others)} and {last}"
        )
    model = model or DEFAULT_MODEL[kind]
    if model not in catalog:
        raise ValueError(
            f"--model {model}: there is no such model; the catalog has {', '.join(catalog)}"
        )
    if catalog[model].data != kind:
        raise ValueError(f"--model {model} is a model of {catalog[model].data}, not of {kind}")
    return model


def _refuse_words(model: str, given: Mapping[str, Any]) -> None:
    """Raise if an option of comparisons is a word that the model does not know."""
    for name, allowed in {"ties": TIES.get(model, ()), "raters": RATERS}.items():
        if name in given and given[name] not in allowed:
            raise ValueError(
                f"--{name} {given[name]}: of the model {model} it is {', '.join(allowed[:-1])} or {allowed[-1]}"
            )


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
