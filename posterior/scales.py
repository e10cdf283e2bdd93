"""Scales: categories that are whole numbers, or words of a known scale, are in order."""

from collections.abc import Sequence

_SCALES = (
    ("never", "rarely", "sometimes", "often", "always"),
    ("never", "seldom", "sometimes", "often", "always"),
    ("none", "very low", "low", "medium", "high", "very high"),
    ("low", "moderate", "high"),
    ("absent", "minimal", "mild", "moderate", "severe"),
    ("none", "small", "medium", "large"),
    ("very bad", "bad", "fair", "good", "very good", "excellent"),
    ("poor", "fair", "good", "very good", "excellent"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("very negative", "negative", "neutral", "positive", "very positive"),
)


def places_on_scale(categories: Sequence[str]) -> list[int] | None:
    """Return the place of each of three or more categories on a scale, from 0; None if they are on no known one."""
    names = [str(name).strip().lower().replace("_", " ").replace("-", " ") for name in categories]
    if len(set(names)) < 3:
        return None
    if all(name.isdecimal() for name in names):
        values: list[int] | None = [int(name) for name in names]
    else:
        values = next(
            ([scale.index(own) for own in names] for scale in _SCALES if set(names) <= set(scale)), None
        )
    return values and [sorted(values).index(own) for own in values]
