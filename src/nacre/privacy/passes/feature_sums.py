"""Integer sums of clipped per-record features: the arithmetic behind the door `total`.

Each record's vector is clipped to the bound, rounded *toward zero* onto a grid of σ/2¹⁴, its squared integer norm
re-checked, and added in int64: the sum does not depend on order or chunking and one record moves it by at most
the bound, whatever the floats did.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.errors import PlanError
from nacre.privacy.passes.captured import refuse_captured

if TYPE_CHECKING:
    from nacre.privacy.doors.total import Total

Features = Callable[[Mapping[str, Any], Any], np.ndarray]  # encoded columns of n records -> [n, size]
CHUNK = 4096  # records per call of the feature map: always this many, padded
BLOCK = 32  # of them clipped at a time, so that they stay in the processor's cache
_HUGE = 1e150  # squares of larger norms are not finite
_STEPS_PER_SIGMA = 1 << 14


def grid_step(entry: Total) -> float:
    return entry.sigma / _STEPS_PER_SIGMA


def width(entry: Total) -> int:
    """Columns of the feature map: its vector, after the number of the record's part where there are several."""
    return entry.size + (entry.parts > 1)


def shape(entry: Total) -> tuple[int, ...]:
    """The shape of the answer: [size], or [parts, size]."""
    return (entry.parts, entry.size) if entry.parts > 1 else (entry.size,)


def integer_sum(features: Features, public: Any, encoded: Mapping[str, Any], rows: int, entry: Total) -> np.ndarray:
    """Σ over the given records of their clipped features, in grid steps."""
    total = np.zeros(shape(entry), dtype=np.int64)
    for vectors in record_vectors(lambda chunk: features(chunk, public), encoded, rows):
        if vectors.ndim != 2 or vectors.shape[1] != width(entry):
            raise PlanError(f"entry {entry.name!r}: features must be [records, {width(entry)}], got {vectors.shape}")
        for start in range(0, len(vectors), BLOCK):
            _add(vectors[start : start + BLOCK], entry, total)
    return total


def _add(vectors: np.ndarray, entry: Total, total: np.ndarray) -> None:
    """Add these records to the sums. Integers: the order and the size of the blocks change nothing."""
    if entry.parts == 1:
        total += _clipped(vectors, entry).sum(axis=0)
        return
    steps = _clipped(vectors[:, 1:], entry)
    for part in range(entry.parts):  # a number that is none of these, NaN included, enters nowhere
        total[part] += steps[vectors[:, 0] == part].sum(axis=0)


def record_vectors(
    function: Callable[[Mapping[str, Any]], Any], encoded: Mapping[str, Any], rows: int
) -> Iterator[np.ndarray]:
    """The vectors of all records, always computed CHUNK records at a time so that shapes never depend on the data."""
    for start in range(0, rows, CHUNK):
        chunk = {name: window(values, start, CHUNK) for name, values in encoded.items()}
        yield _quietly(function, chunk)[: min(CHUNK, rows - start)]


def window(values: Any, start: int, size: int) -> Any:
    """`size` records from `start`, the last one repeated as padding (padding never enters a sum)."""
    index = np.minimum(np.arange(start, start + size), len(values.values) - 1)
    return type(values)(values.values[index], values.null[index], values.outside[index])


def _clipped(vectors: np.ndarray, entry: Total) -> np.ndarray:
    """Integer vectors of squared norm at most (bound/step)²; a record that cannot be brought there becomes zero.

    Few passes, none of which lets one record see another. Neither check at the end relies on the floats before it."""
    step = grid_step(entry)
    limit = int(Fraction(entry.bound) / Fraction(step))  # exact: a quotient of floats may round up
    with np.errstate(all="ignore"):
        norm = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
        if not (norm < _HUGE).all():
            vectors = np.where(norm < _HUGE, vectors, _brought_down(vectors) * entry.bound)
            norm = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
        scaled = vectors * np.minimum(1.0 / step, limit / np.maximum(norm, 1e-300))
        np.trunc(scaled, out=scaled)
        wild = ~(np.einsum("ij,ij->i", scaled, scaled) <= 2.0 * limit**2)  # no number beyond 2³¹: their squares add up
    scaled[wild] = 0.0
    steps = scaled.astype(np.int64)
    steps[np.einsum("ij,ij->i", steps, steps) > limit**2] = 0
    return steps


