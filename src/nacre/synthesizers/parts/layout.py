"""Records as the papers see them: numbers or pixels scaled to [0, 1] by public bounds, labels as one-hot blocks.

Numbers with declared edges may be scaled piece by piece, each cell of theirs to an equal part of [0, 1].

A table of images has one column of arrays and, if there are classes, the target; a missing image is a blank one.
A nullable label has one category more; a nullable number has a block of two (present, missing) beside it and stands
at 0 where it is missing. A label outside its list has a block of zeros.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacre.errors import DomainNotDeclared, SchemaError
from nacre.privacy.discovery import Undeclared
from nacre.synthesizers.base import refuse_unknown_target
from nacre.table import Schema
from nacre.table.encoding import Values
from nacre.table.grid import Grid

MAX_CLASSES = 64


@dataclass(frozen=True)
class Layout:
    """Which columns are numbers and which are blocks (column, size); the class column stands apart. A table of images
    has neither, but the column `image`. With `pieces`, numbers that declare edges are scaled piece by piece."""

    schema: Schema
    target: str | None
    numbers: tuple[str, ...]
    blocks: tuple[tuple[str, int], ...]
    classes: int
    image: str | None = None
    pieces: bool = False

    @staticmethod
    def of(schema: Schema, target: str | None, method: str, pieces: bool = False) -> Layout:
        """Raises DomainNotDeclared or SchemaError, naming the column, for a table that cannot be laid out so."""
        for name, fact in schema.undeclared():
            fact = "kind" if isinstance(schema.columns[name], Undeclared) else fact
            raise DomainNotDeclared(
                f"column {name!r}: {fact} not declared; method {method!r} needs the whole schema before it plans: "
                "write one (`nacre schema draft`, reviewed), or use a method that buys what is lacking (sketch, pearl)"
            )
        classes = _classes(schema, target, method)
        image = _image_column(schema, target, method)
        if image is not None:
            return Layout(schema, target, (), (), classes, image, pieces)
        numbers = tuple(n for n in schema.modelled if n != target and _is_number(schema, n))
        blocks: list[tuple[str, int]] = []
        for name in schema.modelled:
            column = schema.columns[name]
            if name in numbers:
                blocks += [(name, 2)] if column.nullable else []
            elif name != target:
                blocks.append((name, Grid.of(column).cells))
        return Layout(schema, target, numbers, tuple(blocks), classes, pieces=pieces)

    @property
    def edges(self) -> list[int]:
        """Where each block begins among the label coordinates, and where the last ends."""
        return np.cumsum([0, *(size for _, size in self.blocks)]).tolist()

    @property
    def picture(self) -> tuple[int, int, int] | None:
        """Height, width and channels of the images; None for a table without."""
        if self.image is None:
            return None
        height, width, *channels = self.schema.columns[self.image].shape
        return height, width, *(channels or [1])  # type: ignore[return-value]

    @property
    def count(self) -> int:
        """How many numbers a record has: numeric columns, or pixels."""
        return math.prod(self.picture) if self.picture else len(self.numbers)

    @property
    def width(self) -> int:
        return self.count + self.edges[-1]

    @property
    def norm(self) -> float:
        """Largest length of an encoded record: every number at 1, one category per block."""
        return math.sqrt(max(1, self.count + len(self.blocks)))

    @property
    def diameter(self) -> float:
        """Largest distance of two encoded records: one-hot blocks differ by sqrt 2 (specs/pearl.md E3)."""
        return math.sqrt(max(1, self.count + 2 * len(self.blocks)))

    # ------------------------------------------------------------------ records

    def encode(self, records: Mapping[str, Values]) -> tuple[np.ndarray, list[np.ndarray]]:
        """(numbers [n, d] in [0, 1], one array of category numbers per block; -1 for none)."""
        rows = len(next(iter(records.values())).values)
        if self.image is not None:
            return self._pixels(records[self.image], rows), []
        numbers = np.zeros((rows, len(self.numbers)))
        for j, name in enumerate(self.numbers):
            scaled = self._scaled(name, records[name].values.astype(np.float64))
            numbers[:, j] = np.where(records[name].null, 0.0, scaled)
        codes = []
        for name, _ in self.blocks:
            own = records[name]
            codes.append(own.null.astype(np.int64) if name in self.numbers else self._codes(name, own))
        return numbers, codes

    def _scaled(self, name: str, values: np.ndarray) -> np.ndarray:
        """Numbers of that column in [0, 1]: each from its own value alone."""
        points, shares = self._points(name)
        if len(points) > 2:
            return np.interp(values, points, shares)
        span = max(points[1] - points[0], 1e-300)
        return np.clip((values - points[0]) / span, 0.0, 1.0)

    def _points(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Values of that column, and where in [0, 1] they stand: its ends, or its edges at equal distances."""
        edges = self.schema.columns[name].cuts if self.pieces else None
        points = np.asarray(edges or _ends(self.schema, name), np.float64)
        return points, np.linspace(0.0, 1.0, len(points))

    def _pixels(self, images: Values, rows: int) -> np.ndarray:
        low, high = _ends(self.schema, self.image or "")
        scaled = (images.values.reshape(rows, -1).astype(np.float64) - low) / max(high - low, 1e-300)
        return np.where(images.null[:, None], 0.0, np.clip(scaled, 0.0, 1.0))

    def kinds(self, records: Mapping[str, Values]) -> np.ndarray:
        """The class of each record, 0 without a target, -1 for none."""
        if self.target is None:
            return np.zeros(len(next(iter(records.values())).values), np.int64)
        return self._codes(self.target, records[self.target])

    def _codes(self, name: str, values: Values) -> np.ndarray:
        return Grid.of(self.schema.columns[name]).codes(values).astype(np.int64)

    def decode(self, numbers: np.ndarray, codes: list[np.ndarray], kinds: np.ndarray) -> dict[str, Values]:
        """Back to the values of the schema, by its public bounds."""
        found: dict[str, Values] = {}
        if self.image is not None:
            low, high = _ends(self.schema, self.image)
            shape = self.schema.columns[self.image].shape
            pixels = np.clip(numbers * (high - low) + low, low, high).astype(np.float32)
            found[self.image] = Values.of(pixels.reshape(-1, *shape))
        missing = {name: code == 1 for (name, _), code in zip(self.blocks, codes) if name in self.numbers}
        for j, name in enumerate(self.numbers):
            points, shares = self._points(name)
            value = np.interp(np.asarray(numbers[:, j], np.float64), shares, points)
            found[name] = _number(self.schema, name, value, missing.get(name))
        for (name, _), code in zip(self.blocks, codes):
            if name not in self.numbers:
                found[name] = Grid.of(self.schema.columns[name]).place(code, np.zeros(len(code)))
        if self.target is not None:
            found[self.target] = Grid.of(self.schema.columns[self.target]).place(kinds, np.zeros(len(kinds)))
        return {name: found[name] for name in self.schema.modelled}


