"""Flows with random weights: models without a fit."""

import numpy as np

from nacre.nets.flow_shape import Shape
from nacre.synthesizers.hflow.axes import Axes
from nacre.synthesizers.hflow.model import FlowModel
from nacre.table.grid import Grid


def random_model(schema, encoding, bought, space="normal", **shape):
    """A flow with random weights over the axes of a schema."""
    rng = np.random.default_rng(7)
    shares = None
    if bought:
        shares = {n: rng.dirichlet(5 * np.ones(Grid.of(c).cells)) for n, c in schema.columns.items()}
    axes = Axes.of(schema, None, encoding, shares, "test")
    sizes = Shape(len(axes.axes), hidden=8, bins=3, cells=axes.labels if any(axes.labels) else (), **shape)
    weights = {n: {p: 0.3 * rng.normal(size=s) for p, s in parts.items()} for n, parts in sizes.sizes().items()}
    weights = {n: p["value"] if set(p) == {"value"} else p for n, p in weights.items()}
    return FlowModel(axes, sizes, weights, space, None, 100)
