"""The model of a PPEM release: two generators and p(class | x'), run by NumPy. The energies stay with the owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from nacre.errors import SchemaError
from nacre.nets.branched import DEEPEST, WIDEST, Branched, forward
from nacre.synthesizers.base import reading_parts
from nacre.synthesizers.parts import files
from nacre.synthesizers.parts.coding import Coding
from nacre.synthesizers.parts.conditioning import RowsByRejection
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.ppem.config import LATENT, TrainingConfig
from nacre.synthesizers.ppem.finish import finished, shapes
from nacre.synthesizers.ppem.outset import with_class
from nacre.table import Schema
from nacre.table.encoding import Values
from nacre.table.naming import choices
from nacre.typed import Tree

Nets = Mapping[str, Mapping[str, np.ndarray]]
RELEASED = ("omega", "v", "chooser")
FINISH = "finish"


class Kept(NamedTuple):
    """What stays with the owner: the weights of the marginal energy, and how columns were hidden."""

    energy: Mapping[str, np.ndarray]
    hiding: dict[str, Any]


class PpemModel(RowsByRejection):
    """Draws x' by G_omega, the class given x', and the other columns by G_v given both (specs/ppem.md 3.6).

    `kept` is for the owner's diagnostics and never saved: the energy has seen the hidden columns, and the generator's
    penalty does not cover it; who knows the distance of a decoy undoes it. `finish` moves what G_v makes
    (ppem/finish.py), where something does.
    """

    def __init__(
        self,
        coding: Coding,
        config: TrainingConfig,
        nets: Nets,
        rows: int,
        kept: Kept | None = None,
        finish: Mapping[str, np.ndarray] | None = None,
    ):
        self.finish = finish
        self.coding, self.config, self.rows = coding, config, rows
        self.energy, self.hiding = kept or (None, None)
        self.nets = {name: dict(nets[name]) for name in RELEASED}

    @property
    def schema(self) -> Schema:
        return self.coding.layout.schema

    @property
    def hidden(self) -> tuple[str, ...]:
        return self.coding.parts[0]

    def some_rows(self, rows: int, rng: np.random.Generator, fixed: object) -> dict[str, Values]:
        z = rng.standard_normal((rows, LATENT)).astype(np.float32)
        hidden, codes = self.config.hidden.hard(forward(self.config.omega, self.nets["omega"], (z,)), rng)
        return self.rest_given(hidden, codes, rng)

    def rest_given(self, hidden: np.ndarray, codes: list[np.ndarray], rng: np.random.Generator) -> dict[str, Values]:
        """Whole rows with these hidden columns (their vector and category numbers): the class and x* are drawn."""
        config = self.config
        z = rng.standard_normal((len(hidden), LATENT)).astype(np.float32)
        given, kinds = with_class(config, self.nets, hidden, rng)
        raw = np.array(forward(config.v, self.nets["v"], (z, given)))
        if self.finish is not None:
            d, h = config.visible.numbers, config.hidden.numbers
            raw[:, :d] = finished(self.finish, raw[:, :d], hidden[:, :h], kinds)
        visible, second = config.visible.hard(raw, rng)
        return self.coding.decode((hidden, visible), (codes, second), kinds)

    def filled(self, records: Mapping[str, Values], rng: np.random.Generator) -> dict[str, Values]:
        """These rows with everything but their hidden columns drawn anew: what p(x*|x') is worth, apart from p(x').

        It reads hidden columns: for the owner."""
        (hidden, _), _ = self.coding.encode(records)
        ends = np.cumsum([self.config.hidden.numbers, *self.config.hidden.sizes])
        codes = [hidden[:, a:b].argmax(axis=1) for a, b in pairwise(ends)]
        return self.rest_given(hidden, codes, rng)

    def scores(
        self, records: Mapping[str, Values], columns: Sequence[str] | None = None
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """(x', −∇E_xi(x')) of these rows, for the owner; None for a release that was loaded, which has no energy. Of
        some hidden columns, their coordinates: the score of these given the other hidden ones.

        One-hot coordinates of hidden labels get the noise that training gave them.
        """
        if self.energy is None:
            return None
        import jax
        import jax.numpy as jnp

        from nacre.synthesizers.ppem import losses
        from nacre.synthesizers.ppem.training import with_label_noise

        (x, _), _ = self.coding.encode(records)
        rows = with_label_noise(self.config, jnp.asarray(x), jax.random.key(0))
        found = jax.jit(lambda weights, r: losses.scores(_marginal(self.config.xi, weights), r))(self.energy, rows)
        places = list(self.coding.places(0, self.hidden if columns is None else columns))
        return np.asarray(rows, np.float64)[:, places], np.asarray(found, np.float64)[:, places]

    # ------------------------------------------------------------------ in and out

    def parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        config = self.config
        facts = {"rows": self.rows, "target": self.coding.layout.target, "hidden": list(self.hidden),
                 "width": config.generator_units, "depth": config.depth, "norm": config.norm,
                 "linear": config.linear}  # fmt: skip
        finish = {} if self.finish is None else {FINISH: self.finish}
        return facts, files.packed({**self.nets, **finish}, self.coding)

    @classmethod
    def from_parts(cls, schema: Schema, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> PpemModel:
        with reading_parts():
            layout = Layout.of(schema, facts["target"], "this release")
            parts = split(schema, layout.target, tuple(facts["hidden"]))
            width, depth, rows = (int(facts[name]) for name in ("width", "depth", "rows"))
            if not (1 <= width <= WIDEST and 0 <= depth <= DEEPEST and rows >= 0):
                raise ValueError(f"width {width}, depth {depth}, rows {rows}")
            plain = Coding(layout, parts, np.zeros(len(layout.numbers)), np.ones(len(layout.numbers)))
            config = TrainingConfig(plain.heads(0), plain.heads(1), layout.classes, (), width=width, depth=depth,
                        norm=str(facts["norm"]), linear=bool(facts["linear"]))  # fmt: skip
            nets: dict[str, Branched] = {"omega": config.omega, "v": config.v, "chooser": config.chooser}
            found = files.unpacked(arrays, nets, optional={FINISH: shapes(config)})
            return cls(files.coding_of(layout, parts, arrays), config, found, rows, finish=found.get(FINISH))


def _marginal(net: Branched, weights: Tree) -> Any:
    from nacre.synthesizers.ppem import losses

    return lambda x: losses.energy(net, weights, x, anchor=losses.ANCHOR)


def split(schema: Schema, target: str | None, hidden: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(hidden columns, all others but the class). SchemaError for a name that is not modelled, or nothing left."""
    for name in hidden:
        if name not in schema.modelled:
            raise SchemaError(f"hide: {name!r} is not a modelled column; choose among {choices(name, schema.modelled)}")
    rest = tuple(n for n in schema.modelled if n not in hidden and n != target)
    if not rest:
        raise SchemaError("hide: no column is left to model given the hidden ones; hide fewer")
    return tuple(n for n in schema.modelled if n in hidden), rest
