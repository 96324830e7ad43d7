"""Audits of a mechanism: claims stand, the white box is tight, broken noise is refuted, one run holds for both bounds.

Noise of the operating system; error rates are stated with each test.
"""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np
import pytest
from tests.privacy_contract import tables

from nacre.audit import ceilings
from nacre.audit import method as methods
from nacre.audit.bounds import Bound, one_run_epsilon
from nacre.audit.canaries import random_rows, worst_case
from nacre.audit.likelihood_ratio import WEIGHED, RatioRoom
from nacre.audit.method import Effort, audit_method
from nacre.audit.one_run import SCORED, CanaryRoom, coins, guess, one_run_mu, refutes_gdp
from nacre.errors import DomainNotDeclared, NacreError
from nacre.learners.exponential import Rejection
from nacre.learners.planned import Planned
from nacre.privacy import opening as rooms
from nacre.privacy.accounting.accountant import Gaussian, epsilon_at
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Counts, Plan, Select
from nacre.run import Terms, prepare
from nacre.table import Schema

SCHEMA = tables.schema(rows=500)


def job(method="independent", epsilon=4.0, schema=SCHEMA, neighbours="add_or_remove_one", **options):
    terms = Terms(epsilon, 1e-5, neighbours, method=method, domain="declared", options=options)
    return prepare(schema.names, schema, terms)


def ratios(planned, runs, neighbours="add_or_remove_one"):
    worlds, seen = worst_case(SCHEMA, neighbours), np.empty((2, runs))
    for world in (0, 1):
        for i in range(runs):
            room = RatioRoom(worlds, world, planned.plan, SCHEMA, early=True)
            methods.run(planned, room, 0)
            seen[world, i] = room.ratio
    return seen


@pytest.mark.parametrize(("method", "n"), [
    ("independent", 500), ("sketch", 500), pytest.param("sketch", 1000, marks=pytest.mark.slow),
])  # fmt: skip
def test_the_ratio_has_its_law_and_the_white_box_is_tight(method, n):
    """Gaussian doors: the ratio is N(±μ²/2, μ²). Means and spreads of n runs per world to 5 standard errors (error
    rate about 2e-6), and the bound at level 1e-4 is not empty."""
    planned = job(method)
    mu = np.sqrt(sum(e.mu**2 for e in planned.plan.events()))
    seen = ratios(planned, n)
    for world, sign in ((0, -1), (1, 1)):
        assert seen[world].mean() == pytest.approx(sign * mu**2 / 2, abs=5 * mu / np.sqrt(n))
        assert seen[world].std() == pytest.approx(mu, rel=5 / np.sqrt(2 * n))
    bounds = {f.bound.metric: f.bound for f in methods.judged("white", seen, planned.plan.budget, mu, 1e-4, middle=0.0)}
    assert bounds["mu"].value > 0.2 * mu and not bounds["mu"].refuted and not bounds["epsilon"].refuted


def test_every_door_is_looked_at_or_named():
    """A door that a room does not know answers all the same, and its answers would count for nothing."""
    public = {n: f for n, f in inspect.getmembers(Curator, inspect.isfunction) if not n.startswith("_")}
    doors = {n for n, f in public.items() if "._open(" in inspect.getsource(f)}
    for known, room in ((WEIGHED, RatioRoom), (SCORED, CanaryRoom)):
        assert {"counts_together" if n == "counts" else n for n in known} == doors & set(vars(room))


@pytest.mark.slow
def test_a_row_exchanged_is_the_claim_for_replace_one():
    """σ is larger by sqrt(2) there, and the ratio the same: a plan for one relation audited on its own neighbours."""
    planned = job(neighbours="replace_one")
    mu = np.sqrt(sum(e.mu**2 for e in planned.plan.events()))
    assert ratios(planned, 200, "replace_one")[1].mean() == pytest.approx(mu**2 / 2, abs=5 * mu / np.sqrt(200))


def test_less_noise_is_refuted(monkeypatch):
    real = rooms.rounded_gaussian
    monkeypatch.setattr(rooms, "rounded_gaussian", lambda sigma, size, source: real(0.5 * sigma, size, source))
    found = audit_method(job(), Effort(runs=300), 1e-3)
    assert found.refuted and "refuted" in str(found)
    assert "safe" not in str(found)


def test_black_box_and_one_run(monkeypatch):
    found = audit_method(job(epsilon=2.0), Effort(runs=0, releases=120, canaries=400), 1e-3)
    assert {f.view for f in found.findings} == {"black box", "one run"} and not found.refuted
    # A copy instead of a release: the black box must see it.
    monkeypatch.setattr(methods, "run", lambda planned, room, seed: (room, SCHEMA))
    monkeypatch.setattr(methods, "drawn", lambda model, schema, rows, rng: model._tables[int(model._rows.whole_world)])

    class Copying(RatioRoom):
        def __init__(self, tables, world, plan, schema, **settings):
            super().__init__(tables, world, plan, schema, **settings)
            self._rows.whole_world = world

    monkeypatch.setattr(methods, "RatioRoom", Copying)
    assert audit_method(job(epsilon=2.0), Effort(runs=0, releases=150), 1e-3).refuted


