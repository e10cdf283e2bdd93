"""Questions to ask, most informative first: what the designs for comparisons and for labels share."""

import numpy as np
import xarray as xr

__all__ = ["codes_of", "most_informative_first"]


def codes_of(argument: str, ids: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return where chosen ids are among ids.

    Parameters
    ----------
    argument : str
        Name of the argument, for the message.
    ids : ndarray
        Of the tree.
    chosen : ndarray
        Some of them.

    Returns
    -------
    ndarray of int
        Places.

    Raises
    ------
    ValueError
        If the tree has no such id.
    """
    place = {name: code for code, name in enumerate(ids.tolist())}
    for name in chosen.tolist():
        if name not in place:
            raise ValueError(
                f"{argument} names {name!r}, which the tree does not have; it has {ids[0].item()!r}, ..."
            )
    return np.array([place[name] for name in chosen.tolist()], int)


def most_informative_first(
    gain: np.ndarray, subjects: dict[str, np.ndarray], raters: np.ndarray, about: str
) -> xr.Dataset:
    """Order questions by their gain.

    Parameters
    ----------
    gain : ndarray, shape (subject, rater)
        In nats.
    subjects : dict of str to ndarray, shape (subject,)
        Ids of what is asked about.
    raters : ndarray, shape (rater,)
        Ids of who is asked.
    about : str
        What the information is about.

    Returns
    -------
    Dataset
        ``gain`` (question), largest first, with the ids along ``question``.
    """
    order = np.argsort(-gain, axis=None, kind="stable")
    subject, rater = np.unravel_index(order, gain.shape)
    coords = {name: ("question", ids[subject]) for name, ids in subjects.items()}
    return xr.Dataset(
        {"gain": ("question", gain.ravel()[order], {"units": "nats", "about": about})},
        coords | {"rater": ("question", raters[rater])},
    )
