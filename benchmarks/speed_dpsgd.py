"""One step of DP-SGD beside the plain one: an MLP 108-256-256-1, 256 records, and the flow of Adult.

`non-private` is a compiled step of the same loss and optimiser on a batch of a fixed size. The private steps are whole
steps of the door `descend`: coins for every record, clipping, noise and update. Each figure comes from a process of
its own; a step's time is the best of several runs of many steps, so that a busy machine disturbs it least. Other
packages run where an environment named by NACRE_DPSGD_PYTHON has them; what is missing there is left out and said.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.catalogue import Options
from benchmarks.results import Results, Setting

ROOT = Path(__file__).parent.parent
OURS = ("non-private", "dp-flat", "dp-per-layer", "dp-per-unit", "dp-sparse", "dp-vmap")
PEERS = ("jax-privacy", "opacus", "opacus-ghost")


def run(options: Options, results: Results) -> None:
    repeats = 2 if options.quick else 40
    for model in ("mlp", "flow"):
        for method in (*OURS, *(PEERS if model == "mlp" else ())):
            if not options.wants(method) or (model == "flow" and method == "dp-vmap"):
                continue
            found = measured(method, model, repeats)
            if "why" in found:
                results.tell(f"{model}/{method}", {"missing": found["why"]})
                continue
            setting = Setting(method, f"{model}, 256 records", guarantee=None)
            results.add(setting, 0, {name: found[name] for name in ("step_ms", "peak_mb")}, f"{model}/{method}")
            results.write()
            print(f"{model} {method}: {found['step_ms']:.2f} ms, {found['peak_mb']:.0f} MiB", flush=True)


def measured(method: str, model: str, repeats: int) -> dict:
    """{"step_ms", "peak_mb"}, or {"why"} a peer could not run."""
    python = os.environ.get("NACRE_DPSGD_PYTHON") if method in PEERS else sys.executable
    if not python:
        return {"why": "NACRE_DPSGD_PYTHON names no environment with it"}
    module = "dpsgd_peer.py" if method in PEERS else "dpsgd_step.py"
    command = [python, str(ROOT / "benchmarks" / module), method, model, str(repeats)]
    search = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])} if method not in PEERS else {}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=900, env={**os.environ, **search}, check=False
    )
    if done.returncode and method in PEERS:
        return {"why": done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else "it stopped"}
    if done.returncode:
        raise RuntimeError(f"speed-dpsgd: {method} ended with {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
