"""Predictions as answers of one more rater: the same labels as a table with their rows, and what is refused."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from raterzoo.evaluation import predictions_from_table
from raterzoo.models import DataError, Labels
from raterzoo.models import _prior_arguments as prior_arguments

TABLE = {
    "item": ["a", "a", "b", "b", "c"],
    "rater": ["Ann", "Bob", "Ann", "Bob", "Bob"],
    "label": ["no", "yes", "yes", "yes", "no"],
}
LABELS = Labels.from_table(TABLE)


def ranked(labels, items=("a", "b", "c"), **coords):
    """Predictions with one label for each item; several rows are several classifiers."""
    values = np.array(labels)
    dims = ("classifier", "item", "position")[3 - values.ndim - 1 :]
    return xr.DataArray(values[..., None], {"item": list(items)} | coords, dims)


def scored(values, categories=("no", "yes")):
    coords = {"item": ["a", "b", "c"][: len(values)], "category": list(categories)}
    return xr.DataArray(np.array(values), coords, ("item", "category"))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_the_same_labels_as_a_table_with_rows_of_the_classifiers(data):
    integers = data.draw(st.booleans())
    ids, names = ([3, 1, 2], [10, 20]) if integers else (["a", "b", "c"], ["x", "y"])
    cell = st.tuples(st.sampled_from(ids), st.sampled_from([7, 8] if integers else ["p", "q"]))
    cells = data.draw(
        st.lists(cell, min_size=3, max_size=8).filter(lambda own: {i for i, _ in own} == {*ids})
    )
    table = {"item": [i for i, _ in cells], "rater": [r for _, r in cells]}
    table["label"] = data.draw(st.lists(st.sampled_from(names), min_size=len(cells), max_size=len(cells)))
    labels = Labels.from_table(table, categories=names)
    machines = [100, 101] if integers else ["net", "tree"]
    pairs = [(m, i) for m in machines for i in ids]
    kept = data.draw(st.lists(st.sampled_from(pairs), unique=True, min_size=1))
    found = data.draw(st.lists(st.sampled_from(names), min_size=len(kept), max_size=len(kept)))
    rows = {"classifier": [m for m, _ in kept], "item": [i for _, i in kept], "category": found}
    predictions = predictions_from_table(
        rows | {"rank": [1] * len(kept)}, rank="rank", classifier="classifier"
    )
    joint = labels.with_predictions(predictions)
    whole = {"item": table["item"] + rows["item"], "rater": table["rater"] + rows["classifier"]}
    whole |= {"label": table["label"] + found}
    whole["kind"] = ["person"] * len(cells) + ["classifier"] * len(kept)
    assert joint == Labels.from_table(whole, categories=names, rater_attributes=["kind"])
    assert joint.items.dtype == labels.items.dtype and joint.raters.dtype.kind == labels.raters.dtype.kind
    scores = predictions_from_table(rows | {"p": [0.9] * len(kept)}, score="p", classifier="classifier")
    assert labels.with_predictions(scores) == joint  # the other of two categories is completed


def test_gold_and_attributes_are_kept_and_classifiers_told_apart():
    table = TABLE | {"truth": ["no", "no", "", "", "yes"], "kind": ["expert", "lay", "expert", "lay", "lay"]}
    table["from"] = ["Ulm", "Bonn", "Ulm", "Bonn", "Bonn"]
    labels = Labels.from_table(table, gold="truth", rater_attributes=["kind", "from"])
    joint = labels.with_predictions(ranked(["no", "no", "no"], classifier="net"), group="machine")
    assert joint.gold.tolist() == labels.gold.tolist() and joint.has_gold
    kinds = dict(zip(joint.raters.tolist(), joint.rater_attributes["kind"].tolist(), strict=True))
    assert kinds == {"Ann": "expert", "Bob": "lay", "net": "machine"}
    assert joint.rater_attributes["from"].tolist() == ["Ulm", "Bonn", "machine"]
    again = joint.with_predictions(ranked(["yes", "no", ""]), attribute="kind")
    assert again.rater_attributes["kind"].tolist() == ["expert", "lay", "machine", "classifier"]
    assert again.raters.tolist()[-1] == "predictions" and len(again) == len(joint) + 2


def test_the_best_label_counts_and_ties_are_broken_by_the_order_of_the_categories():
    labels = Labels.from_table(TABLE, categories=["yes", "no"])
    joint = labels.with_predictions(scored([[0.5, 0.5], [0.9, 0.1], [-np.inf, -np.inf]]))
    own = joint.annotation_rater == joint.raters.tolist().index("predictions")
    assert joint.annotation_item[own].tolist() == [0, 1]  # the third is left out
    assert joint.categories[joint.label_code[own]].tolist() == ["yes", "no"]
    sets = scored([[True, False], [False, True], [False, False]])
    assert len(labels.with_predictions(sets)) == 7


def test_the_probability_of_one_of_two_categories_is_completed():
    joint = LABELS.with_predictions(scored([[-np.inf, 0.2], [-np.inf, 0.8], [-np.inf, 0.7]]))
    own = joint.annotation_rater == joint.raters.tolist().index("predictions")
    assert joint.categories[joint.label_code[own]].tolist() == ["no", "yes", "yes"]


def test_items_without_a_person_are_added_on_request(golden):
    predictions = ranked(["no", "yes"], items=("c", "z"))
    with golden.raises(DataError):
        LABELS.with_predictions(predictions)
    joint = LABELS.with_predictions(predictions, new_items="add")
    assert joint.items.tolist() == ["a", "b", "c", "z"] and joint.gold.tolist() == [-1] * 4
    assert joint.counts[3].tolist() == [0, 1]


REFUSED = {
    "an unknown label": (
        ranked(["no", "yess", "no"]),
        "'yess', the label of item 'b' by 'predictions'.*'yes'",
    ),
    "a rater already": (ranked(["no"] * 3, classifier="Bob"), "'Bob' is a rater of these labels already"),
    "no array": ({"item": ["a"]}, "a dict is none.*predictions_from_table"),
    "other dims": (ranked(["no"] * 3).rename(item="case"), "found dims.*item, position"),
    "no ids": (ranked(["no"] * 3).drop_vars("item"), "dim item has no coordinate"),
    "a repeated item": (ranked(["no"] * 3, items=("a", "b", "a")), "item 'a' is there twice"),
    "integer items": (
        ranked(["no"] * 3, items=(1, 2, 3)),
        "items of the labels are text.*integers such as 1",
    ),
    "an integer name": (
        ranked(["no"] * 3, classifier=5),
        "raters are text such as 'Ann'.*integers such as 5",
    ),
    "integer labels": (ranked([1, 1, 1]), "integers.*text"),
    "nothing": (ranked(["", "", ""]), "'predictions' has no prediction"),
    "one empty": (ranked([["no"] * 3, [""] * 3], classifier=["m", "n"]), "'n' has no prediction"),
    "a twin": (ranked([["no"] * 3] * 2, classifier=["m", "m"]), "classifier 'm' is there twice"),
    "NaN": (scored([[0.1, np.nan], [1, 0], [1, 0]]), "score of item 'a' by 'predictions' is nan"),
    "a set": (scored([[True, True]] * 3), "set of 2 labels"),
    "text scores": (scored([["x", "y"]] * 3), "dtype <U1"),
    "an unknown category": (scored([[1.0, 0.0]] * 3, ("no", "maybe")), "'maybe', the label of item 'a'"),
    "no items": (ranked(["no"] * 3)[:0], "there are none"),
}


@pytest.mark.parametrize(("predictions", "said"), REFUSED.values(), ids=REFUSED)
def test_refused(predictions, said):
    with pytest.raises(DataError, match=said):
        LABELS.with_predictions(predictions)


def test_an_unscored_unknown_category_is_no_label():
    values = np.array([[0.4, 0.6, -np.inf]] * 3)
    assert len(LABELS.with_predictions(scored(values, ("no", "yes", "maybe")))) == 8


def test_one_category_scored_in_every_item_is_no_best_one(golden):
    labels = Labels.from_table(TABLE, categories=["no", "yes", "maybe"])
    with golden.raises(DataError):
        labels.with_predictions(scored([[0.2], [0.9], [0.7]], ["yes"]))


def test_a_classifier_apart_from_all_raters_is_refused(golden):
    predictions = ranked(["no", "yes"], items=("y", "z"))
    with golden.raises(DataError):
        LABELS.with_predictions(predictions, new_items="add")
    counts = TABLE | {"count": [1, 1, 1, 1, 0]}
    with golden.raises(DataError):
        Labels.from_table(counts, count="count").with_predictions(ranked(["no"], items=("c",)))
    gold = Labels.from_table(counts | {"gold": ["", "", "", "", "no"]}, count="count", gold="gold")
    assert len(gold.with_predictions(ranked(["no"], items=("c",)))) == 5


def test_other_arguments_are_refused_in_words(golden):
    with pytest.raises(DataError, match="column of raters"):
        Labels.from_counts({"item": ["a"], "no": [1], "yes": [2]}).with_predictions(ranked(["no"], items="a"))
    for arguments in (
        {"group": "person"},
        {"group": ""},
        {"attribute": "a/b"},
        {"attribute": "category"},
        {"new_items": "drop"},
    ):
        with golden.raises(DataError):
            LABELS.with_predictions(ranked(["no"] * 3), **arguments)
    aged = Labels.from_table(TABLE | {"age": [30, 40, 30, 40, 40]}, rater_attributes=["age"])
    with golden.raises(DataError):
        aged.with_predictions(ranked(["no"] * 3))


def test_classifiers_have_a_weak_prior_by_default():
    joint = LABELS.with_predictions(ranked(["no", "no", "no"], classifier="net"))
    own = joint.raters == "net"
    concentration = prior_arguments.default_confusion(joint)
    assert (concentration[own] == [[2, 1], [1, 2]]).all()
    assert (concentration[~own] == prior_arguments.confusion_concentrations(2)).all()
    assert (prior_arguments.default_confusion(LABELS) == prior_arguments.confusion_concentrations(2)).all()
