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
        asked: Collection[str] | Mapping[str, Collection[str]] = importlib.import_module(self.module).ONLY
        known = asked[self.name] if isinstance(asked, Mapping) else asked  # by benchmark, where a module has several
        if NOTHING in only and len(only) > 1:
            raise NacreError(f"--only {','.join(only)}: {NOTHING!r} stands alone; it measures nothing")
        for word in only:
            if word != NOTHING and word not in known:
                names = ", ".join(dict.fromkeys(known)) or "no names: it is one case"
                raise NacreError(
                    f"--only {word}: {self.name} has no such case. It has {names}. `--only {NOTHING}` measures nothing "
                    "and writes the file from what earlier runs measured"
                )


# Name, module, text.
LISTED = (
    ("sketch-adult", "studies", "the sketch on Adult: utility and distances at ε 0.1-10"),
    ("sketch-covertype", "studies", "the sketch on Covertype: macro-F1 and Kendall"),
    ("kway", "board.kway", "three- to five-way tables by PrivMRF's protocol, published figures beside"),
    ("nist", "board.nist", "NIST's k-marginal score on national2019, with and without a target of 20 classes"),
    ("board", "board.board", "tables of many shapes: ours and other packages, utility, distances, tails, seconds"),
    ("relational", "relational.board", "databases: the sketch of units, tables fitted by themselves, SDV's HMA"),
    ("auto", "board.auto", "the method that auto takes beside the best of ours, tables of many shapes"),
    ("coverage", "sketch.coverage", "how often 95 % intervals of expected tables hold the count: `--seeds 200` fits"),
    (
        "rules",
        "rules.keeping",
        "rules of schemas on seven real tables: rows that break one, distances, seconds of drawing",
    ),
    ("rules-places", "rules.geography", "California housing: places as two columns, as one, and with an outline"),
    ("planner", "sketch.planner", "the planner's expected errors beside what comes out, three tables"),
    ("pearl-adult", "pearl.adult", "PEARL and DP-MERF on thinned Adult, hard labels"),
    ("pearl-credit", "pearl.credit", "PEARL and DP-MERF on thinned credit-card payments"),
    ("pearl-mnist", "pearl.images", "PEARL and DP-MERF on MNIST: FID, KID, what a CNN learns"),
    ("pearl-fashion", "pearl.images", "the same on Fashion-MNIST"),
    ("hflow-adult", "hflow.tables", "the flow on Adult: nine classifiers, published figures beside"),
    ("hflow-census", "hflow.tables", "the flow on Census-Income (KDD)"),
    ("hflow-covertype", "hflow.tables", "the flow on Covertype: macro-F1 and Kendall"),
    ("hflow-covertype-55", "hflow.tables", "the same with its 44 indicators as columns"),
    ("hflow-intrusion", "hflow.tables", "the flow on KDD Cup 1999, five groups of labels"),
    ("hflow-ablation", "hflow.ablation", "clippings and dequantisations of the flow on Adult"),
    ("ppem-credit", "ppem.credit", "hidden columns of credit-card payments: Table 1 of PPEM"),
    ("ppem-ehr", "ppem.ehr", "hidden columns of medical records: simulated and open tables"),
    ("iw-synthetic", "weighted.synthetic", "weighted generators on simulated tables, 20 seeds"),
    ("iw-mnist", "weighted.mnist", "weighted generators of digits: classes and attributes"),
    ("iw-images", "weighted.fashion", "weighted generators of clothes: rare, grown and tail classes"),
    ("support-regression", "support.regression", "least squares on few synthetic rows: support points, KME, histogram"),
    ("expm-icu", "expm.icu", "logistic regression on simulated stays, 2,496 features"),
    ("expm-icu-last", "expm.icu_last", "the same with the last value of each measurement"),
    ("expm-hospital", "expm.hospital", "learners on a real table: who comes back to hospital"),
    ("expm-picture", "expm.picture", "two parameters: exact density, flows, repaired draws"),
    ("audit-all", "audits.audit_all", "lower bounds on what doors and methods spend; broken twins"),
    ("ehr-disclosure", "audits.ehr_disclosure", "the medical-record model: utility and two attacks"),
    ("lira", "audits.lira", "who was a model trained on? likelihood-ratio attack, log-log curves"),
    ("peers-adult", "studies", "nacre and other packages side by side on Adult"),
    ("peers-covertype", "studies", "nacre and the strongest private peer on Covertype"),
    ("accountant", "audits.accountant", "the accountant against lower bounds, another accountant, and in order"),
    ("loaders", "fuzz.recorded", "100,000 hostile files for every loader: errors, seconds, memory"),
    ("reading", "reading.movement", "the law of reading, searched for a break: all sources and doors"),
    ("fuzz-sources", "reading.fuzz_sources", "a million damaged files: read or refused, never a crash"),
    ("speed-reading", "reading.speed", "one pass over Adult and a million rows, beside an earlier version by turns"),
    ("reading-columns", "reading.columns", "what comes out beside what went in, column by column, nothing declared"),
    ("ledger", "ledger.races", "the ledger under races and deaths, and what a release pays for it"),
    ("scale", "speed.scale", "1 to 100 million rows, read here and by Ray: memory, rows per second"),
    ("nested-scale", "nested.scale", "ten million rows that a million people own: seconds, memory, the same answers"),
    ("speed", "speed.everyday", "start, fit, sample, evaluate, one pass over 20 million rows, noise"),
    ("speed-dpsgd", "speed.dpsgd", "one step of DP-SGD beside the plain step and other packages"),
    ("speed-expm", "speed.expm", "a step of ExpM+NF, of DP-SGD and of Opacus, two models"),
    ("speed-ppem", "speed.ppem", "a training step of PPEM, one and five seeds, beside PyTorch"),
    ("speed-support", "speed.support", "moves per second of the chain; a million-row sketch"),
    ("distances", "speed.distances", "distances and tests against NumPy and others; memory at 50,000"),
)
CATALOGUE: Mapping[str, Benchmark] = {name: Benchmark(name, f"benchmarks.{m}", text) for name, m, text in LISTED}
