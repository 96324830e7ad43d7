"""The model of the adversarial methods: a generator, perhaps a decoder, and class shares; run by NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.errors import ReleaseFileError, SchemaError
from nacre.nets.branched import WIDEST, Branched, forward
from nacre.synthesizers.parts import files
from nacre.synthesizers.parts.coding import Coding
from nacre.synthesizers.parts.conditioning import RowsByRejection
from nacre.synthesizers.parts.layout import Layout
from nacre.table import Condition, Schema
from nacre.table.encoding import Values
from nacre.table.grid import Grid


class GanModel(RowsByRejection):
    """Draws a class by its share and a row given it. `nets`: name -> (architecture, weights), run one after the other.

    `where` on the target is exact and direct; on other columns rows are drawn until enough satisfy it.
    """

    def __init__(self, coding: Coding, nets: Mapping[str, tuple[Branched, Any]], shares: np.ndarray, rows: int):
        self.coding, self.nets, self.shares, self.rows = coding, dict(nets), shares, rows

    @property
    def schema(self) -> Schema:
        return self.coding.layout.schema

    def settle(self, where: dict[str, Condition]) -> np.ndarray:
        """Class shares given the condition on the target, which is taken out of `where`."""
        target = self.coding.layout.target
        if target is None or target not in where:
            return self.shares
        mask = where.pop(target).mask(Grid.of(self.schema.columns[target]))
        shares = self.shares * mask
        shares = shares if shares.sum() > 0 else mask
        return shares / shares.sum()

    def some_rows(self, rows: int, rng: np.random.Generator, fixed: np.ndarray) -> dict[str, Values]:
        kinds = rng.choice(len(fixed), rows, p=fixed)
        maker, weights = self.nets["maker"]
        inputs = [rng.standard_normal((rows, maker.inputs[0])).astype(np.float32)]
        if len(maker.inputs) > 1:
            inputs.append(np.eye(len(fixed), dtype=np.float32)[kinds])
        raw = forward(maker, weights, inputs)
        if "decoder" in self.nets:
            raw = forward(*self.nets["decoder"], (raw,))
        vector, codes = self.coding.heads(0).hard(raw, rng)
        return self.coding.decode((vector,), (codes,), kinds)

    # ------------------------------------------------------------------ in and out

    def parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        maker = self.nets["maker"][0]
        code = maker.outputs if "decoder" in self.nets else 0
        facts = {"rows": self.rows, "target": self.coding.layout.target, "latent": maker.inputs[0],
                 "width": maker.width, "norm": maker.norm, "code": code}  # fmt: skip
        arrays = files.packed({name: weights for name, (_, weights) in self.nets.items()}, self.coding)
        return facts, {**arrays, "shares": self.shares}

    @classmethod
    def from_parts(cls, schema: Schema, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> GanModel:
        try:
            layout = Layout.of(schema, facts["target"], "this release")
            names = tuple(n for n in schema.modelled if n != layout.target)
            shares = np.asarray(arrays["shares"], np.float64)
            others = {k: a for k, a in arrays.items() if k != "shares"}
            coding = files.coding_of(layout, (names,), others)
            nets = _nets(coding, {n: facts[n] for n in ("latent", "width", "norm", "code")})
            weights = files.unpacked(others, nets)
            fits = shares.shape == (layout.classes,) and (shares >= 0).all() and abs(shares.sum() - 1) < 1e-6
            if not fits or int(facts["rows"]) < 0:
                raise ValueError("class shares or the number of rows")
            return cls(coding, {n: (net, weights[n]) for n, net in nets.items()}, shares, int(facts["rows"]))
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, SchemaError) as error:
            raise ReleaseFileError(f"release file: the model does not hold what it should ({error})") from None


def _nets(coding: Coding, facts: Mapping[str, Any]) -> dict[str, Branched]:
    latent, width, code = (int(facts[name]) for name in ("latent", "width", "code"))
    if not (1 <= latent <= WIDEST and 1 <= width <= WIDEST and 0 <= code <= WIDEST):
        raise ValueError(f"latent {latent}, width {width}, code {code}")
    classes, out = coding.layout.classes, coding.heads(0).width
    condition = (classes,) if classes > 1 else ()
    nets = {"maker": Branched((latent, *condition), code or out, width, 1, str(facts["norm"]), True)}
    return {**nets, "decoder": Branched((code,), out, width)} if code else nets
