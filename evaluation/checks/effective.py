"""Effective number of raters of a group whose errors are shared: by Kish's design effect, and by information."""

import numpy as np
import xarray as xr

from ...posterior.plausibility import Seed, generator_of
from ...posterior.schema import SAMPLE
from ..raters.joint_answers import joint_information, joint_law, residual_correlation
from ..raters.quality import of_raters
from ..raters.worth import GROUPS, groups_of_raters, interpolated_worth, largest_panel, panel_curves
from .labels import excess_correlation


def effective_raters(tree: xr.DataTree, by: str, *, random_seed: Seed = None) -> xr.Dataset:
    """Return as how many independent raters each group of raters counts.

    Two numbers of a group of n raters. Kish's n / (1 + (n - 1) r) with r the mean correlation of the residuals of two of its
    raters given the truth. And the number of independent raters like its members (with their mean confusion matrix) whose
    answers tell as much about the truth as one answer of each member of the group.

    In a posterior of `shared_guess` both follow from its law: raters k and l that copy the guess G of their group with
    probabilities s_k and s_l have residuals with covariance s_k s_l Cov(G | truth). Any other posterior of labels believes in
    independent errors; r is then what the residuals of its answers have beyond those of its replicates, at least 0, and only
    Kish's number is given. Errors that are shared by so many raters that they turn the inferred truth round leave no
    residuals: only `shared_guess`, with an independent group or gold items, shows them.

    Parameters
    ----------
    tree : DataTree
        Posterior of a model of labels.
    by : str
        Coordinate along ``rater`` with the group of each rater, such as ``"kind"``.
    random_seed : int or numpy.random.Generator, optional
        Seed of the replicates, and of joint answers that are too many to enumerate; by default derived from the tree.

    Returns
    -------
    Dataset
        Over ``group_of_raters`` ``raters``, the size n; ``residual_correlation`` and ``effective`` (Kish); in posteriors of
        `shared_guess`, over the sample dims too, these two and ``information`` of the group about the truth, in bits, with
        ``equivalent``, the number of independent raters of the same information.

    Raises
    ------
    EvaluationError
        If the tree has no confusion matrices of raters, or `by` is no coordinate along ``rater``.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> simulated = models.simulators.labels(model="shared_guess", items=60, raters=6, answers=6, random_seed=1)
    >>> tree = inference.sample(models.shared_guess(simulated.data, "kind", "person"), random_seed=1)
    >>> found = evaluation.effective_raters(tree, by="kind")
    >>> bool((found["effective"] <= found["raters"] + 1e-9).all())
    True

    References
    ----------
    Kish (1965), Survey Sampling, section 8.2 (design effect). Cover and Thomas (2006), Elements of information theory,
    equation 2.28.
    """
    confusion = of_raters(tree, "confusion", ("rater", "category", "answer"))
    kinds = groups_of_raters(confusion, by).to_numpy().astype(str)
    names = list(dict.fromkeys(kinds.tolist()))
    members = [np.flatnonzero(kinds == name) for name in names]
    raters = xr.DataArray([len(own) for own in members], {GROUPS: names}, GROUPS)
    rng = generator_of(random_seed, tree)
    posterior = tree["posterior"].to_dataset()
    if "guess" not in posterior:
        found = excess_correlation(tree, by, rng)
        r = xr.DataArray([max(found.get(name, 0.0), 0.0) for name in names], raters.coords, GROUPS)
        return xr.Dataset(
            {"raters": raters, "residual_correlation": r, "effective": raters / (1 + (raters - 1) * r)}
        )
    law = joint_law(tree)

    def over_draws(values: list[np.ndarray]) -> xr.DataArray:
        shape = posterior.sizes["chain"], posterior.sizes["draw"]
        coords = {d: posterior[d] for d in SAMPLE} | {GROUPS: names}
        return xr.DataArray(np.stack(values, axis=-1).reshape(*shape, -1), coords, (*SAMPLE, GROUPS))

    r = over_draws([residual_correlation(law, own) for own in members])
    information, equivalent = [], []
    for own in members:
        information.append(joint_information(law, own, rng))
        most = min(len(own), largest_panel(None, confusion.sizes["answer"]))
        curve = panel_curves(law.prevalence, law.confusion(own).mean(axis=1), most)[0]
        equivalent.append(interpolated_worth(curve, information[-1][:, None])[0][:, 0])
    return xr.Dataset(
        {
            "raters": raters,
            "residual_correlation": r,
            "effective": raters / (1 + (raters - 1) * r),
            "information": over_draws(information),
            "equivalent": over_draws(equivalent),
        }
    )
