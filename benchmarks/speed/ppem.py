"""A training step of PPEM: nacre alone, five seeds together by vmap, and a plain PyTorch version of the same step.

Rows per second count what the energies learn from: five batches of 256 rows a step and seed. Each figure comes from a
process of its own. On an accelerator and on several cores a step's time is wall time, on one core processor time; the
best of several runs. PyTorch runs where an environment named by NACRE_TORCH_PYTHON has it (NACRE_OPACUS_PYTHON serves
too). `finite_share`: of the seeds trained so, how many had a finite loss after every step.
"""

from __future__ import annotations

from benchmarks.catalogue import Options
from benchmarks.child import LIMIT_S, answer, peer_answer
from benchmarks.results import Results, Setting, cores
from benchmarks.speed.clock import accelerator

OURS = {"nacre": 1, "nacre, five seeds": 5}
PEER = "pytorch"
ENVIRONMENTS = ("NACRE_TORCH_PYTHON", "NACRE_OPACUS_PYTHON")
ONLY = ("nacre", PEER)


def run(options: Options, results: Results) -> None:
    own = accelerator()
    places = {own: 0} if own else {f"{n} core{'s' * (n > 1)}": n for n in sorted({1, cores()})}
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


PLAIN = {"epsilon": None, "outcome": "ran", "reads_domain": False, "reports_spend": False, "notes": "eager mode"}


def measured(method: str, repeats: int, count: int) -> dict:
    sizes = (str(repeats), str(count or cores()))
    if method in OURS:
        return answer("speed.ppem_step", str(OURS[method]), *sizes, limit_s=LIMIT_S)
    return peer_answer(ENVIRONMENTS, "speed.ppem_peer", "cuda" if accelerator() else "cpu", *sizes)
