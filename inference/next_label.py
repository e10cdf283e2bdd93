"""A fitted model as a combiner: what k labels of an item, of nobody in particular, tell of the next one.

An item is of kind j with probability w_j, and its labels y_1, y_2, ... are then drawn by one law,

    p(c | j, y) = ((1 - rho_j) theta_jc + rho_j n_c) / ((1 - rho_j) + rho_j k)     n the counts of the k labels before
    p(j | y)    = w_j prod_i p(y_i | j, y_1 ... y_i-1) / the same summed over j
    p(c | y)    = sum_j p(j | y) p(c | j, y)

in every draw of the posterior, and on average over the draws.

====================  =============================  ====================================
symbol                models.item_states             models with confusion matrices
====================  =============================  ====================================
w                     state_weight                   prevalence
theta                 state_probability              confusion, its mean over the raters
rho                   state_spread, or 0             0
====================  =============================  ====================================
"""

from dataclasses import dataclass, field

import numpy as np
import xarray as xr
from scipy.special import softmax

__all__ = ["LabelCombiner", "label_combiner"]

CELLS = 2_000_000  # of (draw, kind, row) that are computed at once
STATES = ("state_weight", "state_probability", "state", "category")
CONFUSIONS = ("prevalence", "confusion", "category", "label")


def label_combiner(tree: xr.DataTree) -> "LabelCombiner":
    """Return the function of counts of labels that says what a further rater says, by a fitted model.

    Parameters
    ----------
    tree : DataTree
        Draws of `models.item_states`, or of a model whose raters have confusion matrices that do not depend on the item, such as
        `models.multinomial` and `models.dawid_skene`.

    Returns
    -------
    LabelCombiner
        To be passed as ``combiner`` to `raterzoo.evaluation.survey_power_curve` and its kin, which match its ``categories`` with
        those of the labels by name. Called with counts (row, category) it returns probabilities of the next label.

    Raises
    ------
    ValueError
        If the tree has no such draws.

    Notes
    -----
    Labels count as those of raters picked anew for each, all alike: of unequal raters it is the mean confusion matrix that says
    what a label tells, which forgets who said what. The draws are averaged as they are, whatever the counts. A model that was
    fitted to the labels of the curve has seen those that it predicts, as ``learn="in-sample"`` has.

    References
    ----------
    Resnick, Kong, Schoenebeck and Weninger (2021), Survey equivalence, arXiv:2106.01254, section 3.
    """
    posterior = _posterior_of(tree)
    weight, law, kind, label = STATES if STATES[0] in posterior else CONFUSIONS
    laws = posterior[law].mean("rater") if "rater" in posterior[law].dims else posterior[law]
    spread = posterior.get("state_spread", xr.zeros_like(posterior[weight]))
    drawn = [
        values.transpose("chain", "draw", kind, ...).to_numpy().astype(float)
        for values in (posterior[weight], laws.transpose(..., label), spread)
    ]
    flat = (values.reshape(-1, *values.shape[2:]) for values in drawn)
    return LabelCombiner(posterior[label].to_numpy().astype(str), *flat)


def _posterior_of(tree: xr.DataTree) -> xr.Dataset:
    """Return the posterior, or raise if it does not say how the labels of an item go together."""
    if not isinstance(tree, xr.DataTree) or "posterior" not in tree.children:
        raise ValueError(
            f"a {type(tree).__name__} is no DataTree with a posterior; sample a model of labels"
        )
    posterior = tree["posterior"].to_dataset()
    names = {*map(str, posterior.data_vars)}
    if {*STATES[:2]} <= names:
        return posterior
    remedy = "sample models.item_states, models.multinomial or models.dawid_skene"
    if not {*CONFUSIONS[:2]} <= names:
        raise ValueError(
            f"the posterior holds {', '.join(sorted(names))}, and neither state_weight and state_probability nor prevalence and "
            f"confusion; {remedy}"
        )
    own = {name for name in names if "item" in posterior[name].dims} - {"plausibility"}
    if own:
        raise ValueError(
            f"the posterior has {', '.join(sorted(own))}: labels of an item have more in common than its category, and confusion "
            f"does not say what; {remedy}"
        )
    return posterior


@dataclass(frozen=True, eq=False)
class LabelCombiner:
    """A function of counts of labels that returns the probabilities of the next one.

    Attributes
    ----------
    categories : ndarray of str, shape (category,)
        Of the labels, in the order of the counts.
    weight : ndarray, shape (sample, kind)
        Shares of the kinds of items.
    probability : ndarray, shape (sample, kind, category)
        Of the labels of items of a kind.
    spread : ndarray, shape (sample, kind)
        By how much the items of a kind differ.
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
            raise ValueError(
                f"counts: {counts.min()}; expected whole numbers from 0, such as the counts of exchangeable raters"
            )
        n_samples, n_kinds = self.weight.shape
        step = max(1, CELLS // (n_kinds * max(1, len(counts))))
        total = np.zeros(counts.shape)
        for start in range(0, n_samples, step):
            total += self._of_samples(slice(start, start + step), counts)
        return total / total.sum(axis=1, keepdims=True)

    def _of_samples(self, which: slice, counts: np.ndarray) -> np.ndarray:
        """Return the probabilities summed over some samples."""
        theta, rho = self.probability[which], self.spread[which, :, None]
        # what underflowed to zero was only too small to be stored
        floor = np.finfo(float).tiny
        heard = counts.sum(axis=1)
        before = np.arange(counts.max(initial=0))
        log_p = np.log(np.maximum(self.weight[which], floor))[..., None]
        log_p = log_p - _sums(np.log(1 - rho + rho * np.arange(heard.max(initial=0))))[..., heard]
        for c, number in enumerate(counts.T):
            own = (1 - rho) * theta[..., c, None] + rho * before
            log_p += _sums(np.log(np.maximum(own, floor)))[..., number]
        of_kind = softmax(log_p, axis=1) / (1 - rho + rho * heard)
        law = np.tensordot(of_kind * (1 - rho), theta, axes=([0, 1], [0, 1]))
        return law + (of_kind * rho).sum(axis=(0, 1))[:, None] * counts


def _sums(terms: np.ndarray) -> np.ndarray:
    """Return the sums of the first 0, 1, 2, ... terms of the last axis."""
    return np.concatenate([np.zeros((*terms.shape[:-1], 1)), terms.cumsum(axis=-1)], axis=-1)
