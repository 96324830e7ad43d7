"""A training step of PPEM: nacre alone, five seeds together by vmap, and a plain PyTorch version of the same step.

Rows per second count what the energies learn from: five batches of 256 rows a step and seed. Each figure comes from a
process of its own. On an accelerator and on several cores a step's time is wall time, on one core processor time; the
best of several runs. PyTorch runs where an environment named by NACRE_TORCH_PYTHON has it (NACRE_OPACUS_PYTHON serves
too). `finite_share`: of the seeds trained so, how many had a finite loss after every step.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.catalogue import Options
from benchmarks.results import Results, cores
from benchmarks.speed.clock import accelerator
from benchmarks.speed.steps import Peer, Step, measure

OURS = {"nacre": 1, "nacre, five seeds": 5}
PEER = "pytorch"
PYTORCH = Peer("PyTorch", ("NACRE_TORCH_PYTHON", "NACRE_OPACUS_PYTHON"), "eager mode", reports_spend=False)
ONLY = ("nacre", PEER)


def steps(own: str | None, repeats: int) -> Iterator[Step]:
    places = {own: cores()} if own else {f"{n} core{'s' * (n > 1)}": n for n in sorted({1, cores()})}
    for where, count in places.items():
        sizes, alone = {"repeats": repeats, "cores": count}, count == 1
        for method, seeds in OURS.items():
            asked = {"seeds": seeds, **sizes}
            yield Step("nacre", where, f"{where}/{method}", "speed.ppem_step", asked, one_core=alone, method=method)
        asked = {"device": "cuda" if own else "cpu", **sizes}
        yield Step(PEER, where, f"{where}/{PEER}", "speed.ppem_peer", asked, PYTORCH, one_core=alone)


def run(options: Options, results: Results) -> None:
    measure(steps(accelerator(), 2 if options.quick else 30), options, results)
