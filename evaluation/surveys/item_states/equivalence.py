"""Posterior of the survey power curve for any number of raters, of its asymptote, and of survey equivalence.

A draw of `models.item_states` gives the distribution of the items of the population, and so the power curve
c_k for any k, also beyond the observed number of raters, and its limit for infinitely many. A classifier is
compared with the curve of the same draw.

    information gain of k     c_k - c_0
    classifier gain           score - c_0
    asymptote gain            asymptote - c_0
    room for improvement      asymptote - score
    performance ratio         classifier gain / asymptote gain
    equivalence               the smallest interpolated k whose c_k is above the classifier's score

All are expectations over the items. States are exchangeable, and nothing here depends on their order, so
convergence is judged by R-hat and effective sample size of these quantities.
"""

from numbers import Real
from typing import Literal

import numpy as np
import xarray as xr

from ....posterior.errors import EvaluationError
from ....posterior.plausibility import fixed_seed, generator_of, in_threads
from ...argument_checks import check_probability, check_whole
from ..counts import Classifiers, LabelCounts
from ..results import crossing, interval_of
from ..scores import clipped
from .checks import checked_ks, classifier_scores, observed_curve, replicated_curves
from .curves import ItemStates, Score, asymptote, curve_at, n_count_vectors
from .paths import drawn_curve

CombinerName = Literal["abc", "plurality"]
ScorerName = Literal["cross_entropy", "brier", "agreement"]
MOST_VECTORS = 500  # largest number of count vectors to sum over; beyond it labels are simulated
LONGEST = 50  # default largest k of the curve
ROUNDING = 1e-12  # gains up to this are zero


def survey_summary(drawn: xr.Dataset, *, probability: float = 0.95) -> xr.Dataset:
    """Summarise posterior draws of a survey power curve and of survey equivalences.

    Parameters
    ----------
    drawn : Dataset
        Result of `posterior_power_curve` or `posterior_survey_equivalence`.
    probability : float, default .95
        Probability of the equal-tailed intervals.

    Returns
    -------
    Dataset
        For every quantity with draws its posterior mean under its own name and ``..._interval`` (bound:
        lower, upper). For ``equivalence`` the median, as some draws are infinite; and ``probability_below``
        and ``probability_beyond``, the probabilities that it is less than 0 or beyond the curve,
        ``probability_unattained``, the probability that the classifier is better than infinitely many raters,
        and ``censored``: "below", "above" or "", by the median. Quantities without draws are unchanged.

    Raises
    ------
    EvaluationError
        If there are no draws, or `probability` is not between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo import papers
    >>> draws = np.random.default_rng(1).normal([-0.9, -0.7, -0.6], 0.01, (1, 100, 3))
    >>> drawn = xr.Dataset({"power_curve": (("chain", "draw", "k"), draws)}, {"k": range(3)})
    >>> papers.survey_summary(drawn)["power_curve"].values.round(2)
    array([-0.9, -0.7, -0.6])
    """
    check_probability("probability", probability)
    if not isinstance(drawn, xr.Dataset) or not {"chain", "draw"} <= {*drawn.dims}:
        raise EvaluationError(
            "drawn: no draws (chain, draw); pass what posterior_power_curve or posterior_survey_equivalence returned"
        )
    done = drawn[[name for name in drawn.data_vars if "draw" not in drawn[name].dims]]
    for name in [name for name in drawn.data_vars if name not in done]:
        draws = drawn[name].stack(sample=("chain", "draw"), create_index=False)
        kept = draws.dims[:-1]
        if name == "equivalence":
            done[name] = (kept, np.quantile(draws, 0.5, axis=-1, method="closest_observation"))
        else:
            done[name] = draws.mean("sample")
        done[f"{name}_interval"] = ((*kept, "bound"), interval_of(draws.to_numpy(), probability))
    done = done.assign_coords(bound=["lower", "upper"]).assign_attrs(drawn.attrs)
    if "equivalence" not in drawn:
        return done
    both, found = ("chain", "draw"), drawn["equivalence"]
    done["probability_below"] = (found == -np.inf).mean(both)
    done["probability_beyond"] = (found == np.inf).mean(both)
    done["probability_unattained"] = (drawn["score"] > drawn["asymptote"]).mean(both)
    median = done["equivalence"].to_numpy()
    side = np.where(median == -np.inf, "below", np.where(median == np.inf, "above", ""))
    done["censored"] = (done["equivalence"].dims, side)
    return done


