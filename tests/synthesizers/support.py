"""Geometries and a mixture that the tests of support points share."""

from __future__ import annotations

import numpy as np
from tests.privacy_contract import tables

from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.support_points.geometry import Geometry
from nacre.table import Numeric, Schema


def square(columns: int) -> Geometry:
    schema = Schema({f"c{i}": Numeric(bounds=(0.0, 1.0)) for i in range(columns)})
    return Geometry(Layout.of(schema, None, "test"))


MIXED = Geometry(Layout.of(tables.schema(), None, "test"))


def mixture(rows: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = np.array([[0.3, 0.3], [0.7, 0.4], [0.5, 0.75]])
    return np.clip(centres[rng.choice(3, rows, p=(0.5, 0.3, 0.2))] + 0.06 * rng.standard_normal((rows, 2)), 0, 1)
