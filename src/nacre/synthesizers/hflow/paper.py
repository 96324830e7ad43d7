"""`hflow-paper`: DP-HFlow as published (Lee, Kim, Jeong, Ro), with what it leaves open set by specs/dphflow.md 4.

Three blocks of spline and rank-1 map, codes for labels, public scales only, AdaBelief at a constant rate, no average.
Errata applied: bounds and categories are public (E2), whole numbers and zero-inflated columns are dequantised (E5),
the linear maps stay invertible (E8), noise is calibrated by privacy-loss distributions (E4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nacre.nets.flow_shape import LINEAR, MOST_SIZE
from nacre.synthesizers.hflow.method import DECAYS, Hflow
from nacre.synthesizers.hflow.model import SPACES
from nacre.synthesizers.options import MOST_STEPS, one_of, positive, share, truth, whole


@dataclass(frozen=True)
class HflowPaper(Hflow):
    """The options of `hflow` with the published values as defaults."""

    name: ClassVar[str] = "hflow-paper"

    warm: float = share(0.0)
    marginals: float = share(0.0)
    labels: bool = truth(False)
    space: str = one_of("uniform", SPACES)
    blocks: int = whole(3, saved=MOST_SIZE)
    linear: str = one_of("low-rank", LINEAR)
    batch: int = whole(1024)
    steps: int = whole(2300, most=MOST_STEPS)
    rate: float = positive(1e-3)
    decay: str = one_of("constant", DECAYS)
    averaging: float = share(0.0)
