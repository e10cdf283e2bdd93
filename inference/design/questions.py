"""Ranking of questions by information, shared by the designs for comparisons and labels."""

import numpy as np
import xarray as xr


def positions_of(argument: str, ids: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Positions of chosen ids among `ids`; raise a `ValueError` that names `argument` if one is unknown."""
    place = {name: code for code, name in enumerate(ids.tolist())}
    for name in chosen.tolist():
        if name not in place:
            has = f"it has {ids[0].item()!r}, ..."
            raise ValueError(f"{argument} names {name!r}, which the tree does not have; {has}")
    return np.array([place[name] for name in chosen.tolist()], int)


def most_informative_first(
    gain: np.ndarray, subjects: dict[str, np.ndarray], raters: np.ndarray, about: str
) -> xr.Dataset:
    """Sort questions by gain (subject, rater) in nats, largest first; ids of subjects by name, and of raters."""
    order = np.argsort(-gain, axis=None, kind="stable")
    subject, rater = np.unravel_index(order, gain.shape)
    coords = {name: ("question", ids[subject]) for name, ids in subjects.items()}
    return xr.Dataset(
        {"gain": ("question", gain.ravel()[order], {"units": "nats", "about": about})},
        coords | {"rater": ("question", raters[rater])},
    )
