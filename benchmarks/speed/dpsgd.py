"""One step of DP-SGD beside the plain one: an MLP 108-256-256-1 and the flow of Adult, 256 records; memory at 2,048.

`plain-loop` is a compiled loop over the same loss and optimiser with batches of a fixed size. `non-private` is what a
method does with epsilon=None: the door `descend` with its coins, and neither clip nor noise. The others are whole steps
of that door: coins for every record, clipping, noise, update; `dp-vmap` is `dp-flat` without taps. Each figure comes
from a process of its own on one core; a step's time is the best of several runs of many steps in processor time, which
is wall time on a core that does nothing else; where jax finds an accelerator, wall time of steps on that, and its name
stands behind the size. Other packages run where environments named by NACRE_OPACUS_PYTHON and
NACRE_JAX_PRIVACY_PYTHON have them; what is missing there is left out and said.
"""

from __future__ import annotations

from benchmarks.catalogue import Options
from benchmarks.child import LIMIT_S, answer, peer_answer
from benchmarks.places import ROOT
from benchmarks.results import Results, Setting
from benchmarks.speed.clock import accelerator

OURS = ("plain-loop", "non-private", "dp-flat", "dp-per-layer", "dp-per-unit", "dp-sparse", "dp-vmap")
PEERS = {
    "jax-privacy": "NACRE_JAX_PRIVACY_PYTHON",
    "opacus": "NACRE_OPACUS_PYTHON",
    "opacus-ghost": "NACRE_OPACUS_PYTHON",
}
PACKAGES = {"jax-privacy": "jax-privacy", "opacus": "Opacus", "opacus-ghost": "Opacus"}
GIVEN = {
    "epsilon": None,
    "outcome": "ran",
    "reads_domain": False,
    "reports_spend": True,
    "notes": "batches given ready",
}
LARGE = ("non-private", "dp-flat", "dp-per-layer", "dp-vmap")  # whose memory is compared at two sizes
CASES = (
    *(("mlp", 256, method) for method in (*OURS, *PEERS)),
    *(("flow", 256, method) for method in (*OURS, "jax-privacy")),
    *(("mlp", 2048, method) for method in LARGE),
)
ONLY = (*OURS, *PEERS)


def run(options: Options, results: Results) -> None:
    repeats = 2 if options.quick else 40
    device = accelerator()
    if device:
        results.note(f"{device}: step_ms is wall time, best of several runs")
    else:
        results.note("step_ms is processor time on one core, best of several runs")
    results.note("the flow is not written for Opacus; where another package runs, batches are handed to it ready")
    for model, records, method in CASES:
        where = f"{model}, {records} records{f', {device}' if device else ''}"
        case = f"{where}/{method}"
        if not options.wants(method) or results.has(case, 0):
            continue
        found = measured(method, model, repeats, records)
        if "why" in found:
            results.note(f"{method} did not run: {found['why']}")
            continue
        setting = Setting(method, where, guarantee=None)
        if "version" in found:
            about = {"method": method, "package": PACKAGES[method], "version": found["version"], **GIVEN}
            results.tell(f"{case}: package", about | {"dataset": setting.dataset})
        results.add(setting, 0, {name: found[name] for name in ("step_ms", "peak_mb")}, case)
        results.write()
        print(f"{case}: {found['step_ms']:.2f} ms, {found['peak_mb']:.0f} MiB", flush=True)


def measured(method: str, model: str, repeats: int, records: int) -> dict:
    """{"step_ms", "peak_mb"}, of a peer its {"version"} too, or {"why"} it could not run."""
    words = (method, model, str(repeats), str(records))
    if method not in PEERS:
        return answer("speed.dpsgd_step", *words, limit_s=LIMIT_S)
    nacre_too = {"PYTHONPATH": str(ROOT / "src")} if method == "jax-privacy" else {}
    return peer_answer([PEERS[method]], "speed.dpsgd_peer", *words, environment=nacre_too)
