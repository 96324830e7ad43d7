"""From (X, y) to rows a curator can hold: the one way in which a learner's data reach a door.

Features are clipped to public bounds and brought to [−1, 1], labels become codes of public classes; both are row-local
maps with public parameters. Bounds, classes and numbers that nobody declared are read from the data and marked so,
which costs the guarantee (`certify`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nacre.errors import DataError, PlanError
from nacre.table import Categorical, Schema, Tensor
from nacre.table.encoding import encode

if TYPE_CHECKING:
    from nacre.table.encoding import Values

BATCH = 4096


@dataclass(frozen=True)
class Scale:
    """Public bounds of the features: x goes to 2(x − low)/(high − low) − 1, clipped; a constant column goes to 0."""

    low: np.ndarray
    high: np.ndarray

    @staticmethod
    def of(bounds: Any, X: np.ndarray) -> Scale:
        """`bounds`: (low, high), numbers or one per feature; None reads them from X."""
        try:
            low, high = (X.min(axis=0), X.max(axis=0)) if bounds is None else bounds
            low, high = (np.broadcast_to(np.asarray(b, np.float64), X.shape[1:]) for b in (low, high))
        except (TypeError, ValueError):
            raise PlanError(
                f"bounds={bounds!r}: expected (low, high), each a number or one number for each of the "
                f"{X.shape[-1]} features"
            ) from None
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low <= high).all()):
            raise PlanError("bounds: expected finite numbers, low at most high, one pair or one pair per feature")
        return Scale(low, high)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        width = np.where(self.high > self.low, self.high - self.low, 1.0)
        centred = np.clip(X, self.low, self.high) - (self.low + self.high) / 2
        return (2 * centred / width).astype(np.float32)


class LabelledRows:
    """Scaled features `x` and labels `y` as a stream of Arrow batches (the protocol of `nacre.engines.Rows`)."""

    def __init__(self, x: np.ndarray, codes: np.ndarray):
        self._x, self._codes = x, codes

    @property
    def column_names(self) -> list[str]:
        return ["x", "y"]

    @property
    def arrow_schema(self) -> pa.Schema:
        return pa.schema({"x": pa.list_(pa.float32(), self._x.shape[1]), "y": pa.string()})

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(self._x), BATCH):
            part = slice(start, start + BATCH)
            values = pa.array(np.ascontiguousarray(self._x[part]).ravel())
            found = {
                "x": pa.FixedSizeListArray.from_arrays(values, self._x.shape[1]),
                "y": pa.array([str(c) for c in self._codes[part]]),
            }
            yield pa.RecordBatch.from_pydict({name: found[name] for name in columns or self.column_names})


def describe(features: int, classes: int, rows: int | None, read: Mapping[str, bool]) -> Schema:
    """The schema of such rows. `read` says which of bounds, classes and rows were taken from the data."""
    bounds = {"bounds": "read"} if read["bounds"] else {}
    labels = {"categories": "read"} if read["classes"] else {}
    columns = {
        "x": Tensor(shape=(features,), bounds=(-1.0, 1.0), provenance=bounds),
        "y": Categorical(categories=tuple(map(str, range(classes))), provenance=labels),
    }
    return Schema(columns, rows=rows, provenance={"rows": "read"} if read["rows"] and rows is not None else {})


def public_classes(classes: object) -> np.ndarray:
    """The declared labels, sorted; PlanError for what is no list of numbers, texts or booleans."""
    found = np.asarray(classes)
    if found.ndim != 1 or found.dtype.kind not in "biufUO" or (found != found).any():
        raise PlanError(f"classes={classes!r}: expected the labels in a list, such as (0, 1) or ('no', 'yes')")
    try:
        return np.sort(found)
    except TypeError:
        raise PlanError(f"classes={classes!r}: expected labels of one type, all numbers or all texts") from None


def check_kind(y: np.ndarray, classes: np.ndarray) -> None:
    """Refuse texts for numbers and the reverse: no label would be found. One text among numbers turns a list of labels
    into texts as a whole, so that a single row would blank all others."""
    if _is_text(y) != _is_text(classes):
        raise DataError(
            f"y holds labels of type {y.dtype}, classes={classes.tolist()!r} of another; expected all numbers or all "
            "texts in both. Nothing was spent"
        )


def _is_text(labels: np.ndarray) -> bool:
    if labels.dtype.kind != "O":
        return labels.dtype.kind in "US"
    texts = {isinstance(label, str) for label in labels}
    if len(texts) > 1:
        raise DataError("y or classes mix texts and other labels; expected all numbers or all texts. Nothing was spent")
    return True in texts


def label_codes(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Place of every label among the sorted public classes, -1 for a label that is none of them: an error would tell
    one table from its neighbour."""
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return np.where(classes[codes] == y, codes, -1)


def records(columns: Mapping[str, Values], public: object) -> dict[str, np.ndarray]:
    """Arrays of one row each; an unreadable row counts as zeros of class 0."""
    x, y = columns["x"], columns["y"]
    blank = x.null | y.null | (y.values < 0)
    return {"x": np.where(blank[:, None], 0, x.values), "y": np.where(blank, 0, y.values).astype(np.int32)}


def revealed(batches: Iterator[Any], schema: Schema) -> tuple[np.ndarray, np.ndarray]:
    """(x, codes) of raw batches that came through `reveal`."""
    found = [records(encode(batch, schema).columns, None) for batch in batches]
    return np.concatenate([f["x"] for f in found]), np.concatenate([f["y"] for f in found])
