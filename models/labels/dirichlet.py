"""Dirichlet model of labels: the labels of an item are draws from its plausibilities."""

from typing import Any

import pymc as pm

from .._arguments import PREDICTIONS, documented
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_array, refuse_expression
from .._prior_arguments import LIKELIHOOD_POWER, positive_array
from .._prior_predictions import prediction_prior
from ..data.container import require_container
from ..data.labels import Labels
from ..distributions.counted_labels import CountedLabels

__all__ = ["dirichlet"]


@recorded
@documented(predictions=PREDICTIONS)
def dirichlet(
    labels: Labels,
    *,
    concentration: Any = 1.0,
    reliability: float = 1.0,
    prior_predictions: Any = None,
    classifier: str | None = None,
    prediction_scale: Number = 10.0,
) -> pm.Model:
    """Build the Dirichlet model: labels are draws from the plausibilities of their item; raters are alike.

    Generative law, for item i with label counts n_i:

        lambda_i ~ Dirichlet(alpha + kappa f_i)          kappa = 0 without predictions
        kappa    ~ HalfNormal(s)
        n_i      ~ CountedLabels(lambda_i) ** gamma

    ====================  ====================  =================================
    symbol                variable              dims
    ====================  ====================  =================================
    lambda                plausibility          item, category
    n                     observed_label        item, category
    gamma                 reliability           scalar
    kappa                 prediction_strength   scalar
    f                     prior_predictions     classifier, item, category
    alpha                 concentration=        argument
    s                     prediction_scale=     argument
    ====================  ====================  =================================

    The posterior is exact: lambda_i | n_i ~ Dirichlet(alpha + gamma n_i), and with predictions lambda_i | n_i, kappa ~
    Dirichlet(alpha + kappa f_i + gamma n_i), where kappa is drawn from its posterior without the plausibilities. A strength of
    ten says as much about an item as ten more labels; all items together tell how strong the classifier is, and that of one that
    knows nothing is near zero. A posterior that has seen a classifier must not judge it: see
    `Labels.with_predictions`.

    Parameters
    ----------
    labels : Labels
        Labels; the raters may be anonymous. Gold labels are ignored: the plausibility is the share of raters
        who would give each label, not the truth.
    concentration : float or array_like, shape (category,), default 1
        Dirichlet concentration alpha. The default is flat. Appendix A of Stutz et al. (2025) takes a small one, of which few
        labels make plausibilities near 0 and 1.
    reliability : float, default 1
        Power gamma of the likelihood, as if each answer had been given that many times.
    {predictions}

    Returns
    -------
    pymc.Model
        Variables of the table; the log likelihood of ``observed_label`` is pointwise by item.

    Raises
    ------
    ValueError
        If a prior is not positive, or predictions are no probabilities of the items and categories of the labels.

    Notes
    -----
    Leave-one-out cross-validation over items is not possible by importance sampling: without its own answers
    an item's plausibilities have only their prior, and the Pareto k of `arviz.loo` is large. Compare
    concentrations and reliabilities by other means.

    With two categories and concentration 1 the prior is flat. Raised to any power it stays flat, so
    `arviz.psense_summary` has nothing to scale, and raises; `evaluation.prior_sensitivity` returns 0.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> answers = {"item": [1, 1, 1], "rater": ["a", "b", "c"], "label": ["no", "yes", "yes"]}
    >>> model = models.dirichlet(models.Labels.from_table(answers))
    >>> fit = inference.sample(model, draws=200, chains=2, random_seed=1, progressbar=False)
    >>> fit.posterior["plausibility"].dims
    ('chain', 'draw', 'item', 'category')

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, appendix
    A, arXiv:2307.02191.
    """
    require_container(labels, Labels)
    alpha = prior_array("concentration", concentration, (len(labels.categories),))
    refuse_expression("reliability", reliability, LIKELIHOOD_POWER)
    power = positive_array("reliability", reliability, ())
    coords = {"item": labels.items, "category": labels.categories}
    dims = ("item", "category")
    predicted = prediction_prior(
        prior_predictions, (labels.items, labels.categories), classifier, prediction_scale
    )
    with annotation_model(coords | (predicted.coords if predicted else {})) as model:
        if predicted:
            alpha = alpha + predicted.register(predicted.predicted.probability, dims)
        plausibility = pm.Dirichlet("plausibility", alpha, dims=dims)
        trust = pm.Data("reliability", power)
        total = labels.counts.sum(axis=1)
        CountedLabels("observed_label", plausibility, total, trust, observed=labels.counts, dims=dims)
    return model


SPEC = Spec(
    name="dirichlet",
    data="labels",
    summary="Counts of labels as draws from the plausibilities; raters are alike",
    methods=("exact", "nuts"),
    reference="Stutz et al. 2025, arXiv:2307.02191, appendix A",
    options=("reliability", "concentration", "prior_predictions", "classifier"),
    independent_items=True,
    raters_alike=True,
    studies={
        "no one truth: how would people answer?": "",
        "few answers an item, no one truth, and a classifier that helps": "with `prior_predictions`",
    },
    assumes=(
        "There is no one true category: each item has its own distribution of labels, and answers are "
        "draws from it. Raters are alike."
    ),
    needs="Counts of labels; no names. Few answers are enough: the posterior is then wide.",
    fails="There is one truth and raters err: it says what raters would say, not what is true.",
)
