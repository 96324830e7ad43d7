"""The model of methods that release a generator: networks run by NumPy, class shares, public bounds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.nets.branched import Branched, forward
from nacre.synthesizers.parts.coding import Coding
from nacre.synthesizers.parts.conditioning import RowsByRejection
from nacre.table import Condition, Schema
from nacre.table.encoding import Values
from nacre.table.grid import Grid

GENERATOR = "maker"  # its name in files


class DrawsByClass(RowsByRejection):
    """Draws the class of a row by its share, where there is one, and the rest given it. `where` on the class is exact
    and direct; on other columns rows are drawn until enough satisfy it, which is slow for rare conditions."""

    shares: np.ndarray

    @property
    def class_column(self) -> str | None:
        raise NotImplementedError

    def take_direct(self, where: dict[str, Condition]) -> np.ndarray:
        """Class shares given the condition on the class.

        Warns where only classes are asked for whose share came out as zero: the generator was never trained on them,
        and their rows say nothing of the table's.
        """
        name = self.class_column
        if name is None or name not in where:
            return self.shares
        mask = where.pop(name).mask(Grid.of(self.schema.columns[name]))
        shares = self.shares * mask
        if not shares.sum() > 0:
            warnings.warn(
                f"{name}: the share of what is asked for came out as zero, so nothing was learnt of it; its rows are "
                "those of an untrained network. Leave it out, or fit with a larger epsilon",
                stacklevel=2,
            )
            shares = mask
        return shares / shares.sum()


class GeneratorModel(DrawsByClass):
    """`nets`: name -> (architecture, weights): the generator, and perhaps a `decoder` of what it makes. Labels are
    drawn from the logits, or with `exact` are the largest output."""

    def __init__(
        self,
        coding: Coding,
        nets: Mapping[str, tuple[Branched, Any]],
        shares: np.ndarray,
        rows: int,
        exact: bool = False,
    ) -> None:
        self.coding, self.nets, self.shares, self.rows, self.exact = coding, dict(nets), shares, rows, exact

    @property
    def schema(self) -> Schema:
        return self.coding.layout.schema

    @property
    def class_column(self) -> str | None:
        return self.coding.layout.target

    @property
    def generator(self) -> Branched:
        return self.nets[GENERATOR][0]

    def some_rows(self, rows: int, rng: np.random.Generator, fixed: np.ndarray) -> dict[str, Values]:
        kinds = rng.choice(len(fixed), rows, p=fixed)
        inputs = [rng.standard_normal((rows, self.generator.inputs[0])).astype(np.float32)]
        if len(self.generator.inputs) > 1:
            inputs.append(np.eye(len(fixed), dtype=np.float32)[kinds])
        raw = forward(*self.nets[GENERATOR], inputs)
        if "decoder" in self.nets:
            raw = forward(*self.nets["decoder"], (raw,))
        heads = self.coding.heads(0)
        vector, codes = heads.whole(raw) if self.exact else heads.hard(raw, rng)
        return self.coding.decode((vector,), (codes,), kinds)
