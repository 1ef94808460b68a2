# SPDX-License-Identifier: Apache-2.0
"""Turns what a caller gives into numbers of the right shape, or says what is wrong with it."""

import reprlib
from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
Triple = tuple[float, float, float]


def triple(value: ArrayLike | Sequence[float], name: str) -> Triple:
    """Return three plain floats.

    Raises:
        ValueError: another shape, or a number that is not finite; names the argument.
    """
    numbers: Any = value.tolist() if type(value) is ndarray and value.ndim == 1 else value
    try:
        a, b, c = numbers
        if type(a) is float is type(b) is type(c) and isfinite(a + b + c):
            return a, b, c
        if isfinite(a) and isfinite(b) and isfinite(c):
            return float(a), float(b), float(c)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: expected three numbers, got {_shown(value)}") from None
    raise ValueError(f"{name}: {(float(a), float(b), float(c))} has a number that is not finite")


def triple_or_none(value: ArrayLike | Sequence[float], name: str) -> Triple | None:
    """Return three plain floats, or None where the value is given as rows of three.

    Raises:
        ValueError: neither, or a number that is not finite; names the argument.
    """
    # the usual cases in few steps, as this is a good part of the time of what takes a microsecond
    if type(value) is tuple:
        try:
            a, b, c = value
            total = a + b + c
            # a sum that is a plain float has plain summands
            if type(total) is float and isfinite(total):
                return value
        except (TypeError, ValueError, OverflowError):
            pass
    elif type(value) is ndarray and value.ndim == 1:
        return triple(value, name)
    return None if is_batch(value) else triple(value, name)


def are_triples(first: Any, second: Any, third: Any) -> bool:
    """Tell whether three values are tuples of three finite floats each; False where that takes more than a look."""
    if type(first) is tuple and type(second) is tuple and type(third) is tuple:
        try:
            a, b, c = first
            d, e, f = second
            g, h, i = third
            total = a + b + c + d + e + f + g + h + i
            return type(total) is float and isfinite(total)
        except (TypeError, ValueError, OverflowError):
            pass
    return False


def rows(value: ArrayLike, name: str) -> Array:
    """Return an array of shape (N, 3).

    Raises:
        ValueError: another shape, or a number that is not finite; names the argument and the first such row.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected an array of numbers of shape (N, 3)") from None
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"{name}: expected shape (N, 3), got {array.shape}")
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise ValueError(f"{name}: row {row} {array[row].tolist()} has a number that is not finite")
    return array


def _shown(value: Any) -> str:
    """A wrong value as text, cut where it is long."""
    long = isinstance(value, ndarray) and value.size > 9
    return f"an array of shape {value.shape}" if long else reprlib.repr(value)


def is_batch(value: Any) -> bool:
    """Tell whether a value is given as rows of three and not as one triple."""
    if type(value) is ndarray:
        return value.ndim == 2
    try:
        first = value[0]
        return type(first) is not float and np.ndim(first) == 1
    except (TypeError, KeyError, IndexError):
        return False


def read_only(value: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    """Return a read-only copy of the given shape; a single number fills it.

    Raises:
        ValueError: the value does not fit the shape, or holds NaN.
    """
    array = np.array(value, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(shape, float(array))
    if array.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {array.shape}")
    if np.isnan(array).any():
        raise ValueError(f"{name}: {array.tolist()} holds NaN")
    array.flags.writeable = False
    return array
