"""`steingan`: a generator that follows Stein's variational descent of an energy (Wang and Liu 2016). Promises nothing.

The energy is an autoencoder's error, trained by contrast E(x) − E(G(z)); beyond the margin more contrast is worth
nothing, or it would run away. The generator moves its rows along φ_i = mean_j [−k(y_j, y_i) ∇E(y_j) + ∇_{y_j} k(y_j,
y_i)] (specs/ppem.md 8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nacre.synthesizers.gans.config import TrainingConfig
from nacre.synthesizers.gans.ebgan import EbganConfig
from nacre.synthesizers.gans.method import GanMethod
from nacre.typed import Array

if TYPE_CHECKING:
    import jax


@dataclass(frozen=True)
class SteinConfig(EbganConfig):
    def generator_loss(self, critic: Any, fake: Array, given: Any) -> jax.Array:
        """A loss whose gradient in the rows is −φ: Σ_i −φ_i·y_i / b with φ held fixed."""
        import jax

        still = jax.lax.stop_gradient(fake)
        slope = jax.grad(lambda y: self.energy(critic, y, given)[0].sum())(still)
        return -(jax.lax.stop_gradient(direction(still, slope)) * fake).sum() / len(fake)


def direction(y: Any, slope: Array) -> Any:
    """φ [n, d] of rows y with energy gradients `slope`; Gaussian kernel, median bandwidth of the batch.

    ∇_{y_j} k(y_j, y_i) = −(y_j − y_i)/h² k = (y_i − y_j)/h² k.
    """
    import jax.numpy as jnp

    from nacre.distances.kernels import squared_distances

    r2 = squared_distances(y, y)
    h2 = jnp.maximum(jnp.median(r2), 1e-6)
    k = jnp.exp(-0.5 * r2 / h2)
    push = (k.sum(axis=0)[:, None] * y - k.T @ y) / h2
    return (-k.T @ slope + push) / len(y)


@dataclass(frozen=True)
class Steingan(GanMethod):
    name: ClassVar[str] = "steingan"
    config: ClassVar[type[TrainingConfig]] = SteinConfig
