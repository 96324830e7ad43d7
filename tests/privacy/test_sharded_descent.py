"""Descent on four devices of one host against one device: the same law, coins per shard, and noise once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


def child(folder, devices: int) -> dict:
    """The figures of `sharded_child` in a process that sees so many devices."""
    path = folder / f"{devices}.json"
    flags = f"--xla_cpu_multi_thread_eigen=false --xla_force_host_platform_device_count={devices}"
    flags = f"{os.environ.get('XLA_FLAGS', '')} {flags}"
    # NPROC: threads enough for all devices to wait at once. Few cores alone would give just one thread per device.
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "NPROC": "16"}
    command = [sys.executable, "-m", "tests.privacy.sharded_child", str(path)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-1500:]
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    return child(tmp_path_factory.mktemp("four"), 4)


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    return child(tmp_path_factory.mktemp("one"), 1)


def test_everybody_and_the_same_noise_give_the_same_weights(one, four):
    """Without sampling the shards change nothing but the order of a float sum; were noise drawn per shard, or added
    before the shards are, the weights would be off by several noise scales."""
    assert (one["devices"], four["devices"]) == (1, 4)
    np.testing.assert_allclose(four["everybody"], one["everybody"], rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(four["plain"], one["plain"], rtol=2e-4, atol=2e-5)


def test_every_unit_has_one_coin_of_its_own(four):
    """Each unit enters whole or not at all, as the coins of its shard say; no shard repeats another's coins."""
    entered = np.array(four["entered"])
    assert set(np.unique(entered)) == {0.0, 1.0}
    assert np.array_equal(entered, np.array(four["by_hand"]))
    words = [tuple(w) for w in four["words"]]
    assert len(set(words)) == 4 and not set(words[0]) & set(words[1])


def test_the_coins_have_the_planned_chance_and_are_independent(four):
    """12,180 coins of chance 0.3: their mean, and the correlations of the shards' batch sizes, within 4.5 standard
    errors (false alarm below 1e-4)."""
    entered = np.array(four["entered"])
    assert abs(entered.mean() - 0.3) < 4.5 * np.sqrt(0.21 / entered.size)
    sizes = np.stack([part.sum(axis=1) for part in np.array_split(entered, 4, axis=1)])
    correlations = np.corrcoef(sizes)[np.triu_indices(4, 1)]
    assert np.abs(correlations).max() < 4.5 / np.sqrt(entered.shape[0])


def test_sampled_training_still_learns_the_same_thing(one, four):
    """Other coins, the same noise: the weights differ by what sampling does, and have the same signs."""
    assert not np.allclose(four["sampled"], one["sampled"], atol=1e-3)
    assert four["sampled"][0] > 0 > four["sampled"][1]
