"""Quality of raters from prevalence and confusion matrices: accuracy, information and bias."""

import numpy as np
import xarray as xr
from scipy.special import xlogy

from ...posterior.errors import EvaluationError
from ...posterior.prior_of_items import shares_of_categories
from ...posterior.schema import posterior_with_attributes
from ...posterior.summaries import with_shared_draws
from ..argument_checks import check_probability


def rater_quality(tree: xr.DataTree) -> xr.Dataset:
    """Return accuracy, information and bias of every rater in every draw, from prevalence p and confusion pi.

        accuracy          sum_j p_j pi_jj
        information       sum_jl p_j pi_jl log2(pi_jl / q_l),  q_l = sum_j p_j pi_jl   bits of a label about the truth
        bias_l            q_l - p_l                                                    excess frequency of a label

    An adversary who always confuses two categories has accuracy 0 and full information: the model inverts the
    labels.

    Parameters
    ----------
    tree : DataTree
        Posterior with ``prevalence`` (category) and ``confusion`` (rater, category, answer). With features of the items p is
        the mean of the priors of the items, the share of each category among them.

    Returns
    -------
    Dataset, dims (chain, draw, rater)
        ``accuracy``, ``information`` in bits, and ``bias`` (..., label), which sums to zero.

    Raises
    ------
    EvaluationError
        If the tree has no prevalence or no confusion matrices of raters.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> p = xr.DataArray([[[0.5, 0.5]]], dims=("chain", "draw", "category"))
    >>> pi = xr.DataArray([[[[[0.9, 0.1], [0.2, 0.8]]]]], dims=("chain", "draw", "rater", "category", "answer"))
    >>> tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"prevalence": p, "confusion": pi})})
    >>> quality = evaluation.rater_quality(tree)
    >>> quality["accuracy"].values.round(2), quality["bias"].values.round(2)
    (array([[[0.85]]]), array([[[[ 0.05, -0.05]]]]))

    References
    ----------
    Paun et al. (2018), Comparing Bayesian models of annotation, TACL 6, section 5.4, doi:10.1162/tacl_a_00040
    (accuracy). Cover and Thomas (2006), Elements of information theory, equation 2.28 (mutual information).
    """
    tree = with_shared_draws(tree)
    confusion = of_raters(tree, "confusion", ("rater", "category", "answer"))
    prevalence = of_raters(tree, "prevalence", ("category",))
    sample = ("chain", "draw")
    pi = confusion.transpose(*sample, "rater", "category", "answer").to_numpy().astype(float)
    p = prevalence.transpose(*sample, "category").to_numpy().astype(float)[:, :, None]
    given = np.einsum("...j,...jl->...l", p, pi)
    entropy = -xlogy(given, given).sum(axis=-1)
    noise = -(p * xlogy(pi, pi).sum(axis=-1)).sum(axis=-1)
    dims = (*sample, "rater")
    return xr.Dataset(
        {
            "accuracy": (dims, (p * np.diagonal(pi, axis1=-2, axis2=-1)).sum(axis=-1)),
            "information": (dims, (entropy - noise) / np.log(2)),
            "bias": ((*dims, "answer"), given - p),
        },
        {dim: confusion[dim] for dim in (*dims, "answer") if dim in confusion.coords},
    )


def confusion_intervals(tree: xr.DataTree, probability: float = 0.9) -> xr.Dataset:
    """Return mean and equal-tailed interval of every entry of the confusion matrices.

    Parameters
    ----------
    tree : DataTree
        Posterior with ``confusion``.
    probability : float, default .9
        Probability of the interval.

    Returns
    -------
    Dataset
        ``mean``, ``lower`` and ``upper``, with the dims of ``confusion`` except chain and draw.

    Raises
    ------
    EvaluationError
        If the tree has no confusion matrices, or `probability` is not between 0 and 1.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> pi = xr.DataArray([[[[[0.9, 0.1], [0.2, 0.8]]]]], dims=("chain", "draw", "rater", "category", "answer"))
    >>> tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"confusion": pi})})
    >>> evaluation.confusion_intervals(tree)["mean"].values
    array([[[0.9, 0.1],
            [0.2, 0.8]]])
    """
    check_probability("probability", probability)
    confusion = of_raters(with_shared_draws(tree), "confusion", ("category", "answer")).astype(float)
    tails = [(1 - probability) / 2, (1 + probability) / 2]
    bounds = confusion.quantile(tails, ("chain", "draw"))
    return xr.Dataset(
        {
            "mean": confusion.mean(("chain", "draw")),
            "lower": bounds.isel(quantile=0, drop=True),
            "upper": bounds.isel(quantile=1, drop=True),
        }
    )


def of_raters(tree: xr.DataTree, name: str, dims: tuple[str, ...]) -> xr.DataArray:
    """Return a variable of the posterior, or raise if it is missing or lacks a dim.

    The prevalence of a model with features, which is of an item with the mean features, is replaced by the shares of the items.
    """
    posterior = posterior_with_attributes(tree)
    if "label" in posterior.dims:  # name of the dim in version 0.1
        posterior = posterior.rename(label="answer")
    if name not in posterior or not set(dims) <= set(posterior[name].dims):
        raise EvaluationError(
            f"the posterior has no {name!r} with dims {', '.join(dims)}; it holds "
            f"{', '.join(map(str, posterior.data_vars)) or 'nothing'}. Models of raters, such as dawid_skene, have one"
        )
    return shares_of_categories(tree, posterior[name]) if name == "prevalence" else posterior[name]
