"""`medgan`: a generator of codes and an autoencoder's decoder (Choi and others 2017). Promises nothing.

The autoencoder is trained on the rows first (squared error of numbers, cross-entropy of labels); the discriminator
sees decoded rows beside real ones, each with the mean of its batch appended, and the decoder goes on learning with the
generator (specs/ppem.md 8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nacre.nets.branched import Branched
from nacre.synthesizers.gans.config import TrainingConfig
from nacre.synthesizers.gans.method import GanMethod
from nacre.typed import Array, State, Tree

if TYPE_CHECKING:
    import jax

CODE = 128


@dataclass(frozen=True)
class MedganConfig(TrainingConfig):
    code: int = CODE
    norm: ClassVar[str] = "batch"
    turns: ClassVar[int] = 2

    @property
    def critic(self) -> Branched:
        return Branched((self.heads.width, self.heads.width, *self.condition), 1, self.width)

    @property
    def coder(self) -> Branched:
        return Branched((self.heads.width,), CODE, self.width)

    def start_critic(self, key: jax.Array) -> State:
        return self.critic.start(key)[0]

    def value(self, critic: Any, x: Any, given: Any) -> Any:
        import jax.numpy as jnp

        from nacre.nets.branched import forward

        mean = jnp.broadcast_to(x.mean(axis=0), x.shape)
        return forward(self.critic, critic, (x, mean) if given is None else (x, mean, given))[:, 0]

    def critic_loss(self, critic: Tree, real: Array, fake: Array, given: Array, key: jax.Array) -> jax.Array:
        import jax

        return (
            jax.nn.softplus(-self.value(critic, real, given)).mean()
            + jax.nn.softplus(self.value(critic, fake, given)).mean()
        )

    def generator_loss(self, critic: Tree, fake: Array, given: Array) -> jax.Array:
        import jax

        return jax.nn.softplus(-self.value(critic, fake, given)).mean()

    def rebuilding_loss(self, coder: Any, decoder: Any, x: Any) -> jax.Array:
        """Squared error of numbers plus cross-entropy of labels, mean over rows."""
        import jax
        import jax.numpy as jnp

        from nacre.nets.branched import forward

        assert self.decoder is not None
        raw = forward(self.decoder, decoder, (forward(self.coder, coder, (x,)),))
        n = self.heads.numbers
        loss = ((raw[:, :n] - x[:, :n]) ** 2).sum(axis=1)
        if self.heads.sizes:
            owner = jnp.asarray(self.heads.owner)
            logits = raw[:, n:].T
            top = jax.lax.stop_gradient(jax.ops.segment_max(logits, owner, len(self.heads.sizes)))[owner]
            whole = jnp.log(jax.ops.segment_sum(jnp.exp(logits - top), owner, len(self.heads.sizes)))[owner] + top
            loss += ((whole - logits) * x[:, n:].T).sum(axis=0)
        return loss.mean()


@dataclass(frozen=True)
class Medgan(GanMethod):
    name: ClassVar[str] = "medgan"
    config: ClassVar[type[TrainingConfig]] = MedganConfig
