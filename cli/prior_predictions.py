"""Predictions for the prior on the command line: probabilities of one classifier, read as those that are evaluated."""

from typing import Any

import numpy as np
import xarray as xr

from .._messages import first_reprs
from ..posterior.matching import with_complement
from ..reports.settings import Settings
from .tables import read_predictions
from .terminal import print_note

PRIOR = "prior_predictions"


def read_prior_predictions(settings: Settings) -> xr.DataArray | None:
    """Return the probabilities of the classifier of ``--prior-predictions``, (item, category); None without that option."""
    path = settings.prior_predictions
    if path is None:
        return None
    predicted = read_predictions(path, [], missing=settings.missing)
    if "category" not in predicted.dims:
        raise ValueError(
            f"--prior-predictions {path}: there are no probabilities; write item, category and score, a row for each, or "
            "a column of probabilities for each category"
        )
    given = (values := predicted.to_numpy())[values > -np.inf]
    if (given < 0).any():
        raise ValueError(
            f"--prior-predictions {path}: {given.min():g} is no probability; a softmax makes probabilities of scores"
        )
    return _of_one(predicted, settings)


def _of_one(predicted: xr.DataArray, settings: Settings) -> xr.DataArray:
    """Return the predictions of the classifier that was asked for, or of the only one."""
    asked, path = settings.prior_classifier, settings.prior_predictions
    if "classifier" not in predicted.dims:
        if asked is not None:
            raise ValueError(
                f"--prior-classifier {asked}: {path} has no column classifier; leave the option out"
            )
        return predicted
    names = predicted["classifier"].to_numpy().astype(str).tolist()
    if asked is None and len(names) > 1:
        raise ValueError(
            f"--prior-predictions {path}: there are {len(names):,} classifiers, {first_reprs(names)}; say which is in the prior: "
            "--prior-classifier"
        )
    if asked is not None and asked not in names:
        raise ValueError(f"--prior-classifier {asked}: {path} has {first_reprs(names)}; name one of them")
    own = predicted.isel(classifier=0 if asked is None else names.index(asked))
    return own.isel(item=(own > -np.inf).any("category").to_numpy())


def prior_tables(data: Any, predicted: xr.DataArray | None, settings: Settings) -> dict[str, Any]:
    """Return the argument of the builder with the probabilities of the annotated items; nothing without predictions."""
    if predicted is None:
        return {}
    if settings.kind == "labels":
        predicted = with_complement(predicted, data.categories)
    known = np.isin(predicted["item"].to_numpy(), data.items)
    if known.any() and not known.all():
        name = settings.prior_predictions and settings.prior_predictions.name
        print_note(f"{name}: left out {(~known).sum():,} items without an annotation")
        predicted = predicted.isel(item=known)
    return {PRIOR: predicted}
