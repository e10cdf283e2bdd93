"""Answers of raters as the laws of labels take them: arrays of codes, or a container of labels."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.special import softmax
from pytensor.tensor.variable import TensorVariable

UNKNOWN_TRUTH = -1


class CodedLabels(Protocol):
    """Labels as `raterzoo.models.Labels` holds them, sorted by item."""

    annotation_item: np.ndarray
    annotation_rater: np.ndarray
    label_code: np.ndarray
    count: np.ndarray
    gold: np.ndarray


RaterAnswers = CodedLabels | Sequence[Any]


class AnswerRows(NamedTuple):
    """Answers grouped by item."""

    start: np.ndarray  # int64 (item + 1,): answers of item i are start[i]:start[i + 1]
    rater: np.ndarray  # int64 (annotation,)
    gold: np.ndarray  # int64 (item,): true category of gold items, -1 elsewhere
    label: np.ndarray | None  # (annotation,), if it is known


def answer_rows(answers: RaterAnswers | None, gold: Any = None, items: int | None = None) -> AnswerRows:
    """Read answers and known true categories; raise ValueError if the answers are not grouped by item.

    `answers` are labels, whose gold labels are known, or arrays of codes (item, rater) or (item, rater, label), each
    (annotation,). `items` is their number, where it is known otherwise.
    """
    if answers is None:
        raise ValueError("answers are missing: pass models.Labels, or arrays of codes (item, rater, label)")
    if hasattr(answers, "label_code"):
        own = cast(CodedLabels, answers)
        if not len(own.annotation_rater):
            raise ValueError(
                "the labels are counts of anonymous raters; the law needs a rater for each answer"
            )
        codes = [
            np.repeat(code, own.count) for code in (own.annotation_item, own.annotation_rater, own.label_code)
        ]
        gold = own.gold if gold is None else gold
    else:
        codes = [np.asarray(code) for code in cast(Sequence[Any], answers)]
        if len(codes) not in (2, 3):
            raise ValueError(
                f"answers are {len(codes)} arrays; pass two, (item, rater), or three, (item, rater, label)"
            )
    item, rater = codes[:2]
    label = codes[2] if len(codes) == 3 else None
    wrong = [len(code) for code in codes if code.shape != item.shape or code.dtype.kind not in "iu"]
    if wrong or item.ndim != 1:
        raise ValueError("the arrays of answers must hold whole numbers, one for each answer")
    falls = np.flatnonzero(np.diff(item) < 0)
    if len(falls):
        place = int(falls[0]) + 1
        raise ValueError(
            f"item[{place}] is {item[place]} after {item[place - 1]}; sort the answers by item, such as by np.argsort(item, "
            'kind="stable")'
        )
    if gold is None:
        known = items if items is not None else int(item.max(initial=-1)) + 1
        gold = np.full(known, UNKNOWN_TRUTH)
    gold = np.asarray(gold).astype(np.int64)
    check_codes("item", item, 0, len(gold))
    start = np.searchsorted(item, np.arange(len(gold) + 1)).astype(np.int64)
    return AnswerRows(start, rater.astype(np.int64), gold, label)


def check_codes(name: str, codes: np.ndarray, least: int, end: int | None) -> None:
    """Raise ValueError, with the first, if codes are below `least` or not below `end`."""
    wrong = (codes < least) | (codes >= (np.inf if end is None else end))
    if wrong.any():
        place = int(wrong.argmax())
        raise ValueError(f"{name}[{place}] is {codes[place]}; it must be from {least} to below {end}")


def prior_of_truth(prior: Any, logit_prior: Any) -> TensorVariable:
    """Return the prior of the true category, given as probabilities or as log odds; raise unless it is one of them."""
    if (prior is None) == (logit_prior is None):
        both = "both" if prior is not None else "neither"
        raise ValueError(
            f"pass prior=, probabilities of the true category, or logit_prior=, their log odds; {both} is given"
        )
    given = pt.as_tensor_variable(logit_prior if prior is None else prior)
    if given.type.ndim not in (1, 2):
        raise ValueError(
            f"the prior of the truth has {given.type.ndim} dims; it has (category,) or (item, category)"
        )
    return given if logit_prior is None else cast(TensorVariable, softmax(given, axis=-1))


class LabelLaw(pm.Discrete):
    """Base of the laws of labels: ``answers`` that hold labels are observed."""

    def __new__(
        cls, name: str, prior: Any = None, confusion: Any = None, answers: Any = None, **kwargs: Any
    ) -> Any:
        """Register the law in the model of the context."""
        if kwargs.get("observed") is None:
            kwargs["observed"] = answer_rows(answers, kwargs.get("gold")).label
        return super().__new__(cls, name, prior, confusion, answers, **kwargs)
