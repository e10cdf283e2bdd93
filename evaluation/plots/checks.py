"""Validation of the arguments of plots."""

from collections.abc import Mapping, Sequence

import xarray as xr

from ..errors import EvaluationError

__all__ = ["needs", "one_or_more", "some_items"]


def some_items(arrays: Mapping[str, xr.DataArray], argument: str) -> None:
    """Raise if there are no arrays or one of them is empty."""
    if not arrays:
        raise EvaluationError(f"{argument} is empty: there is nothing to draw")
    for name, array in arrays.items():
        if not array.size:
            of = f" of {name!r}" if name else ""
            raise EvaluationError(
                f"{argument}{of} is empty, with sizes {dict(array.sizes)}: there is nothing to draw"
            )


def needs(dataset: object, variables: Sequence[str], source: str) -> None:
    """Raise unless a Dataset has the non-empty variables that `evaluation.<source>` returns."""
    if not isinstance(dataset, xr.Dataset):
        raise EvaluationError(
            f"a {type(dataset).__name__} cannot be drawn: pass the Dataset of evaluation.{source}"
        )
    if missing := [name for name in variables if name not in dataset]:
        found = ", ".join(map(str, dataset.data_vars)) or "none"
        raise EvaluationError(
            f"no variable {missing[0]!r} among {found}: pass the Dataset of evaluation.{source}"
        )
    some_items({name: dataset[name] for name in variables}, f"the Dataset of evaluation.{source}")


def one_or_more(
    given: xr.Dataset | Mapping[str, xr.Dataset], variables: Sequence[str], source: str, single: str
) -> dict[str, xr.Dataset]:
    """Return validated Datasets by name; a single one is named `single`."""
    if isinstance(given, xr.Dataset) or not isinstance(given, Mapping):  # a Dataset is a Mapping
        needs(given, variables, source)
        return {single: given}
    if not given:
        raise EvaluationError(f"no Dataset: pass some of evaluation.{source} by name")
    for own in given.values():
        needs(own, variables, source)
    return {str(name): own for name, own in given.items()}
