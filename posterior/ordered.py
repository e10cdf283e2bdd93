"""Categories that have an order: whole numbers, and the words of common scales."""

from collections.abc import Sequence

import numpy as np

SCALES = (
    (
        "never",
        "almost never",
        "rarely",
        "seldom",
        "occasionally",
        "sometimes",
        "often",
        "usually",
        "very often",
        "always",
    ),
    ("none", "very low", "low", "medium", "moderate", "high", "very high"),
    ("none", "absent", "minimal", "mild", "moderate", "marked", "severe", "very severe", "critical"),
    (
        "strongly disagree",
        "disagree",
        "somewhat disagree",
        "neutral",
        "somewhat agree",
        "agree",
        "strongly agree",
    ),
    ("strongly disagree", "disagree", "neither agree nor disagree", "agree", "strongly agree"),
    ("very negative", "negative", "neutral", "positive", "very positive"),
    ("very bad", "bad", "poor", "fair", "ok", "average", "good", "very good", "excellent"),
    ("very unlikely", "unlikely", "possible", "likely", "very likely"),
    ("very small", "small", "medium", "large", "very large"),
    ("very easy", "easy", "medium", "hard", "very hard"),
    ("not at all", "a little", "slightly", "somewhat", "moderately", "very", "extremely"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    (
        "not relevant",
        "irrelevant",
        "marginally relevant",
        "partially relevant",
        "relevant",
        "highly relevant",
    ),
)  # each from lowest to highest; a study may use some of a scale
FEWEST, MOST = 3, 11  # categories: two need no order, and more numbers are likely codes


def ordered_categories(categories: np.ndarray) -> list[str | int] | None:
    """Return categories from lowest to highest where they look ordered, else None.

    They do if they are consecutive whole numbers, as numbers or as text, or words of one scale of `SCALES` in any case.
    """
    names = categories.tolist()
    if not FEWEST <= len(names) <= MOST:
        return None
    words = [" ".join(str(name).replace("_", " ").replace("-", " ").casefold().split()) for name in names]
    order = _order_of_numbers([str(name).strip() for name in names]) or _order_of_words(words)
    return None if order is None else [names[place] for place in order]


def _order_of_numbers(words: Sequence[str]) -> list[int] | None:
    """Return the places of consecutive whole numbers, from lowest to highest."""
    digits = [word.removeprefix("-") for word in words]
    if not all(own.isascii() and own.isdecimal() and len(own) < 4 for own in digits):
        return None
    values = np.array([int(word) for word in words])
    order = np.argsort(values)
    return order.tolist() if (np.diff(values[order]) == 1).all() else None


def _order_of_words(words: Sequence[str]) -> list[int] | None:
    """Return the places of words of one scale, from lowest to highest."""
    for scale in SCALES:
        if {*words} <= {*scale} and len({*words}) == len(words):
            return sorted(range(len(words)), key=lambda place: scale.index(words[place]))
    return None
