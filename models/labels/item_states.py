"""Item-states model of labels: each item is in one of a few states with their own label probabilities."""

from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_array
from ..data.container import require_container
from ..data.labels import Labels
from ..distributions.mixed_counts import MixedCounts

__all__ = ["item_states"]

STATES, CONCENTRATION = 10, 0.5


@recorded
def item_states(
    labels: Labels,
    *,
    states: int = STATES,
    spread: bool = False,
    weight_concentration: Number = CONCENTRATION,
    probability_concentration: Any = CONCENTRATION,
    plausibility: bool = True,
) -> pm.Model:
    """Build the item-states model: a finite mixture over items, each state with its own label probabilities.

    Generative law, for item i with N_i labels and counts n_i:

        w        ~ Dirichlet(alpha)                      share of the states
        theta_j  ~ Dirichlet(beta)                       for every state j
        rho_j    ~ Uniform(0, 1)                         with spread=True; else zero
        z_i      ~ Categorical(w)                        summed out
        q_i      ~ Dirichlet((1 / rho_z - 1) theta_z)    summed out; theta_z where rho is zero
        n_i      ~ Multinomial(N_i, q_i)                 as a sequence, without its coefficient

    ====================  ====================  =================================
    symbol                variable              dims
    ====================  ====================  =================================
    w                     state_weight          state
    theta                 state_probability     state, category
    rho                   state_spread          state
    q                     plausibility          item, category (drawn after the parameters)
    n                     observed_label        item, category
    alpha, beta           ..._concentration=    arguments
    ====================  ====================  =================================

    The raters of an item are exchangeable, so that its counts are sufficient. The mixture, the distribution
    of q over items, determines the survey power curve and its asymptote.

    Parameters
    ----------
    labels : Labels
        Labels; the raters may be anonymous. Gold labels are ignored.
    states : int, default 10
        Largest number of states; superfluous ones stay nearly empty.
    spread : bool, default False
        Whether items of a state differ: a mixture of Dirichlets (Betas, with two categories), not of points.
    weight_concentration : float or random variable, default .5
        Dirichlet concentration alpha of the weights, the same for all states.
    probability_concentration : float or array_like, shape (category,), default .5
        Dirichlet concentration beta of each state's probabilities.
    plausibility : bool, default True
        Whether `raterzoo.inference.sample` draws q; turn it off for tens of thousands of items.

    Returns
    -------
    pymc.Model
        Variables of the table, ``state_spread`` only with spread; the log likelihood of ``observed_label`` is
        pointwise by item. The coordinate ``drawn_of_item`` names the plausibility if it is to be drawn.

    Raises
    ------
    ValueError
        If `states` is not a whole number from 1, or a concentration is not positive.

    Notes
    -----
    States are exchangeable (label switching): `raterzoo.inference.sample` sorts them in each draw by their
    probability of the last category, so that diagnostics refer to identified quantities.

    In every draw each item is in one state, drawn given its counts, and its plausibility is the state's
    probability; with spread, a draw given state and counts. An expectation over its states would make the
    best label of an item look certain.

    With thousands of items the states mix slowly, and `sample` thins up to 100 times and warns of them. The
    effective sizes, of 4,000 draws of every tenth sweep, with 23,178 items and unequal numbers of labels:
    power curve 3,400, asymptote 2,500, some states 13; with 8,400 items of 8 labels: curve up to 19 raters
    2,400, asymptote 200 (1,600 with the default thinning). Judge therefore the curve and asymptote that
    `raterzoo.evaluation.survey_power_curve` returned: ``diagnose(DataTree.from_dict({"posterior": curve}),
    var_names=["power_curve", "asymptote"])``.

    The likelihood is that of an item's sequence of labels; `arviz.loo` leaves out items, and `arviz.compare`
    chooses the number of states.

    The defaults are chosen for the coverage of the asymptote's 95 % interval, over 500 simulated data sets of
    1,000 items with 10 labels: .962 in the running example of the reference (three states), .932 to .962
    where the probabilities are 2 or 3 points, uniform, Beta(2, 2), Beta(.5, 1) or Beta(.3, .3). With
    concentrations of 1 and three states it is .962 in the running example but .326 under Beta(.3, .3), since
    a few points cannot approximate a continuum; with six or ten states and flat probabilities .906 there.

    Examples
    --------
    >>> from raterzoo import models
    >>> labels = models.simulators.urn_items(items=50, random_seed=1).data
    >>> model = models.item_states(labels, states=3)
    >>> {name: model.named_vars_to_dims[name] for name in ("state_weight", "state_probability")}
    {'state_weight': ('state',), 'state_probability': ('state', 'category')}

    References
    ----------
    Resnick et al. (2021), Survey equivalence, arXiv:2106.01254, sections 4 (item states) and 7 (beyond the
    number of raters). Rousseau and Mengersen (2011), Asymptotic behaviour of the posterior distribution in
    overfitted mixture models, JRSS B 73(5), doi:10.1111/j.1467-9868.2011.00781.x (superfluous states are
    harmless if the weights are sparse).
    """
    require_container(labels, Labels)
    if isinstance(states, bool) or not isinstance(states, int | np.integer) or states < 1:
        raise ValueError(f"states={states!r} must be a whole number from 1")
    if np.ndim(cast(Any, weight_concentration)):
        raise ValueError("weight_concentration must be one number: states have no names")
    alpha = prior_array("weight_concentration", weight_concentration, (states,))
    shape = (len(labels.categories),)
    beta = prior_array("probability_concentration", probability_concentration, shape)
    coords = {
        "item": labels.items,
        "category": labels.categories,
        "state": np.arange(states),
        "drawn_of_item": ["plausibility"] if plausibility else [],
    }
    with annotation_model(coords) as model:
        if states == 1:
            law = _one_state(beta, spread)
        else:
            weight = pm.Dirichlet("state_weight", alpha, dims="state")
            of_state = prior_array("probability_concentration", beta, (states, *shape))
            probability = pm.Dirichlet("state_probability", of_state, dims=("state", "category"))
            rho = pm.Uniform("state_spread", 0, 1, dims="state") if spread else np.zeros(states)
            law = (weight, probability, rho)
        total, dims = labels.counts.sum(axis=1), ("item", "category")
        MixedCounts("observed_label", *law, total, observed=labels.counts, dims=dims)
    return model


