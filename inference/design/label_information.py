"""Expected information of one more annotation of an item, from draws of the posterior.

Symbols: s draw; p_s(c) ``plausibility`` of label c; pi_s ``confusion`` of a rater; l answer; H entropy in
nats; E mean over draws; r the number of times that the model counts an annotation (``reliability``).

If the truth T is one category, with probability p_s(c) given the draw, T and the answer have the joint
distribution

    J(c, l) = E[p_s(c) pi_s(c, l)],    gain = sum_cl J(c, l) log(J(c, l) / (J(c) J(l)))

This is exact: the draws share parameters, so an answer is informative about them and other items too, but T
and the answer alone have the averaged distribution. The matrix of a random one of several raters is their
mean.

If the plausibilities are the truth, the next label is a draw from p_s. An answer l gives draw s the weight
p_s(l)^r: the answer comes once, with probability m(l) = E[p_s(l)], and counts r times. With q(c) the
probability that c is the top-1 label,

    gain about the top-1 label       = H[q] - sum_l m(l) H[q | l],     q(c | l) = E[1(c leads in s) p_s(l)^r] / E[p_s(l)^r]
    gain about the plausibilities    = sum_l m(l) KL(posterior | l, posterior),     dKL weights = p_s(l)^r / E[p_s(l)^r]

For r = 1 both are mutual informations, and the second equals H[E p] - E H[p]. For other r the first can be
negative, because answers do not follow the predictive distribution of a posterior that is so sharp; the
second cannot.

References
----------
Lindley (1956), On a measure of the information provided by an experiment, Annals of Mathematical Statistics
27, doi:10.1214/aoms/1177728069. Houlsby et al. (2011), Bayesian active learning for classification and
preference learning, arXiv:1112.5745.
"""

import numpy as np
from scipy.special import xlogy

__all__ = ["category_information", "leader_information", "plausibility_information"]


def category_information(p: np.ndarray, confusion: np.ndarray) -> np.ndarray:
    """Mutual information in nats of each rater's answer and the true category of each item.

    Shapes: p (item, category, draw); confusion (category, draw, rater, label); returns (item, rater).
    """
    _, n_draws, n_raters, n_labels = confusion.shape
    answers = confusion.reshape(len(confusion), n_draws, -1)
    joint = np.matmul(p.transpose(1, 0, 2), answers)
    joint = joint.reshape(len(confusion), len(p), n_raters, n_labels)
    # J(c, l): the mean over draws, and exact normalisation after single precision
    joint /= joint.sum(axis=(0, -1), keepdims=True)
    truth, answer = joint.sum(axis=-1), joint.sum(axis=0)
    # mutual information H[T] + H[l] - H[T, l]
    return entropy(truth, 0) + entropy(answer, -1) - entropy(joint, (0, -1))


def leader_information(leads: np.ndarray, p: np.ndarray, counted: float = 1.0) -> float:
    """Return the expected drop in nats of the entropy of the top-1 label of one item; `counted` is r.

    Shapes: leads, probability that the label leads in the draw (0 or 1 except for OTHER) (label, draw); p
    (answer, draw).
    """
    answer, weight = _weights(p, counted)
    # q(c | l), up to its normalisation over c
    after = leads @ weight.T
    after /= after.sum(axis=0)
    return float(entropy(leads.mean(axis=1), 0) - answer @ entropy(after, 0))


def plausibility_information(p: np.ndarray, counted: float = 1.0) -> float:
    """Return the expected Kullback-Leibler divergence in nats of the posterior after one answer.

    Shapes: p, plausibilities of one item (answer, draw). `counted` is r.
    """
    answer, weight = _weights(p, counted)
    # sum_l m(l) (E[w log w] / E[w] - log E[w]),  w = p_s(l)^r
    mean = weight.mean(axis=1)
    return float(answer @ (xlogy(weight, weight).mean(axis=1) / mean - np.log(mean)))


def entropy(p: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    """Entropy in nats of probabilities along an axis."""
    return -xlogy(p, p).sum(axis=axis)


def _weights(p: np.ndarray, counted: float) -> tuple[np.ndarray, np.ndarray]:
    """Probability m(l) of every possible answer, and the weights p_s(l)^r of the draws after it, scaled to at most 1.

    Shapes: p (answer, draw); returns (possible answer,) and (possible answer, draw).
    """
    most = p.max(axis=1)
    possible = most > 0
    weight = p[possible] / most[possible, None]
    return p[possible].mean(axis=1), weight if counted == 1 else weight**counted
