"""Glossary of reports: each term of ``glossary.tsv`` with the words that it is found by, and its meaning."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Term(NamedTuple):
    """Term of a report: name, regular expression that finds it, and meaning."""

    name: str
    found_by: str
    meaning: str

    @property
    def anchor(self) -> str:
        """Id of its entry in the glossary."""
        return "term-" + re.sub("[^a-z0-9]+", "-", self.name.lower()).strip("-")

    def is_in(self, text: str) -> bool:
        """Return whether a text uses the term; a pattern without capitals finds these, too."""
        return bool(re.search(self.found_by, text, re.IGNORECASE if self.found_by.islower() else 0))


@cache
def terms() -> tuple[Term, ...]:
    """Return all terms, in alphabetical order."""
    lines = Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines()
    return tuple(Term(*line.split("\t")) for line in lines[1:])


def new_terms(texts: Iterable[str], known: set[str]) -> list[Term]:
    """Return the terms in texts that are not yet in `known`, and add them to it."""
    text = "\n".join(texts)
    found = [term for term in terms() if term.name not in known and term.is_in(text)]
    known.update(term.name for term in found)
    return found
