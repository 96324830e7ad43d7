"""The model of `weighted` and `mmdgan`: one network run by NumPy, class shares, public bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.errors import ReleaseFileError, SchemaError
from nacre.nets.branched import ACTIVATIONS, Branched, forward
from nacre.synthesizers.parts import files
from nacre.synthesizers.parts.coding import Coding
from nacre.synthesizers.parts.conditioning import RowsByRejection
from nacre.synthesizers.parts.layout import Layout
from nacre.table import Condition, Schema
from nacre.table.encoding import Values
from nacre.table.grid import Grid

SIZES = ("latent", "width", "depth")


class MadeRows(RowsByRejection):
    """Draws noise and, where the generator has a class as its condition, a class by its share in the target.

    Labels are drawn from the generator's logits, or with `exact` are its largest output, as the papers have it.
    """

    def __init__(self, coding: Coding, maker: Branched, weights: Any, shares: np.ndarray, exact: bool, rows: int):
        self.coding, self.maker, self.weights = coding, maker, dict(weights)
        self.shares, self.exact, self.rows = shares, exact, rows

    @property
    def schema(self) -> Schema:
        return self.coding.layout.schema

    def settle(self, where: dict[str, Condition]) -> np.ndarray:
        """Class shares given the condition on the class, which is taken out of `where`."""
        name = self.coding.layout.target
        if name is None or name not in where:
            return self.shares
        mask = where.pop(name).mask(Grid.of(self.schema.columns[name]))
        shares = self.shares * mask
        shares = shares if shares.sum() > 0 else mask
        return shares / shares.sum()

    def some_rows(self, rows: int, rng: np.random.Generator, fixed: np.ndarray) -> dict[str, Values]:
        kinds = rng.choice(len(fixed), rows, p=fixed)
        inputs = [rng.standard_normal((rows, self.maker.inputs[0])).astype(np.float32)]
        if len(self.maker.inputs) > 1:
            inputs.append(np.eye(len(fixed), dtype=np.float32)[kinds])
        raw = forward(self.maker, self.weights, inputs)
        heads = self.coding.heads(0)
        vector, codes = heads.whole(raw) if self.exact else heads.hard(raw, rng)
        return self.coding.decode((vector,), (codes,), kinds)

    # ------------------------------------------------------------------ in and out

    def parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        facts = {"rows": self.rows, "class": self.coding.layout.target, "exact": self.exact,
                 "latent": self.maker.inputs[0], "width": self.maker.width, "depth": self.maker.depth,
                 "norm": self.maker.norm, "residual": self.maker.residual,
                 "activation": self.maker.activation}  # fmt: skip
        return facts, {**files.packed({"maker": self.weights}, self.coding), "shares": self.shares}

    @classmethod
    def from_parts(cls, schema: Schema, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> MadeRows:
        try:
            layout = Layout.of(schema, facts["class"], "this release")
            names = tuple(n for n in schema.modelled if n != layout.target)
            others = {k: a for k, a in arrays.items() if k != "shares"}
            coding = files.coding_of(layout, (names,), others)
            maker = _maker(coding, facts)
            weights = files.unpacked(others, {"maker": maker})["maker"]
            shares = np.asarray(arrays["shares"], np.float64)
            fits = shares.shape == (layout.classes,) and (shares >= 0).all() and abs(shares.sum() - 1) < 1e-6
            if not fits or int(facts["rows"]) < 0 or not isinstance(facts["exact"], bool):
                raise ValueError("class shares, labels or the number of rows")
            return cls(coding, maker, weights, shares, facts["exact"], int(facts["rows"]))
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, SchemaError) as error:
            raise ReleaseFileError(f"release file: the model does not hold what it should ({error})") from None


def _maker(coding: Coding, facts: Mapping[str, Any]) -> Branched:
    latent, width, depth = (int(facts[name]) for name in SIZES)
    sizes = 1 <= latent <= 1 << 14 and 1 <= width <= 1 << 14 and 0 <= depth <= 64
    if not sizes or facts["norm"] not in ("none", "layer") or facts["activation"] not in ACTIVATIONS[:2]:
        raise ValueError(f"sizes {latent}, {width}, {depth}, or kind of the network")
    condition = (coding.layout.classes,) if coding.layout.classes > 1 else ()
    kind = (facts["norm"], bool(facts["residual"]), facts["activation"])
    return Branched((latent, *condition), coding.heads(0).width, width, depth, *kind)