def test_one_run_on_selections_and_sums():
    """Every method with tables or sums is scored by them; noise a tenth of the claim is refuted in one run."""
    schema = Schema({name: SCHEMA.columns[name] for name in ("age", "city")}, rows=500)
    planned = job("kme", 4.0, schema, features=40, points=2)
    found = audit_method(planned, Effort(runs=0, canaries=600), 1e-3)
    assert not found.refuted
    assert one_run_mu(1000, 200, 200, 1e-3) > 1.0


def test_f_dp_bound_covers_and_beats_the_other():
    """Canaries seen through N(±, 1/μ) with μ = 1: at most 5 % + 4 sd of 400 audits are above, and the bound is near."""
    rng, mu, m = np.random.default_rng(0), 1.0, 2000
    found = []
    for _ in range(400):
        coin = rng.random(m) < 0.5
        guesses, right = guess(coin * mu + rng.standard_normal(m), coin, 100)
        found.append(one_run_mu(m, guesses, right))
    assert np.mean(np.array(found) > mu) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 400)
    assert np.median(found) > 0.5


def test_f_dp_is_monotone_and_says_more_of_a_gaussian():
    """More right guesses refute more; a larger μ is harder to refute; all right: ε of that μ is above 3.4654."""
    assert epsilon_at([Gaussian(one_run_mu(1000, 100, 100))], 1e-5) > 3.4654
    values = [one_run_mu(1000, 100, v) for v in (50, 60, 80, 100)]
    assert values[0] == 0 and values == sorted(values) and values[-1] > 1
    assert refutes_gdp(1000, 100, 100, 0.5, 0.05) and not refutes_gdp(1000, 100, 100, 8.0, 0.05)


@pytest.mark.parametrize(
    ("canaries", "guesses", "right", "mu"),
    [(1000, 100, 100, 1.22553), (1000, 100, 80, 0.36433), (2500, 1000, 1000, 2.11256)],
)
def test_f_dp_bound_has_its_values(canaries, guesses, right, mu):
    """Algorithm 3 of Mahloujifar et al. at level 0.05, written anew in plain Python and halved 50 times."""
    assert one_run_mu(canaries, guesses, right) == pytest.approx(mu, abs=2e-5)


def test_made_up_tables_are_neighbours():
    none, one = worst_case(SCHEMA, "add_or_remove_one")
    assert one.num_rows == none.num_rows + 1 and one.slice(0, none.num_rows).equals(none)
    none, one = worst_case(SCHEMA, "replace_one")
    assert one.num_rows == none.num_rows and one.slice(0, none.num_rows - 1).equals(none.slice(0, none.num_rows - 1))
    assert random_rows(SCHEMA, 30, 0).num_rows == 30
    with pytest.raises(DomainNotDeclared, match="audit"):
        worst_case(Schema({"x": tables.Categorical()}), "add_or_remove_one")


def test_little_effort_and_no_claim_are_refused():
    with pytest.raises(NacreError, match="fewer than 100"):
        audit_method(job(), Effort(runs=20))
    with pytest.raises(NacreError, match="claim"):
        audit_method(job(epsilon=None), Effort(runs=200))


def test_an_audit_that_cannot_fail_is_refused():
    """p is at least 2·m·δ/r however many guesses are right: at level 1e-5 and δ = 1e-5 the ceiling was 0."""
    assert one_run_epsilon(1000, 400, 400, 1e-5, 1e-5) == 0
    plan = job(epsilon=1.0).plan
    [found] = ceilings.of_one_run(1000, 400, plan, None, 1e-5)
    assert found.delta == 1e-5 / 2000 and found.value > found.claim > 1.0
    assert found.claim == pytest.approx(epsilon_at(plan.events(), found.delta))
    assert ceilings.of_one_run(1000, 400, plan, None, 0.05)[0].delta == 1e-5  # enough as planned
    with pytest.raises(NacreError, match="never fail"):
        audit_method(Planned.of(Rejection(8.0, delta=1e-5), 24), Effort(runs=100), 1e-3)


def test_nothing_to_audit_and_one_run_under_replace_one_are_refused_first(monkeypatch):
    monkeypatch.setattr(methods, "run", lambda *a: pytest.fail("it ran"))
    with pytest.raises(NacreError, match="nothing to audit"):
        audit_method(job(), Effort(runs=0))
    with pytest.raises(NacreError, match="replace_one"):
        audit_method(job(neighbours="replace_one"), Effort(runs=200, canaries=200))


def test_every_bound_names_its_ceiling():
    found = audit_method(job(epsilon=1.0), Effort(runs=120), 1e-2)
    assert all(f.ceiling > 0 for f in found.findings) and "could have been found" in str(found)
    assert [f["ceiling"] for f in found.to_json()["findings"]] == [f.ceiling for f in found.findings]


