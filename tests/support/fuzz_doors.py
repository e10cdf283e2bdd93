"""What must hold behind every door: a valid container, or one error of ours that a person can read.

A door is a function of a table or of a file. `judged` passes something through it and raises `Finding` unless the outcome is one
of these two.
"""

import contextlib
import resource
import signal
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import raterzoo
import xarray as xr
from raterzoo.cli.tables import read_item_groups
from raterzoo.evaluation import EvaluationError, predictions_from_table
from raterzoo.models import Comparisons, DataError, Labels, PartialRankings, Scores
from raterzoo.reports.study import Groups

from tests.support.cli_parts import (
    read_container,
    read_groups,
    read_order_scores,
    read_predictions,
    read_sides,
)
from tests.support.stores import check_run, check_state, read_journal

__all__ = [
    "FILE_DOORS",
    "FRAMES",
    "JOURNAL_DOORS",
    "TABLE_DOORS",
    "Finding",
    "bounded",
    "check_comparisons",
    "check_labels",
    "check_rankings",
    "check_scores",
    "judged",
    "legible",
]

OURS = str(Path(raterzoo.__file__).parent)
LONGEST_MESSAGE = 2_000
SECONDS = 5
MEMORY = 2 << 30
JOINERS = (0x200C, 0x200D)  # of letters in Persian, of people in families


class Finding(AssertionError):
    """What neither a valid container nor an error of ours came of."""


def _alarm(*_):
    raise Finding(f"took over {SECONDS} CPU seconds")


