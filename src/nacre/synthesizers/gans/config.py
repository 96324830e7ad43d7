"""What an adversarial method is made of: its critic, and the two losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nacre.nets.branched import Branched
from nacre.synthesizers.parts.heads import Heads
from nacre.typed import Array, State, Tree

if TYPE_CHECKING:
    import jax


@dataclass(frozen=True)
class TrainingConfig:
    """Subclasses say how rows are judged. `given` is the one-hot class of each row, or None.

    `code`: 0 where the generator gives a row, or the size of the code that a decoder turns into one.
    """

    heads: Heads
    classes: int
    width: int = 256
    latent: int = 128
    batch: int = 128
    code: int = 0
    turns: ClassVar[int] = 5
    norm: ClassVar[str] = "layer"
    critic_rate: ClassVar[float] = 4e-4
    generator_rate: ClassVar[float] = 2e-4

    @property
    def condition(self) -> tuple[int, ...]:
        return (self.classes,) if self.classes > 1 else ()

    @property
    def generator(self) -> Branched:
        out = self.code or self.heads.width
        return Branched((self.latent, *self.condition), out, self.width, 1, self.norm, True)

    @property
    def decoder(self) -> Branched | None:
        return Branched((self.code,), self.heads.width, self.width) if self.code else None

    def start_critic(self, key: jax.Array) -> State:
        raise NotImplementedError

    def critic_loss(self, critic: Tree, real: Array, fake: Array, given: Array, key: jax.Array) -> jax.Array:
        raise NotImplementedError

    def generator_loss(self, critic: Tree, fake: Array, given: Array) -> jax.Array:
        raise NotImplementedError

    def inputs(self, x: Array, given: Array) -> tuple[Any, ...]:
        return (x,) if given is None else (x, given)
