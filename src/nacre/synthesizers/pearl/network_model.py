"""The model behind `pearl-paper` and `merf`: a small network run by NumPy, class shares, and public bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.errors import SchemaError
from nacre.synthesizers.base import expect_sound, reading_parts
from nacre.synthesizers.parts.conditioning import pick
from nacre.synthesizers.parts.generator_model import DrawsByClass
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.pearl import generator, upconv
from nacre.table import Condition, Schema
from nacre.table.encoding import Values


class NetworkModel(DrawsByClass):
    """Draws a class by its share, noise, and a row from the network."""

    def __init__(self, layout: Layout, net: Mapping[str, np.ndarray], shares: np.ndarray, argmax: bool, rows: int):
        self.layout, self.net, self.shares, self.argmax, self.rows = layout, dict(net), shares, argmax, rows
        self.network = upconv.network(layout.picture, layout.width)

    @property
    def schema(self) -> Schema:
        return self.layout.schema

    @property
    def batch(self) -> int:  # type: ignore[override]
        return self.network.batch

    @property
    def class_column(self) -> str | None:
        return self.layout.target

    def take_direct(self, where: dict[str, Condition]) -> np.ndarray:
        if self.layout.image is not None and self.layout.image in where:
            raise SchemaError(f"where: {self.layout.image!r} holds images; put conditions on {self.layout.target!r}")
        return super().take_direct(where)

    def some_rows(self, rows: int, rng: np.random.Generator, fixed: np.ndarray) -> dict[str, Values]:
        shares = fixed
        kinds = rng.choice(len(shares), rows, p=shares)
        z = rng.standard_normal((rows, self.network.latent)).astype(np.float32)
        inputs = np.concatenate([z, np.eye(len(shares), dtype=np.float32)[kinds]], axis=1)
        raw = generator.forward(self.network, self.net, inputs)
        numbers, blocks = generator.heads(raw, self.layout.count, [size for _, size in self.layout.blocks])
        codes = [p.argmax(1) if self.argmax else pick(p, rng) for p in blocks]
        return self.layout.decode(numbers, codes, kinds)

    # ------------------------------------------------------------------ in and out

    def parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        facts = {"rows": self.rows, "target": self.layout.target, "argmax": self.argmax}
        return facts, {**self.net, "shares": self.shares}

    @classmethod
    def from_parts(cls, schema: Schema, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> NetworkModel:
        with reading_parts():
            layout = Layout.of(schema, facts["target"], "this release", pieces=True)
            net = {name: a for name, a in arrays.items() if name != "shares"}
            model = cls(layout, net, np.asarray(arrays["shares"]), facts["argmax"], int(facts["rows"]))
            expect_sound(model._sound())
        return model

    def _sound(self) -> bool:
        """Shapes, types and ranges."""
        wanted = self.network.shapes(self.layout.classes)
        fits = {n: a.shape for n, a in self.net.items()} == wanted and self.shares.shape == (self.layout.classes,)
        arrays = [*self.net.values(), self.shares]
        finite = fits and all(a.dtype.kind == "f" and bool(np.isfinite(a).all()) for a in arrays)
        positive = finite and all(bool((self.net[f"variance{i}"] >= 0).all()) for i in range(2))
        total = bool((self.shares >= 0).all()) and abs(float(self.shares.sum()) - 1) < 1e-6
        return positive and total and isinstance(self.argmax, bool) and self.rows >= 0
