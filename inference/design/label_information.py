"""Expected information of one more annotation of an item, from draws of the posterior.

Symbols: s draw; p_s(c) ``plausibility`` of label c; pi_s ``confusion`` of a rater; l answer; H entropy in
nats; E mean over draws; r the number of times that the model counts an annotation (``reliability``).

If the truth T is one category, with probability p_s(c) given the draw, T and the answer have the joint law

    J(c, l) = E[p_s(c) pi_s(c, l)],    gain = sum_cl J(c, l) log(J(c, l) / (J(c) J(l)))

This is exact: the draws share parameters, so an answer is informative about them and other items too, but T
and the answer alone have the averaged distribution. The matrix of a random one of several raters is their mean.

If the plausibilities are the truth, the next label is a draw from p_s. An answer l gives draw s the weight
p_s(l)^r: the answer comes once, with probability m(l) = E[p_s(l)], and counts r times. With q(c) the
probability that c is the top-1 label,

    gain about the top-1 label       = H[q] - sum_l m(l) H[q | l],     q(c | l) = E[1(c leads in s) p_s(l)^r] / E[p_s(l)^r]
    gain about the plausibilities    = sum_l m(l) KL(posterior | l, posterior),     dKL weights = p_s(l)^r / E[p_s(l)^r]

For r = 1 both are mutual informations, and the second equals H[E p] - E H[p]. For other r the first can be
negative, as answers do not follow the predictive distribution of so sharp a posterior; the second cannot.

References
----------
Lindley (1956), On a measure of the information provided by an experiment, Annals of Mathematical Statistics
27, doi:10.1214/aoms/1177728069. Houlsby et al. (2011), Bayesian active learning for classification and
preference learning, arXiv:1112.5745.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from scipy.special import xlogy

from ...posterior.drawn_truth import item_cells
from ...posterior.plausibility import Block, Plausibility
from ...posterior.schema import reliability_is, with_current_dims
from ...posterior.top_labels import treatment_of_other


def category_information(p: np.ndarray, confusion: np.ndarray) -> np.ndarray:
    """Mutual information (item, rater) in nats, from p (item, category, draw) and confusion (category, draw, rater, answer)."""
    n_categories, n_draws, n_raters, n_labels = confusion.shape
    joint = np.matmul(p.transpose(1, 0, 2), confusion.reshape(n_categories, n_draws, -1))
    joint = joint.reshape(n_categories, len(p), n_raters, n_labels)
    # J(c, l): the mean over draws, and exact normalisation after single precision
    joint /= joint.sum(axis=(0, -1), keepdims=True)
    truth, answer = joint.sum(axis=-1), joint.sum(axis=0)
    # mutual information H[T] + H[l] - H[T, l]
    return entropy(truth, 0) + entropy(answer, -1) - entropy(joint, (0, -1))


def leader_information(leads: np.ndarray, p: np.ndarray, counted: float = 1.0) -> float:
    """Return the expected information, in nats, of one answer about the top-1 label, by leads and p (label, draw)."""
    answer, weight = _weights(p, counted)
    # q(c | l), up to its normalisation over c
    after = leads @ weight.T
    after /= after.sum(axis=0)
    return float(entropy(leads.mean(axis=1), 0) - answer @ entropy(after, 0))


def plausibility_information(p: np.ndarray, counted: float = 1.0) -> float:
    """Return the expected KL divergence in nats of the posterior after an answer; p (answer, draw), `counted` is r."""
    answer, weight = _weights(p, counted)
    # sum_l m(l) (E[w log w] / E[w] - log E[w]),  w = p_s(l)^r
    mean = weight.mean(axis=1)
    return float(answer @ (xlogy(weight, weight).mean(axis=1) / mean - np.log(mean)))


def entropy(p: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    """Entropy in nats of probabilities along an axis."""
    return -xlogy(p, p).sum(axis=axis)


def _weights(p: np.ndarray, counted: float) -> tuple[np.ndarray, np.ndarray]:
    """Probability m(l) of every possible answer, and the weights p_s(l)^r (possible answer, draw), scaled to at most 1."""
    most = p.max(axis=1)
    possible = most > 0
    weight = p[possible] / most[possible, None]
    return p[possible].mean(axis=1), weight if counted == 1 else weight**counted


# --- Top-1 label of an item in every draw, where OTHER is a set of labels ---


def largest_shares(size: int, concentration: float, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the largest share of a symmetric Dirichlet distribution, sorted in ascending order.

    By stick breaking in size-biased order, V_i ~ Beta(1 + a, (M - i) a), with M = `size` members of
    `concentration` a; it stops once the rest of the stick is shorter than the largest share, (draw,) in (0, 1].
    """
    left, largest = np.ones(draws), np.zeros(draws)
    for i in range(1, size):
        stick = left * rng.beta(1 + concentration, (size - i) * concentration, draws)
        left -= stick
        np.maximum(largest, stick, out=largest)
        if (left <= largest).all():
            break
    return np.sort(np.maximum(largest, left))


