"""A training step of ExpM+NF, of our DP-SGD and of Opacus's: logistic regression (2,496 features) and GRU-D.

256 rows a step for the regression and 128 for GRU-D (24 hours of 104 measurements, 10 units), for every method; the
flow evaluates 16 and 8 parameter vectors on each of them (`expm-nf-few`: 4 and 2). Each figure comes from a process of
its own on one core; a step's time is the best of several runs of ten steps, in processor time, or in wall time on an
accelerator. Opacus runs where NACRE_OPACUS_PYTHON names an environment that has it. On a machine with an accelerator
`--only` takes the same names with `-gpu` behind them.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.catalogue import Options
from benchmarks.results import Results
from benchmarks.speed.clock import accelerator
from benchmarks.speed.steps import Peer, Step, measure

METHODS = ("sgd", "dpsgd", "expm-nf", "expm-nf-few", "opacus")
MODELS = ("lr", "grud")
PEER = Peer("Opacus", ("NACRE_OPACUS_PYTHON",), "hooks")
ONLY = (*METHODS, *(f"{m}-gpu" for m in METHODS))


def steps(device: str, repeats: int) -> Iterator[Step]:
    for model in MODELS:
        for method in METHODS:
            name, where, asked = f"{method}{device}", f"{model}, one step", {"model": model, "repeats": repeats}
            if method == "opacus":
                yield Step(name, where, f"{model}/{name}", "speed.expm_peer", asked, PEER)
            else:
                yield Step(name, where, f"{model}/{name}", "speed.expm_step", {**asked, "method": method})


def run(options: Options, results: Results) -> None:
    device = "-gpu" if accelerator() else ""
    if device:
        results.note("steps on the accelerator are wall times, best of several runs")
    else:
        results.note("steps on the processor are processor time of one core, best of several runs")
    measure(steps(device, 2 if options.quick else 40), options, results)
