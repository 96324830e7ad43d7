"""Integer sums of clipped per-record features: the arithmetic behind the door `total`.

Each record's vector is clipped to the bound, rounded *toward zero* onto a grid of σ/2¹⁴, its squared integer norm
re-checked, and added in int64: the sum does not depend on order or chunking and one record moves it by at most
the bound, whatever the floats did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nacre.errors import PlanError
from nacre.privacy.plan import Total

Features = Callable[[Mapping[str, Any], Any], np.ndarray]  # encoded columns of n records -> [n, size]
CHUNK = 4096  # records per call of the feature map: always this many, padded
_STEPS_PER_SIGMA = 1 << 14


def grid_step(entry: Total) -> float:
    return entry.sigma / _STEPS_PER_SIGMA


def integer_sum(features: Features, public: Any, encoded: Mapping[str, Any], rows: int, entry: Total) -> np.ndarray:
    """Σ over the given records of their clipped features, in grid steps."""
    total = np.zeros(entry.size, dtype=np.int64)
    for start in range(0, rows, CHUNK):
        live = min(CHUNK, rows - start)
        chunk = {name: _window(values, start, CHUNK) for name, values in encoded.items()}
        total += _clipped(features(chunk, public), entry)[:live].sum(axis=0)
    return total


def _window(values: Any, start: int, size: int) -> Any:
    """`size` records from `start`, the last one repeated as padding (padding never enters a sum)."""
    index = np.minimum(np.arange(start, start + size), len(values.values) - 1)
    return type(values)(values.values[index], values.null[index], values.outside[index])


def _clipped(vectors: np.ndarray, entry: Total) -> np.ndarray:
    """Integer vectors of squared norm at most (bound/step)²; a record that cannot be brought there becomes zero."""
    vectors = np.asarray(vectors, dtype=np.float64)
    if vectors.ndim != 2 or vectors.shape[1] != entry.size:
        raise PlanError(f"entry {entry.name!r}: features must be [records, {entry.size}], got {vectors.shape}")
    step = grid_step(entry)
    finite = np.isfinite(vectors).all(axis=1, keepdims=True)
    vectors = np.where(finite, vectors, 0.0)
    top = np.abs(vectors).max(axis=1, keepdims=True, initial=1e-300)
    norm = top * np.linalg.norm(vectors / top, axis=1, keepdims=True)  # no overflow for huge entries
    scaled = np.trunc(vectors * np.minimum(1.0, entry.bound / np.maximum(norm, 1e-300)) / step)
    limit = int(entry.bound / step)
    legal = np.abs(scaled).max(axis=1, keepdims=True, initial=0) <= limit
    steps = np.where(legal, scaled, 0.0).astype(np.int64)
    return np.where((steps**2).sum(axis=1, keepdims=True) <= limit**2, steps, 0)


def check_record_map(features: Features, public: Any, schema: Any, entry: Total) -> None:
    """Refuse a feature map that looks at more than one record. Tried on simulated records: nothing private is read.

    An `exact` entry needs each record's vector to be bit-identical wherever it stands in a chunk.
    """
    from nacre.table import simulate

    if entry.bound / grid_step(entry) > 2**30:
        raise PlanError(f"entry {entry.name!r}: sigma is too small beside the bound for integer sums")
    records = simulate.encoded_records(schema, CHUNK, seed=0)
    order = np.random.default_rng(1).permutation(CHUNK)
    shuffled = {n: type(v)(v.values[order], v.null[order], v.outside[order]) for n, v in records.items()}
    alone = np.asarray(features(records, public), dtype=np.float64)
    moved = np.asarray(features(shuffled, public), dtype=np.float64)
    if alone.shape != (CHUNK, entry.size):
        raise PlanError(f"entry {entry.name!r}: features must be {(CHUNK, entry.size)}, got {alone.shape}")
    if not np.allclose(alone[order], moved, rtol=1e-5, atol=1e-7, equal_nan=True):
        raise PlanError(f"entry {entry.name!r}: a record's features depend on other records; expected one at a time")
    if entry.exact and not np.array_equal(alone[order], moved, equal_nan=True):
        raise PlanError(
            f"entry {entry.name!r}: features of one record change in the last bits with its place in the chunk; "
            "plan it with exact=False (guarantee: proven in real arithmetic)"
        )
