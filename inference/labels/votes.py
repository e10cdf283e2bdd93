"""Label of an item from its answers alone: the majority vote, and the next label after k anonymous ones by a fitted model."""

from dataclasses import dataclass, field

import numpy as np
import xarray as xr
from scipy.special import softmax

from ...models.data.container import require_container
from ...models.data.labels import Labels
from ...posterior.schema import with_current_dims

CELLS = 2_000_000  # largest number of (sample, kind, row) computed at once
# names of the variables, and of the dims of kinds and of labels
STATES = ("state_weight", "state_probability", "state", "category")
CONFUSIONS = ("prevalence", "confusion", "category", "answer")


def majority_vote(labels: Labels) -> xr.Dataset:
    """Compute the share of each label among an item's answers, and the most frequent label.

    Parameters
    ----------
    labels : Labels
        Labels. Gold labels are not counted as votes.

    Returns
    -------
    Dataset
        ``plausibility`` (item, category), the share of each label, NaN for an item without answers; ``label``
        (item), the most frequent label, ties by the order of the categories, "" for an item without answers;
        ``tied`` (item), whether another label is as frequent.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> table = {"item": ["x", "x", "x", "y"], "rater": ["a", "b", "c", "a"], "label": ["p", "p", "q", "q"]}
    >>> vote = inference.majority_vote(models.Labels.from_table(table))
    >>> vote["plausibility"].to_numpy().round(2).tolist(), vote["label"].to_numpy().tolist()
    ([[0.67, 0.33], [0.0, 1.0]], ['p', 'q'])
    """
    require_container(labels, Labels)
    counts = labels.counts
    total = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0)
    names = labels.categories.astype(str)
    winner = np.where(total[:, 0] > 0, names[counts.argmax(axis=1)], "")
    tied = ((counts == counts.max(axis=1, keepdims=True)).sum(axis=1) > 1) & (total[:, 0] > 0)
    return xr.Dataset(
        {"plausibility": (("item", "category"), share), "label": ("item", winner), "tied": ("item", tied)},
        {"item": labels.items, "category": labels.categories},
    )


def label_combiner(tree: xr.DataTree) -> "LabelCombiner":
    """Build the function that predicts the next label of an item from counts of its labels, by a fitted model.

    An item is of kind j with probability w_j, and its labels y_1, y_2, ... are then drawn by one law,

        p(c | j, y) = ((1 - rho_j) theta_jc + rho_j n_c) / ((1 - rho_j) + rho_j k)
        p(j | y)    = w_j prod_i p(y_i | j, y_1 ... y_i-1) / (its sum over j)
        p(c | y)    = sum_j p(j | y) p(c | j, y)

    where n are the counts of the k labels so far. p(c | y) is averaged over the draws of the posterior.

    ====================  =============================  ====================================
    symbol                models.item_states             models with confusion matrices
    ====================  =============================  ====================================
    w                     state_weight                   prevalence
    theta                 state_probability              confusion, its mean over the raters
    rho                   state_spread, or 0             0
    ====================  =============================  ====================================

    Parameters
    ----------
    tree : DataTree
        Draws of `models.item_states`, or of a model whose raters have confusion matrices that do not depend
        on the item, such as `models.multinomial` and `models.dawid_skene`.

    Returns
    -------
    LabelCombiner
        Function from counts (row, category) to probabilities (row, category) of the next label. Pass it as
        ``combiner`` to `raterzoo.evaluation.survey_power_curve` and related functions, which match its
        ``categories`` with those of the labels by name.

    Raises
    ------
    ValueError
        If the tree has no such draws.

    Notes
    -----
    Labels count as those of exchangeable raters, a new one for each label. Unequal raters enter by their mean
    confusion matrix, which ignores who gave which label. The draws are not reweighted by the counts. A model
    fitted to the labels of the curve has seen the labels it predicts, as with ``learn="in-sample"``.

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> from raterzoo import papers
    >>> prevalence = (("chain", "draw", "category"), [[[0.5, 0.5]]])
    >>> confusion = (("chain", "draw", "category", "answer"), [[[[0.8, 0.2], [0.2, 0.8]]]])
    >>> draws = xr.Dataset({"prevalence": prevalence, "confusion": confusion}, {"answer": ["no", "yes"]})
    >>> combiner = papers.label_combiner(xr.DataTree.from_dict({"posterior": draws}))
    >>> combiner(np.array([[0, 0], [1, 0]])).round(2)
    array([[0.5 , 0.5 ],
           [0.68, 0.32]])

    References
    ----------
    Resnick, Kong, Schoenebeck and Weninger (2021), Survey equivalence, arXiv:2106.01254, section 3.
    """
    posterior = _posterior_of(tree)
    weight, law, kind, label = STATES if STATES[0] in posterior else CONFUSIONS
    laws = posterior[law].mean("rater") if "rater" in posterior[law].dims else posterior[law]
    spread = posterior.get("state_spread", xr.zeros_like(posterior[weight]))
    drawn = (
        v.transpose("chain", "draw", kind, ...)
        for v in (posterior[weight], laws.transpose(..., label), spread)
    )
    flat = (v.to_numpy().astype(float).reshape(-1, *v.shape[2:]) for v in drawn)
    return LabelCombiner(posterior[label].to_numpy().astype(str), *flat)


