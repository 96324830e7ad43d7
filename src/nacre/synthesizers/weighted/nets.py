"""Networks as training sees them: `start(key)` gives weights, a call runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nacre.nets.branched import Branched, forward
from nacre.typed import State

if TYPE_CHECKING:
    import jax


@dataclass(frozen=True)
class Plain:
    """A small dense network without running averages: a row's output depends on that row alone."""

    net: Branched

    def start(self, key: jax.Array) -> State:
        return self.net.start(key)[0]

    def __call__(self, weights: Any, inputs: Sequence[Any]) -> Any:
        return forward(self.net, weights, inputs)