def leaders(p: np.ndarray, shares: np.ndarray | None) -> np.ndarray:
    """Probability of every label of an item to be the most plausible one in each draw; ties go to the first label.

    Shapes: p (label, draw); shares, draws of the largest share of OTHER, which is then the last label,
    ascending (draw,): None without OTHER, empty if it is not split and cannot lead; returns (label, draw), of sum 1.
    """
    named = p if shares is None else p[:-1]
    best = named.argmax(axis=0)
    leads = np.zeros(p.shape)
    leads[best, np.arange(p.shape[1])] = 1
    if shares is not None and len(shares):
        value = named.max(axis=0)
        may = np.flatnonzero(p[-1] > value)
        above = 1 - np.searchsorted(shares, value[may] / p[-1, may], "right") / len(shares)
        leads[:, may] *= 1 - above
        leads[-1, may] = above
    return leads


# --- Choice of the next item and rater, from a posterior of labels or rankings read item by item ---

AboutLabels = Literal["truth", "plausibility"]
ANYONE = "anyone"
MOST_ANSWERS = 20_000_000  # probabilities of answers at once, to bound memory
SHARES = 10_000  # draws of the largest member of OTHER, for each number of members


def next_label_to_ask(
    tree: xr.DataTree,
    items: Sequence[Any] | np.ndarray | None,
    raters: Sequence[Any] | np.ndarray | str | None,
    about: str,
    random_seed: int | np.random.Generator | None,
) -> xr.Dataset:
    """Rank questions, each to one rater about one item; see `next_to_ask`."""
    view = Plausibility.of(tree)
    if items is not None:
        view = view.of_items(positions_of("items", view.items, np.atleast_1d(items)))
    if view.is_of_category:
        if about != "truth":
            raise ValueError(
                f"about={about!r}: the truth of this model is one category, not the plausibilities; use about='truth'"
            )
        ids, gain = _of_raters(tree, view, raters)
    else:
        if raters is not None and not _is_anyone(raters):
            raise ValueError(f"raters={raters!r}: this model does not tell raters apart; leave raters out")
        ids, gain = np.array([ANYONE]), _of_anyone(tree, view, about, random_seed)
    return most_informative_first(gain, {"item": view.items}, ids, about)


def _is_anyone(raters: Any) -> bool:
    """Whether an anonymous random rater is asked."""
    return isinstance(raters, str) and raters == ANYONE


