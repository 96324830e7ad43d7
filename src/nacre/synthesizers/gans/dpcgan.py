"""`dpcgan`: a conditional GAN whose discriminator learns by DP-SGD (Torkzadehmahani and others 2019).

The class is drawn by its noisy share and given to both networks; the loss is the logistic one. Real and generated rows
are clipped apart, so that one row moves the noisy sum by at most the clip (specs/dphflow.md 8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from nacre.synthesizers.gans.dpgan import Dpgan, DpganConfig
from nacre.typed import Array


@dataclass(frozen=True)
class DpcganConfig(DpganConfig):
    penalty_weight: ClassVar[float] = 0.0

    def of_real(self, value: Array) -> Any:
        import jax

        return jax.nn.softplus(-value)

    def of_fake(self, value: Array) -> Any:
        import jax

        return jax.nn.softplus(value)

    def of_generator(self, value: Array) -> Any:
        import jax

        return jax.nn.softplus(-value)


@dataclass(frozen=True)
class Dpcgan(Dpgan):
    name: ClassVar[str] = "dpcgan"
    kind: ClassVar[type[DpganConfig]] = DpcganConfig
    conditional: ClassVar[bool] = True
