"""Point estimate of Dawid and Skene's model by EM: labels in the memory of this process, in shards, or in files."""

from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr

from ...models.data.features import ItemFeatures, item_features
from ...models.data.label_shards import LabelShards, identity
from ...models.data.labels import Labels
from ...models.labels.population import POPULATION
from ..labels.em_search import Rule, check_iterations, check_search, patterns_of, seeded_generator
from .confusion_em import ConfusionEm, WithFeatures, estimated
from .sharded_answers import label_work
from .sharded_em import EmFolder, InFiles, InShards, opened_files, write_plausibilities
from .workers import AnyExecutor


def dawid_skene_em(
    labels: Labels | LabelShards,
    *,
    start: Literal["vote"] = "vote",
    prior: Literal["diagonal", "population"] | None = "diagonal",
    features: Any = None,
    feature_penalty: float = 1.0,
    restarts: int | Literal["auto"] = "auto",
    max_iterations: int = 1000,
    tolerance: float = 1e-10,
    random_seed: int | None = None,
    executor: AnyExecutor = None,
    shards: int | None = None,
    folder: str | Path | None = None,
    out: str | Path | None = None,
) -> xr.Dataset:
    """Estimate prevalence, confusion matrices and true categories by EM.

        T_i ~ Categorical(p),   P(rater k says l | T_i = j) = pi^k_jl
        E-step  P(T_i = j | answers) proportional to  p_j prod of pi^k_jl over the answers to i
        M-step  p_j and pi^k_jl proportional to  pseudo-counts + expected counts

    ======  ================  ================  =======================
    symbol  meaning           variable          dims
    ======  ================  ================  =======================
    p       prevalence        ``prevalence``    category
    pi      confusion matrix  ``confusion``     rater, category, answer
    P(T)    plausibility      ``plausibility``  item, category
    ======  ================  ================  =======================

    With features x_i of the items p(T_i = j) is softmax(log p + x_i W)_j, and the M-step fits W, ``feature_effect`` (feature,
    category), and p, the prevalence at the mean features, by a softmax regression on the plausibilities with the penalty
    lambda / 2 times the squared entries of W.

    Parameters
    ----------
    labels : Labels or LabelShards
        Labels of identified raters, or files of them. Gold labels are taken as known true categories; if all items have one,
        the estimate has a closed form.
    start : {"vote"}, default "vote"
        First start: the share of each label among an item's answers. A start that ignores the answers may end with the
        categories renamed, so none is offered; random starts near the votes are `restarts`.
    prior : {"diagonal", "population"} or None, default "diagonal"
        Prior of the confusion matrices and the prevalence, as in `models.dawid_skene`; the estimate maximises
        the posterior of the log odds. "population" first learns skill and strength of the raters as in
        `models.correlated_votes`, by empirical Bayes from the vote. None maximises the likelihood, which overfits raters
        with few answers; the row of a rater with less than .01 expected answers to items of a category is not identified,
        and NaN.
    features : DataArray or frame, optional
        Features of the items, as in `models.dawid_skene`; columns are standardised.
    feature_penalty : float, default 1
        Penalty lambda of the effects, positive: they have a Normal prior with variance 1 / lambda. Where all items have gold
        labels and ``prior=None``, the effects are those of scikit-learn's ``LogisticRegression(C=1 / lambda)`` on the
        standardised columns, for two categories of ``C=2 / lambda`` (it has one coefficient in place of two of opposite sign).
    restarts : int or "auto", default "auto"
        Number of random starts near the vote shares, from Dirichlet(20 share + .3), each run until it converges.
        "auto": 20 starts, and of few answers 20 more while they find other optima, up to 100; a run that has come to a
        known optimum is not followed. Of more than 400,000 answers, or 200 a rater, these are short runs on a sample
        of the items, and long runs on all items start from the vote, and from the three best optima of the sample
        other than that of the vote. With features there are 5 starts in place of 20.
    max_iterations : int, default 1000
        Largest number of iterations per start.
    tolerance : float, default 1e-10
        Relative gain of the objective below which a start has converged.
    random_seed : int, optional
        Seed of the random starts.
    executor : Executor, dask.distributed.Client or int, optional
        Executor of shards of items: anything with ``submit``, or a number of processes. The estimate does not
        depend on it, and equals that of this process but for rounding; random starts are drawn item by item there.
        Without one, files are processed by threads of this process.
    shards : int, optional
        Number of shards, by default one per million answers; without `executor` a pool of processes shares them. Of files each
        is a shard.
    folder : path, optional
        Folder of the shards during use, which all workers must see; by default that of temporary files.
    out : path, optional
        New folder, for files of labels: workers write the plausibilities of each file there, as Parquet in ``plausibility``,
        with columns ``item``, ``label`` (the most plausible) and ``plausibility_<category>``. A call that was stopped or
        killed goes on there if it is made again, to the same bits.

    Returns
    -------
    Dataset
        ``prevalence`` (category), ``confusion`` (rater, category, answer), ``plausibility`` (item, category),
        ``log_likelihood`` and ``objective`` (with the log prior) of the best optimum, and ``trace``
        (iteration) of the start that found it. The same with the prefix ``optimum_`` for every distinct
        ``optimum``, the best first; ``optimum_found``, the number of starts that ended there (without those whose short
        run was not among the best); ``vote_optimum``, the optimum reached from the vote shares. Attributes ``log_likelihood``,
        ``converged`` (0 or 1) and ``iterations``. With features also ``feature_effect`` (feature, category), and mean and
        standard deviation of the raw columns, ``feature_mean`` and ``feature_sd`` (feature). With `out`
        the plausibilities, and the dim ``item``, are only there.

    Raises
    ------
    ValueError
        If the raters are anonymous, an argument is out of range, or features come with an executor, shards or files; if
        files are damaged, as a `DataError` that names file, row and column, or an item has rows in two; if `out` is of another
        call.

    Warns
    -----
    EstimateWarning
        If the likelihood alone is maximised, a rater has hardly any expected answers to items of some category
        (the row is NaN), no item has two answers (only the vote is identified), or starts differ or have not
        converged.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> drawn = models.simulators.labels(items=60, raters=5, answers=5, random_seed=3)
    >>> estimate = inference.dawid_skene_em(drawn.data, restarts=3, random_seed=1)
    >>> estimate["confusion"].dims, estimate.sizes["optimum"], estimate.attrs["converged"]
    (('rater', 'category', 'answer'), 1, 1)

    References
    ----------
    Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, JRSS
    C 28(1), doi:10.2307/2346806. Biernacki, Celeux and Govaert (2003), Choosing starting values for the EM algorithm for
    getting the highest likelihood, Computational Statistics & Data Analysis 41, doi:10.1016/S0167-9473(02)00163-6.
    """
    numbers = restarts, max_iterations, tolerance
    if isinstance(labels, LabelShards):
        check_iterations(*numbers)
    else:
        check_search(labels, "dawid_skene_em", *numbers)
    if start != "vote":
        raise ValueError(f"start={start!r} is not 'vote'")
    if prior not in ("diagonal", POPULATION, None):
        raise ValueError(f"prior={prior!r} is neither 'diagonal' nor 'population' nor None")
    seeded_generator(random_seed)
    if isinstance(labels, LabelShards):
        if features is not None or shards is not None:
            raise ValueError(
                "labels in files are fitted without features, a shard a file: leave features and shards out"
            )
        options = {
            "prior": prior,
            "restarts": None if isinstance(restarts, str) else restarts,
            "max_iterations": max_iterations,
            "tolerance": tolerance,
        }
        return _of_files(labels, options, random_seed, executor, folder, out)
    if out is not None:
        raise ValueError(
            "out= is for labels in files, models.LabelShards: a Dataset holds the plausibilities of these"
        )
    own = _features(labels, features, feature_penalty, executor, shards)
    options = (prior, restarts, random_seed, Rule(max_iterations, tolerance))
    if own is not None:
        result, _ = estimated(labels, partial(WithFeatures, labels, own, float(feature_penalty)), *options)
        return result.assign_coords(feature=own.names.astype(str)).assign(
            feature_mean=("feature", own.mean), feature_sd=("feature", own.scale)
        )
    if executor is None and shards is None:
        return estimated(labels, partial(ConfusionEm, patterns_of(labels)), *options)[0]
    with label_work(labels, executor, shards, folder) as work:
        return estimated(labels, partial(InShards, work), *options)[0]


