"""The model behind `hflow`: the weights of a flow and the axes of the columns. Rows are drawn without JAX."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from nacre.errors import ConvergenceError, ReleaseFileError
from nacre.nets.dequantise_shape import DequantiserShape
from nacre.nets.flow_sampling import from_normal, given
from nacre.nets.flow_shape import ACTIVATIONS, LINEAR, MOST_BOUND, MOST_SIZE, Shape
from nacre.synthesizers.base import Model, reading_parts
from nacre.synthesizers.hflow.axes import ENCODINGS, Axes
from nacre.synthesizers.hflow.conditions import Conditions
from nacre.synthesizers.parts.conditioning import draw_until
from nacre.table import Condition, Schema
from nacre.table.encoding import Values
from nacre.typed import Tree

SPACES = ("normal", "uniform")
DEQUANTISATIONS = ("uniform", "variational", "printed")
BATCH = 16_384


class FlowModel(Model):
    """Draws a standard normal and carries it back through the flow.

    `where` is met exactly. A flow of one block without a linear map draws every axis inside what is asked for and
    drops a row at the first axis that turns out unlikely: nothing is lost for a condition on the first axis (a target,
    where its label is one axis), and little on the columns next to it. Other flows draw whole rows until enough
    satisfy it, which is slow for rare conditions.
    """

    likelihood = True

    def __init__(
        self,
        axes: Axes,
        shape: Shape,
        weights: Mapping[str, Tree],
        space: str,
        target: str | None,
        rows: int,
        dequantisation: str = "uniform",
    ):
        self.axes, self.shape, self.weights = axes, shape, weights
        self.space, self.target, self.rows, self.dequantisation = space, target, rows, dequantisation

    def draw(
        self, rows: int, rng: np.random.Generator, where: Mapping[str, Condition] | None = None
    ) -> dict[str, Values]:
        """`rows` rows that satisfy `where`; SchemaError for a column that is not modelled or cannot be met."""
        where = where or {}
        if where and self.shape.blocks == 1 and self.shape.linear == "none":
            tried = [max(256, rows + rows // 4)]  # more, where few of them meet the condition

            def some(n: int) -> dict[str, Values]:
                tried.append(min(n, 2 * tried[-1]))
                return self._rows_given(where, min(n, tried[-2]), rng)

            return draw_until(rows, where, self.axes.grids, some, BATCH)
        return draw_until(rows, where, self.axes.grids, lambda n: self._rows(n, rng), BATCH)

    def _rows(self, rows: int, rng: np.random.Generator) -> dict[str, Values]:
        z = rng.standard_normal((rows, self.shape.columns)).astype(np.float32)
        return self._values(from_normal(self.shape, self.weights, z, self._label))

    def _values(self, h: np.ndarray) -> dict[str, Values]:
        """ConvergenceError where weights are so large that nothing ordinary comes out: no column has such a value."""
        if np.isnan(h).any():
            raise ConvergenceError(
                "the flow draws values that are no numbers: its training went astray. Fit it anew with a lower `rate`; "
                "what was spent on it is spent"
            )
        return self.axes.decode(self._share(h))

    def _rows_given(self, where: Mapping[str, Condition], rows: int, rng: np.random.Generator) -> dict[str, Values]:
        """Those of `rows` tries that come to meet the condition, but for rounding."""
        conditions = Conditions(self.axes, where)

        def allowed(axis: int, h: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
            ends = conditions.ends(axis, self._share(h))
            return None if ends is None else (self._line(ends[0]), self._line(ends[1]))

        return self._values(given(self.shape, self.weights, rows, rng, allowed, self._label))

    def _label(self, axis: int, h: np.ndarray) -> np.ndarray:
        return self.axes.code(axis, self._share(h))

    def _share(self, h: np.ndarray) -> np.ndarray:
        """y in [0, 1] of h."""
        h = np.asarray(h, np.float64)
        return ndtr(h) if self.space == "normal" else np.clip(h / (2 * math.sqrt(3)) + 0.5, 0.0, 1.0)

    def _line(self, y: np.ndarray) -> np.ndarray:
        """h of y in [0, 1]; the ends are as far as h goes."""
        if self.space == "normal":
            return ndtri(y)
        return np.where(y <= 0, -np.inf, np.where(y >= 1, np.inf, math.sqrt(3) * (2 * y - 1)))

    def log_prob(self, records: Mapping[str, Values], samples: int, seed: int) -> np.ndarray:
        """A lower bound of the log-probability of each record, in nats: log-mass of labels, whole numbers, null and
        atoms, log-density per unit of the column elsewhere. What a record does not say is summed over. The points are
        drawn by the dequantiser the flow was trained with, and weighed by p/q."""
        import jax

        from nacre.synthesizers.hflow.training import log_probabilities

        objective = objective_of(self.axes, self.shape, self.space, self.dequantisation)
        key = jax.random.key(seed)
        found = log_probabilities(objective, self.weights, self.axes.encode(records), samples, key)
        return found + self.axes.log_scale(records)

    # ------------------------------------------------------------------ in and out

    def parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        shape = {k: v for k, v in asdict(self.shape).items() if k not in ("columns", "cells")}
        facts = {"rows": self.rows, "target": self.target, "encoding": self.axes.encoding, "space": self.space}
        facts |= {
            "dequantisation": self.dequantisation,
            "shape": shape,
            "labels": any(self.shape.cells),
            "bought": self.axes.bought,
        }
        order = self.axes.order if self.axes.bought else ()
        arrays = {f"edges.{i}": self.axes.edges[name] for i, name in enumerate(order)}
        for layer, leaves in self.weights.items():
            for leaf, value in leaves.items() if isinstance(leaves, Mapping) else [("value", leaves)]:
                arrays[f"{layer}.{leaf}"] = np.asarray(value, np.float32)
        return facts, arrays

    @classmethod
    def from_parts(cls, schema: Schema, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> FlowModel:
        with reading_parts():
            order = sorted(schema.modelled, key=lambda name: name != facts["target"])
            shares = {n: np.diff(arrays[f"edges.{i}"]) for i, n in enumerate(order)} if facts["bought"] else None
            noise = facts.get("dequantisation", "uniform")  # older files have no weights of another
            if facts["encoding"] not in ENCODINGS or facts["space"] not in SPACES or noise not in DEQUANTISATIONS:
                raise ValueError("encoding, space or dequantisation is not known")
            _check_shares(schema, shares)
            axes = Axes.of(schema, facts["target"], facts["encoding"], shares, "this release")
            shape = _shape(facts["shape"], axes, facts["labels"])
            learned = dequantiser_shape(axes, noise)
            weights = _weights(shape.sizes() | (learned.sizes() if learned else {}), arrays)
            model = cls(axes, shape, weights, facts["space"], facts["target"], int(facts["rows"]), noise)
        if model.rows < 0:
            raise ReleaseFileError("release file: the model's number of rows is negative")
        return model


def dequantiser_shape(axes: Axes, dequantisation: str) -> DequantiserShape | None:
    """None for uniform noise."""
    if dequantisation == "uniform":
        return None
    labels = [g.cells for g in axes.grids.values() if g.column.labelled]
    return DequantiserShape(len(axes.axes), sum(labels) + len(axes.axes), printed=dequantisation == "printed")


def objective_of(axes: Axes, shape: Shape, space: str, dequantisation: str = "uniform", group: int = 1) -> Any:
    """The training objective of a flow over these axes."""
    from nacre.nets.dequantise import Dequantiser
    from nacre.synthesizers.hflow.training import Objective

    learned = dequantiser_shape(axes, dequantisation)
    coded = [n for n in axes.order if axes.schema.columns[n].labelled]
    read = [axes.axes[i].column for i, size in enumerate(shape.cells) if size]
    firsts = [axes.axes[i].column for i, _ in axes.one_hots]
    return Objective(
        shape,
        space,
        axes.one_hots,
        tuple(axes.grids[n].cells for n in coded),
        tuple(coded.index(n) for n in firsts),
        tuple(coded.index(n) for n in read),
        Dequantiser(**asdict(learned)) if learned else None,
        group,
    )


def _check_shares(schema: Schema, shares: Mapping[str, np.ndarray] | None) -> None:
    from nacre.table.grid import Grid

    for name, share in (shares or {}).items():
        cells = Grid.of(schema.columns[name]).cells
        if share.shape != (cells,) or share.dtype.kind != "f" or not bool((share > 0).all()) or share.sum() > 1 + 1e-6:
            raise ValueError(f"the shares of column {name!r}")


def _shape(facts: Mapping[str, Any], axes: Axes, labels: bool) -> Shape:
    """The sizes in a file, within what a file may ask for."""
    shape = Shape(len(axes.axes), cells=axes.labels if labels else (), **facts)
    whole = {n: getattr(shape, n) for n in ("bins", "rank", "blocks", "hidden", "depth", "embedding")}
    if not all(type(v) is int and 1 <= v <= MOST_SIZE for v in whole.values()) or type(shape.seed) is not int:
        raise ValueError("sizes of the flow")
    if shape.linear not in LINEAR or shape.activation not in ACTIVATIONS or not 0 < float(shape.bound) <= MOST_BOUND:
        raise ValueError("kind of the flow")
    return shape


def _weights(sizes: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    weights: dict[str, Any] = {}
    for layer, leaves in sizes.items():
        found = {leaf: arrays[f"{layer}.{leaf}"] for leaf in leaves}
        for leaf, value in found.items():
            if value.shape != leaves[leaf] or value.dtype != np.float32 or not bool(np.isfinite(value).all()):
                raise ValueError(f"array {layer}.{leaf}")
        weights[layer] = found["value"] if set(found) == {"value"} else found
    return weights
