"""The networks and settings of one PPEM: everything that is fixed before training."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.nets.branched import Branched
from nacre.synthesizers.parts.heads import Heads

LATENT = 128


@dataclass(frozen=True)
class TrainingConfig:
    """`sets`: the coordinates of each hidden set in the vector of x'. `weight` is no part of it: it is traced, so that
    the control without penalty trains beside the method. Sizes as in specs/ppem.md 3.1, learning rates as in 4."""

    hidden: Heads
    visible: Heads
    classes: int
    sets: tuple[tuple[int, ...], ...]
    penalty: str = "normalised"
    level: float = 3.8415
    effect: float = 0.0
    tilted: bool = False
    steps: int = 30_000
    batch: int = 128
    width: int = 256
    depth: int = 1
    turns: int = 5
    margin: float = 10.0
    steep: float = 1.0
    rho: float = 1.0
    norm: str = "layer"
    activation: str = "leaky"
    energy_rate: float = 1e-3
    generator_rate: float = 5e-4
    generator_width: int = 0  # of the generators; 0: that of the energies
    linear: bool = False  # p(class | x') by a linear rule, from bought means, instead of a network

    @property
    def condition(self) -> int:
        """What the conditional pair is given: x' and the class."""
        return self.hidden.width + (self.classes if self.classes > 1 else 0)

    @property
    def xi(self) -> Branched:
        return Branched((self.hidden.width,), 1, self.width, 1, "none", False, self.activation)

    @property
    def gamma(self) -> Branched:
        return Branched((self.visible.width, self.condition), 1, self.width, 1, "none", False, self.activation)

    @property
    def generator_units(self) -> int:
        return self.generator_width or self.width

    @property
    def omega(self) -> Branched:
        return Branched((LATENT,), self.hidden.width, self.generator_units, self.depth, self.norm, True)

    @property
    def v(self) -> Branched:
        return Branched((LATENT, self.condition), self.visible.width, self.generator_units, self.depth, self.norm, True)

    @property
    def chooser(self) -> Branched:
        """p(class | x'): the class is part of x*, and rare classes are drawn by their probability."""
        if self.linear:
            return Branched((self.hidden.width,), max(self.classes, 1), 2 * self.hidden.width, 0)
        return Branched((self.hidden.width,), max(self.classes, 1), min(64, self.width))