def _brought_down(vectors: np.ndarray) -> np.ndarray:
    """Each record over its largest number; zero where it holds NaN or infinity."""
    top = np.abs(vectors).max(axis=1, keepdims=True, initial=1e-300)
    return np.where(np.isfinite(top), vectors / top, 0.0)


def check_record_map(features: Features, public: Any, schema: Any, entry: Total) -> None:
    """Refuse a feature map that carries arrays with it (`captured`) or looks at more than one record.

    It is tried on made-up records: nothing private is read.

    An `exact` entry needs each record's vector to be bit-identical wherever it stands and whatever stands around it.
    """
    refuse_captured(features, public, f"entry {entry.name!r}")
    if entry.bound / grid_step(entry) > 2**30:
        raise PlanError(f"entry {entry.name!r}: sigma is too small beside the bound for integer sums")
    if coupled(lambda chunk: features(chunk, public), schema, width(entry), f"entry {entry.name!r}") and entry.exact:
        raise PlanError(
            f"entry {entry.name!r}: features of one record change in the last bits with its place in the chunk; "
            "plan it with exact=False (guarantee: proven in real arithmetic)"
        )


def coupled(function: Callable[[Mapping[str, Any]], Any], schema: Any, size: int, where: str) -> bool:
    """Whether a record's row of `function` changes in the last bits with the company it keeps; PlanError for more.

    A few records are moved into chunks of other records, or of one record repeated: a mean, a maximum or a rank over
    the chunk would differ. A shuffle of the same records would not do, since it leaves such statistics as they are.
    """
    rng = np.random.default_rng(1)
    home = made_up_records(schema, CHUNK, rng)
    first = _quietly(function, home)
    if first.shape != (CHUNK, size):
        raise PlanError(f"{where}: features must be {(CHUNK, size)}, got {first.shape}")
    differs = False
    for trial in range(6):
        kept, places = rng.choice(CHUNK, (2, 8), replace=False)  # few: they must not bring the maximum with them
        company = made_up_records(schema, CHUNK, rng)
        if trial % 2:
            company = {name: values.take(np.zeros(CHUNK, dtype=np.int64)) for name, values in company.items()}
        for name, values in company.items():
            for field in ("values", "null", "outside"):
                getattr(values, field)[places] = getattr(home[name], field)[kept]
        moved = _quietly(function, company)[places]
        if not np.allclose(first[kept], moved, rtol=1e-5, atol=1e-7, equal_nan=True):
            raise PlanError(f"{where}: a record's features depend on other records; expected one at a time")
        differs |= not np.array_equal(first[kept], moved, equal_nan=True)
    return differs


def made_up_records(schema: Any, rows: int, rng: np.random.Generator) -> dict[str, Any]:
    """Encoded records of the declared domain, every cell of every column equally likely."""
    from nacre.table.encoding import Values
    from nacre.table.grid import Grid

    made = {}
    for name in schema.modelled:
        column = schema.columns[name]
        if column.shape:
            low, high = column.ends or (0.0, 1.0)
            made[name] = Values.of(rng.uniform(low, high, (rows, *column.shape)).astype(np.float32))
        else:
            grid = Grid.of(column)
            made[name] = grid.draw(rng.integers(0, grid.cells, rows), rng)
        own = made[name]
        made[name] = Values(own.values.copy(), own.null.copy(), own.outside.copy())
    return made


def _quietly(function: Callable[[Any], Any], chunk: Mapping[str, Any]) -> np.ndarray:
    """A record's numbers side by side in memory: laid out by columns, they are added up in an order that depends on how
    many records there are, and a norm ends in another last bit (docs/proofs/sensitivity.md)."""
    with quiet():
        return np.asarray(function(chunk), dtype=np.float64, order="C")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without warnings: on private records they would say something of the values."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
