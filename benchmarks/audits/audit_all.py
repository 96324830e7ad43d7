"""Audits of every door and of every private method: lower bounds on what is really spent, beside what is claimed.

One family error for the whole benchmark, divided over `AUDITS` bounds fixed in advance. Doors are seen white-box on
worst-case neighbours; methods end to end, white-box on all that leaves the curator and in one run with many canaries;
learners by thousands of trainings on worst-case neighbours. A bound of 0 refutes nothing. `twins` are copies of nacre
with a planted fault, each of which its check must catch. Every case can be run alone: --only takes its name, or the
whole of it (method/kme/1.0).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.catalogue import Options
from benchmarks.results import Results, Setting
from nacre.audit import doors
from nacre.audit.bounds import Bound, Guesses, family
from nacre.audit.method import Effort, audit_method, claimed_mu, judged
from nacre.privacy.accounting.accountant import Gaussian, PoissonGaussian, epsilon_at, gaussian_mu
from nacre.synthesizers.registry import METHODS
from nacre.table import Boolean, Categorical, Numeric, Schema

EPSILONS, DELTA = (1.0, 4.0), 1e-5
ONE_RUN_DELTA = 1e-9  # of methods that are audited in one run alone: 2·canaries·δ must lie well below the level
FAMILY, AUDITS = 1e-3, 100
ALPHA = family(FAMILY, AUDITS)
DRAWS = {1.0: 500_000, 4.0: 100_000}  # of Gaussian doors: enough for 10 % of mu at that epsilon
CHOICES = {1.0: 100_000, 4.0: 400_000}
POISSON = 0.1
TRAININGS = {"dpsgd": {1.0: 50_000, 4.0: 50_000}, "noisy-gd": {1.0: 400_000, 4.0: 100_000}}
LEARNERS = ("dpsgd", "noisy-gd", "expm-exact", "expm-mh", "expm-walk", "expm-hmc")
CHAIN_RUNS = 1000  # per world: an attack that is always right would find 4.1
LEARNT, CLIP = 24, 0.1  # rows that a learner is trained on; every gradient is longer than the clip: the worst case
TWINS = ("test_twins", "test_descend", "test_learning", "test_teach")
SCHEMA = Schema(
    {
        "age": Numeric(bounds=(0, 100), integer=True),
        "income": Numeric(bounds=(0.0, 1e5), nullable=True),
        "city": Categorical(categories=("bergen", "oslo", "tromso"), other="elsewhere"),
        "smoker": Boolean(),
    },
    rows=500,
)
# Small settings, so that many runs are affordable: what is audited is what leaves the curator, not how good it is.
SMALL: dict[str, dict[str, Any]] = {
    "sketch": {"particles": 32, "steps": 20},
    "pearl": {"frequencies": 40, "particles": 32, "steps": 10},
    "pearl-paper": {"frequencies": 8, "steps": 4, "batch": 12},
    "merf": {"frequencies": 8, "steps": 4, "batch": 12},
    "support-points": {"frequencies": 12, "points": 4},
    "kme": {"features": 20, "points": 3},
    "hflow": {"hidden": 4, "depth": 1, "bins": 2, "steps": 20, "batch": 6, "warm": 0.0},
    "hflow-warm": {"hidden": 4, "depth": 1, "bins": 2, "steps": 20, "batch": 64, "lessons": 10},
    "hflow-paper": {"hidden": 4, "depth": 1, "bins": 2, "steps": 20, "batch": 6, "blocks": 2},
    "dpgan": {"steps": 10, "batch": 6, "width": 8, "turns": 1},
    "dpcgan": {"steps": 10, "batch": 6, "width": 8, "turns": 1},
    "gswgan": {"steps": 10, "batch": 3, "width": 64, "parts": 4, "rows": 2},
    "pategan": {"steps": 10, "width": 64, "parts": 4, "rows": 2},
    "ppem": {"hide": ["age"], "steps": 10, "width": 64, "batch": 16, "pairs": 500},
}
# Whole trainings on worst-case neighbours, thousands in one program; what they bought before is left out of the ratio.
DESCENTS, DESCENT_RUNS = ("hflow", "hflow-paper", "dpgan", "dpcgan"), 20_000
# Every run of these compiles its training: one run with many canaries (ppem: one of each of its pairs). With 1,000
# guesses in 2,500 an attack that is always right finds an epsilon of 4.46 at this level. Canaries hide each other in
# networks so small, and many share a teacher, which is audited at its door as well: this view sees gross faults only.
CANARIES = ("gswgan", "pategan", "ppem", "hflow-warm")
MANY = 2500
FORMS = {"hflow-warm": "hflow"}  # further forms of a method: `hflow` is audited as a descent, this as it comes
SLOW = {"pearl", "pearl-paper", "merf", "kme"}  # feature maps are checked at every run: few of them, white-box only
SLOW_RUNS = 500
TABLES, TABLE_RUNS = {"sketch", "independent"}, 20_000  # quick ones
LABELLED = {"pearl-paper", "merf", "dpcgan"}
TERMS: dict[str, dict[str, Any]] = {"ppem": {"neighbours": "zero_out"}}


@dataclass(frozen=True)
class Case:
    """One audit; `kind` is door, method, learner or twins."""

    kind: str
    name: str
    epsilon: float | None

    @property
    def text(self) -> str:
        return f"{self.kind}/{self.name}/{self.epsilon}"


def cases() -> Iterator[Case]:
    for epsilon in EPSILONS:
        for name in (*doors.GAUSSIAN_DOORS, *doors.RANGE_DOORS, "descend-poisson"):
            yield Case("door", name, epsilon)
        for name in private_methods():
            yield Case("method", name, epsilon)
        for name in LEARNERS:
            yield Case("learner", name, epsilon)
    for name in TWINS:
        yield Case("twins", name, None)


def private_methods() -> list[str]:
    """Every registered method that promises differential privacy on such a table, in all audited forms."""
    return [*(name for name, method in METHODS.items() if method.guarantee != "none"), *FORMS]


# ------------------------------------------------------------------------------------------------------- doors


def audit_door(name: str, epsilon: float, draws: int) -> list[Bound]:
    """μ and ε of Gaussian doors, ε of the others. ε of a Gaussian is that of the μ found, at the same confidence."""
    if name in doors.RANGE_DOORS:
        return [doors.audit_range_door(name, epsilon, draws, ALPHA)]
    if name == "descend-poisson":
        noise = _poisson_noise(epsilon)
        return [doors.audit_poisson(POISSON, noise, (epsilon, DELTA), draws, ALPHA)]
    mu = gaussian_mu(epsilon, DELTA, [])
    found = doors.audit_door(name, 1 / mu, draws, ALPHA)
    spent = epsilon_at([Gaussian(found.value)], DELTA) if found.value > 0 else 0.0
    return [found, Bound("epsilon", spent, found.confidence, epsilon)]


def _poisson_noise(epsilon: float) -> float:
    """The noise at which one step at rate `POISSON` costs ε at δ, by halving."""
    low, high = 0.1, 20.0
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        above = epsilon_at([PoissonGaussian(POISSON, middle, 1, "add_or_remove_one")], DELTA) > epsilon
        low, high = (middle, high) if above else (low, middle)
    return high


# ------------------------------------------------------------------------------------------------------- methods


def effort_for(name: str, quick: bool) -> Effort:
    if name in DESCENTS:
        return Effort(runs=400 if quick else DESCENT_RUNS)
    if name in CANARIES:
        return Effort(runs=0, canaries=MANY)
    if name in SLOW:
        return Effort(runs=100 if quick else SLOW_RUNS)
    return Effort(runs=200 if quick else TABLE_RUNS if name in TABLES else 2000, canaries=MANY)


def rows_of(name: str) -> int:
    """The declared rows: those of a table that half of the canaries are in, or all pairs with a canary each."""
    if name in DESCENTS:
        return LEARNT
    if name not in CANARIES:
        return int(SCHEMA.rows or 0)
    return 2 * MANY if name == "ppem" else MANY // 2


def delta_of(case: Case) -> float:
    return ONE_RUN_DELTA if case.kind == "method" and case.name in CANARIES else DELTA


def planned_method(name: str, epsilon: float) -> Any:
    from nacre.run import Terms, prepare

    asked = {"method": FORMS.get(name, name), "options": SMALL.get(name, {}), **TERMS.get(name, {})}
    delta = delta_of(Case("method", name, epsilon))
    target = "smoker" if name in LABELLED else None
    schema = replace(SCHEMA, rows=rows_of(name))
    return prepare(schema.names, schema, Terms(epsilon, delta, target=target, domain="declared", **asked))


def audit_one(name: str, epsilon: float, quick: bool) -> tuple[list[Any], Effort]:
    from nacre.audit.descents import descent_ratios

    effort, job = effort_for(name, quick), planned_method(name, epsilon)
    if name in DESCENTS:
        absent, present = descent_ratios(job, effort.runs)
        return judged("white box", (absent, present), job.plan.budget, None, ALPHA, middle=0.0), effort
    return list(audit_method(job, effort, ALPHA * _bounds(job, effort)).findings), effort


def _bounds(job: Any, effort: Effort) -> int:
    """How many bounds `audit_method` divides its error over."""
    return (bool(effort.runs) + bool(effort.canaries)) * (2 if claimed_mu(job.plan) is not None else 1)


# ------------------------------------------------------------------------------------------------------- learners


def planned_learner(name: str, epsilon: float) -> Any:
    from nacre.learners.descending import DpSgd, NoisyGd
    from nacre.learners.exponential import Rejection, Walk
    from nacre.learners.flow import FlowShape
    from nacre.learners.flow_chain import FlowChain
    from nacre.learners.hamiltonian import Hamiltonian
    from nacre.learners.planned import Planned

    training = {
        "dpsgd": lambda: DpSgd("bce", 20, LEARNT / 4, 0.5, epsilon=epsilon, delta=DELTA, clip=CLIP),
        "noisy-gd": lambda: NoisyGd("bce", steps=10, rate=0.5, epsilon=epsilon, delta=DELTA, clip=CLIP),
        "expm-exact": lambda: Rejection(epsilon, delta=DELTA),
        "expm-mh": lambda: FlowChain(epsilon, delta=DELTA, moves=100, shape=FlowShape(layers=1, rank=2, steps=50)),
        "expm-walk": lambda: Walk(epsilon, delta=DELTA, moves=1000, chains=2),
        "expm-hmc": lambda: Hamiltonian(epsilon, delta=DELTA, moves=60, chains=2, leaps=4),
    }[name]()
    return Planned.of(training, LEARNT)


def audit_learner(name: str, epsilon: float, quick: bool) -> tuple[list[Any], int]:
    """(findings, trainings per world). Draws are seen one at a time, descents thousands at a time."""
    from nacre.audit.descents import descent_ratios

    job = planned_learner(name, epsilon)
    if name not in TRAININGS:
        effort = Effort(runs=200 if quick else 2000 if name == "expm-exact" else CHAIN_RUNS)
        return list(audit_method(job, effort, ALPHA * _bounds(job, effort)).findings), effort.runs
    runs = 2000 if quick else TRAININGS[name][epsilon]
    absent, present = descent_ratios(job, runs)
    mu = claimed_mu(job.plan)
    return judged("white box", (absent, present), job.plan.budget, mu, ALPHA, middle=0.0), runs


# ------------------------------------------------------------------------------------------------------- twins


def catch_twins(module: str) -> tuple[int, int]:
    """(caught, all): every broken copy of that file of tests, run against the check that is meant for it."""
    import importlib
    import tempfile
    from pathlib import Path

    import pytest

    registry = _registry(importlib.import_module(f"tests.privacy_contract.{module}"))
    caught = 0
    for name, (fault, check) in registry.items():
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
            fault(patch)
            try:
                check(Path(folder))
                print(f"twin {name}: NOT caught", flush=True)
            except (AssertionError, pytest.fail.Exception):
                caught += 1
    return caught, len(registry)


def _registry(module: Any) -> dict[str, Any]:
    from tests.privacy_contract.twins import Twins

    return next(value for value in vars(module).values() if isinstance(value, Twins))


# ------------------------------------------------------------------------------------------------------- benchmark


def measure(case: Case, results: Results, quick: bool) -> None:
    start = time.monotonic()
    if case.kind == "twins":
        caught, total = catch_twins(case.name)
        setting = Setting(f"twins of {case.name}", "contract")
        results.add(setting, 0, {"twins_caught": caught / total, "twins": total}, case.text)
    elif case.kind == "door":
        assert case.epsilon is not None
        draws = 20_000 if quick else (CHOICES if case.name in doors.RANGE_DOORS else DRAWS)[case.epsilon]
        for bound in audit_door(case.name, case.epsilon, draws):
            _add(results, f"door {case.name}", case, Seen(bound, draws, door_ceiling(bound, draws)))
    elif case.kind == "learner":
        assert case.epsilon is not None
        findings, runs = audit_learner(case.name, case.epsilon, quick)
        for found in findings:
            seen = Seen(found.bound, runs, found.ceiling, found.delta)
            _add(results, f"learner {case.name}, {found.view}", case, seen)
    else:
        assert case.epsilon is not None
        findings, effort = audit_one(case.name, case.epsilon, quick)
        for found in findings:
            draws = effort.canaries if found.view == "one run" else effort.runs
            _add(results, f"{case.name}, {found.view}", case, Seen(found.bound, draws, found.ceiling, found.delta))
    results.write()
    print(f"{case.text}: {time.monotonic() - start:.0f} s", flush=True)


@dataclass(frozen=True)
class Seen:
    """A bound, the draws behind it, the most that it could have been, and the δ of a bound on ε where it is its own."""

    bound: Bound
    draws: int
    ceiling: float
    delta: float | None = None


def door_ceiling(bound: Bound, draws: int) -> float:
    best = Guesses(draws, draws, 0, draws)
    return best.mu(ALPHA) if bound.metric == "mu" else best.epsilon(DELTA, ALPHA)


def _add(results: Results, method: str, case: Case, seen: Seen) -> None:
    bound = seen.bound
    if seen.ceiling <= (bound.claim or 0.0):  # known before a draw: no audit
        results.note(
            f"{method} at epsilon {case.epsilon:g}, {bound.metric}: left out, at most {seen.ceiling:.3f} could have "
            "been found, which could not refute the claim"
        )
        return
    setting = Setting(method, "worst case", case.epsilon, seen.delta or delta_of(case), "audited")
    if bound.metric == "mu":
        setting = replace(setting, method=f"{method} (mu)")
    figures = {
        f"{bound.metric}_lower_bound": bound.value,
        "audit_claim": bound.claim or 0.0,
        "audit_ceiling": seen.ceiling,
        "audit_draws": seen.draws,
    }
    results.add(setting, 0, figures, case.text)
    print(f"  {method}: {bound}; at most {seen.ceiling:.3f} could have been found", flush=True)
    if bound.refuted:
        results.note(f"REFUTED: {method} at epsilon {case.epsilon:g}: {bound}")


ONLY = tuple(word for case in cases() for word in (case.kind, case.name, case.text))


def run(options: Options, results: Results) -> None:
    results.note(f"family error {FAMILY:g} over at most {AUDITS} bounds: each at {ALPHA:g}; tests fixed in advance")
    for case in cases():
        wanted = any(map(options.wants, (case.kind, case.name, case.text)))
        if wanted and not results.has(case.text, 0):
            measure(case, results, options.quick)
