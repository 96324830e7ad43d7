"""What a training is made of: networks, loss, scheme, and how the critic is kept in check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from nacre.synthesizers.parts.heads import Heads
from nacre.typed import Array

if TYPE_CHECKING:
    import jax


@dataclass(frozen=True)
class CriticConfig:
    """An autoencoder whose code carries the kernel. It is trained to minimise
    rebuild·(AE_x + AE_y) − pull·D − rank·H + steep·penalty, with D the root of the squared MMD or, without `root`,
    the squared MMD itself. `clamp`: weights of the encoder are cut to ±clamp before each step (0: not). `warm`: 100
    steps instead of `turns` for the first 25 steps of the generator and at every 500th (Li and others 2017)."""

    rebuild: float = 1.0
    pull: float = 1.0
    rank: float = 0.0
    root: bool = True
    clamp: float = 0.0
    steep: float = 1.0
    warm: bool = False
    rank_in_generator: bool = False  # as printed; it rewards the generator for breaking the constraint


@dataclass(frozen=True)
class TrainingConfig:
    """`generator` turns noise (and a condition) into rows; `critic` is a discriminator ("ce") or an encoder, with the
    decoder `back` ("mmd" with an adversarial kernel); without a critic the kernel is fixed. A net has `start(key)` and
    `net(weights, inputs)`. `scales`: bandwidths, for a fixed kernel in units of `Data.distance`. `by_weight`: batches
    are drawn in proportion to the weights and the plain loss is used."""

    generator: Any
    loss: str = "mmd"
    scheme: str = "sniw"
    critic: Any = None
    back: Any = None
    critic_config: CriticConfig = CriticConfig()
    heads: Heads | None = None
    latent: int = 64
    batch: int = 256
    groups: int = 7
    form: str = "u"
    scales: tuple[float, ...] = (0.125, 0.25, 0.5, 1.0, 2.0)
    turns: int = 5
    rate: float = 1e-3
    critic_rate: float = 1e-3
    optimiser: str = "adam"
    flat: float = 0.1  # weight of the discriminator's penalty
    memory: float = 0.999  # of the averaged generator
    by_weight: bool = False


class Batch(NamedTuple):
    """Rows of one step, their weights, and their conditions."""

    rows: jax.Array
    weights: jax.Array
    given: jax.Array


class Data(NamedTuple):
    """Rows and weights of mean 1: arguments of compiled code, never constants of it. `upto`: cumulative probability in
    units of 2⁻³², by which rows are drawn when weights do not enter the loss; `given`: conditions, [n, 0] without;
    `distance`: the median distance of rows."""

    rows: Array
    weights: Array
    upto: Array
    given: Array
    distance: Any
