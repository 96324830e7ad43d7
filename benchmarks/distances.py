"""Distances and tests against plain NumPy and other packages in one run, and memory at 50,000 rows.

hyppo and dcor are looked for in the environment whose Python NACRE_DISTANCE_PEERS names, or in
benchmarks/.work/distance-peers; without them their rows are left out and the output says so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.catalogue import Options
from benchmarks.results import WORK, Results, Setting

ROOT = Path(__file__).parent.parent
SCRIPT = Path(__file__).parent / "distances_tasks.py"
LIMIT = 300  # seconds a peer may take
# hyppo: fewer permutations than the others, in its favour, because a thousand take too long.
HYPPO_DRAWS = 20
METHODS = {
    "mmd": ("nacre", "numpy", "hyppo"),
    "energy": ("nacre", "numpy", "numpy, products", "scipy", "dcor"),
    "ksd": ("nacre", "numpy"),
}
PEERS = ("hyppo", "dcor")


def sizes(quick: bool) -> dict[str, dict[str, int]]:
    if quick:
        draws = {"draws": 50}
        return {"mmd": {"n": 100, "d": 20, **draws}, "energy": {"n": 300, "d": 20}, "ksd": {"n": 100, "d": 20, **draws}}
    return {
        "mmd": {"n": 2_000, "d": 20, "draws": 1_000},
        "energy": {"n": 10_000, "d": 20},
        "ksd": {"n": 2_000, "d": 20, "draws": 1_000},
    }


def title(task: str, size: dict[str, int]) -> str:
    n = f"{size['n']:,}"
    return {
        "mmd": f"MMD permutation test, n = m = {n}, d = {size['d']}, {size.get('draws', 0):,} permutations",
        "energy": f"energy distance, n = m = {n}, d = {size['d']}",
        "ksd": f"KSD bootstrap test, n = {n}, d = {size['d']}, {size.get('draws', 0):,} draws",
    }[task]


def peer_python() -> Path | None:
    named = os.environ.get("NACRE_DISTANCE_PEERS")
    found = Path(named) if named else WORK / "distance-peers" / "bin" / "python"
    return found if found.exists() else None


def child(method: str, task: str, **arguments: Any) -> dict[str, float] | str:
    """Figures of one method in a fresh process, or why there are none."""
    python = peer_python() if method in PEERS else Path(sys.executable)
    if python is None:
        return "not installed"
    command = [str(python), str(SCRIPT), method, task, json.dumps(arguments)]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT * (1 if method in PEERS else 10),
        )
    except subprocess.TimeoutExpired:
        return f"did not finish within {LIMIT} s"
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1]}"
    return json.loads(done.stdout.splitlines()[-1])


def compare(task: str, size: dict[str, int]) -> list[tuple[Setting, dict[str, float]]]:
    """All methods on the same rows, one after the other; nacre's row carries the ratios."""
    rows, seconds = {}, {}
    for method in METHODS[task]:
        own = {**size, "draws": HYPPO_DRAWS} if method == "hyppo" else size
        found = child(method, task, again=method == "nacre", **own)  # the second call compiles nothing
        if isinstance(found, str):
            print(f"{task}: {method} {found}", flush=True)
            continue
        print(task, method, found, flush=True)
        seconds[method] = found["wall_s"]
        name = f"hyppo, {HYPPO_DRAWS} permutations" if method == "hyppo" else method
        kept = ("wall_s", "first_call_s", "peak_mb") if method == "nacre" else ("wall_s", "peak_mb")
        rows[method] = (Setting(name, title(task, size), guarantee=None), {k: found[k] for k in kept})
    if "nacre" in rows:
        ratios = {m: s / seconds["nacre"] for m, s in seconds.items()}
        rows["nacre"][1].update({"speedup_numpy": ratios["numpy"]} if "numpy" in ratios else {})
        packages = [ratios[m] for m in ("scipy", *PEERS) if m in ratios]
        rows["nacre"][1].update({"speedup_peer": min(packages)} if packages else {})
    return list(rows.values())


def memory(task: str, quick: bool) -> list[tuple[Setting, dict[str, float]]]:
    size = {**sizes(quick)[task], "n": 300 if quick else 50_000}
    if not quick and "draws" in size:
        size["draws"] = 200  # more than are handled at a time; each further one adds a byte or two per row
    if task == "mmd":
        size["n"] //= 2  # the permutation test pools both samples
    found = child("nacre", task, **size)
    if isinstance(found, str):
        raise RuntimeError(f"distances: nacre {task} at {size['n']} rows {found}")
    print(task, size, found, flush=True)
    return [(Setting("nacre", title(task, size), guarantee=None), {k: found[k] for k in ("first_call_s", "peak_mb")})]


def run(options: Options, results: Results) -> None:
    """Each comparison `seeds` times, the large cases once; `--only` takes mmd, energy, ksd, memory."""
    for task, size in sizes(options.quick).items():
        for seed in range(options.seeds if options.wants(task) else 0):
            if not results.has(task, seed):
                for setting, figures in compare(task, size):
                    results.add(setting, seed, figures, task)
                results.write()
    for task in METHODS if options.wants("memory") else ():
        if not results.has(f"{task} memory", 0):
            for setting, figures in memory(task, options.quick):
                results.add(setting, 0, figures, f"{task} memory")
            results.write()