def test_a_bound_says_what_it_cannot_show():
    """One that could not have refuted its claim, and answers that a view does not look at."""
    bound = Bound("epsilon", 0.5, 0.95, 5.5)
    blind = methods.ViewBound("one run", bound, 1, 4.45, 2e-9, ("select",))
    assert not blind.can_fail and "could not have refuted the claim" in blind.said
    assert "answers of select are left out" in blind.said
    able = methods.ViewBound("one run", bound, 1, 5.6)
    assert able.can_fail and "could not" not in able.said and "left out" not in able.said
    told = methods.MethodAudit("m", 5.5, 1e-5, "add_or_remove_one", 0.95, (blind, able)).to_json()["findings"]
    assert [f["can_fail"] for f in told] == [False, True] and told[0]["left_out"] == ["select"]


def test_a_canary_is_scored_by_all_tables_of_a_pass():
    """Tables of two entries, asked together: the score is the sum over both, as if each had been asked alone."""
    schema = Schema({"age": SCHEMA.columns["age"], "city": SCHEMA.columns["city"]}, rows=500)
    rows, cliques = random_rows(schema, 40, 0), [[("age",)], [("city",), ("age", "city")]]
    entries = (Counts("one", sigmas=(2.0,)), Counts("two", sigmas=(3.0, 4.0)))
    plan = Plan("twice", entries, Budget(None), rows=500)
    together, apart = (CanaryRoom(rows, rows, plan, schema, NoiseSource(1)) for _ in range(2))
    together.counts_together(list(zip(entries, cliques)))
    for entry, some in zip(entries, cliques):
        apart.counts(entry, some)
    assert together.scored and together.scores.std() > 0 and np.array_equal(together.scores, apart.scores)


def test_one_run_names_the_doors_it_does_not_look_at():
    schema = Schema({"age": SCHEMA.columns["age"], "city": SCHEMA.columns["city"]}, rows=500)
    planned = job("independent", 2.0, schema)
    larger = Budget(2.1, 1e-5)
    entries = (*planned.plan.entries, Select("best", epsilon=0.01))
    plan = dataclasses.replace(planned.plan, entries=entries, budget=larger)
    found = methods._one_run(dataclasses.replace(planned, plan=plan), coins(200, 0), None, 0.05, 0)
    assert all(f.left_out == ("select",) for f in found)


def test_a_white_box_names_the_doors_it_does_not_look_at(monkeypatch):
    monkeypatch.setattr(methods, "WEIGHED", ("bounds",))
    found = methods._white(job("independent", 2.0), 100, 1.0, 0.05, 0, lambda *told: None)
    assert [f.left_out for f in found] == [("counts",)] * 2 and "answers of counts are left out" in found[0].said
    monkeypatch.undo()
    assert not any(f.left_out for f in methods._white(job("independent", 2.0), 100, None, 0.05, 0, lambda *told: None))


def test_coins_come_from_the_operating_system():
    """Different every time and fair; a seed makes them known, which the result says."""
    tossed = [coins(1001) for _ in range(40)]
    assert all(c.shape == (1001,) and c.dtype == bool for c in tossed) and len({c.tobytes() for c in tossed}) == 40
    assert abs(np.mean(tossed) - 0.5) < 6 * 0.5 / 40_040**0.5
    assert np.array_equal(coins(50, 3), coins(50, 3)) and not np.array_equal(coins(50, 3), coins(50, 4))
    plain = audit_method(job(epsilon=2.0), Effort(runs=0, canaries=400), 1e-3)
    assert plain.to_json()["coins"] == "operating system entropy" and "seed" not in str(plain)
    tested = audit_method(job(epsilon=2.0), Effort(runs=0, canaries=400), 1e-3, coin_seed=1)
    assert "seeded" in tested.to_json()["coins"] and "bounds nothing" in str(tested)
    again = audit_method(job(epsilon=2.0), Effort(runs=100), 1e-2, coin_seed=1)
    assert "seed" not in str(again)  # there was no coin to toss


def test_a_twentieth_of_the_noise_is_refuted_in_one_run(monkeypatch):
    """At level 1e-5 too, six of its spreads above the claim. Canaries of 20,000 labels stand alone in their cells, so
    that they do not hide each other."""
    labels = tables.Categorical(categories=tuple(f"c{i}" for i in range(20_000)))
    planned = job(epsilon=1.0, schema=Schema({"label": labels}, rows=500))
    assert not audit_method(planned, Effort(runs=0, canaries=1000), 1e-5).refuted
    real = rooms.rounded_gaussian
    monkeypatch.setattr(rooms, "rounded_gaussian", lambda sigma, size, source: real(0.05 * sigma, size, source))
    found = audit_method(planned, Effort(runs=0, canaries=1000), 1e-5)
    assert all(f.bound.refuted for f in found.findings) and found.findings[0].delta < 1e-5


def test_the_default_number_of_canaries_says_why_it_is_0():
    small = Effort(runs=200)
    assert methods.default_canaries(job(epsilon=1.0).plan, small, 0.05) == (1000, "")
    count, why = methods.default_canaries(job(neighbours="replace_one").plan, small, 0.05)
    assert count == 0 and "no replacement of rows" in why
    with pytest.raises(NacreError, match="runs=50"):  # what is wrong elsewhere is no matter of the canaries
        methods.default_canaries(job().plan, Effort(runs=50), 0.05)
