"""Whether keys and caps hold, and how numbers of rows and times between them are distributed."""

from __future__ import annotations

import numpy as np

from nacre.metrics.columns import ks
from nacre.metrics.databases.linked import Level, Linked, LinkedPair
from nacre.metrics.metric import SHARE, Metric, apart
from nacre.metrics.score import Measured, Score


def _kept(pair: LinkedPair) -> Measured:
    return Measured(tuple(Score(name, value, rows=pair.ours.units) for name, value in pair.ours.kept.items()))


def _cardinality(pair: LinkedPair) -> Measured:
    each = {}
    for ours, real in zip(pair.ours.children, pair.real.children, strict=True):
        each[f"{pair.real.above(real).name}.{ours.name} count"] = pair.ours.owned_rows(ours), pair.real.owned_rows(real)
    return _mean("cardinality_ks", each, pair)


def gaps(tables: Linked, level: Level) -> np.ndarray | None:
    """How far the order of a row lies from that of the one before under the same parent, in the column's unit (seconds
    for moments); None where order is none or not learnt."""
    if level.key is None or level.key.order is None or level.key.order not in level.domain.names:
        return None
    values = level.domain[level.key.order].raw(level.frame[level.key.order])
    found = values[level.successive + 1] - values[level.successive]
    return found[~np.isnan(found)]


def _gaps(pair: LinkedPair) -> Measured:
    each = {}
    for ours, real in zip(pair.ours.children, pair.real.children, strict=True):
        a, b = gaps(pair.ours, ours), gaps(pair.real, real)
        if a is not None and b is not None:
            each[f"{ours.name} gap"] = a, b
    return _mean("gap_ks", each, pair)


def _mean(name: str, each: dict[str, tuple[np.ndarray, np.ndarray]], pair: LinkedPair) -> Measured:
    """Rows of one unit go together: no interval."""
    known = {what: (a, b) for what, (a, b) in each.items() if len(a) or len(b)}
    found = {what: ks(a, b).value if len(a) and len(b) else 1.0 for what, (a, b) in known.items()}
    if not found:
        return Measured(())
    mean = Score(name, float(np.mean(list(found.values()))), rows=pair.units)
    return Measured((mean, *(Score(name, v, columns=(what,), rows=pair.units) for what, v in found.items())))


def _whole(name: str, text: str, headline: int | None = None) -> Metric:
    return Metric(name, "higher", SHARE, "1", ("synthetic",), text, linked=_kept, headline=headline)


METRICS = (
    _whole("integrity", "share of owned rows whose keys all lead to a row and whose own id is theirs alone", 19),
    _whole("caps_kept", "share of rows that own no more rows than the cap of the key"),
    apart("cardinality_ks", "largest difference of the distribution functions of numbers of rows owned, mean over keys",
          _cardinality),
    apart("gap_ks", "the same of the time, or step, from a row to the next one, mean over ordered keys", _gaps),
)  # fmt: skip
