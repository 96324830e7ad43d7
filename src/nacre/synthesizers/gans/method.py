"""What the adversarial methods share: options, the plan (one look at the raw rows), and the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from nacre.errors import NacreError
from nacre.nets.branched import check_size
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan
from nacre.synthesizers.base import Progress, Synthesizer, silent
from nacre.synthesizers.basis import FromRows
from nacre.synthesizers.gans.config import TrainingConfig
from nacre.synthesizers.gans.model import GanModel
from nacre.synthesizers.options import MOST_STEPS, whole
from nacre.synthesizers.parts import revealed
from nacre.synthesizers.parts.generator_model import GENERATOR
from nacre.synthesizers.parts.layout import Layout
from nacre.table import Schema


@dataclass(frozen=True)
class GanMethod(Synthesizer):
    """`steps`: steps of the critic. The class, where a target is named, is drawn by its share and is a condition."""

    config: ClassVar[type[TrainingConfig]]
    model: ClassVar[type[GanModel]] = GanModel

    steps: int = whole(30_000, most=MOST_STEPS)
    batch: int = whole(128)
    width: int = whole(256)

    def check(self) -> None:
        check_size(self.width)
        if self.batch < 2:
            raise NacreError(f"batch={self.batch}: judges compare the rows of a batch; expected at least 2")

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        return revealed.reveal_plan(self.name, schema, rows, budget, before)

    def forecast(self, plan: Plan, schema: Schema, rows: int | None) -> FromRows:
        return FromRows(raw=self.steps * self.batch)

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> GanModel:
        import jax
        import numpy as np

        from nacre.synthesizers.gans.training import train
        from nacre.synthesizers.parts.adversarial import prepared

        layout = Layout.of(curator.schema, revealed.class_column(curator.schema, self.target), self.name)
        progress("reading rows", 0, None)
        names = tuple(n for n in curator.schema.modelled if n != layout.target)
        found = revealed.read(curator, plan, layout, (names,))
        config: Any = self.config(found.coding.heads(0), layout.classes, self.width, batch=self.batch)
        nothing = np.zeros((len(found.kinds), 0))
        data = prepared(nothing, found.vectors[0], found.kinds, layout.classes)
        nets = train(data, config, self.steps, jax.random.key(seed), lambda done, of: progress("training", done, of))
        kinds = {GENERATOR: config.generator, "decoder": config.decoder}
        whole = {name: (kinds[name], weights) for name, weights in nets.items()}
        return GanModel(found.coding, whole, found.shares, plan.rows or len(found.kinds))
