"""Processes of their own for measurements: `python -m benchmarks.child MODULE TASK ARGUMENTS-AS-JSON [one-core]`.

A task is a function of a module of `benchmarks`; what it returns is printed last, as JSON. Only the standard library is
imported here: the environments of other packages start here too.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.places import ROOT

LIMIT_S = 900
ONE_CORE = "one-core"


class ChildFailed(RuntimeError):
    """`why` is the last thing that the process said."""

    def __init__(self, who: str, code: int, said: str):
        super().__init__(f"{who} ended with {code}: {said[-2000:]}")
        self.why = (said.strip().splitlines() or ["it stopped"])[-1][:200]


def answer(
    module: str,
    task: str,
    arguments: Mapping[str, Any],
    *,
    python: str = sys.executable,
    limit_s: float | None = None,
    environment: Mapping[str, str] | None = None,
    one_core: bool = False,
) -> dict[str, Any]:
    """What that task finds out; other messages of the process go where ours go."""
    done = subprocess.run(
        [python, "-m", "benchmarks.child", module, task, json.dumps(arguments), *[ONE_CORE] * one_core],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    if done.returncode:
        raise ChildFailed(f"{module} {task!r}", done.returncode, done.stderr)
    sys.stderr.write(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def peer_answer(
    variables: Sequence[str],
    module: str,
    task: str,
    arguments: Mapping[str, Any],
    environment: Mapping[str, str] | None = None,
    one_core: bool = False,
) -> dict[str, Any]:
    """The same by the Python of another package, which the first of the variables that is set names; {"why"} if not.

    The module and the folders it is in must not import nacre, unless `environment` says where that is found.
    """
    python = next((os.environ[name] for name in variables if os.environ.get(name)), None)
    if python is None:
        return {"why": f"{variables[0]} names no environment with it"}
    try:
        return answer(
            module, task, arguments, python=python, limit_s=LIMIT_S, environment=environment, one_core=one_core
        )
    except ChildFailed as failed:
        return {"why": failed.why}


def main(module: str, task: str, arguments: str, *how: str) -> None:
    if ONE_CORE in how and hasattr(os, "sched_setaffinity"):  # before anything starts threads
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    found = getattr(importlib.import_module(f"benchmarks.{module}"), task)(**json.loads(arguments))
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
