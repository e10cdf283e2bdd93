"""What one more annotation of an item is expected to tell, from draws of the posterior.

Symbols: s draw; p_s(c) ``plausibility`` of label c; pi_s ``confusion`` of a rater; l the answer; H entropy in nats; E mean over
draws; r how many times the model counts an annotation (``reliability``).

Where the truth T is one category, with probability p_s(c) given the draw, T and the answer have the joint law

    J(c, l) = E[p_s(c) pi_s(c, l)],    gain = sum_cl J(c, l) log(J(c, l) / (J(c) J(l)))

exactly: draws share parameters, so that an answer tells of these and of other items too, but T and the answer alone have the
averaged joint law. The matrix of a rater drawn at random from several is their mean.

Where the plausibilities are the truth, the next label is a draw from p_s. An answer l gives draw s the weight p_s(l)^r: the
answer comes once, with probability m(l) = E[p_s(l)], and counts r times. With q(c) the probability that c is the top-1 label,

    gain about the top-1 label       = H[q] - sum_l m(l) H[q | l],     q(c | l) = E[1(c leads in s) p_s(l)^r] / E[p_s(l)^r]
    gain about the plausibilities    = sum_l m(l) KL(posterior | l, posterior),     dKL weights = p_s(l)^r / E[p_s(l)^r]

At r = 1 they are mutual informations, and the second is H[E p] - E H[p]. Elsewhere the first may be negative, for the answers are
not those that a posterior so sure of itself expects; the second never is.

References
----------
Lindley (1956), On a measure of the information provided by an experiment, Annals of Mathematical Statistics 27,
doi:10.1214/aoms/1177728069. Houlsby et al. (2011), Bayesian active learning for classification and preference learning,
arXiv:1112.5745.
"""

import numpy as np
from scipy.special import xlogy

__all__ = ["category_information", "leader_information", "plausibility_information"]


def category_information(p: np.ndarray, confusion: np.ndarray) -> np.ndarray:
    """Return the information in one answer of every rater about the true category of every item.

    Parameters
    ----------
    p : ndarray, shape (item, category, draw)
        Probabilities of the true category.
    confusion : ndarray, shape (category, draw, rater, label)
        Probabilities of the answers.

    Returns
    -------
    ndarray, shape (item, rater)
        Nats.
    """
    _, n_draws, n_raters, n_labels = confusion.shape
    answers = confusion.reshape(len(confusion), n_draws, -1)
    joint = np.matmul(p.transpose(1, 0, 2), answers)
    joint = joint.reshape(len(confusion), len(p), n_raters, n_labels)
    joint /= joint.sum(
        axis=(0, -1), keepdims=True
    )  # by the number of draws, and what single precision leaves
    truth, answer = joint.sum(axis=-1), joint.sum(axis=0)
    return entropy(truth, 0) + entropy(answer, -1) - entropy(joint, (0, -1))


def leader_information(leads: np.ndarray, p: np.ndarray, counted: float = 1.0) -> float:
    """Return the expected drop of the entropy of the top-1 label of one item.

    Parameters
    ----------
    leads : ndarray, shape (label, draw)
        Probability that the label leads in the draw; 0 or 1 but for members of OTHER.
    p : ndarray, shape (answer, draw)
        Probabilities of the answers.
    counted : float, default 1
        Reliability r.

    Returns
    -------
    float
        Nats.
    """
    answer, weight = _weights(p, counted)
    after = leads @ weight.T
    after /= after.sum(axis=0)
    return float(entropy(leads.mean(axis=1), 0) - answer @ entropy(after, 0))


def plausibility_information(p: np.ndarray, counted: float = 1.0) -> float:
    """Return the expected divergence of the plausibilities of one item from what was known of them.

    Parameters
    ----------
    p : ndarray, shape (answer, draw)
        Probabilities of the answers.
    counted : float, default 1
        Reliability r.

    Returns
    -------
    float
        Nats.
    """
    answer, weight = _weights(p, counted)
    mean = weight.mean(axis=1)
    return float(answer @ (xlogy(weight, weight).mean(axis=1) / mean - np.log(mean)))


def entropy(p: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    """Return the entropy of laws along an axis, in nats.

    Parameters
    ----------
    p : ndarray
        Probabilities.
    axis : int or tuple of int
        Outcomes.

    Returns
    -------
    ndarray
        Without that axis.
    """
    return -xlogy(p, p).sum(axis=axis)


def _weights(p: np.ndarray, counted: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability of every possible answer, and the weights of the draws after it, at most 1."""
    most = p.max(axis=1)
    possible = most > 0
    weight = p[possible] / most[possible, None]
    return p[possible].mean(axis=1), weight if counted == 1 else weight**counted
