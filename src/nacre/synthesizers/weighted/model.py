"""The model of `weighted` and `mmdgan`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.nets.branched import ACTIVATIONS, Branched
from nacre.synthesizers.base import reading_parts
from nacre.synthesizers.parts import files
from nacre.synthesizers.parts.coding import Coding
from nacre.synthesizers.parts.generator_model import GENERATOR, GeneratorModel
from nacre.synthesizers.parts.layout import Layout
from nacre.table import Schema

SIZES = ("latent", "width", "depth")


class WeightedModel(GeneratorModel):
    """One generator; where it has a class as its condition, the class is drawn by its share in the target."""

    # ------------------------------------------------------------------ in and out

    def parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        net, weights = self.nets[GENERATOR]
        facts = {"rows": self.rows, "class": self.coding.layout.target, "exact": self.exact,
                 "latent": net.inputs[0], "width": net.width, "depth": net.depth,
                 "norm": net.norm, "residual": net.residual, "activation": net.activation}  # fmt: skip
        return facts, {**files.packed({GENERATOR: weights}, self.coding), "shares": self.shares}

    @classmethod
    def from_parts(cls, schema: Schema, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> WeightedModel:
        with reading_parts():
            layout = Layout.of(schema, facts["class"], "this release")
            names = tuple(n for n in schema.modelled if n != layout.target)
            others = {k: a for k, a in arrays.items() if k != "shares"}
            coding = files.coding_of(layout, (names,), others)
            net = _generator(coding, facts)
            nets = {GENERATOR: (net, files.unpacked(others, {GENERATOR: net})[GENERATOR])}
            if not isinstance(facts["exact"], bool):
                raise ValueError("how labels are drawn")
            shares = files.class_shares(arrays, layout.classes)
            return cls(coding, nets, shares, files.row_count(facts), facts["exact"])


def _generator(coding: Coding, facts: Mapping[str, Any]) -> Branched:
    latent, width, depth = (int(facts[name]) for name in SIZES)
    sizes = 1 <= latent <= 1 << 14 and 1 <= width <= 1 << 14 and 0 <= depth <= 64
    if not sizes or facts["norm"] not in ("none", "layer") or facts["activation"] not in ACTIVATIONS[:2]:
        raise ValueError(f"sizes {latent}, {width}, {depth}, or kind of the network")
    condition = (coding.layout.classes,) if coding.layout.classes > 1 else ()
    kind = (facts["norm"], bool(facts["residual"]), facts["activation"])
    return Branched((latent, *condition), coding.heads(0).width, width, depth, *kind)