def _one_state(beta: Any, spread: bool) -> tuple[Any, Any, Any]:
    """Return weight, probability and spread of a single state, whose free variables have no dim state.

    PyTensor 3.3 fails to compile some graphs of variables of length one.
    """
    probability = pm.Dirichlet("probability", beta, dims="category")
    rho = pm.Uniform("spread", 0, 1)[None] if spread else np.zeros(1)
    if spread:
        pm.Deterministic("state_spread", rho, dims="state")
    dims = ("state", "category")
    return (
        pm.Deterministic("state_weight", pt.as_tensor_variable(np.ones(1)), dims="state"),
        pm.Deterministic("state_probability", probability[None], dims=dims),
        rho,
    )


SPEC = Spec(
    name="item_states",
    data="labels",
    summary=(
        "Items in one of a few states with label probabilities of their own: the law behind a survey "
        "power curve"
    ),
    methods=("gibbs", "nuts"),
    reference="Resnick et al. 2021, arXiv:2106.01254, sections 4 and 7",
    raters_alike=True,
    studies={"how many people a classifier is worth, beyond the raters there are": ""},
    assumes=(
        "As dirichlet, and items are in one of a few states that share label probabilities: items inform "
        "each other."
    ),
    needs="Counts of labels; no names; many items.",
    fails=(
        "Single states are asked for: with thousands of items they mix slowly. Curves and plausibilities "
        "do not suffer."
    ),
)
