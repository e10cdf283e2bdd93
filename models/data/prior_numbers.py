"""Numbers of a prior as arguments: positive, of a shape, in pairs."""

import math
import sys
from typing import Any

import numpy as np

__all__ = ["finite_number", "log_normal_prior", "normal_prior", "positive_array", "positive_pair"]

MOST_LOG = 10.0  # size of the mean and sd of a logarithm


def positive_array(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return positive finite numbers of a shape.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : float or array_like
        Broadcast to the shape.
    shape : tuple of int
        The shape.

    Returns
    -------
    ndarray of float
        A fresh array.

    Raises
    ------
    ValueError
        If it does not broadcast, or a number is not positive and finite.
    """
    try:
        array = np.array(np.broadcast_to(_floats(value), shape))
    except (TypeError, ValueError, OverflowError):
        allowed = f"a number, or numbers of shape {shape} or its last dims" if shape else "a number"
        raise ValueError(f"{name}={value!r} must be {allowed}") from None
    wrong = ~((array > 0) & (array < np.inf))
    if wrong.any():
        raise ValueError(f"{name} holds {array[wrong][0]:g}; it must be positive and finite")
    return array


def positive_pair(name: str, value: Any) -> tuple[float, float]:
    """Return the two concentrations of a Beta prior.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : pair of float
        As many answers as the prior is worth, of the one kind and of the other.

    Returns
    -------
    tuple of float
        Positive and finite, in double precision: PyTensor takes a short Python float for single precision.

    Raises
    ------
    ValueError
        If it is no pair, or a number is not positive and finite.
    """
    if (pair := _pair(value)) is None:
        raise ValueError(
            f"{name}={value!r} must be a pair of numbers: how many answers for it, and how many against it, the prior is worth"
        )
    first, second = positive_array(name, pair, (2,))
    return first, second


def normal_prior(name: str, value: Any) -> tuple[float, float]:
    """Return mean and standard deviation of a normal prior.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : pair of float
        Mean and standard deviation.

    Returns
    -------
    tuple of float
        A finite number, and one that is positive, too.

    Raises
    ------
    ValueError
        If they are anything else.
    """
    pair = _pair(value)
    if pair is None or not np.isfinite(pair).all() or pair[1] <= 0:
        raise ValueError(f"{name}={value!r} must be a pair: a finite mean and a positive sd")
    return np.float64(pair[0]), np.float64(pair[1])


def log_normal_prior(name: str, value: Any) -> tuple[float, float]:
    """Return mean and standard deviation of the normal prior of a logarithm.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : pair of float
        Mean and standard deviation, each at most 10 in size.

    Returns
    -------
    tuple of float
        The pair.

    Raises
    ------
    ValueError
        If they are anything else.
    """
    mean, sd = normal_prior(name, value)
    if max(abs(mean), sd) > MOST_LOG:
        raise ValueError(
            f"{name}={value!r} must have a mean and an sd of at most {MOST_LOG:g} in size: they are of a logarithm, and "
            f"exp({MOST_LOG:g}) is {math.exp(MOST_LOG):,.0f}"
        )
    return mean, sd


def finite_number(name: str, value: Any) -> float:
    """Return a finite number.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : float
        The number.

    Returns
    -------
    float
        The same.

    Raises
    ------
    ValueError
        If it is anything else; True and False are no numbers.
    """
    number = isinstance(value, int | float | np.integer | np.floating)
    if not number or isinstance(value, bool) or not abs(value) <= sys.float_info.max:
        raise ValueError(f"{name}={value!r} must be a finite number")
    return float(value)


def _floats(value: Any) -> np.ndarray:
    """Return an array of numbers; text and truth values are none."""
    array = np.asarray(value)
    if array.dtype.kind not in "iufO":
        raise TypeError
    return array.astype(np.float64)


def _pair(value: Any) -> np.ndarray | None:
    """Return two numbers, or None for anything else."""
    try:
        pair = _floats(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return pair if pair.shape == (2,) else None
