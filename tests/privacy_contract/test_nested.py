"""The privacy contract of the door `nested`, and broken copies of it that the same checks must catch."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable

import numpy as np
import pytest
from tests.privacy_contract import checks, doors, nested_checks, nesting

from nacre.audit.doors import audit_door
from nacre.privacy.budget import Budget
from nacre.privacy.doors.nested import Nested
from nacre.privacy.nested import counting, keys, reading, units
from nacre.privacy.nested.curator import NestedCurator
from nacre.privacy.nested.views import View
from nacre.privacy.noise import rounded_gaussian
from nacre.privacy.opening import Opener, Record
from nacre.privacy.plan import Plan
from nacre.privacy.transcript import Transcript
from nacre.synthesizers.nested.method import NestedSketch

METHOD = NestedSketch(steps=10, classes=3, rows=3, types=1)
HALVES = View("halves", "stays", own=((64, 32, 21),), of=64)
FULL = View("full", "codes", above=((1, 1, 1),))
# Whose worst unit is known: the furthest move is the bound itself.
SINGLE = (
    nesting.entry_of((View("units", "patients"),), (((),),), ((2.0,),)),
    nesting.entry_of((HALVES,), ((("stays.ward",), ()),), ((2.0, 3.0),)),
    nesting.entry_of((nesting.VIEWS[1],), ((("stays.ward",),),), ((2.0,),)),
    nesting.entry_of((nesting.VIEWS[2],), ((("stays.ward", "stays.ward+"),),), ((2.0,),)),
    nesting.entry_of((nesting.VIEWS[3],), ((("calls.topic",),),), ((2.0,),)),
    nesting.entry_of((nesting.VIEWS[5],), ((("codes.code", "tests.level"), ()),), ((2.0, 5.0),)),
)
WIDE = nesting.entry_of(
    nesting.VIEWS,
    (
        (("patients.stays count", "patients.calls count", "patients.old"),) * 2,
        (("stays.day gap", "patients.sex"), ("stays.ward", "patients.calls count", "patients.sex")),
        (("stays.day gap", "patients.sex"),),
        (("calls.topic", "patients.sex", "patients.calls count", "patients.stays count"),),
        (("stays.day gap", "codes.code"),),
        (("tests.level", "stays.ward"),),
    ),
    ((2.0, 30.0), (3.0, 1.5), (4.0,), (5.0,), (0.7,), (12.0,)),
)


@pytest.mark.parametrize("relation", doors.RELATIONS)
def test_no_unit_moves_all_tables_further_than_told(relation):
    nested_checks.check_moves(nesting.ENTRY, nested_checks.pairs(relation, 1), relation)


@pytest.mark.parametrize("entry", SINGLE, ids=lambda e: e.views[0].name)
def test_the_worst_unit_moves_the_tables_as_far_as_told(entry):
    furthest = nested_checks.check_moves(entry, nested_checks.pairs("add_or_remove_one", 2, 40), "add_or_remove_one")
    assert furthest > 0.999 * entry.mu


def test_a_smaller_bound_than_the_worst_unit_needs_is_kept_all_the_same():
    entry = nesting.entry_of(nesting.VIEWS, nesting.CLIQUES, nesting.SIGMAS, mu=0.6 * nesting.ENTRY.mu)
    furthest = nested_checks.check_moves(entry, nested_checks.pairs("add_or_remove_one", 3), "add_or_remove_one")
    assert furthest > 0.5 * entry.mu


def test_rows_are_read_alike_in_any_order_and_in_any_pieces():
    nested_checks.check_reading(nesting.ENTRY)


def test_units_add_up():
    nested_checks.check_alone(nesting.ENTRY)


def test_orphans_reach_no_table():
    nested_checks.check_orphans(nesting.ENTRY)


def test_noise_has_the_law_the_accountant_was_told():
    nested_checks.check_noise(WIDE)


def test_noise_of_tables_is_independent():
    found = nesting.curator(nesting.random_tables(np.random.default_rng(0), 3), WIDE, checks.FixedNoise(8)).nested(WIDE)
    checks.check_independence(*(t.ravel() for t in found[0]))


def test_nothing_bypasses_the_door():
    nested_checks.check_replay(nesting.ENTRY)


def test_no_value_of_a_row_is_written_down():
    tables = nested_checks.anchor()
    ward, who, rank = "canary-ward-77", 987_654_321_123, "canary-rank-88"
    tables["patients"].append({"id": who, "sex": "f", "old": None})
    tables["stays"].append({"id": who + 1, "patient": who, "day": 3, "ward": ward})
    tables["calls"].append({"patient": who, "topic": "p", "rank": rank})
    transcript = Transcript()
    nested_checks._told(tables, nesting.ENTRY, transcript)
    told = {"transcript": repr(transcript.questions).encode()}
    tables["patients"].append(dict(tables["patients"][-1]))
    with pytest.raises(checks.NacreError) as refused:
        nesting.answers(tables)
    told["error"] = str(refused.value).encode()
    checks.check_no_canaries(told, {"ward": ward.encode(), "id": str(who).encode(), "rank": rank.encode()})


def fitted(tables: nesting.Tables, plan: Plan, transcript: Transcript) -> tuple[str, dict[str, bytes]]:
    """A model of the nested sketch, as it is saved."""
    sources = {t: nesting.Lines(found) for t, found in nesting.arrow(tables).items()}
    noise, record = checks.FixedNoise(3), Record(transcript)
    room = NestedCurator(sources, plan, nesting.DATABASE, nesting.FORMS, noise, record)
    facts, arrays = METHOD.fit(room, plan, 0).parts()
    return repr(facts), {name: array.tobytes() for name, array in arrays.items()}


def test_a_fit_is_the_same_bytes_on_every_neighbour_given_the_same_answers():
    rng = np.random.default_rng(9)
    base = nesting.together(nested_checks.anchor(), nesting.random_tables(rng, 40))
    plan = METHOD.plan(nesting.DATABASE, nesting.FORMS, Budget(8.0, 1e-5))
    recorded = Transcript()
    first = fitted(base, plan, recorded)
    for name, tables in nested_checks.neighbours(base, rng).items():
        replayed = Transcript(replay=recorded)
        assert fitted(tables, plan, replayed) == first, f"{name}: another model"
        assert replayed.questions == recorded.questions, f"{name}: something else was asked"


def test_no_unit_is_left_out_of_what_the_sketch_plans():
    plan = METHOD.plan(nesting.DATABASE, nesting.FORMS, Budget(8.0, 1e-5))
    for entry in plan.entries:
        assert isinstance(entry, Nested)
        for one, _ in nested_checks.pairs("add_or_remove_one", 6, 8):
            room = nesting.curator(one, entry)
            room.nested(entry)
            assert room.dropped.units == {entry.name: 0}


@pytest.mark.slow
def test_the_audit_comes_within_a_tenth_of_the_claim():
    bound = audit_door("nested", 1.0, 100_000, checks.ALPHA)
    assert not bound.refuted and bound.value > 0.9, str(bound)


# -------------------------------------------------------------------------------------------------------------- twins

Patch = pytest.MonkeyPatch
moves = functools.partial(nested_checks.check_moves, relation="add_or_remove_one")
TWINS: list[tuple[Callable[[Patch], None], Callable[[], object]]] = []


def twin(check: Callable[[], object]) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    def add(broken: Callable[[Patch], None]) -> Callable[[Patch], None]:
        TWINS.append((broken, check))
        return broken

    return add


def some_pairs() -> list:
    return [*nested_checks.pairs("add_or_remove_one", 4, 30)]


def check_all_moves() -> None:
    for entry in (*SINGLE, nesting.entry_of((FULL,), ((("codes.code",),),), ((2.0,),)), nesting.ENTRY):
        moves(entry, some_pairs())


def unbounded(patch: Patch) -> None:
    """Twins of what the bound rests on, with the guard behind it taken away."""
    patch.setattr(counting, "within", lambda looks, precisions, mu, found: np.ones(_units(looks, found), bool))


def _units(looks, found) -> int:
    return len(found.tables[looks[0].path[0]])


@twin(lambda: moves(nesting.entry_of((HALVES,), ((("stays.ward",),),), ((2.0,),), mu=0.3), some_pairs()))
def bound_left_out(patch):
    """Units above the declared bound are counted."""
    unbounded(patch)


@twin(check_all_moves)
def cap_of_the_parents_forgotten(patch):
    """As many rows of a stay as declared, but any number of stays."""
    unbounded(patch)
    real = units.arranged
    loosened = lambda loose, cap, most, own, left: real(loose, cap if most != 3 else 99, 10**6, own, left)  # noqa: E731
    patch.setattr(units, "arranged", loosened)
    patch.setattr(counting, "_weights", lambda look, found, at, stratum: np.ones(len(stratum), np.int64))


@twin(check_all_moves)
def all_pairs_of_siblings(patch):
    """m·m′ pairs under one parent in place of one."""
    real = counting.count

    def squared(look, counter, found, allowed):
        times = 1 if look.view.kind != "pair" else 4
        for _ in range(times):
            real(look, counter, found, allowed)

    patch.setattr(counting, "count", squared)


@twin(lambda: nested_checks.check_orphans(nesting.ENTRY))
def orphans_kept(patch):
    """A row whose key leads nowhere hangs on the first row."""
    real = keys.Index.find

    def found(self, names, there):
        at = real(self, names, there)
        return np.where(at == keys.NOWHERE, 0, at).astype(at.dtype)

    patch.setattr(keys.Index, "find", found)


@twin(lambda: nested_checks.check_orphans(nesting.ENTRY))
def further_keys_not_compared(patch):
    """A code hangs on its stay, whatever patient it names."""
    patch.setattr(nesting.DATABASE.__class__, "implied", lambda self, table: ())


@twin(check_all_moves)
def weights_read_the_neighbour(patch):
    """The number of rows beside is that of the unit before."""
    real = units._kept

    def shifted(loose, rows, above):
        kept = real(loose, rows, above)
        if above is not None and len(kept):
            kept.beside = np.minimum(np.roll(kept.beside, 1), kept.beside)
        return kept

    patch.setattr(units, "_kept", shifted)


@twin(lambda: nested_checks.check_alone(nesting.ENTRY))
def cap_by_the_rows_of_others(patch):
    """Rows whose keyed number is small among all rows are kept."""
    real = units.arranged

    def best(loose, cap, most, own, left):
        rows = real(loose, cap, most, own, left)
        rank = np.argsort(np.argsort(loose.number))
        return rows[rank[rows] < max(1, int(0.8 * len(rank)))]

    patch.setattr(units, "arranged", best)


@twin(lambda: nested_checks.check_alone(nesting.ENTRY))
def chance_of_the_rows_of_others(patch):
    """Equal rows are told apart by how many equal rows came before in the whole table."""
    patch.setattr(units, "place_of", lambda starts: np.arange(len(starts), dtype=np.int32))
    real = units.told_apart
    patch.setattr(units, "told_apart", lambda numbers, occurrence: real(numbers, occurrence))


@twin(lambda: nested_checks.check_reading(nesting.ENTRY))
def rows_of_a_unit_in_two_pieces(patch):
    """Each batch is arranged by itself, as workers would that know nothing of each other."""
    real = units.arranged

    def apart(loose, cap, most, own, left):
        half = len(loose.parent) // 2
        rows = np.concatenate([r + start for start, r in _halves(real, loose, half, (cap, most, own, left))])
        rows = rows[np.argsort(loose.parent[rows], kind="stable")]
        return rows[units.place_of(units._starts(loose.parent[rows])) < cap]

    patch.setattr(units, "arranged", apart)


def _halves(real, loose, half, rest):
    for here in (slice(0, half), slice(half, None)):
        order = None if loose.order is None else loose.order.take(np.arange(len(loose.parent))[here])
        piece = reading.Loose({}, loose.parent[here], loose.number[here].copy(), order, None, None)
        yield here.start, real(piece, *rest)


@twin(lambda: nested_checks.check_reading(nesting.ENTRY))
def ties_by_arrival(patch):
    """Rows of equal order stay as they came."""
    real = units.arranged

    def as_they_came(loose, cap, most, own, left):
        loose.number = np.arange(len(loose.number), dtype=np.uint64)
        return real(loose, cap, most, own, left)

    patch.setattr(units, "arranged", as_they_came)


@twin(check_all_moves)
def strata_that_exceed(patch):
    """A last row counts in full, which only a row without others may."""
    real = counting._weights

    def full(look, found, at, stratum):
        weights = real(look, found, at, stratum)
        return np.where(stratum == 2, look.view.of, weights) if look.view.strata else weights

    patch.setattr(counting, "_weights", full)
    unbounded(patch)


@twin(lambda: nested_checks.check_noise(WIDE))
def noise_without_the_denominator(patch):
    """Noise of scale sigma is added to counts in parts, and divided with them."""
    parts = {s * v.scale: s for v, own in zip(WIDE.views, WIDE.sigmas) for s in own}

    def noisy(self, exact, sigmas):
        return [t + rounded_gaussian(parts[s], t.size, self._noise).reshape(t.shape) for t, s in zip(exact, sigmas)]

    patch.setattr(Opener, "_noisy", noisy)


@twin(lambda: nested_checks.check_replay(nesting.ENTRY))
def a_word_about_the_rows(patch):
    """The number of units is logged."""
    real = counting.within

    def loud(looks, precisions, mu, found):
        logging.getLogger().warning("units: %d", _units(looks, found))
        return real(looks, precisions, mu, found)

    patch.setattr(counting, "within", loud)


@pytest.mark.parametrize(("broken", "check"), TWINS, ids=lambda x: getattr(x, "__name__", ""))
def test_twin_is_caught(broken, check, monkeypatch):
    broken(monkeypatch)
    with pytest.raises(AssertionError):
        check()
