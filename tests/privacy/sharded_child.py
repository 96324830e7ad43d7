"""What `test_sharded_descent` runs where JAX sees several devices: python -m tests.privacy.sharded_child FILE."""

from __future__ import annotations

import json
import sys
from typing import Any

import jax
import numpy as np
from tests.privacy import logistic
from tests.privacy_contract import checks

from nacre.privacy.plan import Part
from nacre.privacy.training import descent, poisson, stream, unit_arrays

ROWS = 203  # not a multiple of the devices
KEY = np.arange(4, dtype=np.uint32)


def entered(q: float, steps: int, devices: int) -> Any:
    """[steps, units]: which units the descent lets in, by a query that tells one number per unit."""
    table = np.arange(1, ROWS + 1, dtype=np.float32)
    planned = logistic.entry(q=q, steps=1, parts=(Part("here", clip=None, sigma=0.0),))
    job = descent.Descent(planned, tell, None, 1.0, 8, 0, devices)  # type: ignore[arg-type]
    units = unit_arrays.device_units(unit_arrays.single({"place": table}), devices)
    sums = jax.jit(job.clipped_sums)
    # Each step is waited for: two programs whose devices wait for each other, under way at once, can block all threads.
    return np.array([np.asarray(sums({}, units, KEY, np.int32(step))["here"]) for step in range(steps)])


def tell(state: Any, unit: Any, key: Any) -> dict[str, Any]:
    return {"here": jax.nn.one_hot(unit["place"].astype(int) - 1, ROWS)}


def fitted(query: Any, **changes: Any) -> list[float]:
    planned = logistic.entry(**changes)
    room = logistic.room(logistic.people(ROWS), planned, checks.FixedNoise(1))
    return logistic.fit(room, planned, query, units=ROWS).tolist()


def main() -> dict[str, Any]:
    devices = jax.local_device_count()
    size = -(-(ROWS + 1) // devices)
    coins = jax.jit(lambda step, shard: poisson.coins(KEY, size, step, 0.3, shard))
    by_hand = [np.concatenate([coins(step, shard) for shard in range(devices)]) for step in range(60)]
    words = [np.asarray(stream.words(KEY, 64, 0, stream.COINS, s)).tolist() for s in range(devices)]
    return {
        "devices": devices,
        "entered": entered(0.3, 60, devices).tolist(),
        "by_hand": np.array(by_hand)[:, :ROWS].astype(float).tolist(),
        "words": words,
        "everybody": fitted(logistic.TAPPED, q=1.0),
        "plain": fitted(logistic.plain, q=1.0),
        "sampled": fitted(logistic.TAPPED),
    }


if __name__ == "__main__":
    with open(sys.argv[1], "w") as out:
        json.dump(main(), out)
