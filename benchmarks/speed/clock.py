"""Clocks of training steps and of doors. Imports the standard library alone: environments of other packages use it."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any


def accelerator() -> str | None:
    """What jax computes on, where that is not the processor."""
    import jax

    found = jax.devices()[0]
    return None if found.platform == "cpu" else found.device_kind


def best(
    run: Callable[[], Any], repeats: int, now: Callable[[], float] = time.process_time, most_seconds: float = 15.0
) -> float:
    """Seconds of the best of several runs, at least three if so many are asked for; a first run is not counted."""
    run()
    took: list[float] = []
    while len(took) < min(repeats, 3) or (len(took) < repeats and sum(took) < most_seconds):
        start = now()
        run()
        took.append(now() - start)
    return min(took)


def peak_mb() -> float:
    """Highest resident memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def of_steps(run: Callable[[], Any], steps: int, repeats: int, wall: bool) -> dict[str, float]:
    """Of a run of so many steps: the best of several, in wall time (on an accelerator) or processor time."""
    seconds = best(run, repeats, time.perf_counter if wall else time.process_time)
    return {"step_ms": 1e3 * seconds / steps, "peak_mb": peak_mb()}


def seconds_inside(kind: type, name: str) -> list[float]:
    """Seconds inside that method of a class, call by call, as they are spent from now on."""
    spent: list[float] = []
    method = getattr(kind, name)

    def timed(self: Any, *args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        answer = method(self, *args, **kwargs)
        spent.append(time.perf_counter() - start)
        return answer

    setattr(kind, name, timed)
    return spent
