"""A training step of ExpM+NF, of our DP-SGD and of Opacus's: logistic regression (2,496 features) and GRU-D.

256 rows a step for the regression and 128 for GRU-D (24 hours of 104 measurements, 10 units), for every method; the
flow evaluates 16 and 8 parameter vectors on each of them (`expm-nf-few`: 4 and 2). Each figure comes from a process of
its own on one core; a step's time is the best of several runs of ten steps, in processor time, or in wall time on an
accelerator. Opacus runs where NACRE_OPACUS_PYTHON names an environment that has it. On a machine with an accelerator
`--only` takes the same names with `-gpu` behind them.
"""

from __future__ import annotations

from benchmarks.catalogue import Options
from benchmarks.child import LIMIT_S, answer, peer_answer
from benchmarks.results import Results, Setting
from benchmarks.speed.clock import accelerator

METHODS = ("sgd", "dpsgd", "expm-nf", "expm-nf-few", "opacus")
MODELS = ("lr", "grud")
PEER = "NACRE_OPACUS_PYTHON"
PLAIN = {"epsilon": None, "outcome": "ran", "reads_domain": False, "reports_spend": True, "notes": "hooks"}
ONLY = (*METHODS, *(f"{m}-gpu" for m in METHODS))


def run(options: Options, results: Results) -> None:
    device = "-gpu" if accelerator() else ""
    if device:
        results.note("steps on the accelerator are wall times, best of several runs")
    else:
        results.note("steps on the processor are processor time of one core, best of several runs")
    for model in MODELS:
        for method in METHODS:
            name = f"{method}{device}"
            if not options.wants(name) or results.has(f"{model}/{name}", 0):
                continue
            found = measured(method, model, 2 if options.quick else 40)
            if "why" in found:
                results.note(f"{name} did not run: {found['why']}")
                continue
            setting = Setting(name, f"{model}, one step", guarantee=None)
            version = found.pop("version", None)
            if version:
                about = {"method": name, "package": "Opacus", "version": version, "dataset": setting.dataset, **PLAIN}
                results.tell(f"{model}/{name}: package", about)
            results.add(setting, 0, found, f"{model}/{name}")
            results.write()
            print(f"{model}/{name}: {found['step_ms']:.2f} ms, {found['peak_mb']:.0f} MiB", flush=True)


def measured(method: str, model: str, repeats: int) -> dict:
    """{"step_ms", "peak_mb"}, with Opacus its version too, or {"why"} it could not run."""
    if method == "opacus":
        return peer_answer([PEER], "speed.expm_peer", model, str(repeats))
    return answer("speed.expm_step", method, model, str(repeats), limit_s=LIMIT_S)
