"""`ebgan`: energy-based GAN, an autoencoder's error as energy (Zhao and others 2017). Promises nothing.

specs/ppem.md 8. Without a gradient penalty: the energies of PPEM have one, and on tables the difference shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nacre.nets.branched import Branched
from nacre.synthesizers.gans.config import TrainingConfig
from nacre.synthesizers.gans.method import GanMethod
from nacre.typed import Array, State

if TYPE_CHECKING:
    import jax

MARGIN = 10.0
APART = 0.1  # weight of the pulling-away term
CODE = 64


@dataclass(frozen=True)
class EbganConfig(TrainingConfig):
    turns: ClassVar[int] = 1

    @property
    def coder(self) -> Branched:
        return Branched((self.heads.width, *self.condition), CODE, self.width)

    @property
    def back(self) -> Branched:
        return Branched((CODE,), self.heads.width, self.width)

    def start_critic(self, key: jax.Array) -> State:
        import jax

        one, two = jax.random.split(key)
        return {"coder": self.coder.start(one)[0], "back": self.back.start(two)[0]}

    def energy(self, critic: State, x: Array, given: Array) -> tuple[Any, Any]:
        """(D(x) = ‖Dec(Enc(x)) − x‖², the code)."""
        from nacre.nets.branched import forward

        code = forward(self.coder, critic["coder"], self.inputs(x, given))
        return ((forward(self.back, critic["back"], (code,)) - x) ** 2).sum(axis=1), code

    def critic_loss(self, critic: State, real: Array, fake: Array, given: Array, key: jax.Array) -> jax.Array:
        import jax.numpy as jnp

        far = jnp.maximum(0.0, MARGIN - self.energy(critic, fake, given)[0])
        return (self.energy(critic, real, given)[0] + far).mean()

    def generator_loss(self, critic: State, fake: Array, given: Array) -> jax.Array:
        import jax.numpy as jnp

        energy, code = self.energy(critic, fake, given)
        unit = code / jnp.sqrt(jnp.sum(code**2, axis=1, keepdims=True) + 1e-12)
        n = len(code)
        cosines = (unit @ unit.T) ** 2
        return energy.mean() + APART * (cosines.sum() - jnp.trace(cosines)) / (n * (n - 1))


@dataclass(frozen=True)
class Ebgan(GanMethod):
    name: ClassVar[str] = "ebgan"
    config: ClassVar[type[TrainingConfig]] = EbganConfig