def posterior_power_curve(
    tree: xr.DataTree,
    *,
    combiner: CombinerName = "abc",
    scorer: ScorerName = "cross_entropy",
    longest: int = LONGEST,
    base: float = 2,
    replicates: int = 400,
    random_seed: int | None = 1,
) -> xr.Dataset:
    """Return posterior draws of the survey power curve of a model of item states.

    Parameters
    ----------
    tree : DataTree
        Draws of `models.item_states`.
    combiner : {"abc", "plurality"}
        How the labels of k raters are combined: the anonymous Bayesian combiner that knows the item states of
        the draw, or the most frequent label, ties averaged, which needs scorer="agreement".
    scorer : {"cross_entropy", "brier", "agreement"}
        Score of the combination against a further label; higher is better.
    longest : int, default 50
        Largest number of raters.
    base : float, default 2
        Base of the logarithm of the cross-entropy.
    replicates : int, default 400
        Number of replicated data sets of the posterior predictive check; 0 for none.
    random_seed : int, optional
        Seed of the replicates and of simulated points of the curve.

    Returns
    -------
    Dataset
        Draws (chain, draw, k) of ``power_curve`` and ``information_gain``, the curve minus its start; draws
        (chain, draw) of ``baseline``, the start, ``asymptote`` and ``asymptote_gain``, the asymptote minus
        the baseline; and ``monte_carlo_error`` (k): the root mean square over the draws of the standard error
        of one draw, 0 where all count vectors are summed over. No draw of the curve is above its asymptote.
        The posterior predictive check, over ``checked_k`` below the number of labels of nine in ten items:
        ``observed_curve``, the exact curve of the data, combiner trained in sample; ``replicated_curve``
        (replicate, checked_k), the same for replicated labels; ``check_p``, the two-sided p-value from the
        share of replicates below the observed curve, ties half. The attribute ``check_p`` is the p-value of
        the largest deviation over all k. Small values indicate that the model of item states does not fit.

    Raises
    ------
    EvaluationError
        If the tree has no item states, or an argument is out of range.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import papers
    >>> coords = {"category": ["x", "y"]}
    >>> weight = xr.DataArray([[[0.5, 0.5]]], dims=("chain", "draw", "state"))
    >>> law = xr.DataArray([[[[0.9, 0.1], [0.2, 0.8]]]], coords, ("chain", "draw", "state", "category"))
    >>> states = xr.Dataset({"state_weight": weight, "state_probability": law})
    >>> tree = xr.DataTree.from_dict({"posterior": states})
    >>> curve = papers.posterior_power_curve(tree, longest=3, replicates=0)
    >>> curve["power_curve"].values.round(3)
    array([[[-0.993, -0.809, -0.73 , -0.682]]])

    References
    ----------
    Resnick, Kong, Schoenebeck and Weninger (2021), arXiv:2106.01254, section 4.
    """
    score = _checked(combiner, scorer, longest, base, replicates)
    states, sample = _states_of(tree)
    rng = generator_of(random_seed, tree)
    limit = asymptote(states, score)
    curve, error = _curve(states, range(longest + 1), limit, (score, combiner), rng)
    dims, shape = ("chain", "draw"), [sample.sizes[d] for d in ("chain", "draw")]
    limit, curve = limit.reshape(shape), curve.reshape(*shape, -1)
    drawn = xr.Dataset(
        {
            "power_curve": ((*dims, "k"), curve),
            "information_gain": ((*dims, "k"), curve - curve[..., :1]),
            "baseline": (dims, curve[..., 0]),
            "asymptote": (dims, limit),
            "asymptote_gain": (dims, limit - curve[..., 0]),
            "monte_carlo_error": ("k", error),
        },
        {"k": np.arange(longest + 1)} | {d: sample[d] for d in dims if d in sample.coords},
        {"combiner": combiner, "scorer": scorer, "base": base},
    )
    return _check(drawn, states, _labels_of(tree), (replicates, rng)) if replicates else drawn


