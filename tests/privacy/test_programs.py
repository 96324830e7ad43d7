"""Compiled programs tell the number of rows by their shapes: those that see private rows stay off the disk."""

from __future__ import annotations

import os
from pathlib import Path

import jax
import jax.numpy as jnp

from nacre.privacy import unit_arrays

OPTION = "jax_persistent_cache_min_compile_time_secs"


def test_no_program_of_the_room_is_kept_on_disk(monkeypatch):
    monkeypatch.setattr(unit_arrays, "NEVER", 1e9)  # as shipped; see conftest.py

    def seven_sides(x):
        return jnp.sin(x) @ x.T

    def kept():
        return [p.name for p in Path(os.environ["JAX_COMPILATION_CACHE_DIR"]).iterdir() if "seven_sides" in p.name]

    before = getattr(jax.config, OPTION)
    jax.config.update(OPTION, 0.0)
    try:
        with unit_arrays.no_cache_on_disk():
            jax.jit(seven_sides)(jnp.ones((7, 7)))
        assert not kept()
        assert getattr(jax.config, OPTION) == 0.0
        jax.jit(seven_sides)(jnp.ones((6, 7)))
        assert kept(), "the cache was not in use, so nothing was shown"
    finally:
        jax.config.update(OPTION, before)
