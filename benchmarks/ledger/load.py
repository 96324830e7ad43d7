"""Storms and killings for ledgers: many processes at once, and processes that die in the middle.

`storm`, `kills` and `overhead` run in processes of their own: they fork, and a process that has threads of other
libraries must not.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

from benchmarks.child import answer
from nacre.errors import BudgetExceeded, NacreError
from nacre.privacy.budget import Budget
from nacre.privacy.ledger import Ledger, Policy, open_ledger
from nacre.privacy.ledger.chain import OPENED, RESERVED
from nacre.privacy.ledger.policy import UNIT
from nacre.privacy.plan import Counts, Descend, Part, Plan

DELTA = 1e-6


def divisible(count: int) -> Policy:
    """A policy whose cap is exactly `count` equal releases: the first ε above 1, in steps of 1e-4, that divides."""
    step = 0
    while (policy := Policy(1 + step * 1e-4, DELTA)).unit_cap % count:
        step += 1
    return policy


def share(policy: Policy, count: int) -> Plan:
    """A plan that costs 1/count of the cap, to the unit: half a unit less, rounded up."""
    squared = (policy.unit_cap // count - 0.5) * UNIT
    return Plan("load", (Counts("table", sigmas=(squared**-0.5,)),), Budget(policy.epsilon, DELTA))


def _ask(url: str, population: str, plan: Plan, requests: int, barrier: Any, answers: Any, broken: str) -> None:
    ledger = broken_twin(open_ledger(url), broken)
    ledger.policy(population)
    barrier.wait()
    told = {"granted": 0, "refused": 0, "failed": 0}
    for _ in range(requests):
        try:
            ledger.reserve(population, plan)
            told["granted"] += 1
        except BudgetExceeded:
            told["refused"] += 1
        except NacreError:
            told["failed"] += 1
    answers.put(told)


def broken_twin(ledger: Ledger, how: str) -> Ledger:
    """The ledger with its lock taken out, for tests that must notice."""
    if how == "no lock":
        if hasattr(ledger.store, "_begin"):
            ledger.store._begin = lambda connection: connection.execute("BEGIN")
        else:
            ledger.store._lock = lambda connection, population: None
    return ledger


def storm(
    url: str, count: int, processes: int, requests: int, population: str, broken: str = "", user: str = ""
) -> dict[str, Any]:
    """`processes` start together and ask `requests` times in all for 1/count of the cap. What came of it. `user` asks
    in a database, with no right but those that users of a ledger have; everybody is one where it is a file."""
    policy = divisible(count)
    made = open_ledger(url, create=True)
    made.create(population, policy)
    if user and hasattr(made.store, "grant"):
        made.grant(user)
    asker = url.replace("//nacre@", f"//{user}@") if user else url
    plan = share(policy, count)
    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(processes), context.Queue()
    each = [requests // processes + (i < requests % processes) for i in range(processes)]
    children = [context.Process(target=_ask, args=(asker, population, plan, n, barrier, answers, broken)) for n in each]
    start = time.perf_counter()
    for child in children:
        child.start()
    told = [answers.get(timeout=580) for _ in children]
    for child in children:
        child.join()
    rows = open_ledger(url).rows(population)
    open_ledger(url).verify([population])
    sums = {name: sum(t[name] for t in told) for name in told[0]}
    return {**sums, "spent": rows[-1].spent, "cap": policy.unit_cap, "seconds": time.perf_counter() - start,
            "reserved": sum(row.kind == RESERVED for row in rows)}  # fmt: skip


def _live(url: str, population: str, plan: Plan, folder: Path) -> None:
    """Release after release: reserve, open, read, settle, write. Traces of the last two are left in the folder."""
    ledger = open_ledger(url)
    while True:
        held = ledger.reserve(population, plan)
        held.open(plan)
        (folder / f"read-{held.id}").touch()  # stands for the rows: they are read from here on
        told = held.settle()
        part = folder / f"part-{held.id}"
        part.write_text(json.dumps(told))
        part.rename(folder / f"release-{held.id}")


def kills(url: str, count: int, number: int, longest: float, folder: str, population: str, seed: int) -> dict[str, Any]:
    """Kill -9 a process that releases, `number` times, at random moments; check the books after each."""
    policy, rng, where = divisible(count), random.Random(seed), Path(folder)
    open_ledger(url, create=True).create(population, policy)
    plan, survived, states = share(policy, count), 0, dict.fromkeys(("reserved", "opened", "settled"), 0)
    for _ in range(number):
        child = os.fork()
        if child == 0:
            try:
                _live(url, population, plan, where)
            finally:
                os._exit(0)
        time.sleep(rng.uniform(0.0, longest))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        survived += sound(url, population, where)
    for steps in _steps(url, population).values():
        states[max(steps, key=("reserved", "opened", "settled").index)] += 1
    rows = open_ledger(url).rows(population)
    return {"kills": number, "survived": survived, "states": states, "spent": rows[-1].spent, "cap": policy.unit_cap}


def _steps(url: str, population: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in open_ledger(url).rows(population):
        if row.reservation:
            found.setdefault(row.reservation, set()).add(row.kind)
    return found


def sound(url: str, population: str, folder: Path) -> bool:
    """Not above the cap; chain and file whole; nothing read or released without its rows."""
    ledger = open_ledger(url)
    stamps = [json.loads(path.read_text()) for path in folder.glob("release-*")]
    head = ledger.verify([population], stamps)[population]
    steps = _steps(url, population)
    read = [path.name.removeprefix("read-") for path in folder.glob("read-*")]
    known = all({RESERVED, OPENED} <= steps.get(name, set()) for name in read)
    return known and head.spent <= ledger.policy(population).unit_cap


def sampled() -> Plan:
    """A plan of a thousand sampled steps, whose curve must be covered by a Gaussian's before it can be charged."""
    steps = Descend("steps", q=0.01, steps=1000, parts=(Part("gradient", sigma=4.0),))
    return Plan("load", (steps,), Budget(0.9, DELTA))


def overhead(url: str, number: int, population: str, steps: bool = False) -> dict[str, Any]:
    """Milliseconds that reserve, open and settle take together, for every one of `number` releases."""
    policy = Policy(3.0, DELTA, per_release=1.0)
    ledger = open_ledger(url, create=True)
    ledger.create(population, policy)
    plan, took = sampled() if steps else share(policy, 2 * number), []
    for _ in range(number):
        start = time.perf_counter()
        held = ledger.reserve(population, plan)
        held.open(plan)
        held.settle()
        took.append(1e3 * (time.perf_counter() - start))
    return {"ms": took}


def apart(task: str, state: Path, **arguments: Any) -> dict[str, Any]:
    """A task in a process of its own, with its own memory of ledgers."""
    environment = {"NACRE_STATE": str(state), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return answer("ledger.load", task, arguments, environment=environment)