def _classes(schema: Schema, target: str | None, method: str) -> int:
    """Labels of the target; 1 without one."""
    if target is None:
        return 1
    refuse_unknown_target(schema, target)
    column = schema.columns[target]
    counted = not _is_number(schema, target) and column.counted
    classes = Grid.of(column).cells if counted else 0
    if not 1 <= classes <= MAX_CLASSES:
        raise SchemaError(
            f"target {target!r}: method {method!r} needs a target of at most {MAX_CLASSES} labels; leave the "
            "target out, or use method 'sketch'"
        )
    return classes


def _image_column(schema: Schema, target: str | None, method: str) -> str | None:
    """The column of images; SchemaError where there are arrays but not one image and at most its label."""
    arrays = [n for n in schema.modelled if schema.columns[n].shape]
    if not arrays:
        return None
    image, column = arrays[0], schema.columns[arrays[0]]
    others = [n for n in schema.modelled if n not in (image, target)]
    if others:
        raise SchemaError(
            f"column {others[0]!r}: method {method!r} models images with one label and nothing beside them; name the "
            "label as target and leave other columns out of the table"
        )
    shape = column.shape
    if len(shape) not in (2, 3):
        raise SchemaError(
            f"column {image!r}: shape {list(shape)} is no image; declare [height, width] or [height, width, channels]"
        )
    if column.nullable:
        raise SchemaError(f"column {image!r}: method {method!r} makes no missing images; declare it not nullable")
    return image


def _is_number(schema: Schema, name: str) -> bool:
    return schema.columns[name].measured


def _ends(schema: Schema, name: str) -> tuple[Any, Any]:
    ends = schema.columns[name].ends
    assert ends is not None  # Layout.of refuses a column without
    return ends


def _number(schema: Schema, name: str, value: np.ndarray, null: np.ndarray | None) -> Values:
    step, (low, high) = schema.columns[name].step, _ends(schema, name)
    if step is None:
        return Values.of(np.clip(value, low, high), null)
    whole = np.rint(value / step).astype(np.int64) * step
    return Values.of(np.clip(whole, -(-low // step) * step, high // step * step), null)
