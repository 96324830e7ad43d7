"""Time and memory of a run before it begins, from public facts; measured on two cores of a small cloud machine.

Good to a factor of about two in time and 30 % in memory (benchmark `scale`).
"""

from __future__ import annotations

from dataclasses import dataclass

from nacre.planning.shape import Shape
from nacre.privacy.plan import Plan
from nacre.table import Schema

START_S, COMPILE_S = 1.5, 2.0  # imports and accounting; first compilation of the particle fit
CELLS_PER_S = {"csv": 4e6, "parquet": 4e7}  # read and encoded, by one process
_COUNTED_PER_S = 1.5e8  # rows times tables
_PARTICLE_OPS_PER_S = 3e10
_TRIALS = 2.5  # fits that one takes, those that choose its pull included
_CLUSTER_S = 8.0  # until a cluster of this machine is up and its workers have loaded what they need
BASE_MB, FIT_MB = 230.0, 270.0
_BATCH_MB = 150.0  # batches of rows as they are read and encoded
_KEPT_BYTES = 800e6  # of codes, kept between passes
_CLUSTER_MB, _WORKER_MB = 170.0, 220.0


@dataclass(frozen=True)
class Place:
    """How the rows are read: the format of the files, and the workers of a cluster that read them (0: this process)."""

    format: str = "csv"
    workers: int = 0

    @property
    def cells_per_s(self) -> float:
        return CELLS_PER_S["csv" if self.format == "csv" else "parquet"]


def seconds(plan: Plan, schema: Schema, rows: int | None, shape: Shape, place: Place) -> float:
    """Passes over the rows, counting, and the products of the particle fit; rows unknown counts as none."""
    n, width = rows or 0, len(schema.columns)
    bought = 3 * sum(e.door in ("bounds", "categories") for e in plan.entries)  # reading the unknown is slower
    reading = (_passes(plan, n, shape, place) + bought) * n * width / place.cells_per_s
    counting = n * (len(shape.cells) + shape.tables.pairs) / _COUNTED_PER_S
    starting = _CLUSTER_S if place.workers else 0.0
    fitting = 0.0 if shape.tables.deep is None else _TRIALS * shape.tables.work * products(shape) / _PARTICLE_OPS_PER_S
    return START_S + starting + (reading + counting) / max(place.workers, 1) + fitting


def _passes(plan: Plan, rows: int, shape: Shape, place: Place) -> int:
    """One where the codes of all rows can be kept; else one for every round of questions."""
    rounds = sum(e.name in ("rows", "one-way") for e in plan.entries) + (shape.tables.deep is not None)
    rounds += any(e.door == "select" for e in plan.entries)
    return rounds if place.workers or code_bytes(rows, shape) > _KEPT_BYTES else 1


def code_bytes(rows: int, shape: Shape) -> float:
    """One byte a code, two for columns of more than 255 cells."""
    return float(rows) * sum(1 if (c or 256) <= 0xFF else 2 for c in shape.cells)


def products(shape: Shape) -> float:
    """Multiplications per particle and step: the square of all groups side by side, for every class of the target."""
    width = [min(c or limit, limit) for c, limit in zip(shape.cells, shape.tables.limits)]
    k = shape.tables.classes if shape.tables.with_target else 1
    dense = 2.0 * sum(width) ** 2 * k
    return min(dense, 4.0 * shape.tables.pairs * max(width) ** 2 * k)


def memory(rows: int | None, shape: Shape, place: Place) -> float:
    """In MB: codes kept between passes (until they are too many) and tables, beside the program itself."""
    codes = 0.0 if place.workers else min(code_bytes(rows or 0, shape), _KEPT_BYTES)
    width = max(shape.tables.limits)
    k = shape.tables.classes if shape.tables.with_target else 1
    tables = 8.0 * (shape.tables.pairs * width**2 * k + sum(c or 0 for c in shape.cells))
    cluster = _CLUSTER_MB + place.workers * _WORKER_MB if place.workers else 0.0
    batches = 0.0 if place.workers else min(_BATCH_MB, 1e-3 * (rows or 0))
    return BASE_MB + (0.0 if shape.tables.deep is None else FIT_MB) + batches + cluster + (codes + 4 * tables) / 1e6