def posterior_survey_equivalence(
    tree: xr.DataTree,
    predictions: xr.DataArray,
    *,
    clip: float = 0.02,
    combiner: CombinerName = "abc",
    scorer: ScorerName = "cross_entropy",
    longest: int = LONGEST,
    base: float = 2,
    replicates: int = 400,
    random_seed: int | None = 1,
) -> xr.Dataset:
    """Return posterior draws of the survey equivalence of classifiers from a model of item states.

    Parameters
    ----------
    tree, combiner, scorer, longest, base, replicates, random_seed
        As in `posterior_power_curve`.
    predictions : DataArray (item, category), optionally classifier
        Probabilities; for a hard classifier 1 for its label.
    clip : float, default .02
        Predictions are clipped to [clip, 1 - clip] and renormalised; less than one over the number of
        categories. Predictions of the combiner are not clipped.

    Returns
    -------
    Dataset
        The result of `posterior_power_curve` and, over (chain, draw, classifier): ``score``;
        ``classifier_gain``, the score minus the baseline; ``room_for_improvement``, the asymptote minus the
        score; ``performance_ratio``, the classifier gain as a share of the asymptote gain, NaN if that is
        zero; and ``equivalence``, the number of raters, -inf if no labels at all do as well and inf if
        ``longest`` raters do not, as above the asymptote. Scores and curve have common errors.

    Raises
    ------
    EvaluationError
        If predictions do not match, or an argument is out of range.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import papers
    >>> coords, items = {"category": ["x", "y"]}, {"item": ["a", "b"]}
    >>> weight = xr.DataArray([[[0.5, 0.5]]], dims=("chain", "draw", "state"))
    >>> law = xr.DataArray([[[[0.9, 0.1], [0.2, 0.8]]]], coords, ("chain", "draw", "state", "category"))
    >>> counts = xr.DataArray([[3, 0], [1, 2]], items | coords, ("item", "category"))
    >>> states = xr.Dataset({"state_weight": weight, "state_probability": law})
    >>> observed = xr.Dataset({"observed_label": counts})
    >>> tree = xr.DataTree.from_dict({"posterior": states, "observed_data": observed})
    >>> found = papers.posterior_survey_equivalence(tree, counts / counts.sum("category"), replicates=0)
    >>> found["equivalence"].sizes, bool((found["score"] < found["asymptote"]).all())
    (Frozen({'chain': 1, 'draw': 1}), True)

    References
    ----------
    Resnick, Kong, Schoenebeck and Weninger (2021), arXiv:2106.01254, sections 4 and 7.
    """
    _checked(combiner, scorer, longest, base, replicates)
    states, sample = _states_of(tree)
    labels = _labels_of(tree)
    classifiers = Classifiers.aligned_to(predictions, labels)
    categories = len(labels.categories)
    if not isinstance(clip, Real) or not 0 <= clip < 1 / categories:
        raise EvaluationError(
            f"clip={clip!r}: expected a number from 0, below {1 / categories:.3g}, which is 1 / {categories} categories: "
            "such a clip makes all predictions equal"
        )
    labelled = labels.size > 0
    counts, probability = labels.counts[labelled], classifiers.probability[:, labelled]
    if scorer != "agreement":
        flat = probability.reshape(-1, probability.shape[-1])
        probability = clipped(flat, clip).reshape(probability.shape)
    by_label = Score(scorer, base).by_label(probability)
    wrong = np.argwhere(np.isinf(by_label) & (counts > 0))
    if len(wrong):
        raise EvaluationError(
            f"clip=0: {classifiers.names[wrong[0][0]] or 'the classifier'} gives probability 0 to a label that a rater gave, "
            "and its cross-entropy is -inf; clip at .02, or score by 'brier'"
        )
    random_seed = fixed_seed(random_seed, tree)
    drawn = posterior_power_curve(
        tree, combiner=combiner, scorer=scorer, longest=longest, base=base, replicates=replicates, random_seed=random_seed
    )  # fmt: skip
    rng = np.random.default_rng(np.random.SeedSequence(random_seed, spawn_key=(1,)))
    found = classifier_scores(states, counts, by_label, rng)
    dims = ("chain", "draw", "classifier")
    drawn["score"] = (dims, found.reshape(sample.sizes["chain"], sample.sizes["draw"], -1))
    curve = drawn["power_curve"].to_numpy()[..., None, :]
    drawn["equivalence"] = (dims, crossing(curve, drawn["score"].to_numpy()[..., None]))
    drawn["classifier_gain"] = drawn["score"] - drawn["baseline"]
    drawn["room_for_improvement"] = drawn["asymptote"] - drawn["score"]
    to_gain = drawn["asymptote_gain"].where(drawn["asymptote_gain"] > ROUNDING)
    drawn["performance_ratio"] = drawn["classifier_gain"] / to_gain
    if classifiers.named:
        return drawn.assign_coords(classifier=classifiers.names)
    return drawn.isel(classifier=0)