@contextlib.contextmanager
def bounded():
    """Limit CPU time and what may be allocated."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))
    old = signal.signal(signal.SIGPROF, _alarm)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def judged(door, given):
    """Pass something through a door; return "valid" or the message of the error, or raise `Finding`."""
    with bounded(), warnings.catch_warnings(action="error"):
        warnings.filterwarnings("ignore", ".*may mean no answer")  # the table is read as it is
        try:
            door(given)
        except Finding:
            raise
        except ValueError as error:
            return _checked_message(error)
        except BaseException as error:
            raise Finding(f"{type(error).__name__}: {str(error)[:500]}") from error
    return "valid"


def _checked_message(error):
    last = traceback.extract_tb(error.__traceback__)[-1]
    by_us = last.filename.startswith(OURS) and "raise" in last.line  # not by NumPy in a line of ours
    if type(error) not in (DataError, EvaluationError, ValueError) or not by_us:
        raise Finding(f"not an error of ours: {type(error).__name__}: {str(error)[:500]}") from error
    message = str(error)
    if len(message) > LONGEST_MESSAGE:
        raise Finding(f"a message of {len(message):,} characters: {message[:500]}") from error
    if not legible(message):
        raise Finding(f"a message that is not printable: {ascii(message)[:500]}") from error
    if len(message.split()) < 4:
        raise Finding(f"a message that says nothing: {message}") from error
    return message


def legible(text):
    """Tell whether a text can be read, and steers no terminal."""
    return text.translate(dict.fromkeys(JOINERS)).isprintable()


def _holds(truth, what):
    if not truth:
        raise Finding(f"the container is not valid: {what}")


def _codes(code, index, least=0):
    _holds(code.dtype == np.int32, "codes are int32")
    _holds(((code >= least) & (code < max(len(index), least + 1))).all(), "codes are in range")


def _index(ids):
    _holds(ids.ndim == 1 and (ids.dtype.kind == "U" or ids.dtype == np.int64), "ids are text or int64")
    _holds(len(set(ids.tolist())) == len(ids), "ids are distinct")
    _holds("" not in ids.tolist(), "no id is empty")


def _sorted(*keys):
    order = np.lexsort(keys[::-1])
    _holds(np.array_equal(order, np.arange(len(order))), "annotations are sorted")


def _speaks(container):
    for text in (repr(container), container.report()):
        _holds(len(text) < 100_000 and legible(text.replace("\n", "")), "repr and report can be read")
    _holds(len(container) >= 0, "a length")
    for name in vars(container):
        own = getattr(container, name)
        _holds(not isinstance(own, np.ndarray) or not own.flags.writeable, f"{name} is read-only")
        _holds(not isinstance(own, np.ndarray) or own.dtype.kind != "O", f"{name} is no array of objects")


def check_rankings(rankings):
    """Raise unless partial rankings are what they say."""
    for ids in (rankings.items, rankings.raters, rankings.categories):
        _index(ids)
    _codes(rankings.annotation_item, rankings.items)
    _codes(rankings.annotation_rater, rankings.raters)
    _codes(rankings.category_code, rankings.categories)
    _sorted(rankings.annotation_item, rankings.annotation_rater)
    blocks, entries = rankings.annotation_start, rankings.block_start
    _holds(blocks[0] == entries[0] == 0, "rows start at 0")
    _holds((np.diff(blocks) > 0).all() and (np.diff(entries) > 0).all(), "no empty block or annotation")
    _holds(blocks[-1] == len(entries) - 1 and entries[-1] == len(rankings.category_code), "rows end")
    _speaks(rankings)
    read = PartialRankings.from_table(rankings.to_table(), categories=rankings.categories)
    _holds(read == rankings, "the round trip")
    one = rankings.select(items=rankings.items[:1])
    _holds(len(one.items) == 1, "the selection")


def check_labels(labels):
    """Raise unless labels are what they say."""
    for ids in (labels.items, labels.raters, labels.categories):
        _index(ids)
    _codes(labels.annotation_item, labels.items)
    _codes(labels.annotation_rater, labels.raters, -1 if labels.anonymous else 0)
    _codes(labels.label_code, labels.categories)
    _codes(labels.gold, labels.categories, -1)
    _sorted(labels.annotation_item, labels.annotation_rater, labels.label_code)
    _holds((labels.count > 0).all() and labels.count.dtype == np.int64, "counts are positive")
    if len(labels) > 100_000:  # a count of a pattern
        return
    _speaks(labels)
    table = labels.to_table()
    if labels.anonymous:
        names = [str(name) for name in labels.categories.tolist()]
        if "item" not in names and len(set(names)) == len(names) and len(labels):
            read = Labels.from_counts(table, categories=names)
            _holds(np.array_equal(read.counts, labels.counts), "the round trip")
    else:
        gold = "gold" if "gold" in table else None
        said = [*labels.rater_attributes]
        read = Labels.from_table(
            table, count="count", gold=gold, categories=labels.categories, rater_attributes=said
        )
        _holds(read == labels, "the round trip")
    _holds(len(labels.select(items=labels.items[:1]).items) == 1, "the selection")


def check_comparisons(pairs):
    """Raise unless comparisons are what they say."""
    for ids in (pairs.items, pairs.raters):
        _index(ids)
    _codes(pairs.left, pairs.items)
    _codes(pairs.right, pairs.items)
    _codes(pairs.annotation_rater, pairs.raters, -1 if pairs.anonymous else 0)
    _codes(pairs.outcome, range(3))
    _holds((pairs.left != pairs.right).all(), "no item meets itself")
    _holds((pairs.count > 0).all(), "counts are positive")
    _sorted(pairs.left, pairs.right, pairs.annotation_rater, pairs.outcome)
    _speaks(pairs)
    said = [*pairs.rater_attributes]
    rater = None if pairs.anonymous else "rater"
    read = Comparisons.from_table(
        pairs.to_table(), rater=rater, count="count", items=pairs.items, rater_attributes=said
    )
    _holds(read == pairs, "the round trip")
    _holds(len(pairs.largest_component().items) >= 2, "the largest component")


def check_scores(scores):
    """Raise unless scores are what they say."""
    for ids in (scores.items, scores.raters):
        _index(ids)
    _codes(scores.annotation_item, scores.items)
    _codes(scores.annotation_rater, scores.raters, -1 if scores.anonymous else 0)
    _holds((np.abs(scores.score) <= 1e100).all(), "scores are finite")
    _holds(not np.signbit(scores.score[scores.score == 0]).any(), "zero has no sign")
    _holds((scores.count > 0).all(), "counts are positive")
    _sorted(scores.annotation_item, scores.annotation_rater, scores.score)
    _speaks(scores)
    rater = None if scores.anonymous else "rater"
    read = Scores.from_table(
        scores.to_table(),
        rater=rater,
        count="count",
        bounds=scores.bounds,
        rater_attributes=[*scores.rater_attributes],
    )
    _holds(read == scores, "the round trip")
    _holds(len(scores.select(items=scores.items[:1]).items) == 1, "the selection")


def _check_predictions(array):
    _index(array["item"].to_numpy())
    if "category" in array.dims:
        _index(array["category"].to_numpy())
        _holds((array < np.inf).all(), "scores are no NaN and not infinite")
    else:
        _holds(array.dtype.kind in "Ui", "labels")
    _holds(len(repr(array)) < 100_000 and "<script>" not in array._repr_html_(), "a page")


def _check_groups(groups):
    if isinstance(groups, Groups):
        _holds(all(isinstance(k, str) and v.strip() for k, v in groups.group.items()), "groups have names")
        _holds(groups.value is None or np.isfinite([*groups.value.values()]).all(), "values are finite")
    else:
        _holds(groups.dtype.kind == "U", "groups are text")


def _polars(table):
    return pl.DataFrame(table, strict=False)


FRAMES = {
    "dict": lambda table: table,
    "arrays": lambda table: {name: np.array([*cells, None], object)[:-1] for name, cells in table.items()},
    "pandas": pd.DataFrame,
    "text": lambda table: pd.DataFrame(table).astype("string"),
    "categorical": lambda table: pd.DataFrame(table).astype("category"),
    "polars": _polars,
    "pyarrow": pa.table,
}  # fmt: skip


def _optional(table, **roles):
    try:
        own = (getattr(table, "column_names", None), getattr(table, "columns", None), table)
        names = set(next((named for named in own if named is not None), ()))
    except (TypeError, ValueError):
        names = set()
    return {role: name for role, name in roles.items() if name in names}


def _counts_array(table):
    """Return a table of counts as a DataArray."""
    names = [name for name in table if name != "item"]
    cells = np.array([*zip(*(table[name] for name in names), strict=True)])
    return xr.DataArray(cells, {"item": table["item"], "category": names}, ("item", "category"))


def _blocks(table):
    """Return a table of rankings as nested mappings of blocks."""
    nested = {}
    for item, rater, category, rank in zip(*table.values(), strict=True):
        nested.setdefault(item, {}).setdefault(rater, {}).setdefault(rank, []).append(category)
    return {i: {r: list(b.values()) for r, b in own.items()} for i, own in nested.items()}


TABLE_DOORS = {
    "rankings": lambda t: check_rankings(PartialRankings.from_table(t)),
    "labels": lambda t: check_labels(Labels.from_table(t, **_optional(t, count="count", gold="gold"))),
    "wide": lambda t: check_labels(Labels.from_wide(t, raters=["a", "b"], **_optional(t, item="item"))),
    "patterns": lambda t: check_labels(Labels.from_wide(t, raters=["a", "b"], **_optional(t, count="count"))),
    "counts": lambda t: check_labels(Labels.from_counts(t)),
    "comparisons": lambda t: check_comparisons(Comparisons.from_table(t, **_optional(t, count="count"))),
    "scores": lambda t: check_scores(Scores.from_table(t, **_optional(t, count="count"))),
    "levels": lambda t: check_scores(Scores.from_counts(t)),
    "ranked": lambda t: _check_predictions(predictions_from_table(t, rank="rank", classifier="classifier")),
    "scored": lambda t: _check_predictions(predictions_from_table(t, score="score", classifier="classifier")),
}  # fmt: skip

FILE_DOORS = {
    "rankings": lambda p: check_rankings(read_container(p, "rankings", [])),
    "labels": lambda p: check_labels(read_container(p, "labels", [])),
    "wide": lambda p: check_labels(read_container(p, "labels", [], layout="wide")),
    "patterns": lambda p: check_labels(read_container(p, "labels", [], layout="wide")),
    "counts": lambda p: check_labels(read_container(p, "labels", [], layout="counts")),
    "comparisons": lambda p: check_comparisons(read_container(p, "comparisons", [])),
    "scores": lambda p: check_scores(read_container(p, "scores", [])),
    "levels": lambda p: check_scores(read_container(p, "scores", [], layout="counts")),
    "ranked": lambda p: _check_predictions(read_predictions(p, [])),
    "scored": lambda p: _check_predictions(read_predictions(p, [])),
    "orders": lambda p: _check_predictions(read_order_scores(p, []).rename(classifier="category")),
    "sides": lambda p: _check_predictions(read_sides(p, [], 0.5)),
    "groups": lambda p: _check_groups(read_groups(p)),
    "item_groups": lambda p: _check_groups(read_item_groups(p)),
}  # fmt: skip


def _check_journal(path, check):
    """Read a file of a journal of 2 chains and 24 draws, as `DrawStore.read_journal` does."""
    note, arrays = read_journal(path)
    _holds(all(array.dtype.kind in "biufU" for array in arrays.values()), "numbers and text")
    size = sum(array.nbytes for array in arrays.values())
    _holds(size <= path.stat().st_size, "arrays are as large as the file")
    check(path, note, arrays, {"chain": 2, "draw": 24})


def _check_run(path, note, _, sizes):
    check_run(path, note, sizes)


JOURNAL_DOORS = {
    "run": lambda p: _check_journal(p, _check_run),
    "nuts": lambda p: _check_journal(p, _check_run),
    "state": lambda p: _check_journal(p, check_state),
}
