"""Databases: the sketch of whole units beside tables fitted by themselves, a bootstrap of units, and another package.

Every case runs in a process of its own, so that its memory can be told. Budgets are of units: a row of the unit table
and all that it owns.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.catalogue import Options
from benchmarks.child import ChildFailed, answer
from benchmarks.peers.registry import ENVIRONMENTS
from benchmarks.places import WORK
from benchmarks.relational.case import load, save
from benchmarks.relational.judge import Judge
from benchmarks.relational.methods import METHODS
from benchmarks.relational.tables import DATABASES, Relational
from benchmarks.results import Results, Setting

DELTA = 1e-6
EPSILONS = (1.0, 3.2)
PLAIN = ("real", "bootstrap", "hma")  # without a budget
LIMIT_S = 1_800
HMA = ENVIRONMENTS / "sdv" / "bin" / "python"
HMA_SEEDS, HMA_UNITS = 1, 2_000  # it promises nothing, and takes minutes to draw so many units
ONLY = (*DATABASES, *METHODS, "hma")
QUICK_UNITS = 1_500
RUNS = WORK / "relational"


def run(options: Options, results: Results) -> None:
    methods = options.of((*METHODS, "hma"))
    for seed in range(options.seeds):
        for name in options.of(DATABASES):
            todo = [(m, e) for m, e in _cases(methods, options.quick, seed) if not results.has(_case(name, m, e), seed)]
            if not todo:
                continue
            data = DATABASES[name]()
            if options.quick:
                data = _few(data)
            private, holdout = data.split(seed)
            judge = Judge(data, private, holdout, seed)
            place = RUNS / f"{name}{'-quick' if options.quick else ''}-{seed}"
            save(private, place / "private")
            for method, epsilon in todo:
                _one(results, judge, (method, epsilon, seed), place)


def _cases(methods: tuple[str, ...], quick: bool, seed: int) -> list[tuple[str, float | None]]:
    plain: list[tuple[str, float | None]] = [(m, None) for m in methods if m in PLAIN]
    if seed >= HMA_SEEDS or quick:
        plain = [(m, e) for m, e in plain if m != "hma"]
    private = [m for m in methods if m not in PLAIN]
    return [*plain, *((m, e) for e in (EPSILONS[:1] if quick else EPSILONS) for m in private)]


def _case(dataset: str, method: str, epsilon: float | None) -> str:
    return f"{dataset}/{method}/{epsilon}"


def _few(data: Relational, units: int = QUICK_UNITS) -> Relational:
    """The first units of a split."""
    few = np.arange(len(data.frames[data.database.unit])) < units
    return Relational(data.name, data.some(few), data.database, data.events, data.planted)


def _one(results: Results, judge: Judge, what: tuple[str, float | None, int], place: Path) -> None:
    method, epsilon, seed = what
    data = judge.data
    case = _case(data.name, method, epsilon)
    folder = place / f"{method}-{epsilon}"
    given, name = place / "private", data.name
    if method == "hma":
        given, name = place / "private-few", f"{data.name} from {HMA_UNITS:,} units"
        save(_few(replace(data, frames=load(place / "private", data.database)), HMA_UNITS).frames, given)
    try:
        told = _made(data, method, epsilon, seed, (given, folder))
    except (ChildFailed, subprocess.TimeoutExpired) as failed:
        why = _why(failed) if isinstance(failed, ChildFailed) else f"did not finish within {LIMIT_S:,} s"
        results.tell(case, {"method": method, "dataset": data.name, "epsilon": epsilon, "outcome": why})
        print(case, seed, why, flush=True)
        return
    delta = None if method in PLAIN else DELTA
    figures = judge.score(load(folder, data.database))
    figures[""] |= told["figures"]
    for event, found in figures.items():
        dataset = f"{name}: {event}" if event else name
        setting = Setting(method, dataset, epsilon, delta, told["guarantee"])
        results.add(setting, seed, found, case)
    results.write()
    shown = ("cardinality_tvd", "within_tvd2", "parent_child_tvd2", "consecutive_tvd2", "consecutive_same_tvd2",
             "planted_error", "auc_gap", "fit_s", "peak_mb")  # fmt: skip
    print(case, seed, {k: round(figures[""][k], 4) for k in shown if k in figures[""]}, flush=True)


def _why(failed: ChildFailed) -> str:
    """The error itself, where words follow it."""
    errors = [line for line in str(failed).splitlines() if "Error: " in line]
    return errors[-1].split(".")[-1].strip()[:200] if errors else failed.why


def _made(data: Relational, method: str, epsilon: float | None, seed: int, folders: tuple) -> dict:
    """What a process of its own tells of the tables that it wrote."""
    private, folder = map(str, folders)
    given = {"private": private, "folder": folder, "seed": seed}
    if method == "hma":
        return answer("relational.hma", "make", {**given, "tables": _described(data)}, python=str(HMA),
                      limit_s=LIMIT_S)  # fmt: skip
    given |= {"dataset": data.name, "method": method, "epsilon": epsilon, "delta": DELTA}
    return answer("relational.case", "make", given, limit_s=LIMIT_S)


def _described(data: Relational) -> dict:
    """Tables, columns and owner keys in plain words, for another package: names, "number", "date" or "label"."""
    database = data.database
    found = {}
    for name in database.owned:
        schema, key = database.tables[name], database.owner(name)
        references = {k.column for k in database.references(name)}
        kinds = {n: "date" if c.moments else "number" if c.measured else "label" if c.labelled else "id"
                 for n, c in schema.columns.items() if n not in references}  # fmt: skip
        found[name] = {"columns": kinds, "id": database.id(name), "key": None}
        if key is not None:
            found[name]["key"] = [key.column, key.parent, key.parent_column]
    return found
