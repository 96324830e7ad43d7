"""Compiled programs tell the number of rows by their shapes: those that see private rows stay off the disk."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax.experimental.compilation_cache import compilation_cache
from tests.privacy import logistic
from tests.privacy_contract import teaching

from nacre.privacy.training import unit_arrays

FOLDER = "jax_compilation_cache_dir"
OPTION = "jax_persistent_cache_min_compile_time_secs"


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache of this test alone that keeps whatever it may."""
    monkeypatch.setattr(unit_arrays, "NEVER", 1e9)  # as shipped; see conftest.py
    before = {option: getattr(jax.config, option) for option in (OPTION, FOLDER)}
    jax.config.update(OPTION, 0.0)
    jax.config.update(FOLDER, str(tmp_path))
    compilation_cache.reset_cache()
    yield tmp_path
    for option, value in before.items():
        jax.config.update(option, value)
    compilation_cache.reset_cache()


def test_no_program_of_the_room_is_kept_on_disk(own_cache):
    def seven_sides(x):
        return jnp.sin(x) @ x.T

    def kept():
        return [p.name for p in own_cache.iterdir() if "seven_sides" in p.name]

    with unit_arrays.no_cache_on_disk():
        jax.jit(seven_sides)(jnp.ones((7, 7)))
    assert not kept()
    assert getattr(jax.config, OPTION) == 0.0
    jax.jit(seven_sides)(jnp.ones((6, 7)))
    assert kept(), "the cache was not in use, so nothing was shown"


@pytest.mark.parametrize("door", ["descend", "teach"])
def test_one_row_more_leaves_no_other_program_on_disk(door, own_cache):
    """The programs of a door at two tables, those of the second table's sizes compiled anew."""

    def kept(rows):
        if door == "descend":
            planned = logistic.entry(steps=1)
            logistic.fit(logistic.room(logistic.people(rows), planned), planned, logistic.plain)
        else:
            planned = teaching.entry(steps=1)
            teaching.fit(logistic.room(logistic.people(rows), planned), planned)
        return {p.name for p in own_cache.iterdir()}

    jax.jit(lambda x: jnp.cos(x) @ x)(jnp.ones((5, 5)))
    first = kept(171)
    assert first, "the cache was not in use, so nothing was shown"
    assert kept(172) == first
