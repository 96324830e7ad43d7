"""Processes of their own for measurements: what a module of `benchmarks` prints last is its answer, as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.places import ROOT

LIMIT_S = 900


class ChildFailed(RuntimeError):
    """`why` is the last thing that the process said."""

    def __init__(self, who: str, code: int, said: str):
        super().__init__(f"{who} ended with {code}: {said[-2000:]}")
        self.why = (said.strip().splitlines() or ["it stopped"])[-1][:200]


def answer(
    module: str,
    *words: str,
    python: str = sys.executable,
    limit_s: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """What `python -m benchmarks.MODULE WORDS` finds out; other messages of it go where ours go."""
    done = subprocess.run(
        [python, "-m", f"benchmarks.{module}", *words],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    if done.returncode:
        raise ChildFailed(f"{module} {words[0]!r}", done.returncode, done.stderr)
    sys.stderr.write(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def peer_answer(
    variables: Sequence[str], module: str, *words: str, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The same by the Python of another package, which the first of the variables that is set names; {"why"} if not.

    The module and the folders it is in must not import nacre, unless `environment` says where that is found.
    """
    python = next((os.environ[name] for name in variables if os.environ.get(name)), None)
    if python is None:
        return {"why": f"{variables[0]} names no environment with it"}
    try:
        return answer(module, *words, python=python, limit_s=LIMIT_S, environment=environment)
    except ChildFailed as failed:
        return {"why": failed.why}
