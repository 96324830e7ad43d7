"""The model of the adversarial methods: a generator, and perhaps a decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.nets.branched import WIDEST, Branched
from nacre.synthesizers.base import reading_parts
from nacre.synthesizers.parts import files
from nacre.synthesizers.parts.coding import Coding
from nacre.synthesizers.parts.generator_model import GENERATOR, GeneratorModel
from nacre.synthesizers.parts.layout import Layout
from nacre.table import Schema


class GanModel(GeneratorModel):
    """The networks of one adversarial method."""

    # ------------------------------------------------------------------ in and out

    def parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        generator = self.generator
        code = generator.outputs if "decoder" in self.nets else 0
        facts = {"rows": self.rows, "target": self.coding.layout.target, "latent": generator.inputs[0],
                 "width": generator.width, "norm": generator.norm, "code": code}  # fmt: skip
        arrays = files.packed({name: weights for name, (_, weights) in self.nets.items()}, self.coding)
        return facts, {**arrays, "shares": self.shares}

    @classmethod
    def from_parts(cls, schema: Schema, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> GanModel:
        with reading_parts():
            layout = Layout.of(schema, facts["target"], "this release")
            names = tuple(n for n in schema.modelled if n != layout.target)
            others = {k: a for k, a in arrays.items() if k != "shares"}
            coding = files.coding_of(layout, (names,), others)
            nets = _nets(coding, {n: facts[n] for n in ("latent", "width", "norm", "code")})
            weights = files.unpacked(others, nets)
            shares = files.class_shares(arrays, layout.classes)
            return cls(coding, {n: (net, weights[n]) for n, net in nets.items()}, shares, files.row_count(facts))


def _nets(coding: Coding, facts: Mapping[str, Any]) -> dict[str, Branched]:
    latent, width, code = (int(facts[name]) for name in ("latent", "width", "code"))
    if not (1 <= latent <= WIDEST and 1 <= width <= WIDEST and 0 <= code <= WIDEST):
        raise ValueError(f"latent {latent}, width {width}, code {code}")
    classes, out = coding.layout.classes, coding.heads(0).width
    condition = (classes,) if classes > 1 else ()
    nets = {GENERATOR: Branched((latent, *condition), code or out, width, 1, str(facts["norm"]), True)}
    return {**nets, "decoder": Branched((code,), out, width)} if code else nets
