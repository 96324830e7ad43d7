"""Clocks of training steps and of doors. Imports the standard library alone: environments of other packages use it."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from typing import Any


def one_core() -> None:
    """Before anything starts threads; on a machine with an accelerator it does no harm."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


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


def step_figures(seconds: float, steps: int) -> dict[str, float]:
    """Of a run of so many steps, with the highest memory of this process so far."""
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"step_ms": 1e3 * seconds / steps, "peak_mb": peak_kib / 1024}


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
