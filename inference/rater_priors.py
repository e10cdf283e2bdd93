"""What a posterior of labels knows of its raters, as the prior of the next study."""

from contextlib import closing
from os import PathLike
from pathlib import Path

import numpy as np
import xarray as xr

from ..models._prior_arguments import confusion_concentrations
from ..models.data.errors import refused_argument
from ..models.labels.known_raters import COUNTS, POPULATION_COUNTS, PRIOR_KIND
from ..posterior.schema import SAMPLE
from .storage.posterior_files import read_posterior
from .storage.untrusted_files import DAMAGED, check_netcdf

DIMS = ("rater", "category", "answer")


def rater_prior(tree: xr.DataTree, *, anonymize: bool = False) -> xr.Dataset:
    """Return what a posterior knows of its raters and of their population, for ``raters=`` of a model of further labels.

    Each row of a rater's confusion matrix becomes pseudo-counts of answers: the Dirichlet distribution with the mean m of its
    draws and with their variances v in sum,

        h_kjl = m_kjl s_kj,    s_kj = sum_l m_kjl (1 - m_kjl) / sum_l v_kjl - 1

    and the population gets that of the rows of all raters together, and of one rater more, of the default prior.

    Parameters
    ----------
    tree : DataTree
        Posterior with draws of confusion matrices, such as that of `dawid_skene` or `correlated_votes`.
    anonymize : bool, default False
        Leave out the raters: the population alone remains.

    Returns
    -------
    Dataset
        ``pseudo_count`` (rater, category, answer), unless anonymized, and ``population`` (category, answer). It is written by
        ``.to_netcdf("raters.nc")`` and read by ``xarray.load_dataset("raters.nc")``.

    Raises
    ------
    DataError
        If the tree has no confusion matrices of raters, or fewer than two draws of them.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> labels = models.simulators.labels(raters=4, random_seed=1).data
    >>> earlier, later = (labels.select(items=labels.items[own]) for own in (slice(0, 30), slice(30, 33)))
    >>> tree = inference.sample(models.dawid_skene(earlier), random_seed=1, progressbar=False)
    >>> prior = inference.rater_prior(tree)
    >>> dict(prior["pseudo_count"].sizes)
    {'rater': 4, 'category': 3, 'answer': 3}
    >>> sorted(rv.name for rv in models.dawid_skene(later, raters=prior).free_RVs)
    ['confusion', 'history_weight', 'population_skill', 'population_strength', 'prevalence']

    References
    ----------
    Minka (2000), Estimating a Dirichlet distribution, section 2 (moments).
    """
    posterior = tree["posterior"].to_dataset() if "posterior" in tree.children else xr.Dataset()
    found = posterior.get("confusion")
    if found is None or set(found.dims) != {*SAMPLE, *DIMS}:
        raise refused_argument(
            "tree",
            "it has no confusion matrices of raters",
            value=sorted(map(str, posterior.data_vars)),
            allowed="a posterior with confusion (rater, category, answer)",
            remedy="fit models.dawid_skene or models.correlated_votes",
        )
    draws = found.transpose(*SAMPLE, *DIMS).astype(np.float64)
    if draws.sizes["chain"] * draws.sizes["draw"] < 2:
        raise refused_argument(
            "tree",
            f"it has {draws.sizes['draw']} draw, which tells no spread",
            remedy="fit again with more draws",
        )
    mean, variance = draws.mean(SAMPLE).to_numpy(), draws.var(SAMPLE).to_numpy()
    usual = confusion_concentrations(mean.shape[-1])
    strength = usual.sum(axis=-1, keepdims=True)
    one = usual / strength
    means = np.concatenate([mean, one[None]])
    spread = np.concatenate([variance, (one * (1 - one) / (strength + 1))[None]])
    population = pseudo_counts(means.mean(axis=0), means.var(axis=0) + spread.mean(axis=0))
    counts: dict[str, tuple[tuple[str, ...], np.ndarray]] = {POPULATION_COUNTS: (DIMS[1:], population)}
    if not anonymize:
        counts[COUNTS] = (DIMS, pseudo_counts(mean, variance))
    attributes = {"kind": PRIOR_KIND, "raters": len(mean), "model": str(tree.attrs.get("model", ""))}
    coords = {name: posterior[name].to_numpy() for name in DIMS[anonymize:]}
    return xr.Dataset(counts, coords, attributes)


def pseudo_counts(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return Dirichlet concentrations with these means, and these variances in sum, along the last axis."""
    strength = (mean * (1 - mean)).sum(axis=-1) / variance.sum(axis=-1) - 1
    return mean * strength[..., None]


def read_rater_prior(path: str | PathLike[str]) -> xr.Dataset:
    """Read a prior of raters from a file, or make it from the file of a posterior; ValueError for others."""
    path = Path(path)
    if not path.exists():
        raise ValueError(f"{path}: there is no such file; write one by inference.rater_prior(tree).to_netcdf")
    if path.suffix != ".zarr":
        check_netcdf(path)
        try:
            found = xr.load_dataset(path, engine="h5netcdf", phony_dims="sort")
        except DAMAGED as problem:
            raise ValueError(f"{path}: neither a prior of raters nor a posterior ({problem})") from problem
        if POPULATION_COUNTS in found:
            return found
    with closing(read_posterior(path)) as tree:
        return rater_prior(tree)
