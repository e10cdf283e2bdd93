"""Responses of raters who were asked: an answer, or one that is no truth, such as "unsure", by the true category."""

from typing import Any, NamedTuple, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from ..data.labels import Labels, code_of, expand_answers
from ..distributions.marginal_labels import RaterLabels
from ..distributions.truth import truth_probability

INFORMATIVE, IGNORED = "informative", "ignored"
ANSWERED = "answered"  # the response of a rater who gave a label
OBSERVED, RATE = "observed_response", "response_rate"
ASKED_MORE = 0.5  # of each response, in the shares at which the prior of a rater is centred


def reads_responses(labels: Labels, no_answer: str) -> bool:
    """Return whether a model learns from who gave no answer; raise ValueError for another argument."""
    if no_answer not in (INFORMATIVE, IGNORED):
        raise ValueError(f"no_answer={no_answer!r} must be {INFORMATIVE!r} or {IGNORED!r}")
    return no_answer == INFORMATIVE and bool(labels.unanswered)


class Requests(NamedTuple):
    """Responses of all who were asked, sorted by item: codes (request,); response 0 is an answer, the others are `words`."""

    words: list[str]
    item: np.ndarray
    rater: np.ndarray
    response: np.ndarray

    @property
    def coords(self) -> dict[str, np.ndarray]:
        """Return the coordinates of the responses and of the requests."""
        return {"response": np.array([ANSWERED, *self.words]), "request": np.arange(len(self.item))}


def words_of(labels: Labels) -> list[str]:
    """Return the answers that are no truth."""
    return np.unique(labels.unanswered["answer"]).tolist()


def requests_of(labels: Labels, words: list[str]) -> Requests:
    """Return the requests, of which `words` are the answers that are no category; those of raters without a label are out."""
    own, count = labels.unanswered, labels.unanswered["count"]
    columns = (
        code_of(own["item"], labels.items),
        code_of(own["rater"], labels.raters),
        code_of(own["answer"], np.array(words)),
    )
    none = [np.repeat(code, count) for code in columns]
    known = np.min(none, axis=0) >= 0
    item, rater, _ = expand_answers(labels)
    response = [np.zeros(len(item), np.int64), none[2][known] + 1]
    item, rater = np.append(item, none[0][known]), np.append(rater, none[1][known])
    order = np.lexsort((rater, item))
    return Requests(words, item[order], rater[order], np.concatenate(response)[order])


def prior_given_responses(
    labels: Labels, asked: Requests, prior: TensorVariable, confusion_concentration: Any
) -> TensorVariable:
    """Register ``response_rate`` and ``observed_response``; return p(true category | responses) (item, category).

        rho_kj ~ Dirichlet(beta_kj (1, f_k1 / f_k0, ...)),   beta_kj = sum_l beta_kjl
        o_r    ~ Categorical(rho_k,T_i)

    f_k are the shares of the responses of rater k, so that a rater is as often unsure in every category unless the responses
    say otherwise. With the rows of the confusion matrix, pi_kj ~ Dirichlet(beta_kj.), this is a confusion matrix of more
    answers than categories, with rows (rho_kj0 pi_kj, rho_kj1, ...) of a Dirichlet distribution.

    Shapes: prior (category,) or (item, category); concentration (rater, category, answer).
    """
    share = np.full((len(labels.raters), len(asked.words) + 1), ASKED_MORE)
    np.add.at(share, (asked.rater, asked.response), 1)
    alpha = confusion_concentration.sum(axis=-1)[..., None] * (share / share[:, :1])[:, None]
    rate = pm.Dirichlet(RATE, alpha, dims=("rater", "category", "response"))
    return prior_by_rate(labels, asked, prior, rate)


def prior_by_rate(labels: Labels, asked: Requests, prior: TensorVariable, rate: Any) -> TensorVariable:
    """Register ``observed_response`` with the rate (rater, category, response); return p(true category | responses)."""
    _, item, rater, response = asked
    pm.Data("request_item", item.astype(np.int32), dims="request")
    pm.Data("request_rater", rater.astype(np.int32), dims="request")
    law: dict[str, Any] = {"confusion": rate, "answers": (item, rater, response), "gold": labels.gold}
    observed = RaterLabels(OBSERVED, prior, **law, dims="request")
    return cast(TensorVariable, pt.as_tensor_variable(truth_probability(observed)))
