"""A training step of PPEM: nacre alone, five seeds together by vmap, and a plain PyTorch version of the same step.

Rows per second count what the energies learn from: five batches of 256 rows a step and seed. Each figure comes from a
process of its own. On an accelerator and on several cores a step's time is wall time, on one core processor time; the
best of several runs. PyTorch runs where an environment named by NACRE_TORCH_PYTHON has it (NACRE_OPACUS_PYTHON serves
too). `finite_share`: of the seeds trained so, how many had a finite loss after every step.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from benchmarks.catalogue import Options
from benchmarks.places import ROOT
from benchmarks.results import Results, Setting

OURS = {"nacre": 1, "nacre, five seeds": 5}
PEER = "pytorch"
ENVIRONMENTS = ("NACRE_TORCH_PYTHON", "NACRE_OPACUS_PYTHON")
ONLY = ("nacre", PEER)


def run(options: Options, results: Results) -> None:
    own = device()
    places = {own: 0} if own != "cpu" else {f"{n} core{'s' * (n > 1)}": n for n in sorted({1, cores()})}
    for where, count in places.items():
        for method in (*OURS, PEER):
            case = f"{where}/{method}"
            if not options.wants(method.partition(",")[0]) or results.has(case, 0):
                continue
            found = measured(method, 2 if options.quick else 30, count)
            if "why" in found:
                results.note(f"{method} did not run on {where}: {found['why']}")
                continue
            version = found.pop("version", None)
            if version:
                about = {"method": method, "package": "PyTorch", "version": version, "dataset": where, **PLAIN}
                results.tell(f"{case}: package", about)
            results.add(Setting(method, where, guarantee=None), 0, found, case)
            results.write()
            print(case, found, flush=True)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


PLAIN = {"epsilon": None, "outcome": "ran", "reads_domain": False, "reports_spend": False, "notes": "eager mode"}


def device() -> str:
    """The accelerator that jax finds, or cpu."""
    import jax

    found = jax.devices()[0]
    return "cpu" if found.platform == "cpu" else found.device_kind


def measured(method: str, repeats: int, count: int) -> dict:
    if method in OURS:
        command = [sys.executable, str(ROOT / "benchmarks" / "ppem_step.py"), str(OURS[method])]
        search = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
    else:
        python = next((os.environ[name] for name in ENVIRONMENTS if os.environ.get(name)), None)
        if python is None:
            return {"why": f"{ENVIRONMENTS[0]} names no environment with it"}
        place = "cpu" if device() == "cpu" else "cuda"
        command, search = [python, str(ROOT / "benchmarks" / "ppem_peer.py"), place], {}
    command += [str(repeats), str(count or cores())]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=900, env={**os.environ, **search}, check=False
    )
    if done.returncode and method not in OURS:
        return {"why": done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else "it stopped"}
    if done.returncode:
        raise RuntimeError(f"speed-ppem: {method} ended with {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
