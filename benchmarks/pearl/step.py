"""How long a step of `pearl-paper` takes on images: on the processor, and on the accelerator where there is one.

A step costs the same whatever was bought, so the sums are made up and no image is read. A whole training takes as many
steps as the settings say; on a processor that is long, so steps are timed there and not trainings.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

STEPS = 10  # of one timed run: a multiple of the critic's five
REPEATS = 4  # and the best of them counts
CLASSES = 10


def step_times(settings: Mapping[str, int], shape: tuple[int, int] = (28, 28)) -> dict[str, float]:
    """`step_processor_ms` (CPU time over all cores), and `step_ms` (wall time) where an accelerator is found."""
    import jax

    found = {"step_processor_ms": 1e3 * _best(settings, shape, jax.devices("cpu")[0], time.process_time)}
    device = jax.devices()[0]
    if device.platform != "cpu":
        found["step_ms"] = 1e3 * _best(settings, shape, device, time.perf_counter)
    return found


def _best(settings: Mapping[str, int], shape: tuple[int, int], device: Any, clock: Any) -> float:
    """Seconds per step, compilation left out."""
    import jax

    from nacre.synthesizers.pearl import training

    with jax.default_device(device):
        config, released = _made_up(settings, shape)
        state, log_start = training.begin(released, config, jax.random.key(0))
        took = []
        for repeat in range(REPEATS + 1):
            key, start = jax.random.key(repeat), clock()
            numbers = np.arange(repeat * STEPS, (repeat + 1) * STEPS, dtype=np.int32)
            state = training.advance(state, log_start, key, released, config, numbers)
            jax.block_until_ready(state)
            took.append(clock() - start)
    return min(took[1:]) / STEPS


def _made_up(settings: Mapping[str, int], shape: tuple[int, int]) -> tuple[Any, Any]:
    """The game of the paper for images of that shape, and sums that nobody bought."""
    import jax.numpy as jnp

    from benchmarks.pearl.images import schema_of
    from nacre.synthesizers.parts.layout import Layout
    from nacre.synthesizers.pearl.config import Embedding
    from nacre.synthesizers.pearl.paper import PearlPaper

    method = PearlPaper(target="label", **settings)
    k, rng = method.frequencies, np.random.default_rng(0)
    t = rng.standard_normal((k, shape[0] * shape[1])) / 10
    value = rng.standard_normal((CLASSES, 2 * k)) * (0.1 / CLASSES) * k**-0.5
    made = Embedding(value, 1e-4, np.full(CLASSES, 1 / CLASSES), t, 60_000)
    config = method.config(Layout.of(schema_of(shape, None), "label", method.name))
    return config, Embedding(*(jnp.asarray(a, jnp.float32) for a in made))