def _of_raters(tree: xr.DataTree, view: Plausibility, raters: Any) -> tuple[np.ndarray, np.ndarray]:
    """Ids of the raters, and the information in their answers about the true category (item, rater)."""
    if "candidate" in view.array.dims:
        raise ValueError(
            "the truth of this model is one category, but its plausibility is along candidate; expected item and category"
        )
    ids, confusion = _confusion(tree, view, raters)
    n_categories, n_draws, _, n_labels = confusion.shape
    gain = np.empty((len(view.items), len(ids)))
    step = max(MOST_ANSWERS // (n_categories * n_draws * n_labels), 1)
    for first in range(0, len(ids), step):
        answers = np.ascontiguousarray(confusion[:, :, first : first + step], float)

        def of_block(block: Block, rng: np.random.Generator, answers: np.ndarray = answers) -> np.ndarray:
            return category_information(block.draws.astype(float).reshape(-1, n_categories, n_draws), answers)

        width = max(n_categories, answers[:, 0].size // n_draws)  # of the joint distribution
        gain[:, first : first + step] = np.concatenate(view.map_blocks(of_block, width=width))
    return ids, gain


def _confusion(tree: xr.DataTree, view: Plausibility, raters: Any) -> tuple[np.ndarray, np.ndarray]:
    """Ids of the raters to ask, and their confusion matrices (category, draw, rater, label)."""
    posterior = with_current_dims(tree)["posterior"].to_dataset()
    needed = {*view.sample_dims, "category", "answer"}
    if "confusion" not in posterior or not needed <= set(posterior["confusion"].dims):
        raise ValueError(
            "the posterior has no confusion matrices (category, answer), which say what a rater answers; keep the variable "
            "'confusion' of the model"
        )
    confusion = posterior["confusion"]
    if "rater" not in confusion.dims:
        if raters is not None and not _is_anyone(raters):
            raise ValueError(f"raters={raters!r}: in this model all raters are alike; leave raters out")
        confusion = confusion.expand_dims(rater=[ANYONE])
    elif _is_anyone(raters):
        confusion = confusion.mean("rater").expand_dims(rater=[ANYONE])
    elif raters is not None:
        codes = positions_of("raters", confusion["rater"].to_numpy(), np.atleast_1d(raters))
        confusion = confusion.isel(rater=codes)
    if confusion.isnull().any():
        raise ValueError("confusion is NaN: a draw failed; sample again")
    values = confusion.transpose("category", *view.sample_dims, "rater", "answer").to_numpy()
    shape = (len(values), view.n_samples, *values.shape[-2:])
    return confusion["rater"].to_numpy(), values.reshape(shape)


def _of_anyone(tree: xr.DataTree, view: Plausibility, about: str, random_seed: Any) -> np.ndarray:
    """Information in a label drawn from the plausibilities (item, 1)."""
    effects = _reliability_effects(tree)
    shares = _shares(view, random_seed) if about == "truth" else {}

    def of_block(block: Block, rng: np.random.Generator) -> np.ndarray:
        gain = np.zeros((block.items.stop - block.items.start, 1))
        for i, cells in item_cells(view, block):
            p = block.draws[cells].astype(float)
            leads = leaders(p, shares.get(block.items.start + i)) if about == "truth" else None
            for share, sharpness, counted in effects:
                answers = _sharpened(p, sharpness)
                if leads is None:
                    gain[i] += share * plausibility_information(answers, counted)
                else:
                    gain[i] += share * leader_information(leads, answers, counted)
        return gain

    return np.concatenate(view.map_blocks(of_block))


def _reliability_effects(tree: xr.DataTree) -> list[tuple[float, float, float]]:
    """Distinct reliabilities: share of the annotations, exponent of the distribution of answers, count of an answer.

    Tempered worths sharpen the distribution of an answer; a power of the likelihood counts it more than once. If
    nothing was observed, as in PrIRN, an answer counts once.
    """
    observed, constant = _group(tree, "observed_data"), _group(tree, "constant_data")
    if "reliability" not in constant.data_vars or not {"observed_label", "observed_ranking"} & set(observed):
        return [(1.0, 1.0, 1.0)]
    powers, times = np.unique(constant["reliability"].to_numpy(), return_counts=True)
    tempered = reliability_is(tree.attrs) == "exponent"
    return [
        (share, power, 1.0) if tempered else (share, 1.0, power)
        for share, power in zip((times / times.sum()).tolist(), powers.tolist(), strict=True)
    ]


def _group(tree: xr.DataTree, name: str) -> xr.Dataset:
    """Group of a tree, empty if absent."""
    return tree[name].to_dataset() if name in tree.children else xr.Dataset()


def _sharpened(p: np.ndarray, sharpness: float) -> np.ndarray:
    """Plausibilities (label, draw) raised to a power and normalised."""
    if sharpness == 1:
        return p
    raised = (p / p.max(axis=0)) ** sharpness
    return raised / raised.sum(axis=0)


def _shares(view: Plausibility, random_seed: Any) -> dict[int, np.ndarray]:
    """Draws of the largest share of OTHER by item, for items with OTHER; none of them if it is not split."""
    with_other = np.flatnonzero(view.has_other).tolist()
    if treatment_of_other(view, None) != "split":
        return dict.fromkeys(with_other, np.empty(0))
    size, a, rng = view.other_size, view.other_concentration, np.random.default_rng(random_seed)
    assert size is not None and a is not None
    drawn = {n: largest_shares(n, a, SHARES, rng) for n in np.unique(size[with_other]).tolist()}
    return {i: drawn[int(size[i])] for i in with_other}


# --- Ranking of questions by information, also for comparisons ---


def positions_of(argument: str, ids: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Positions of chosen ids among `ids`; raise a `ValueError` that names `argument` if one is unknown."""
    place = {name: code for code, name in enumerate(ids.tolist())}
    for name in chosen.tolist():
        if name not in place:
            has = f"it has {ids[0].item()!r}, ..."
            raise ValueError(f"{argument} names {name!r}, which the tree does not have; {has}")
    return np.array([place[name] for name in chosen.tolist()], int)


def most_informative_first(
    gain: np.ndarray, subjects: dict[str, np.ndarray], raters: np.ndarray, about: str
) -> xr.Dataset:
    """Sort questions by gain (subject, rater) in nats, largest first; ids of subjects by name, and of raters."""
    order = np.argsort(-gain, axis=None, kind="stable")
    subject, rater = np.unravel_index(order, gain.shape)
    coords = {name: ("question", ids[subject]) for name, ids in subjects.items()}
    return xr.Dataset(
        {"gain": ("question", gain.ravel()[order], {"units": "nats", "about": about})},
        coords | {"rater": ("question", raters[rater])},
    )
