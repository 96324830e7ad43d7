"""An audit of a mechanism itself: a function of the method, its plan and made-up rows, so that it may be published.

White box: worst-case neighbours, and everything that leaves the curator (`likelihood_ratio`). Black box: the same
neighbours, and synthetic rows alone. One run: many canaries in one table. All bounds of an audit hold together with the
stated confidence; tests, thresholds and numbers of guesses are fixed before the runs that they judge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.audit import ceilings
from nacre.audit.bounds import Bound, Guesses, family, one_run_epsilon
from nacre.audit.canaries import random_rows, without, worst_case
from nacre.audit.canary_scores import alike, nearest_to
from nacre.audit.likelihood_ratio import WEIGHED, Enough, RatioRoom
from nacre.audit.one_run import SCORED, CanaryRoom, coins, firsts, guess, one_run_mu
from nacre.errors import NacreError
from nacre.privacy import discovery
from nacre.privacy.accounting.accountant import Gaussian
from nacre.privacy.budget import Budget
from nacre.privacy.certificate.rounding import down, exact
from nacre.privacy.certificate.wording import audit_sentence
from nacre.privacy.plan import Descend, Plan
from nacre.progress import Progress, silent
from nacre.table.encoding import Encoded, encode
from nacre.table.values.decoding import decode
from nacre.typed import Json

if TYPE_CHECKING:
    from nacre.privacy.plan import Plan
    from nacre.table import Schema

HELD_OUT = 0.25  # of the runs, to choose the threshold of the others
GUESSES = 0.2  # of the canaries on each side
SYNTHETIC = 500  # rows that a black-box attacker gets
SEEDED_COINS = "The coins of the one run came from a seed: a test, which bounds nothing"
LEAST = 100  # runs below which an audit says nothing


@dataclass(frozen=True)
class ViewBound:
    """One bound, the view it was taken from, what it rests on, and the most that it could have been.

    `delta` is the one that a bound on epsilon holds at; None for mu. `left_out`: doors of the plan whose answers this
    view does not look at.
    """

    view: str  # "white box", "black box" or "one run"
    bound: Bound
    runs: int
    ceiling: float
    delta: float | None = None
    left_out: tuple[str, ...] = ()

    @property
    def can_fail(self) -> bool:
        """Whether an attack that is always right would have refuted the claim."""
        return self.bound.claim is None or self.ceiling > self.bound.claim

    @property
    def said(self) -> str:
        return audit_sentence(self.to_json(), self.bound.confidence)

    def to_json(self) -> dict[str, Json]:
        return {
            "view": self.view, "metric": self.bound.metric, "lower_bound": self.bound.value, "claim": self.bound.claim,
            "ceiling": self.ceiling, "delta": self.delta, "runs": self.runs, "refuted": self.bound.refuted,
            "can_fail": self.can_fail, "left_out": list(self.left_out),
        }  # fmt: skip


@dataclass(frozen=True)
class MethodAudit:
    """Lower bounds on what a method really spends, beside what it claims. All hold together at `confidence`."""

    method: str
    epsilon: float
    delta: float
    neighbours: str
    confidence: float
    findings: tuple[ViewBound, ...]
    seeded: bool = False

    @property
    def refuted(self) -> bool:
        return any(f.bound.refuted for f in self.findings)

    def to_json(self) -> dict[str, Json]:
        """Public: functions of the mechanism and of made-up rows."""
        return {
            "method": self.method,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours,
            "confidence": self.confidence,
            "coins": "seeded: a test, which bounds nothing" if self.seeded else "operating system entropy",
            "findings": [{**f.to_json(), "text": f.said} for f in self.findings],
        }

    def __str__(self) -> str:
        head = (
            f"Audit of {self.method} at epsilon {exact(self.epsilon)}, delta {exact(self.delta)}, {self.neighbours}: "
            f"{len(self.findings)} lower bounds that hold together at confidence {down(self.confidence, 6)}"
        )
        head += "" if not self.seeded else f". {SEEDED_COINS}"
        return "\n".join([head, *(f"  {f.view}, {f.runs:,} runs: {f.said}" for f in self.findings)])


@dataclass(frozen=True)
class Effort:
    """How often a method is run: `runs` per world for the white box, `releases` per world for the black box, and one
    table with `canaries` canaries. 0 leaves a view out."""

    runs: int = 1000
    releases: int = 0
    canaries: int = 0


DEFAULT = Effort()


def audit_method(
    job: Any,
    effort: Effort = DEFAULT,
    alpha: float = 0.05,
    seed: int = 0,
    progress: Progress = silent,
    coin_seed: int | None = None,
) -> MethodAudit:
    """Audit a planned method (`nacre.plan`) on made-up tables of its schema, at family error `alpha`.

    Noise comes from the operating system, as in production, and so do the coins of one run; `coin_seed` makes them
    repeatable, for a test of the audit itself, and the result says so. Raises NacreError, before anything runs, for an
    audit of nothing, for fewer than 100 runs of a view, for a view that could never refute its claim (`ceilings`), for
    one run under replace_one, and for plans that promise nothing.
    """
    plan = job.plan
    mu = claimed_mu(plan)
    each = _checked(plan, effort, mu, alpha)
    findings: list[ViewBound] = []
    if effort.runs:
        findings += _white(job, effort.runs, mu, each, seed, progress)
    if effort.releases:
        findings += _black(job, effort.releases, mu, each, seed, progress)
    if effort.canaries:
        findings += _one_run(job, coins(effort.canaries, coin_seed), mu, each, seed)
    terms = plan.budget.epsilon, plan.budget.delta, plan.budget.neighbours
    return MethodAudit(plan.method, *terms, 1 - alpha, tuple(findings), effort.canaries > 0 and coin_seed is not None)


def _checked(plan: Plan, effort: Effort, mu: float | None, alpha: float) -> float:
    """The level of each bound, once it is known that every view can run and can fail."""
    if plan.budget.epsilon is None:
        raise NacreError("an audit needs a claim; plan the method with an epsilon")
    views = {"runs": effort.runs, "releases": effort.releases, "canaries": effort.canaries}
    views = {what: count for what, count in views.items() if count}
    if not views:
        raise NacreError("nothing to audit: runs, releases and canaries are all 0; ask for at least one of them")
    for what, count in views.items():
        if count < LEAST:
            raise NacreError(f"{what}={count}: an audit of fewer than {LEAST} shows nothing; ask for more, or for 0")
    if effort.canaries and plan.budget.neighbours == "replace_one":
        raise NacreError(
            "a one-run audit adds and leaves out canaries, which is no replacement of rows; ask for canaries=0 under "
            "replace_one, or plan for add_or_remove_one or zero_out"
        )
    each = family(alpha, len(views) * (2 if mu is not None else 1))
    for what, count in views.items():
        if what == "canaries":
            found = ceilings.of_one_run(count, _guessed(count), plan, mu, each)
        else:
            found = ceilings.of_worlds(count, _held_out(count), plan, mu, each)
        ceilings.check({"runs": "white box", "releases": "black box"}.get(what, "one run"), found, what)
    return each


def default_canaries(plan: Plan, effort: Effort, alpha: float, canaries: int = 1000) -> tuple[int, str]:
    """(`canaries`, "") where a one-run audit beside `effort` can run and can refute the claim, else (0, why not).

    Raises NacreError for what is wrong with the other views, or with the plan."""
    mu = claimed_mu(plan)
    if effort.runs or effort.releases:
        _checked(plan, effort, mu, alpha)
    try:
        _checked(plan, replace(effort, canaries=canaries), mu, alpha)
    except NacreError as error:
        return 0, str(error)
    return canaries, ""


def _held_out(runs: int) -> int:
    return max(1, int(HELD_OUT * runs))


def _guessed(canaries: int) -> int:
    return 2 * max(1, round(GUESSES * canaries))


def claimed_mu(plan: Plan) -> float | None:
    """μ of a plan that is Gaussian throughout; None for others."""
    events = plan.events()
    if not all(isinstance(e, Gaussian) for e in events):
        return None
    return math.sqrt(math.fsum(e.mu**2 for e in events))


# ------------------------------------------------------------------------------------------------ the three views


def _white(job: Any, runs: int, mu: float | None, alpha: float, seed: int, told: Progress) -> list[ViewBound]:
    tables = worst_case(job.schema, job.plan.budget.neighbours)
    ratios = np.empty((2, runs))
    for i in range(runs):
        for world in (0, 1):
            room = RatioRoom(tables, world, job.plan, job.schema, early=True)
            run(job, room, seed)
            ratios[world, i] = room.ratio
        told("white box", i + 1, runs)
    found = judged("white box", ratios, job.plan.budget, mu, alpha, middle=0.0)
    return [replace(bound, left_out=_beside(job.plan, WEIGHED)) for bound in found]


def _black(job: Any, runs: int, mu: float | None, alpha: float, seed: int, told: Progress) -> list[ViewBound]:
    """The statistic: the mean over columns of the share of synthetic rows near the canary."""
    tables = worst_case(job.schema, job.plan.budget.neighbours)
    target = encode(tables[1].slice(tables[1].num_rows - 1), job.schema)
    seen = np.empty((2, runs))
    for i in range(runs):
        for world in (0, 1):
            room = RatioRoom(tables, world, job.plan, job.schema)
            model, schema = run(job, room, seed)
            rows = drawn(model, schema, SYNTHETIC, np.random.default_rng([seed, world, i]))
            seen[world, i] = alike(encode(rows, job.schema), target, job.schema)
        told("black box", i + 1, runs)
    return judged("black box", seen, job.plan.budget, mu, alpha)


def _one_run(job: Any, present: np.ndarray, mu: float | None, alpha: float, seed: int) -> list[ViewBound]:
    """Each canary is in by a coin of its own (`present`); a fifth of them is called in, a fifth out. Where units are
    groups, one record of each is a canary, and an empty row holds its place."""
    group = max((e.group for e in job.plan.entries if isinstance(e, Descend)), default=1)
    canaries = len(present)
    rows = random_rows(job.schema, canaries * group, seed)
    asked = np.arange(canaries) if group == 1 else firsts(canaries * group, group, seed)
    table = rows.filter(present) if group == 1 else without(rows, asked[~present])
    room = CanaryRoom(table, rows, job.plan, job.schema)
    model, schema = run(job, room, seed)
    scores = room.scores[asked]
    if not room.scored:
        made = encode(drawn(model, schema, SYNTHETIC, np.random.default_rng([seed, 8])), job.schema)
        scores = -nearest_to(encode(rows.take(asked), job.schema), made, job.schema)
    unseen = _beside(job.plan, SCORED) if room.scored else ()
    guesses, right = guess(scores, present, _guessed(canaries) // 2)
    found = []
    for most in ceilings.of_one_run(canaries, guesses, job.plan, mu, alpha):
        if most.metric == "epsilon":
            value, delta = one_run_epsilon(canaries, guesses, right, most.delta, alpha), most.delta
        else:
            value, delta = one_run_mu(canaries, guesses, right, alpha), None
        bound = Bound(most.metric, value, 1 - alpha, most.claim)
        found.append(ViewBound("one run", bound, 1, most.value, delta, unseen))
    return found


def _beside(plan: Plan, seen: tuple[str, ...]) -> tuple[str, ...]:
    """The doors of the plan that are not among these."""
    return tuple(dict.fromkeys(e.door for e in plan.entries if e.door not in seen))


def judged(
    view: str,
    scores: np.ndarray | tuple[np.ndarray, np.ndarray],
    budget: Budget,
    mu: float | None,
    alpha: float,
    middle: float | None = None,
) -> list[ViewBound]:
    """Bounds from scores of both worlds, first of that without the record: a threshold chosen on a quarter of the runs,
    tried on the rest.

    `middle` is the threshold for μ where it is known beforehand (0 for a log-likelihood ratio): all runs then count.
    """
    absent, present = scores
    cut = _held_out(len(absent))
    guesses = _guesses(absent[cut:], present[cut:], threshold(absent[:cut], present[:cut], budget.delta))
    bound = Bound("epsilon", guesses.epsilon(budget.delta, alpha), 1 - alpha, budget.epsilon)
    most = Guesses(len(present) - cut, len(present) - cut, 0, len(absent) - cut)
    found = [ViewBound(view, bound, 2 * (len(absent) - cut), most.epsilon(budget.delta, alpha), budget.delta)]
    if mu is not None:
        first = 0 if middle is not None else cut
        at = float(np.median(np.concatenate([absent[:cut], present[:cut]]))) if middle is None else middle
        bound = Bound("mu", _guesses(absent[first:], present[first:], at).mu(alpha), 1 - alpha, mu)
        most = Guesses(len(present) - first, len(present) - first, 0, len(absent) - first)
        found.append(ViewBound(view, bound, 2 * (len(absent) - first), most.mu(alpha)))
    return found


def threshold(absent: np.ndarray, present: np.ndarray, delta: float) -> float:
    """The threshold whose bound is largest on these runs, among their own deciles and tails."""
    levels = np.concatenate([[0.01, 0.02, 0.05], np.linspace(0.1, 0.9, 9), [0.95, 0.98, 0.99]])
    tried = np.unique(np.quantile(np.concatenate([absent, present]), levels))
    return max(tried, key=lambda t: _guesses(absent, present, t).epsilon(delta, 0.2))


def _guesses(absent: np.ndarray, present: np.ndarray, at: float) -> Guesses:
    return Guesses(int((present > at).sum()), len(present), int((absent > at).sum()), len(absent))


# ------------------------------------------------------------------------------------------------------------- one run


def run(job: Any, room: Any, seed: int) -> tuple[Any, Any]:
    """Fit in that room: (model, schema), or (None, schema) where the room had seen enough."""
    schema = job.schema
    try:
        schema = discovery.buy_rows(room, job.plan, schema)
        schema = discovery.buy_domain(room, job.plan, schema)
        room.adopt(schema.inner)
        return job.synthesizer.fit(room, job.plan.for_rows(schema.rows), seed), schema
    except Enough:
        return None, schema


def drawn(model: Any, schema: Schema, rows: int, rng: np.random.Generator) -> Any:
    return decode(Encoded(model.draw(rows, rng), rows), schema.inner, rng=rng)
