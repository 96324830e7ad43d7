"""A small tree of tables in groups, with random parameters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nacre.synthesizers.nested.expected import Nested
from nacre.synthesizers.nested.fit import Parameters, begin
from nacre.synthesizers.nested.shape import Shape
from nacre.synthesizers.nested.tape import Array, Node

EVERY_SIX, EVERY_FOUR = np.eye(6, dtype=np.float32), np.eye(4, dtype=np.float32)

SHAPES = {
    "units": Shape("units", None, 1, False, (2, 3, 6), 3, 2, {"rows": (2, EVERY_SIX)}),
    "rows": Shape(
        "rows", "units", 5, True, (3, 4, 2, 4), 4, 2, {"parts": (3, EVERY_FOUR)}, (1, 3), (True, False, True, False)
    ),
    "parts": Shape("parts", "rows", 3, False, (3, 2), 3, 2, {}, None, (True, True)),
    "others": Shape("others", "units", 5, False, (2, 2), 2, 2, {}, None, (True, False)),
}
SHAPES["units"].counts["others"] = (2, EVERY_SIX)  # type: ignore[index]  # as many as of the rows


def logits(seed: int) -> Parameters:
    shares = {name: np.full(shape.cells, 1 / 3, np.float32) for name, shape in SHAPES.items()}
    return begin(SHAPES, shares, np.random.default_rng(seed), 1.0)


def nested(given: Mapping[str, Mapping[str, Array]]) -> tuple[dict[str, dict[str, Node]], Nested]:
    nodes = {name: {key: Node(value) for key, value in own.items()} for name, own in given.items()}
    return nodes, Nested(SHAPES, nodes)


def weights(rng: np.random.Generator, strata: int, cap: int) -> np.ndarray:
    """Random weights by stratum and number of rows, none for no rows."""
    return np.concatenate([np.zeros((strata, 1)), rng.uniform(0.1, 1, (strata, cap))], axis=1)
