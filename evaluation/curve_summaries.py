"""Summaries of posterior draws of survey power curves and of survey equivalences."""

import numpy as np
import xarray as xr

from .errors import EvaluationError
from .surveys.crossings import interval_of
from .surveys.resamples import check_probability

__all__ = ["survey_summary"]


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
    >>> from raterzoo import evaluation
    >>> draws = np.random.default_rng(1).normal([-0.9, -0.7, -0.6], 0.01, (1, 100, 3))
    >>> drawn = xr.Dataset({"power_curve": (("chain", "draw", "k"), draws)}, {"k": range(3)})
    >>> evaluation.survey_summary(drawn)["power_curve"].values.round(2)
    array([-0.9, -0.7, -0.6])
    """
    check_probability(probability)
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
