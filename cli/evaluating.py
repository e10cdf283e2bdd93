"""Scores of predictions against a posterior, from files: metrics with intervals, by group, and comparison."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from .. import inference, papers
from .._messages import short_repr
from ..evaluation.uncertainty.questions import COMMANDS, OPEN, is_of_raters, is_of_truth, question_of
from ..inference.storage.posterior_files import has_checksums, read_posterior, unfinished
from ..models._catalog import annotation_kinds
from ..models.data.reading.columns import nearest
from ..posterior.groups import with_groups
from ..posterior.matching import integer_id, named_as, with_complement
from ..posterior.plausibility import (
    Plausibility,
    UnknownTruth,
    of_rankings,
    plausibility_of,
    refuse_without_draws,
    truth_of,
)
from ..posterior.schema import ASK_TRUTH, OTHER
from ..reports.metric_names import CONCORDANCE
from ..reports.sections.comparisons import and_more, concordances, order_pairs
from ..reports.sections.metrics import best_rows, default_metrics, metric_rows, note_on_all, pair_rows, scored
from ..reports.sections.scores import metrics_of_sides
from ..reports.study import Groups, labels_of
from ..reports.wording import first_names, percent, shown_interval
from .options import EvaluationOptions, thresholds_of
from .section_files import write_rows
from .tables import (
    check_side_metrics,
    read_clusters,
    read_item_groups,
    read_orders,
    read_predictions,
    read_sides,
)
from .terminal import print_note, print_table, print_text

MAX_ID = np.iinfo(np.int64).max
OF_TRUTH = ("plausibility", "quality", "location")  # variables against which predictions are scored
UNFOLDED = ("mean", "90 % interval", "raters", "items", "MCSE", "by", "P")


def score_file(posterior: Path, predictions: Path, options: EvaluationOptions) -> None:
    """Score a file of predictions against a stored posterior; print the tables, and write them if so requested."""
    if options.out is not None and options.out.suffix.lower() not in (".csv", ".json"):
        raise ValueError(f"--out {options.out}: name a .csv or a .json file")
    with closing(read_posterior(posterior)) as tree:
        _score_tree(tree, posterior, predictions, options)


def _score_tree(tree: xr.DataTree, posterior: Path, predictions: Path, options: EvaluationOptions) -> None:
    """Score a file of predictions against a posterior that is open, which the file `posterior` holds."""
    if not has_checksums(tree):
        print_note(
            f"{posterior} has no checksums, as another program or an older version wrote it: damage to its numbers is not seen"
        )
    if (so_far := unfinished(posterior, tree)) is not None:
        print_note(so_far)
    for variable in OF_TRUTH:
        refuse_without_draws(tree, variable)
    held = [str(name) for name in tree["posterior"].data_vars]
    if not {*OF_TRUTH} & {*held}:
        raise ValueError(
            f"{posterior}: predictions are scored against plausibilities of rankings or labels, qualities of comparisons or "
            f"locations of scores, and the posterior holds {first_names(held)}; fit a model by `raterzoo fit`"
        )
    of_votes = "quality" in held
    if "plausibility" in held or options.truth is not None:
        tree = _with_truth(tree, options.truth, posterior)
    if options.threshold and (of_votes or "plausibility" in held):
        raise ValueError(f"--threshold: {posterior} is no posterior of scores; leave it out")
    if wrong := [name for name in options.metric or () if (name == CONCORDANCE) != of_votes]:
        kind = "comparisons" if of_votes else "rankings, labels or scores"
        raise ValueError(f"--metric {wrong[0]} is not a metric of {kind}, the data of {posterior}")
    if of_votes and options.against is not None:
        raise ValueError(f"--against: {posterior} is of comparisons; leave it out")
    diagnosis = inference.diagnose(tree, var_names=[name for name in OF_TRUTH if name in held])
    if not diagnosis.attrs["converged"]:
        print_note(f"do not rely on the numbers of {posterior}: {diagnosis.attrs['verdict']}")
    score = _score_orders if of_votes else _score_predictions
    rows, pairs, best, question = score(tree, predictions, options)
    print_table([_row_on_terminal(row) for row in rows], _heading(rows), whole=UNFOLDED)
    for row in rows:
        if note := row.get("note"):
            print_text(
                f"{row['metric']}, {', '.join(str(row[n]) for n in ('classifier', 'group') if n in row)}: {note}"
            )
    print_text(f"question: {_with_option(question)}")
    if is_of_truth(question):
        of_model = f", {tree.attrs['model']}" if "model" in tree.attrs else ""
        print_text(
            f"it leans on the model{of_model}, which is not checked here: raterzoo report ANNOTATIONS PREDICTIONS fits and "
            "checks it"
        )
    if pairs:
        print_text("")
        print_table([_pair_on_terminal(row) for row in pairs], "the better classifier first", whole=UNFOLDED)
    if options.out is not None:
        asked = _with_option(question)
        compared = {"rows": pairs, "best": {"rows": best}}
        tables = {"": [row | {"question": asked} for row in rows]} | ({"-comparison": pairs} if pairs else {})
        write_rows(options.out, {"question": asked, "metrics": rows, "comparison": compared}, tables)


def _with_option(question: str) -> str:
    """Return a question in the words of the command line."""
    for python, command in COMMANDS.items():
        question = question.replace(python, command)
    return question


def _check_against(against: str | None, question: str, predictions: Path, kind: str) -> None:
    """Raise if the posterior of a kind of annotation answers another question than the one that is asked."""
    if against not in (None, "truth", "raters"):
        raise ValueError(f"--against {against}: expected truth or raters")
    asked = question.partition(";")[0]
    if against == "truth" and not is_of_truth(question):
        if kind == "scores":
            raise ValueError(
                "--against truth: classifiers are raters of labels and rankings, not of scores, so that no posterior of scores "
                f"has seen their predictions; the metrics are {OPEN}"
            )
        model = annotation_kinds[kind].rater_model
        raise ValueError(
            f"--against truth: by this posterior the metrics are {asked}. Fit one that has seen the "
            f"predictions: raterzoo fit ANNOTATIONS --kind {kind} --model {model} --predictions {predictions} -o joint.nc"
        )
    if against == "raters" and not is_of_raters(question):
        raise ValueError(
            f"--against raters: by this posterior the metrics are {asked}. Fit the raters alone, without --predictions"
        )


def _with_truth(tree: xr.DataTree, truth: str | None, posterior: Path) -> xr.DataTree:
    """Return the tree with what its plausibility is; raise ValueError if it neither says it nor is told, or says otherwise."""
    if "plausibility" not in tree["posterior"]:
        raise ValueError(f"--truth: {posterior} has no plausibility; leave it out")
    plausibility = plausibility_of(tree)
    if truth is not None and truth not in ("category", "distribution"):
        raise ValueError(f"--truth {truth}: expected category or distribution")
    try:
        known = truth_of(tree, plausibility)
    except UnknownTruth:
        if truth is None:
            raise ValueError(
                f"{posterior}: {ASK_TRUTH}. Say --truth category, or --truth distribution"
            ) from None
        own = plausibility.assign_attrs(truth=truth)
        return with_groups(tree, posterior=tree["posterior"].to_dataset().assign(plausibility=own))
    if truth not in (None, known):
        raise ValueError(
            f"--truth {truth}: {posterior} says that its plausibility is a {known}; leave it out"
        )
    return tree


def _reading(options: EvaluationOptions) -> dict[str, Any]:
    """Return how a table of predictions is read."""
    return {"columns": options.column or [], "missing": "drop" if options.drop_missing else "error"}


Found = tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]], str]
OF_ORDERS = "agreement with what the votes leave open, not with the true order"


def _score_orders(tree: xr.DataTree, predictions: Path, options: EvaluationOptions) -> Found:
    """Score rankings of the items against a posterior of comparisons."""
    for option, file in (("--by", options.by), ("--clusters", options.clusters)):
        if file is not None:
            raise ValueError(f"{option}: groups are of rankings and labels, not of comparisons")
    items = tree["posterior"]["item"].to_numpy()
    orders = read_orders(predictions, items=items.astype(str), **_reading(options))
    orders = orders.assign_coords(item=items)
    if options.compare:
        _check_several(orders, predictions)
    return concordances(tree, orders), order_pairs(tree, orders) if options.compare else [], [], OF_ORDERS


def _score_predictions(tree: xr.DataTree, predictions: Path, options: EvaluationOptions) -> Found:
    """Score predictions of rankings or labels, or of the side of a threshold of scores."""
    read, seed = _reading(options), options.seed
    kind = "rankings" if of_rankings(tree) else "labels" if "plausibility" in tree["posterior"] else "scores"
    if kind != "scores":
        declared = Plausibility.of(tree).declared
        predicted = named_as(read_predictions(predictions, **read), declared)
        _check_labels(predicted, declared, predictions)
        predicted = with_complement(_with_ids_of(tree, predicted, predictions), declared)
        metrics = options.metric or default_metrics(tree, predicted)
    else:
        thresholds = thresholds_of(options.threshold or ())
        if len(thresholds) != 1:
            raise ValueError(
                "--threshold: this posterior is of scores, and predictions of scores refer to one threshold; say which, such as "
                "--threshold 0"
            )
        tree = papers.thresholded(tree, thresholds[0])
        predicted = read_sides(predictions, threshold=thresholds[0], **read)
        predicted = _with_ids_of(tree, predicted, predictions)
        check_side_metrics(options.metric or (), predicted)
        metrics = options.metric or metrics_of_sides(tree, predicted)
    if options.compare:
        _check_several(predicted, predictions)
    question = question_of(tree, predicted)
    _check_against(options.against, question, predictions, kind)
    by = None
    if options.by is not None:
        groups = read_item_groups(options.by)
        if isinstance(groups, Groups):
            by = groups.of(_categories(tree)).group
        else:
            by = _with_ids_of(tree, groups, options.by)
    clusters = read_clusters(options.clusters, Plausibility.of(tree).items)
    found = scored(tree, predicted, metrics, seed, by=by, clusters=clusters)
    if gold := note_on_all(found):
        print_note(gold)
    if not options.compare:
        return metric_rows(found), [], [], question
    compared = found if by is None else scored(tree, predicted, metrics, seed, clusters=clusters)
    return metric_rows(found), pair_rows(compared), best_rows(compared), question


def _check_labels(predicted: xr.DataArray, declared: np.ndarray | None, path: Path) -> None:
    """Raise if a file predicts a category that the posterior does not know."""
    known = [] if declared is None else [*declared.tolist(), OTHER]
    if strange := [name for name in labels_of(predicted) if known and name not in known]:
        raise ValueError(
            f"{path}: category {short_repr(strange[0])}{and_more(strange)} is not one of the {len(known) - 1} of the posterior; "
            f"{nearest(strange[0], np.array(known[:-1]))}. Correct the spelling, or fit again with --categories that have it"
        )


def _with_ids_of(tree: xr.DataTree, read: xr.DataArray, path: Path) -> xr.DataArray:
    """Ids of items of a file, which are text, as integers if those of a posterior made in Python are integers."""
    if tree["posterior"]["item"].dtype.kind not in "iu":
        return read
    ids = read["item"].to_numpy().tolist()
    numbers = [integer_id(item) for item in ids]
    if odd := [item for item, n in zip(ids, numbers, strict=True) if n is None or abs(n) > MAX_ID]:
        raise ValueError(
            f"{path}: the items of the posterior are integers, and {short_repr(odd[0])} is none; write their numbers, or "
            "fit a table whose items have these names"
        )
    return read.assign_coords(item=np.array(numbers, np.int64))


def _check_several(predicted: xr.DataArray, path: Path) -> None:
    if predicted.sizes.get("classifier", 1) < 2:
        raise ValueError(
            f"--compare: {path} has predictions of one classifier; name several in a column 'classifier'"
        )


def _categories(tree: xr.DataTree) -> list[str]:
    """Return the declared categories of a posterior."""
    constant = tree["constant_data"].to_dataset() if "constant_data" in tree.children else {}
    plausibility = tree["posterior"].to_dataset()["plausibility"]
    if "category_name" in constant and "candidate" in plausibility.dims:
        return constant["category_name"].to_numpy().astype(str).tolist()
    names = dict.fromkeys(plausibility["category"].to_numpy().astype(str).tolist())
    return [name for name in names if name != OTHER]


def _heading(rows: Sequence[Mapping[str, Any]]) -> str:
    both = " of raters and items together; sd from either alone"
    return f"90 % intervals{both if 'sd_items' in rows[0] else ' of what the votes left open'}"


def _row_on_terminal(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that fit on the terminal."""
    narrow = {name: row[name] for name in ("metric", "classifier", "group") if name in row}
    narrow |= {"mean": row["mean"], **shown_interval(row)}
    if "sd_items" in row:
        narrow |= {"raters": row["sd_raters"], "items": row["sd_items"]}
    return narrow | {"MCSE": f"{row['mcse']:.1g}"}


def _pair_on_terminal(row: Mapping[str, Any]) -> dict[str, Any]:
    named = {"metric": row["metric"], "better": row["classifier"], "than": row["other"]}
    named |= {"by": row["difference"], **shown_interval(row)}
    return named | {"P": percent(row["probability_better"])}