def _posterior_of(tree: xr.DataTree) -> xr.Dataset:
    """Posterior of a tree; raise unless it determines the joint distribution of the labels of an item."""
    if not isinstance(tree, xr.DataTree) or "posterior" not in tree.children:
        raise ValueError(f"a {type(tree).__name__} is no DataTree with a posterior; sample a model of labels")
    posterior = with_current_dims(tree)["posterior"].to_dataset()
    names = {*map(str, posterior.data_vars)}
    if {*STATES[:2]} <= names:
        return posterior
    remedy = "sample models.item_states, models.multinomial or models.dawid_skene"
    if not {*CONFUSIONS[:2]} <= names:
        raise ValueError(
            f"the posterior holds {', '.join(sorted(names))}, and neither state_weight and state_probability nor prevalence and "
            f"confusion; {remedy}"
        )
    own = {name for name in names if {"item", "subtype"} & {*posterior[name].dims}} - {"plausibility"}
    if own:
        raise ValueError(
            f"the posterior has {', '.join(sorted(own))}: given the category, the labels of an item still depend on each other, "
            f"which confusion matrices do not describe; {remedy}"
        )
    return posterior


@dataclass(frozen=True, eq=False)
class LabelCombiner:
    """Function from counts of labels to the probabilities of the next label.

    Attributes
    ----------
    categories : ndarray of str, shape (category,)
        Categories of the labels, in the order of the counts.
    weight : ndarray, shape (sample, kind)
        Proportions of the kinds of items.
    probability : ndarray, shape (sample, kind, category)
        Probabilities of the labels of an item of each kind.
    spread : ndarray, shape (sample, kind)
        Variation of the probabilities among items of a kind: rho, between 0 and 1.
    """

    categories: np.ndarray
    weight: np.ndarray = field(repr=False)
    probability: np.ndarray = field(repr=False)
    spread: np.ndarray = field(repr=False)

    def __call__(self, counts: np.ndarray) -> np.ndarray:
        """Return the probabilities (row, category) of the next label after counts (row, category).

        Raises
        ------
        ValueError
            If the counts are not whole numbers from 0, one for each category.
        """
        counts = np.asarray(counts)
        n = len(self.categories)
        if counts.ndim != 2 or counts.shape[1] != n or counts.dtype.kind not in "iu":
            raise ValueError(
                f"counts: dtype {counts.dtype} of shape {counts.shape}; expected whole numbers (row, category), of the "
                f"{n} categories {', '.join(self.categories.tolist())}"
            )
        if (counts < 0).any():
            allowed = "whole numbers from 0, such as the counts of exchangeable raters"
            raise ValueError(f"counts: {counts.min()}; expected {allowed}")
        n_samples, n_kinds = self.weight.shape
        step = max(1, CELLS // (n_kinds * max(1, len(counts))))
        total = np.zeros(counts.shape)
        for start in range(0, n_samples, step):
            total += self._of_samples(slice(start, start + step), counts)
        return total / total.sum(axis=1, keepdims=True)

    def _of_samples(self, which: slice, counts: np.ndarray) -> np.ndarray:
        """Sum over a slice of samples of the probabilities of the next label. Shapes: counts (row, category)."""
        theta, rho = self.probability[which], self.spread[which, :, None]
        floor = np.finfo(float).tiny  # replaces probabilities that underflowed
        n_labels = counts.sum(axis=1)
        before = np.arange(counts.max(initial=0))
        # log p(j, y) = log w_j + sum_i log p(y_i | j, y_1 ... y_i-1), as a ratio of rising factorials
        log_p = np.log(np.maximum(self.weight[which], floor))[..., None]
        log_p = log_p - _sums(np.log(1 - rho + rho * np.arange(n_labels.max(initial=0))))[..., n_labels]
        for c, number in enumerate(counts.T):
            own = (1 - rho) * theta[..., c, None] + rho * before
            log_p += _sums(np.log(np.maximum(own, floor)))[..., number]
        # sum_j p(j | y) p(c | j, y)
        of_kind = softmax(log_p, axis=1) / (1 - rho + rho * n_labels)
        law = np.tensordot(of_kind * (1 - rho), theta, axes=([0, 1], [0, 1]))
        return law + (of_kind * rho).sum(axis=(0, 1))[:, None] * counts


def _sums(terms: np.ndarray) -> np.ndarray:
    """Return the sums of the first 0, 1, 2, ... terms along the last axis."""
    return np.concatenate([np.zeros((*terms.shape[:-1], 1)), terms.cumsum(axis=-1)], axis=-1)
