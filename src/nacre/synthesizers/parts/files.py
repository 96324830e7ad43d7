"""Networks and codings in release files: names, and the checks that a hostile file must not pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.nets.branched import Branched
from nacre.synthesizers.parts.coding import Coding
from nacre.synthesizers.parts.layout import Layout

CODING = ("mean", "scale", "slope", "root", "centre")


def packed(nets: Mapping[str, Mapping[str, np.ndarray]], coding: Coding) -> dict[str, np.ndarray]:
    """net name and array name joined, beside the moments of the numbers."""
    arrays = {f"{name}/{key}": np.asarray(a) for name, net in nets.items() for key, a in net.items()}
    return {**arrays, **{name: a for name in CODING if (a := getattr(coding, name)) is not None}}


def unpacked(
    arrays: Mapping[str, np.ndarray],
    nets: Mapping[str, Branched],
    optional: Mapping[str, Mapping[str, tuple[int, ...]]] | None = None,
) -> dict[str, dict[str, np.ndarray]]:
    """Weights by net. ValueError unless names, shapes, types and ranges are those of these nets, of all or none of each
    further set of arrays (name -> shapes), and of a coding."""
    there = {name: s for name, s in (optional or {}).items() if any(a.startswith(f"{name}/") for a in arrays)}
    expected = {**{name: net.shapes() for name, net in nets.items()}, **there}
    wanted: dict[str, Any] = {f"{n}/{key}": shape for n, own in expected.items() for key, shape in own.items()}
    found: Any = {name: a.shape for name, a in arrays.items() if name not in CODING}
    if found != wanted:
        odd = sorted({*found.items()} ^ {*wanted.items()})[0][0]
        raise ValueError(f"array {odd!r} is missing, not expected, or of another shape")
    for name, a in arrays.items():
        if a.dtype.kind != "f" or not np.isfinite(a).all():
            raise ValueError(f"array {name!r} does not hold finite numbers")
        if name.endswith(".variance") and (a < 0).any():
            raise ValueError(f"array {name!r} holds a negative variance")
    weights: dict[str, dict[str, np.ndarray]] = {name: {} for name in expected}
    for name, a in arrays.items():
        if name not in CODING:
            net, _, key = name.partition("/")
            weights[net][key] = a
    return weights


def class_shares(arrays: Mapping[str, np.ndarray], classes: int) -> np.ndarray:
    """ValueError unless these are shares of so many classes."""
    shares = np.asarray(arrays["shares"], np.float64)
    if shares.shape != (classes,) or not (shares >= 0).all() or not abs(shares.sum() - 1) < 1e-6:
        raise ValueError("class shares")
    return shares


def row_count(facts: Mapping[str, Any]) -> int:
    rows = int(facts["rows"])
    if rows < 0:
        raise ValueError(f"{rows} rows")
    return rows


def coding_of(layout: Layout, parts: tuple[tuple[str, ...], ...], arrays: Mapping[str, np.ndarray]) -> Coding:
    """The coding that `packed` wrote; ValueError where its arrays do not fit the layout."""
    numbers = len(layout.numbers)
    found: Any = {name: np.asarray(arrays[name], np.float64) for name in CODING if name in arrays}
    coding = Coding(layout, parts, **found)
    if coding.mean.shape != (numbers,) or coding.scale.shape != (numbers,) or not (coding.scale > 0).all():
        raise ValueError(f"expected a mean and a spread above 0 for each of {numbers} numeric columns")
    last = coding.heads(len(parts) - 1).numbers
    if coding.root is not None or coding.slope is not None:
        first = coding.heads(0).numbers if len(parts) > 1 else 0
        shapes = [getattr(a, "shape", None) for a in (coding.slope, coding.root)]
        if shapes != [(first, last), (last, last)]:
            raise ValueError(f"regression and covariance of the numbers have the shapes {shapes}")
    if coding.centre is not None and coding.centre.shape != (layout.classes, numbers):
        raise ValueError(f"the means of the classes have the shape {coding.centre.shape}")
    return coding
