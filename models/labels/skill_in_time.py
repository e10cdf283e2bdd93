"""Skill in time: the log odds that a rater is right follow a random walk over windows of its own answers.

    q_k1          p(right) of rater k in the first window, or of each row of its matrix: the prior of the model without time
    sigma         ~ HalfNormal(s)                                     variable skill_step
    z_kw          ~ Normal(0, 1)                                      variable skill_change
    logit q_kw    = logit q_k1 + sigma (z_k2 + ... + z_kw)            variable skill
    y_a           = T with probability q_kw, else a wrong label, whose shares do not change

A rater in a window answers as a rater of its own, so that the law of the answers is that of the model without time.

Reference: West, Harrison and Migon (1985), Dynamic generalized linear models and Bayesian forecasting, JASA 80,
doi:10.1080/01621459.1985.10477131.
"""

from typing import Any, NamedTuple, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from ...posterior.schema import SKILL, SKILL_CHANGE, SKILL_STEP
from ..data.errors import refused_argument
from ..data.labels import Labels

WINDOWS = 8
INITIAL_ABILITY, INITIAL_CONFUSION = "initial_ability", "initial_confusion"  # of the first window
STEP_SCALE = 0.3  # prior scale of a step in log odds: from .6 to .9 in eight windows takes steps of .26


class Windows(NamedTuple):
    """Windows of the answers of every rater."""

    code: np.ndarray  # int64 (annotation,): window of each annotation of the container, from 0
    share: np.ndarray  # (rater, window): share of the rater's answers

    @property
    def number(self) -> int:
        """Return the number of windows."""
        return self.share.shape[1]


def windows_in_time(labels: Labels, time: Any) -> Windows | None:
    """Cut the answers of each rater, in time, into windows of about equally many; None without `time`.

    Answers at one time are in one window, those without a time in the middle one. Raises if no answer has a time, or `time` is no
    number of windows.
    """
    if time is None or time is False:
        return None
    number = WINDOWS if time is True else time
    if isinstance(number, str) or number != int(number) or number < 2:
        problem, allowed = f"{time!r} is no number of windows", "True, or a whole number from 2"
        raise refused_argument(
            "time", problem, value=time, allowed=allowed, remedy="leave it out for a constant skill"
        )
    number, order = int(number), labels.order
    if not order.any():
        problem = "no answer has a time"
        remedy = 'name the column of times: Labels.from_table(..., time="answered_at")'
        raise refused_argument("time", problem, value=time, allowed="labels with times", remedy=remedy)
    rater, known = labels.annotation_rater.astype(np.int64), order > 0
    place = np.where(known, rater * (int(order.max()) + 1) + order, -1)
    key = np.sort(np.repeat(place[known], labels.count[known]))
    of_rater = np.arange(len(labels.raters) + 1) * (int(order.max()) + 1)
    first = np.searchsorted(key, of_rater)
    earlier = np.searchsorted(key, place) - first[rater]
    code = np.where(known, number * earlier // np.maximum(np.diff(first)[rater], 1), number // 2)
    given = np.bincount(rater * number + code, labels.count, len(labels.raters) * number).reshape(-1, number)
    return Windows(code, given / given.sum(axis=1, keepdims=True))


def coords_in_time(windows: Windows | None) -> dict[str, np.ndarray]:
    """Return the coordinates of the windows from 1, and of those that a step leads to; none without windows."""
    if windows is None:
        return {}
    return {"window": np.arange(1, windows.number + 1), "step": np.arange(2, windows.number + 1)}


def changing_confusion(
    labels: Labels, windows: Windows, begin: Any, wrong: Any
) -> tuple[TensorVariable, np.ndarray]:
    """Register steps, changes, skill and mean confusion; return the matrices by window, and the place of each annotation's.

    Shapes: begin, log odds of the right label in the first window, (rater, category), or (rater, 1) for one of all categories;
    wrong, shares of the wrong labels, (rater or 1, category, answer); results (rater * window, category, answer) and
    (annotation,).
    """
    shared = begin.type.shape[1] == 1
    step: Any = pm.HalfNormal(SKILL_STEP, STEP_SCALE)
    change: Any = pm.Normal(SKILL_CHANGE, dims=("rater", "step") if shared else ("rater", "category", "step"))
    walk = step * pt.cumsum(change[:, None] if shared else change, axis=2)
    log_odds = begin[:, :, None] + pt.concatenate([pt.zeros_like(walk[:, :, :1]), walk], axis=2)
    log_odds = log_odds.transpose(0, 2, 1)  # (rater, window, category)
    skill: Any = pt.sigmoid(log_odds)
    dims = ("rater", "window") if shared else ("rater", "window", "category")
    pm.Deterministic(SKILL, skill[:, :, 0] if shared else skill, dims=dims)
    n, missed = len(labels.categories), cast(Any, pt.sigmoid(-log_odds))
    matrices = np.eye(n) * skill[..., None] + wrong[:, None] * missed[..., None]
    mean = (windows.share[:, :, None, None] * matrices).sum(axis=1)
    pm.Deterministic("confusion", mean, dims=("rater", "category", "answer"))
    pm.Data("annotation_window", np.repeat(windows.code, labels.count), dims="annotation")
    place = labels.annotation_rater * windows.number + windows.code
    return matrices.reshape((-1, n, n)), place


def parts_of_ability(ability: Any, n: int) -> tuple[Any, np.ndarray]:
    """Return the log odds of abilities (rater,), as (rater, 1), and equal shares of wrong labels (1, category, answer)."""
    odds: Any = cast(Any, pt.log(ability)) - pt.log1p(-ability)
    return odds[:, None], ((1 - np.eye(n)) / (n - 1))[None]


def parts_of_rows(rows: Any, n: int) -> tuple[Any, Any]:
    """Return log odds of the right label (rater, category), and shares of the wrong ones, of rows (rater, category, answer)."""
    wrong = rows * (1 - np.eye(n))
    missed = wrong.sum(axis=2)
    return cast(Any, pt.log((rows * np.eye(n)).sum(axis=2))) - pt.log(missed), wrong / missed[:, :, None]