def _checked(combiner: str, scorer: str, longest: int, base: float, replicates: int) -> Score:
    """Return the scorer, or raise if an argument is out of range."""
    if combiner not in ("abc", "plurality"):
        raise EvaluationError(
            f"combiner={combiner!r}: with item states expected 'abc' or 'plurality'; for other combiners pass the counts"
        )
    if combiner == "plurality" and scorer != "agreement":
        raise EvaluationError(
            f"combiner='plurality' predicts a label, and scorer={scorer!r} scores probabilities; take scorer='agreement'"
        )
    check_whole("longest", longest, 1, remark=" (max_raters of survey_power_curve)")
    check_whole("replicates", replicates, 0)
    return Score(scorer, base)


def _states_of(tree: xr.DataTree) -> tuple[ItemStates, xr.Dataset]:
    """Read the item states of a tree, and its posterior, or raise."""
    if not isinstance(tree, xr.DataTree) or "posterior" not in tree.children:
        raise EvaluationError(
            f"a {type(tree).__name__} is no DataTree with a posterior; sample models.item_states"
        )
    posterior = tree["posterior"].to_dataset()
    return ItemStates.of(posterior), posterior


def _labels_of(tree: xr.DataTree) -> LabelCounts:
    """Read the label counts to which the states were fitted, or raise."""
    try:
        observed = tree["observed_data"]["observed_label"]
    except KeyError:
        raise EvaluationError(
            "the tree lacks observed_data with 'observed_label'; keep the groups that inference.sample returned"
        ) from None
    return LabelCounts.of(observed, "observed_label")


def _curve(
    states: ItemStates, ks: range, limit: np.ndarray, how: tuple[Score, str], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Power curve (sample, k), and the Monte Carlo error of each point (k,)."""
    n = states.probability.shape[2]
    summed = sum(n_count_vectors(k, n) <= MOST_VECTORS for k in ks)
    points = in_threads(lambda k: curve_at(states, k, *how), ks[:summed])
    curve = np.stack(list(points), axis=1)
    error = np.zeros(len(ks))
    if summed < len(ks):
        beyond, own = drawn_curve(states, ks[summed - 1 :], limit, how, rng)
        curve = np.concatenate([curve, beyond], axis=1)
        error[summed:] = np.sqrt((own**2).mean(axis=0))
    return curve, error


def _check(
    drawn: xr.Dataset, states: ItemStates, labels: LabelCounts, how: tuple[int, np.random.Generator]
) -> xr.Dataset:
    """Add the posterior predictive check of the curve, with a number of replicates."""
    replicates, rng = how
    counts = labels.counts[labels.size > 0]
    ks = checked_ks(counts, MOST_VECTORS)
    score = Score(drawn.attrs["scorer"], drawn.attrs["base"])
    combiner = drawn.attrs["combiner"]
    which = np.linspace(0, len(states.weight) - 1, replicates).round().astype(int)
    observed = observed_curve(counts, ks, score, combiner)
    replicated = replicated_curves(states.select(which), counts, ks, (score, combiner), rng)
    below = (replicated < observed).mean(axis=0) + (replicated == observed).mean(axis=0) / 2
    everything = np.vstack([observed, replicated])
    centred = everything - replicated.mean(axis=0)
    spread = replicated.std(axis=0)
    # points at which all curves are equal, such as agreement by chance, are left out
    deviation = np.abs(centred / np.where(spread > 1e-12, spread, np.inf)).max(axis=1)
    worse = int((deviation[1:] >= deviation[0]).sum())
    drawn = drawn.assign_coords(checked_k=ks)
    drawn["observed_curve"] = ("checked_k", observed)
    drawn["replicated_curve"] = (("replicate", "checked_k"), replicated)
    drawn["check_p"] = ("checked_k", 2 * np.minimum(below, 1 - below))
    return drawn.assign_attrs(check_p=(worse + 1) / (replicates + 1))
