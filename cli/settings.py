"""Options of a fit, validated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..models.data.container import Container

__all__ = ["Settings", "bounds_of", "thresholds_of"]


DEFAULT_MODEL = {
    "rankings": "plackett_luce",
    "labels": "dawid_skene",
    "comparisons": "bradley_terry",
    "scores": "normal_scores",
}
DEFAULT_RELIABILITY = {"plackett_luce": "3", "prirn": "3", "tempered_plackett_luce": "3"}
OF_VOTES = {"ties", "left_bias", "signed", "raters", "rater_attribute", "largest_component"}
OF_KIND = {
    "rankings": {"categories", "anonymize"},
    "labels": {"categories", "rater_attribute", "anonymize"},
    "comparisons": OF_VOTES | {"anonymize"},
    "scores": {"bounds", "threshold", "rater_attribute", "anonymize"},
}
OPTIONS = {
    "plackett_luce": {"reliability", "concentration", "unranked"},
    "tempered_plackett_luce": {"reliability", "concentration", "unranked"},
    "prirn": {"reliability", "tie_weight"},
    "dirichlet": {"reliability", "concentration"},
    "hierarchical_dawid_skene": {"group"},
    "hierarchical_scores": {"group"},
}
PRIORS = ("concentration", "unranked", "tie_weight", "ties", "left_bias", "signed", "group")
TIES = {
    "bradley_terry": ("auto", "davidson", "none"),
    "thurstone": ("auto", "threshold", "none"),
}
RATERS = ("hierarchical", "per-rater", "shared")


@dataclass(frozen=True)
class Settings:
    """Model, priors and sampler settings of a fit."""

    kind: str
    model: str
    # the first is reported in full; a single unused one if the model has none
    reliabilities: tuple[float, ...]
    draws: int
    chains: int
    seed: int
    categories: str | None = None  # closed set: a text file with one per line, or comma-separated
    layout: str = "long"  # labels: long, wide or counts; scores: long or counts
    rater_attributes: tuple[str, ...] = ()  # columns, including that of the group
    largest_component: bool = False  # comparisons: keep only the largest component
    bounds: tuple[float, float] | None = None  # scores: lowest and highest possible
    thresholds: tuple[float, ...] = ()  # scores
    anonymize: bool = False  # replace rater ids by numbers in random order
    priors: dict[str, Any] = field(default_factory=dict)  # further arguments of the builder

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
        """Validate the options against the catalog; options that were not given are None, False or empty."""
        model = _model_of(kind, model)
        given = {
            name: value
            for name, value in options.items()
            if not (value is None or value is False or value == [])
        }
        _refuse_others(kind, model, given)
        _refuse_words(model, given)
        for name, number in {"draws": draws, "chains": chains}.items():
            if number < 1:
                raise ValueError(f"--{name} {number}: expected a whole number from 1")
        priors = {name: given[name] for name in PRIORS if name in given}
        if "raters" in given:
            priors["reliability"] = given["raters"].replace("-", " ")
        attributes = dict.fromkeys(given.get("rater_attribute", ()))
        if "group" in given:
            attributes[given["group"]] = None
        return cls(
            kind,
            model,
            _numbers(given.get("reliability", DEFAULT_RELIABILITY.get(model, "1"))),
            draws,
            chains,
            seed,
            categories=given.get("categories"),
            layout=layout,
            rater_attributes=tuple(attributes),
            largest_component=given.get("largest_component", False),
            bounds=bounds_of(given.get("bounds")),
            thresholds=thresholds_of(given.get("threshold", ())),
            anonymize=given.get("anonymize", False),
            priors=priors,
        )

    def nameless[Data: "Container"](self, data: Data) -> Data:
        """Return annotations without rater ids, if requested."""
        return data.anonymized() if self.anonymize else data

    @property
    def has_reliability(self) -> bool:
        """Whether the builder of the model has an argument `reliability`."""
        return "reliability" in OPTIONS.get(self.model, set())


def _model_of(kind: str, model: str | None) -> str:
    """Return the model requested, or the default of the kind; raise if model and kind do not match."""
    from ..models import catalog

    model = model or DEFAULT_MODEL[kind]
    if model not in catalog:
        raise ValueError(
            f"--model {model}: there is no such model; the catalog has {', '.join(catalog)}"
        )
    if catalog[model].data != kind:
        raise ValueError(f"--model {model} is a model of {catalog[model].data}, not of {kind}")
    return model


def _refuse_others(kind: str, model: str, given: Mapping[str, Any]) -> None:
    """Raise if an option belongs to other models, or a required one is missing."""
    if wrong := sorted(set(given) - OPTIONS.get(model, set()) - OF_KIND[kind]):
        takers = [name for name, own in OPTIONS.items() if wrong[0] in own]
        takers = takers or [f"--kind {name}" for name, own in OF_KIND.items() if wrong[0] in own]
        raise ValueError(
            f"--{wrong[0].replace('_', '-')} is not an option of the model {model}, but of {', '.join(takers)}"
        )
    if model == "ordinal" and "categories" not in given:
        raise ValueError(
            "--model ordinal: say the order of the categories, from lowest to highest: --categories low,middle,high, or a text "
            "file with one a line"
        )


def _refuse_words(model: str, given: Mapping[str, Any]) -> None:
    """Raise if the value of --ties or --raters is not one of the model's."""
    for name, allowed in {"ties": TIES.get(model, ()), "raters": RATERS}.items():
        if name in given and given[name] not in allowed:
            raise ValueError(
                f"--{name} {given[name]}: the model {model} takes {', '.join(allowed[:-1])} or {allowed[-1]}"
            )


def bounds_of(text: str | None) -> tuple[float, float] | None:
    """Parse '1,10' as lowest and highest possible score; raise unless they are finite and increasing."""
    if text is None:
        return None
    ends = _floats("bounds", text, "two numbers, such as 1,10")
    if len(ends) != 2 or ends[0] >= ends[1]:
        raise ValueError(
            f"--bounds {text}: write the lowest and the highest score that could be given, such as 1,10"
        )
    return ends[0], ends[1]


def thresholds_of(texts: Sequence[str]) -> tuple[float, ...]:
    """Parse thresholds, given one by one or comma-separated; raise unless they are finite and distinct."""
    text = ",".join(texts)
    values = (
        _floats("threshold", text, "numbers with commas between them, such as 0,0.5")
        if text
        else ()
    )
    if len(set(values)) < len(values):
        raise ValueError(f"--threshold {text}: each number once")
    return values


def _floats(option: str, text: str, allowed: str) -> tuple[float, ...]:
    """Parse comma-separated finite numbers; `allowed` completes the message."""
    try:
        values = tuple(float(part) + 0.0 for part in text.split(","))
    except ValueError:
        raise ValueError(f"--{option} {text}: write {allowed}") from None
    if not all(map(isfinite, values)):
        raise ValueError(f"--{option} {text}: write {allowed}; they are finite")
    return values


def _numbers(text: str) -> tuple[float, ...]:
    """Parse '1,2.5' as distinct positive numbers; whole ones become int."""
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
