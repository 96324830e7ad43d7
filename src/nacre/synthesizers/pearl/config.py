"""What `pearl-paper` and `merf` buy and how they train on it: public values, known without JAX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from nacre.synthesizers.pearl.generator import Dense
from nacre.synthesizers.pearl.upconv import Upconv, network


class Embedding(NamedTuple):
    """value [classes, F] as shares of rows, its noise (standard deviation of a coordinate), class shares, frequencies
    [k, width of the record], number of rows.

    Nothing else of the table is needed: it can be bought in one place and trained on in another."""

    value: Any
    noise: Any
    shares: Any
    frequencies: Any
    rows: Any


@dataclass(frozen=True)
class TrainingConfig:
    """How the network is trained. `outputs`: how categories enter (`exact`: their expectation given z;
    `straight-through`: hard Gumbel draws with soft gradients; `soft`: probabilities in place of categories, argmax when
    sampling); `kind`: "waves" for PEARL's features, "mixed" for DP-MERF's; `every`: generator steps per step of the
    critic, 0 without one; `picture`: height, width and channels where the numbers are pixels;
    `spread`: factors of the scale that the frequencies are mixed of."""

    numbers: int
    blocks: tuple[int, ...]
    classes: int
    outputs: str
    kind: str
    batch: int
    steps: int
    every: int
    rate: float = 0.01
    picture: tuple[int, int, int] | None = None
    spread: tuple[float, ...] = (1.0,)

    @property
    def network(self) -> Dense | Upconv:
        return network(self.picture, self.numbers + sum(self.blocks))
