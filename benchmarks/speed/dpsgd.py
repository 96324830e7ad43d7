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

from collections.abc import Iterator

from benchmarks.catalogue import Options
from benchmarks.places import ROOT
from benchmarks.results import Results
from benchmarks.speed.clock import accelerator
from benchmarks.speed.steps import Peer, Step, measure

OURS = ("plain-loop", "non-private", "dp-flat", "dp-per-layer", "dp-per-unit", "dp-sparse", "dp-vmap")
READY = "batches given ready"
OPACUS = Peer("Opacus", ("NACRE_OPACUS_PYTHON",), READY)
NACRE_TOO = {"PYTHONPATH": str(ROOT / "src")}  # the losses that nacre's own steps use
PEERS = {
    "jax-privacy": Peer("jax-privacy", ("NACRE_JAX_PRIVACY_PYTHON",), READY, environment=NACRE_TOO),
    "opacus": OPACUS,
    "opacus-ghost": OPACUS,
}
LARGE = ("non-private", "dp-flat", "dp-per-layer", "dp-vmap")  # whose memory is compared at two sizes
CASES = (
    *(("mlp", 256, method) for method in (*OURS, *PEERS)),
    *(("flow", 256, method) for method in (*OURS, "jax-privacy")),
    *(("mlp", 2048, method) for method in LARGE),
)
ONLY = (*OURS, *PEERS)


def steps(device: str | None, repeats: int) -> Iterator[Step]:
    for model, records, method in CASES:
        where = f"{model}, {records} records{f', {device}' if device else ''}"
        asked = {"method": method, "model": model, "repeats": repeats, "records": records}
        module = "speed.dpsgd_peer" if method in PEERS else "speed.dpsgd_step"
        yield Step(method, where, f"{where}/{method}", module, asked, PEERS.get(method))


def run(options: Options, results: Results) -> None:
    device = accelerator()
    if device:
        results.note(f"{device}: step_ms is wall time, best of several runs")
    else:
        results.note("step_ms is processor time on one core, best of several runs")
    results.note("the flow is not written for Opacus; where another package runs, batches are handed to it ready")
    measure(steps(device, 2 if options.quick else 40), options, results)
