"""What the adversarial methods share: options, the plan (one look at the raw rows), and the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from nacre.errors import NacreError
from nacre.nets.branched import check_size
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan
from nacre.synthesizers.base import Progress, check_whole, refuse_tensors, refuse_unknown_target, silent
from nacre.synthesizers.gans.model import GanModel
from nacre.synthesizers.gans.rules import Rules
from nacre.synthesizers.parts import revealed
from nacre.synthesizers.parts.layout import Layout
from nacre.table import Schema


@dataclass(frozen=True)
class GanMethod:
    """`steps`: steps of the judge. The class, where a target is named, is drawn by its share and is a condition."""

    name: ClassVar[str]
    rules: ClassVar[type[Rules]]
    model: ClassVar[type[GanModel]] = GanModel

    target: str | None = None
    steps: int = 30_000
    batch: int = 128
    width: int = 256

    def __post_init__(self) -> None:
        check_whole(self, "steps", "batch", "width")
        check_size(self.width)
        if self.batch < 2:
            raise NacreError(f"batch={self.batch}: judges compare the rows of a batch; expected at least 2")

    @property
    def shown(self) -> int:
        return self.steps * self.batch

    def supports(self, schema: Schema) -> None:
        refuse_tensors(schema, self.name)
        refuse_unknown_target(schema, self.target)

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        return revealed.reveal_plan(self.name, schema, rows, budget, before)

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> GanModel:
        import jax
        import numpy as np

        from nacre.synthesizers.gans.training import train
        from nacre.synthesizers.ppem.training import prepared

        layout = Layout.of(curator.schema, revealed.class_column(curator.schema, self.target), self.name)
        progress("reading rows", 0, None)
        names = tuple(n for n in curator.schema.modelled if n != layout.target)
        found = revealed.read(curator, plan, layout, (names,))
        rules: Any = self.rules(found.coding.heads(0), layout.classes, self.width, batch=self.batch)
        nothing = np.zeros((len(found.kinds), 0))
        data = prepared(nothing, found.vectors[0], found.kinds, layout.classes, [1.0])
        nets = train(data, rules, self.steps, jax.random.key(seed), lambda done, of: progress("training", done, of))
        kinds = {"maker": rules.maker, "decoder": rules.decoder}
        whole = {name: (kinds[name], weights) for name, weights in nets.items()}
        return GanModel(found.coding, whole, found.shares, plan.rows or len(found.kinds))
