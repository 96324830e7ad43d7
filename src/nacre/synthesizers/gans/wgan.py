"""`wgan`: WGAN-GP over all columns (Gulrajani and others 2017; specs/ppem.md 8). Promises nothing.

Of a table of a single number only slopes above 1 are penalised (`parts.lipschitz.penalty_at` says why)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nacre.nets.branched import Branched
from nacre.synthesizers.gans.config import TrainingConfig
from nacre.synthesizers.gans.method import GanMethod
from nacre.typed import Array, State, Tree

if TYPE_CHECKING:
    import jax

PENALTY_WEIGHT = 10.0


@dataclass(frozen=True)
class WganConfig(TrainingConfig):
    @property
    def critic(self) -> Branched:
        return Branched((self.heads.width, *self.condition), 1, self.width)

    def start_critic(self, key: jax.Array) -> State:
        return self.critic.start(key)[0]

    def value(self, critic: Any, x: Any, given: Any) -> Any:
        from nacre.nets.branched import forward

        return forward(self.critic, critic, self.inputs(x, given))[:, 0]

    def critic_loss(self, critic: Tree, real: Any, fake: Any, given: Any, key: jax.Array) -> jax.Array:
        """mean f(fake) − mean f(real) + 10 (‖∇f‖ − 1)² between them."""
        import jax

        from nacre.synthesizers.parts.lipschitz import penalty_between

        mix = jax.random.uniform(key, (len(real), 1))
        steep = penalty_between(lambda x: self.value(critic, x, given), real, fake, mix)
        return (self.value(critic, fake, given) - self.value(critic, real, given) + PENALTY_WEIGHT * steep).mean()

    def generator_loss(self, critic: Tree, fake: Array, given: Array) -> jax.Array:
        return -self.value(critic, fake, given).mean()


@dataclass(frozen=True)
class Wgan(GanMethod):
    name: ClassVar[str] = "wgan"
    config: ClassVar[type[TrainingConfig]] = WganConfig
