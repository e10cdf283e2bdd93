"""Draws of a survey power curve and of equivalences, summed up: means, intervals, and what lies outside of the curve."""

import numpy as np
import xarray as xr

from .errors import EvaluationError
from .surveys.crossings import interval_of
from .surveys.resamples import check_probability

__all__ = ["survey_summary"]


def survey_summary(drawn: xr.Dataset, *, probability: float = 0.95) -> xr.Dataset:
    """Sum draws of a survey power curve and of equivalences up.

    Parameters
    ----------
    drawn : Dataset
        What `posterior_power_curve` or `posterior_survey_equivalence` returned.
    probability : float, default .95
        Of the intervals, between equal tails.

    Returns
    -------
    Dataset
        Of every quantity that has draws its posterior mean under its own name and ``..._interval`` (bound: lower, upper). Of the
        ``equivalence`` the median, as some draws are infinite; with ``probability_below`` and ``probability_beyond`` that it is
        less than 0 or beyond the curve, ``probability_unattained`` that the classifier is better than all raters there could be,
        and ``censored``: "below", "above" or "", by the median. What has no draws stays as it is.

    Raises
    ------
    EvaluationError
        If there are no draws, or `probability` is no probability.
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
