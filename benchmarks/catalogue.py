"""The benchmarks by name. A module is imported only when it is run; each has `run(options, results)`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from benchmarks.results import Results
from nacre.errors import NacreError

NOTHING = "none"  # --only none: measure nothing, write the file from what earlier runs measured


@dataclass(frozen=True)
class Options:
    """What the command line asked for. `quick` is a smoke run on few rows: its figures mean nothing."""

    seeds: int = 5
    quick: bool = False
    jobs: int = 1
    only: tuple[str, ...] = ()

    def wants(self, method: str) -> bool:
        return not self.only or method in self.only

    @property
    def nothing(self) -> bool:
        return NOTHING in self.only

    def of(self, names: Collection[str]) -> tuple[str, ...]:
        """Those of one kind of names that `--only` has; all of them where it has none and names another kind."""
        if self.nothing:
            return ()
        return tuple(n for n in names if n in self.only) or tuple(names)


@dataclass(frozen=True)
class Benchmark:
    name: str
    module: str
    text: str

    def runner(self) -> Callable[[Options, Results], None]:
        return importlib.import_module(self.module).run

    def check(self, only: tuple[str, ...]) -> None:
        """Refuse words of `--only` that no case answers to (`ONLY` of the module), before anything is run."""
        known: Collection[str] = importlib.import_module(self.module).ONLY
        if NOTHING in only and len(only) > 1:
            raise NacreError(f"--only {','.join(only)}: {NOTHING!r} stands alone; it measures nothing")
        for word in only:
            if word != NOTHING and word not in known:
                names = ", ".join(dict.fromkeys(known)) or "no names: it is one case"
                raise NacreError(
                    f"--only {word}: {self.name} has no such case. It has {names}. `--only {NOTHING}` measures nothing "
                    "and writes the file from what earlier runs measured"
                )


CATALOGUE: Mapping[str, Benchmark] = {
    b.name: b
    for b in (
        Benchmark(
            "sketch-adult",
            "benchmarks.sketch_adult",
            "the sketch on Adult: utility and distances at ε 0.1-10",
        ),
        Benchmark("sketch-covertype", "benchmarks.sketch_covertype", "the sketch on Covertype: macro-F1 and Kendall"),
        Benchmark("pearl-adult", "benchmarks.pearl_adult", "PEARL and DP-MERF on thinned Adult, hard labels"),
        Benchmark("ppem-credit", "benchmarks.ppem_credit", "hidden columns of credit-card payments: Table 1 of PPEM"),
        Benchmark("ppem-ehr", "benchmarks.ppem_ehr", "hidden columns of medical records: simulated and open tables"),
        Benchmark("speed-ppem", "benchmarks.speed_ppem", "a training step of PPEM, one and five seeds, beside PyTorch"),
        Benchmark("iw-synthetic", "benchmarks.iw_synthetic", "weighted generators on simulated tables, 20 seeds"),
        Benchmark("iw-mnist", "benchmarks.iw_mnist", "weighted generators of digits: classes and attributes"),
        Benchmark("iw-images", "benchmarks.iw_images", "weighted generators of clothes: rare, grown and tail classes"),
        Benchmark("ehr-disclosure", "benchmarks.ehr_disclosure", "the medical-record model: utility and two attacks"),
        Benchmark("pearl-credit", "benchmarks.pearl_credit", "PEARL and DP-MERF on thinned credit-card payments"),
        Benchmark("pearl-mnist", "benchmarks.pearl_mnist", "PEARL and DP-MERF on MNIST: FID, KID, what a CNN learns"),
        Benchmark("pearl-fashion", "benchmarks.pearl_fashion", "the same on Fashion-MNIST"),
        Benchmark("hflow-adult", "benchmarks.hflow", "the flow on Adult: nine classifiers, published figures beside"),
        Benchmark("hflow-census", "benchmarks.hflow", "the flow on Census-Income (KDD)"),
        Benchmark("hflow-covertype", "benchmarks.hflow", "the flow on Covertype: macro-F1 and Kendall"),
        Benchmark("hflow-intrusion", "benchmarks.hflow", "the flow on KDD Cup 1999, five groups of labels"),
        Benchmark("hflow-ablation", "benchmarks.hflow_ablation", "clippings and dequantisations of the flow on Adult"),
        Benchmark(
            "speed-dpsgd", "benchmarks.speed_dpsgd", "one step of DP-SGD beside the plain step and other packages"
        ),
        Benchmark(
            "distances", "benchmarks.distances", "distances and tests against NumPy and others; memory at 50,000"
        ),
        Benchmark("peers-adult", "benchmarks.peers_adult", "nacre and other packages side by side on Adult"),
        Benchmark("peers-covertype", "benchmarks.peers_covertype", "nacre and the strongest private peer on Covertype"),
        Benchmark("ledger", "benchmarks.ledger", "the ledger under races and deaths, and what a release pays for it"),
        Benchmark(
            "support-regression",
            "benchmarks.support_regression",
            "support points, KME and histogram: least squares on few synthetic rows",
        ),
        Benchmark("speed-support", "benchmarks.speed_support", "moves per second of the chain; a million-row sketch"),
        Benchmark("expm-icu", "benchmarks.expm_icu", "logistic regression on simulated stays, 2,496 features"),
        Benchmark("expm-icu-last", "benchmarks.expm_icu_last", "the same with the last value of each measurement"),
        Benchmark("speed-expm", "benchmarks.speed_expm", "a step of ExpM+NF, of DP-SGD and of Opacus, two models"),
        Benchmark("expm-hospital", "benchmarks.expm_hospital", "learners on a real table: who comes back to hospital"),
        Benchmark("expm-picture", "benchmarks.expm_picture", "two parameters: exact density, flows, repaired draws"),
        Benchmark("scale", "benchmarks.scale", "1 to 100 million rows, read here and by Ray: memory, rows per second"),
        Benchmark("planner", "benchmarks.planner", "the planner's expected errors beside what comes out, three tables"),
        Benchmark("audit-all", "benchmarks.audit_all", "lower bounds on what doors and methods spend; broken twins"),
        Benchmark("lira", "benchmarks.lira", "who was a model trained on? likelihood-ratio attack, log-log curves"),
        Benchmark("speed", "benchmarks.speed", "start, fit, sample, evaluate, one pass over 20 million rows, noise"),
    )
}
