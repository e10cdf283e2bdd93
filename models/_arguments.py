"""Descriptions of arguments that several builders take, written into their docstrings."""

from collections.abc import Callable
from inspect import cleandoc

FEATURES = """features : DataArray or frame, optional
    Features of the items, such as embeddings or metadata: a DataArray (item, feature), or a table with a column of item ids
    and columns of numbers. The prior of the true category of item i is then softmax(log p + x_i W), with the effects W:
    variable ``feature_effect`` (feature, category), log odds for a standard deviation of the feature, zero in sum over the
    categories; ``feature_scale``, its scale in the prior. Columns are standardised, and ``prevalence`` is that at their
    means. The sampler is NUTS."""

PRIOR_LOGITS = """prior_logits : array_like or tensor, optional
    Log odds of the true category of each item, (item, category), beside the prevalence: its prior is softmax(log p + L_i), with
    what features add. They may be random: a Gaussian process over the items, a tree, an effect of their site
    (docs/bricks.md). The sampler is NUTS."""

RATERS = """raters : Dataset, optional
    What earlier studies know of the raters, of `raterzoo.inference.rater_prior`. The matrix of rater k is then of one of four
    kinds c, with probabilities w ~ Dirichlet(1/2, 1/2, 1/2, 3/2), variable ``history_weight`` (history): its rows are

    - "rater": Dirichlet(h_kj), with the pseudo-counts h of the rater in the history;
    - "rater, a tenth": Dirichlet(.1 h_kj + .9 g_j);
    - "population": Dirichlet(g_j), with those of the population of raters;
    - "none": Dirichlet(beta_kj), as without a history, by default with the population of the raters of this study.

    All rows of a rater are of the same kind, which is summed out. For raters whom the history does not know h_k is g. So a
    history of another task, which these answers contradict, loses its weight."""

TIME = """time : int or True, optional
    Number of windows into which the answers of each rater are cut in time, about equally many in each, of labels read with
    ``time=``; True: 8. The log odds of a right answer then follow a random walk from window to window:
    ``logit q_w = logit q_1 + sigma (z_2 + ... + z_w)`` with ``skill_step`` sigma ~ HalfNormal(.3) and ``skill_change``
    z ~ Normal(0, 1). The prior of the first window is that of a constant skill, ``skill`` (rater, window) has q, and
    ``confusion`` is the mean over the rater's answers. Answers without a time are in the middle window."""

FEATURES_OF_SCORES = """features : DataArray or frame, optional
    Features of the items, such as embeddings or metadata: a DataArray (item, feature), or a table with a column of item ids
    and columns of numbers. The location of item i is then Normal(m + x_i w, tau^2), with the effects w: variable
    ``feature_effect`` (feature), in units of the score for a standard deviation of the feature; ``feature_scale``, their
    scale in the prior. Columns are standardised, and ``location_mean`` is that at their means."""

PREDICTIONS = """prior_predictions : DataArray or table, optional
    Probabilities f of the categories by one classifier: (item, category), with coordinates, or a table with a
    column of item ids and a column for each category. They sum to one for every item; items without a row have the
    prior without predictions.
classifier : str, optional
    Name of the classifier, by which evaluation knows it; by default that of the coordinate ``classifier``, or
    "predictions".
prediction_scale : float or random variable, default 10
    Scale s of the half-normal prior of the strength."""

LABEL_MODEL = """Returns
-------
pymc.Model
    Variables of the table; the log likelihood of ``observed_label`` is pointwise by item.

Raises
------
ValueError
    If the raters are anonymous, or a concentration is not positive.

Warns
-----
DataWarning
    If no item has two answers (or one and a gold label): the posterior of the raters repeats their prior."""

VOTES = """Parameters
----------
pairs : Comparisons
    Votes of raters on pairs of items.
reliability : {"hierarchical", "per rater", "shared"}, default "hierarchical"
    "hierarchical": raters from a population with unknown spread, or "shared" if they are anonymous; "per
    rater": with known spread (.7 on the log scale, or `reliability_scale`); "shared": all raters alike.
signed : bool, default False
    Whether reliabilities may be negative (a rater who prefers the worse item). They then have arithmetic
    mean one.
ties : {"auto", "TIES", "none"}, default "auto"
    Whether a tie is an outcome; "auto" if the votes contain one. A tie never counts as half a win.
left_side : {"shared", "rater"}, optional
    Estimate an advantage of the left side: "shared": the same for all raters; "rater": one for each rater,
    with unknown mean and spread over the raters; sampled by NUTS. By default there is none.
left_bias : bool, default False
    True is ``left_side="shared"``.
covariates : frame, mapping of str to sequence, or DataArray (item, covariate), optional
    Covariates of the items: a column ``item``, and a numeric column for each covariate. They are centred
    over the items but not rescaled; a coefficient is Normal(0, 1) per unit.
vote_covariates : frame or mapping of str to sequence, optional
    Covariates z of the votes, such as lengths or styles of the two answers ("style control" of leaderboards): the table of
    the votes, one row each, with its columns left, right, winner and rater, and a numeric column for each covariate, left
    minus right. They are divided by their root mean squares, ``vote_covariate_scale``, and not centred: zero is no difference
    between the sides. Sampled by NUTS; each vote is then an annotation.
quality_scale, reliability_scale : float or random variable, optional
    Value of sigma or lambda, instead of its prior.
reliability_range : pair of float, optional
    Uniform priors instead of the above: qualities from 0 to 1, reliabilities in this range.
groups : str, mapping or sequence, optional
    Group of every rater: the name of a rater attribute, such as ``"kind"``; or ``{rater: group}``; or groups in the
    order of ``pairs.raters``. The raters of a group share a taste, also where they are calls of one model under one
    name; sampled by NUTS. By default no raters share one.
independent : str or collection of str
    Groups whose raters share no taste, such as ``("person",)``: their votes are about the qualities themselves.
taste_scale : float or random variable, optional
    Value of tau, the same for all groups, instead of its prior.
strength : {"auto", "weighted", "cut_points", "ignored"}, default "auto"
    Law of votes that say by how much an item is better, all raters with the same cut points; sampled by NUTS. "cut_points": of
    full weight; "weighted": of a weight that is learnt, 0 where strength is a habit; "ignored": who won is all that counts;
    "auto": "weighted" if votes are of several strengths. Ties follow the cut points, too, unless strength is ignored.

Returns
-------
pymc.Model
    Variables of the table, as far as the arguments call for them; the log likelihood of
    ``observed_winner`` is pointwise by annotation.

Raises
------
ValueError
    If the arguments contradict each other or the data: ties with ``ties="none"``,
    differences of raters who are anonymous or only one, in reliability or in the side, cut points of votes that say
    no strength, or a rater without a group.

Warns
-----
DataWarning
    If the comparisons do not connect all items: the prior alone places the components relative to each other. If
    all raters are of one group: the prior alone tells quality from taste. If the votes have a scale of strengths and
    are all of one: who won is then all that counts."""


def documented[**P, M](**texts: str) -> Callable[[Callable[P, M]], Callable[P, M]]:
    """Return a decorator of a builder that writes each text at ``{name}`` of its docstring."""

    def decorate(builder: Callable[P, M]) -> Callable[P, M]:
        told = cleandoc(builder.__doc__ or "")
        for name, text in texts.items():
            told = told.replace(f"{{{name}}}", text)
        builder.__doc__ = told
        return builder

    return decorate
