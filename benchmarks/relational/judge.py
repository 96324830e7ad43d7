"""All figures of one database beside the private one and the units that were held out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa

from benchmarks.relational.tables import Frames, Relational
from nacre.metrics import METRICS
from nacre.metrics.databases.linked import Linked, LinkedPair
from nacre.metrics.databases.linking import link
from nacre.metrics.score import Measured
from nacre.table.simulate.planted import EFFECTS

PLANTED = {"two hops": "planted_error", "siblings": "planted_sibling_error", "lag": "planted_lag_error",
           "gap": "planted_gap_error"}  # fmt: skip


class Judge:
    """Holds the real units; what belongs to them alone is computed once."""

    def __init__(self, data: Relational, private: Frames, holdout: Frames, seed: int):
        self.data, self.seed = data, seed
        self._private, self._holdout = (link(frames, data.database) for frames in (private, holdout))

    def score(self, frames: Frames) -> dict[str, dict[str, float]]:
        """Figures by the name of the event they are about, "" for those of the whole database."""
        made = link(frames, self.data.database)
        found: dict[str, dict[str, float]] = {"": {}}
        for measured in (*self._distances(made), self._foreseen(made)):
            for s in measured.scores:
                if not s.columns:
                    found[""][s.metric] = s.value
        found[""] |= self._gaps(made)
        for event in self.data.events:
            figures = self._gaps(made, (event.name,))
            figures |= {s.metric: s.value for s in self._foreseen(made).scores if s.columns == (event.name,)}
            found[event.name] = figures
        if self.data.planted:
            tables = {name: pa.Table.from_pandas(frame, preserve_index=False) for name, frame in frames.items()}
            found[""] |= {PLANTED[e.name]: e.error(tables) for e in EFFECTS.values()}
        return found

    def _distances(self, made: Linked) -> list[Measured]:
        pair = LinkedPair(made, self._private, self.seed)
        known = {m.linked: None for m in METRICS.values() if m.linked is not None and "holdout" not in m.reads}
        return [computation(pair) for computation in known]

    def _foreseen(self, made: Linked) -> Measured:
        if made is not self._last[0]:
            self._last = made, self._models(made)
        return self._last[1]

    _last: tuple[Linked | None, Measured] = (None, Measured(()))

    def _models(self, made: Linked) -> Measured:
        computation = METRICS["auc_next"].linked
        assert computation is not None
        return computation(LinkedPair(made, self._holdout, self.seed, asked=self.data.events))

    @cached_property
    def _ceiling(self) -> Mapping[tuple[str, tuple[str, ...]], np.ndarray]:
        return self._models(self._private).resampled

    def _gaps(self, made: Linked, columns: tuple[str, ...] = ()) -> dict[str, float]:
        ours = self._foreseen(made).resampled
        gaps = {}
        for m in METRICS.values():
            key = (m.gap_of or "", columns)
            if key in ours and key in self._ceiling:
                gaps[m.name] = float(self._ceiling[key][0] - ours[key][0])
        return gaps
