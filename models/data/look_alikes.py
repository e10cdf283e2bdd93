"""Ids that look alike: they differ in case, spaces, invisible characters, Unicode form or letters of like shape."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ..._messages import short_repr

# characters that are not drawn: Unicode's property Default_Ignorable_Code_Point
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

# Greek and Cyrillic letters drawn as a Latin one, from Unicode's confusables.txt 15.0 (UTS 39), whose l for capital I is I here
_GREEK = ("ͿΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγινορσυϜϳϺ", "JABEZHIKMNOPTYXayivopouFjM")
_CYRILLIC = ("ЅІЈАВЕКМНОРСТУХЬагеорсухѕіјѡѴѵҮүһҽӀӏԁԌԛԜԝ", "SIJABEKMHOPCTYXbareopcyxsijwVvYyheIidGqWw")
_LATIN = str.maketrans(*map("".join, zip(_GREEK, _CYRILLIC, strict=True)))

SHOWN = 5  # members of a group, and groups, in a message


def look_alikes(index: np.ndarray) -> list[list[str]]:
    """Group the ids that look alike; groups have two members or more."""
    if index.dtype.kind != "U":
        return []
    texts, above = index.tolist(), {}

    def root(key: str) -> str:
        while (higher := above.setdefault(key, key)) != key:
            key = higher
        return key

    for text in texts:
        if not text.isascii():  # of ASCII text both keys are the same
            above[root(_plain(text))] = root(_drawn(text))
    groups = defaultdict(list)
    for text in texts:
        groups[root(_plain(text))].append(text)
    return [group for group in groups.values() if len(group) > 1]


def alike_in_words(group: Sequence[str]) -> str:
    """First five members of a group, with the name of a character that cannot be told by sight."""
    several = len({*map(_plain, group)}) > 1
    words = []
    for text in group[:SHOWN]:
        hidden = (c for c in text if _INVISIBLE.match(c) or (several and ord(c) in _LATIN))
        odd = next(hidden, None)
        name = odd and f" (with {unicodedata.name(odd, f'U+{ord(odd):04X}')})"
        words.append(f"{short_repr(text)}{name or ''}")
    return " / ".join(words) + _more(group)


def groups_in_words(groups: Sequence[Sequence[str]]) -> str:
    """First five groups of look-alikes."""
    return "; ".join(map(alike_in_words, groups[:SHOWN])) + _more(groups, " groups")


def _more(found: Sequence[object], what: str = "") -> str:
    """Count what is not shown."""
    return f" and {len(found) - SHOWN:,} more{what}" if len(found) > SHOWN else ""


def _plain(text: str) -> str:
    """Text without case, surplus spaces and invisible characters, in one Unicode form."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)))
    return " ".join(text.casefold().split())


def _drawn(text: str) -> str:
    """Plain text in Latin letters where others are drawn alike, which depends on their case."""
    return _plain(unicodedata.normalize("NFKC", text).translate(_LATIN))
