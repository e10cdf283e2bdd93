"""Strategies of hypothesis that draw containers: any legal ids, few of them, so that answers meet."""

from hypothesis import strategies as st
from raterzoo.models import Comparisons, Labels, PartialRankings, Scores

__all__ = ["comparisons", "containers", "labels", "rankings", "scores"]

WORDS = ("OTHER", "left", "right", "tie")  # that mean something to some door
_letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
_texts = st.text(_letters, min_size=1, max_size=8).filter(lambda t: t.strip() and t not in WORDS)
_integers = st.integers(-(2**63), 2**63 - 1)
_counts = st.integers(1, 2**31 - 1)


def _ids(draw, least=2):
    kind = draw(st.sampled_from((_texts, _integers)))
    return draw(st.lists(kind, min_size=least, max_size=4, unique=True))


def _rows(draw, *columns, unique=True):
    """Draw rows of the product of some ids."""
    cells = st.tuples(*(st.sampled_from(ids) for ids in columns))
    rows = draw(st.lists(cells, min_size=1, max_size=12, unique=unique))
    return [list(column) for column in zip(*rows, strict=True)]


@st.composite
def rankings(draw):
    """Draw partial rankings with ties and gaps."""
    categories = _ids(draw)
    item, rater, category = _rows(draw, _ids(draw, 1), _ids(draw, 1), categories)
    rank = draw(st.lists(st.integers(1, 6), min_size=len(item), max_size=len(item)))
    table = {"item": item, "rater": rater, "category": category, "rank": rank}
    return PartialRankings.from_table(table, categories=categories)


@st.composite
def labels(draw):
    """Draw labels, some of them several times, with kinds of raters."""
    categories = _ids(draw)
    item, rater, label = _rows(draw, _ids(draw, 1), _ids(draw, 1), categories, unique=False)
    table = {"item": item, "rater": rater, "label": label}
    table["count"] = draw(st.lists(_counts, min_size=len(item), max_size=len(item)))
    kind = {name: draw(st.sampled_from(("person", "model"))) for name in rater}
    table["kind"] = [kind[name] for name in rater]
    return Labels.from_table(table, count="count", categories=categories, rater_attributes=["kind"])


@st.composite
def comparisons(draw):
    """Draw votes, ties among them."""
    items = _ids(draw)
    pairs = [(a, b) for a in items for b in items if a != b]
    pair, rater, winner = _rows(draw, pairs, _ids(draw, 1), ("left", "right", "tie"), unique=False)
    left, right = zip(*pair, strict=True)
    count = draw(st.lists(_counts, min_size=len(rater), max_size=len(rater)))
    table = {"left": left, "right": right, "rater": rater, "winner": winner, "count": count}
    return Comparisons.from_table(table, items=items, count="count")


@st.composite
def scores(draw):
    """Draw scores."""
    finite = st.floats(-1e100, 1e100)
    item, rater = _rows(draw, _ids(draw, 1), _ids(draw, 1), unique=False)
    score = draw(st.lists(finite, min_size=len(item), max_size=len(item)))
    return Scores.from_table({"item": item, "rater": rater, "score": score})


containers = st.one_of(rankings(), labels(), comparisons(), scores())
