"""Samples checked once, and arithmetic in float64 without touching JAX's global switch."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import jax
import numpy as np

from nacre.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

P = ParamSpec("P")
T = TypeVar("T")


def float64(function: Callable[P, T]) -> Callable[P, T]:
    """Run the function with 64-bit JAX arrays, whatever the caller's setting; that setting is left as it was."""

    @wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> T:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return inside


def sample(values: object, name: str, least: int = 1) -> np.ndarray:
    """The rows as float64 [n, d]; a vector is one column. Refuses NaN, infinities and fewer than `least` rows."""
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise DataError(f"{name}: expected rows [n, d] with d >= 1, got an array of shape {rows.shape}")
    if len(rows) < least:
        raise DataError(f"{name}: expected at least {least} rows, got {len(rows)}")
    if not np.isfinite(rows).all():
        where = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise DataError(f"{name}: row {where} is not finite; drop or fill such rows first")
    return rows


def two_samples(x: ArrayLike, y: ArrayLike, least: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Both samples, of equal width."""
    x, y = sample(x, "x", least), sample(y, "y", least)
    if x.shape[1] != y.shape[1]:
        raise DataError(f"x has {x.shape[1]} columns and y has {y.shape[1]}: expected the same columns in both")
    return x, y


def beside(values: object, rows: int, name: str) -> np.ndarray:
    """One finite number per row, as float64 [rows]."""
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (rows,) or not np.isfinite(vector).all():
        raise DataError(f"{name}: expected {rows} finite numbers, one per row, got an array of shape {vector.shape}")
    return vector


def option(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if value not in allowed:
        raise DataError(f"{name}={value!r}: expected one of {', '.join(map(repr, allowed))}")
