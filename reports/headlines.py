"""Headline sentences of a report, each number with its interval."""

from collections.abc import Mapping, Sequence
from typing import Any

from . import Section
from .equivalence import subject_of
from .wording import percent, with_interval

ABBREVIATED = ("IRN",)


def headlines(sections: Sequence[Section]) -> list[str]:
    """Return the headline sentences, from the facts and rows of the sections."""
    by_key = {section.key: section for section in sections if section.key}
    makers = {
        "leaderboard": _best_item,
        "certainty": _certainty,
        "metrics": lambda own: _metric(own, by_key.get("comparison")),
        "comparison.optimism": _optimism,
        "equivalence": _worth,
        "risk": _risk,
        "ask_next": _question,
    }
    return [sentence for key, make in makers.items() if key in by_key and (sentence := make(by_key[key]))]


def _best_item(section: Section) -> str:
    row = section.rows[0]
    quality = with_interval(row["quality"], row["quality from"], row["quality to"], 2)
    sure = percent(row["P(best)"])
    return f"{row['item']} is the best of {len(section.rows):,} with probability {sure}; its quality is {quality}."


def _certainty(section: Section) -> str:
    facts: Mapping[str, Any] = section.facts
    if "mean" not in facts:
        return ""
    sure = with_interval(facts["mean"], facts["lower"], facts["upper"])
    guess = "The most plausible label of an item"
    if "thresholds" in facts:  # of scores
        guess = f"The more probable side of threshold {facts['thresholds'][0]['threshold']:g}"
    return (
        f"{guess} is right with probability {sure} on average, and less than .99 certain for {_share_in_words(facts)} of the "
        "items."
    )


def _metric(section: Section, comparison: Section | None) -> str:
    rows = [row for row in section.rows if row["metric"] == section.rows[0]["metric"]]
    first = rows[0]
    if comparison is not None:
        (first,) = (row for row in rows if row["classifier"] == comparison.rows[0]["classifier"])
    figure = with_interval(first["mean"], first["lower"], first["upper"])
    if comparison is None:
        return f"By {first['metric']} the predictions reach {figure}."
    second = comparison.rows[0]
    difference = with_interval(second["difference"], second["lower"], second["upper"])
    return (
        f"By {first['metric']} {first['classifier']} does best, with {figure}; it is better than {second['other']}, "
        f"the next, with probability {percent(second['probability_better'])} (difference {difference})."
    )


def _optimism(section: Section) -> str:
    row = section.rows[0]
    if row["lower"] <= 0 <= row["upper"]:
        return ""
    estimate = row["estimate"] if row["estimate"] in ABBREVIATED else f"the {row['estimate']}"
    too = "too good" if row["optimism"] > 0 else "worse than it is"
    figure = with_interval(abs(row["optimism"]), *sorted((abs(row["lower"]), abs(row["upper"]))))
    return f"Taking {estimate} for the certain truth would make {row['classifier']} look {too}: by {figure}."


def _worth(section: Section) -> str:
    if not section.rows:
        return ""
    best = max(section.rows, key=lambda row: row["score"])
    return f"{subject_of(best['classifier'])[0]} worth {best['words']}."


def _risk(section: Section) -> str:
    return f"The certainty of the risk is below .99 for {_share_in_words(section.facts)} of the items."


def _share_in_words(facts: Mapping[str, Any]) -> str:
    ends = f"{facts['below_99_lower']:.0%} to {facts['below_99_upper']:.0%}"
    return f"{facts['below_99']:.0%} ({ends})"


def _question(section: Section) -> str:
    facts: Mapping[str, Any] = section.facts
    first = facts["first"][:3]
    pairs = "left" in section.rows[0]
    asked = f"to compare {'; '.join(first)}" if pairs else f"about {', '.join(first)}"
    return f"Ask one more rater {asked} first." if first else ""
