"""Distances and tests against plain NumPy and other packages in one run, and memory at 50,000 rows.

hyppo and dcor are looked for in the environment that `make peers` builds (requirements-distances.txt), or whose Python
NACRE_DISTANCE_PEERS names. A package that is not installed, fails or does not finish is told in the notes of a result.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.catalogue import Options
from benchmarks.child import ChildFailed, answer
from benchmarks.peers.registry import ENVIRONMENTS
from benchmarks.results import Results, Setting

LIMIT = 300  # seconds a peer may take, its own compilation included
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
    found = Path(named) if named else ENVIRONMENTS / "distances" / "bin" / "python"
    return found if found.exists() else None


def child(method: str, task: str, **arguments: Any) -> dict[str, float] | str:
    """Figures of one method in a fresh process, or why there are none."""
    python = peer_python() if method in PEERS else Path(sys.executable)
    if python is None:
        return "is not installed (make peers)"
    limit = LIMIT * (1 if method in PEERS else 10)
    try:
        asked = {"method": method, "task": task, **arguments}
        return answer("speed.distances_tasks", "measure", asked, python=str(python), limit_s=limit)
    except subprocess.TimeoutExpired:
        return f"did not finish within {limit} s"
    except ChildFailed as failed:
        return f"failed: {failed.why}"


def compare(task: str, size: dict[str, int], results: Results) -> list[tuple[Setting, dict[str, float]]]:
    """All methods on the same rows, one after the other; nacre's row carries the ratios. Distances must agree."""
    rows, seconds, values = {}, {}, {}
    for method in METHODS[task]:
        own = {**size, "draws": HYPPO_DRAWS} if method == "hyppo" else size
        found = child(method, task, again=method == "nacre", **own)  # the second call compiles nothing
        if isinstance(found, str):
            print(f"{task}: {method} {found}", flush=True)
            results.note(f"{title(task, size)}: {method} {found}.")
            continue
        print(task, method, found, flush=True)
        seconds[method], values[method] = found["wall_s"], found["value"]
        name = f"hyppo, {HYPPO_DRAWS} permutations" if method == "hyppo" else method
        kept = ("wall_s", "first_call_s", "peak_mb") if method == "nacre" else ("wall_s", "peak_mb")
        rows[method] = (Setting(name, title(task, size), guarantee=None), {k: found[k] for k in kept})
    if task == "energy":
        agree(values)
    if "nacre" in rows:
        ratios = {m: s / seconds["nacre"] for m, s in seconds.items()}
        rows["nacre"][1].update({"speedup_numpy": ratios["numpy"]} if "numpy" in ratios else {})
        packages = [ratios[m] for m in ("scipy", *PEERS) if m in ratios]
        rows["nacre"][1].update({"speedup_peer": min(packages)} if packages else {})
    return list(rows.values())


def agree(values: dict[str, float]) -> None:
    """Raise unless all methods computed the same number: times of different things do not compare."""
    if values and max(values.values()) - min(values.values()) > 1e-6 * max(map(abs, values.values())):
        raise RuntimeError(f"distances: the methods do not agree: {values}")


def memory(task: str, quick: bool) -> list[tuple[Setting, dict[str, float]]]:
    size = {**sizes(quick)[task], "n": 300 if quick else 50_000}
    if not quick and "draws" in size:
        size["draws"] = 200  # more than are handled at a time; each further one adds a byte or two per row
    found = child("nacre", task, **size)
    if isinstance(found, str):
        raise RuntimeError(f"distances: nacre {task} at {size['n']} rows {found}")
    print(task, size, found, flush=True)
    return [(Setting("nacre", title(task, size), guarantee=None), {k: found[k] for k in ("first_call_s", "peak_mb")})]


ONLY = (*METHODS, "memory")


def run(options: Options, results: Results) -> None:
    """Each comparison `seeds` times, the large cases once; `--only` takes mmd, energy, ksd, memory."""
    for task, size in sizes(options.quick).items():
        for seed in range(options.seeds if options.wants(task) else 0):
            if not results.has(task, seed):
                for setting, figures in compare(task, size, results):
                    results.add(setting, seed, figures, task)
                results.write()
    for task in METHODS if options.wants("memory") else ():
        if not results.has(f"{task} memory", 0):
            for setting, figures in memory(task, options.quick):
                results.add(setting, 0, figures, f"{task} memory")
            results.write()
