"""The networks of PPEM before the first step, for tests of what is around the training."""

from __future__ import annotations

import jax
import numpy as np

from nacre.synthesizers.ppem import training

# Compiled whole: one operation at a time, each would be a program of its own.
started = jax.jit(training.start, static_argnums=0)


def untrained(data, config, lanes, progress):
    """In the place of `training.train`."""
    state = jax.tree.map(np.asarray, started(config, jax.random.key(0)))
    return [{**state["generators"], "chooser": state["critics"]["chooser"], "xi": state["critics"]["xi"]}] * len(lanes)
