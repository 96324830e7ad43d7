"""`hflow-paper`: DP-HFlow as published (Lee, Kim, Jeong, Ro), with what it leaves open set by specs/dphflow.md 4.

Three blocks of spline and rank-1 map, codes for labels, public scales only, AdaBelief at a constant rate, no average.
Errata applied: bounds and categories are public (E2), whole numbers and zero-inflated columns are dequantised (E5),
the linear maps stay invertible (E8), noise is calibrated by privacy-loss distributions (E4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nacre.synthesizers.hflow.method import Hflow


@dataclass(frozen=True)
class HflowPaper(Hflow):
    """The options of `hflow` with the published values as defaults."""

    name: ClassVar[str] = "hflow-paper"

    warm: float = 0.0
    marginals: float = 0.0
    labels: bool = False
    space: str = "uniform"
    blocks: int = 3
    linear: str = "low-rank"
    batch: int = 1024
    steps: int = 2300
    rate: float = 1e-3
    decay: str = "constant"
    averaging: float = 0.0