def _of_files(
    shards: LabelShards,
    options: dict[str, Any],
    random_seed: int | None,
    executor: AnyExecutor,
    folder: str | Path | None,
    out: str | Path | None,
) -> xr.Dataset:
    """Estimate from labels in files, in a folder with which the same call goes on if `out` names one."""
    own = None if out is None else EmFolder(out)
    if own is not None:
        random_seed = own.seed_of_call({"labels": identity(shards), **options}, random_seed)
        if (done := own.finished()) is not None:
            return done
    rule = Rule(options["max_iterations"], options["tolerance"])
    restarts = "auto" if options["restarts"] is None else options["restarts"]
    with opened_files(shards, executor, folder, own) as work:
        model_of = partial(InFiles, work, own)
        result, optima = estimated(work.labels, model_of, options["prior"], restarts, random_seed, rule)
        if own is not None:
            write_plausibilities(work, optima.runs[0].parameters, own.path / "plausibility")
            own.finish(result)
    return result


def _features(
    labels: Labels, features: Any, penalty: float, executor: AnyExecutor, shards: int | None
) -> ItemFeatures | None:
    """Return the standardised features of the items, None without; raise if they cannot be used."""
    if (
        isinstance(penalty, bool)
        or not isinstance(penalty, int | float | np.number)
        or not 0 < penalty < np.inf
    ):
        raise ValueError(f"feature_penalty={penalty!r} must be a positive number")
    if features is None:
        return None
    if executor is not None or shards is not None:
        raise ValueError("features are fitted in this process: leave executor and shards out")
    return item_features(features, labels.items)
