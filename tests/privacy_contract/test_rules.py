"""Rules change what is counted, not what one row can change: the contract with rules on, and twins of their map."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from tests.privacy_contract import checks
from tests.privacy_contract.test_replay import FURTHER, GANS, SMALL
from tests.privacy_contract.twins import Twins
from tests.table.rules import tables

from nacre.errors import DataError
from nacre.privacy.passes import feature_sums
from nacre.privacy.plan import Counts, Total
from nacre.run import fitting
from nacre.table.places import quadtree
from nacre.table.rules import Combinations, calendar, merging, ordered, presence
from nacre.table.rules.inner import RowMap
from nacre.table.values.stored import Values

SCHEMA = tables.schema()
CLIQUES = [
    ("rooms - beds",), ("combinations of school, years",), ("left - came",), ("pregnant", "relation"), ("came", "fee"),
    ("usual - least", "one of red, green, blue"), ("places - rooms", "sex"),
    ("place of lat, lon",), ("place of north, east",), ("seen, week",),
    ("seen, day of the week", "admitted, time of day"),
]  # fmt: skip
TWINS = Twins()
twin = TWINS.caught_by


def _counted(room, entry):
    return room.counts(entry, CLIQUES)


def _summed(room, entry):
    def vectors(records, public):
        numbers = [np.where(records[n].null, 0.0, records[n].values).astype(np.float64)
                   for n in ("rooms - beds", "usual - least")]  # fmt: skip
        return np.column_stack([np.tanh(numbers[0] / 50), np.tanh(numbers[1])])

    return [room.total(entry, vectors)]


TABLES = checks.Door("tables", Counts("t", sigmas=(2.0,) * len(CLIQUES)), _counted)
SUMS = checks.Door("sums", Total("s", size=2, bound=1.0, sigma=3.0), _summed)


def odd_rows() -> dict[str, pa.Table]:
    """Single rows: of the rules, of no rule at all, and of values no table should have."""
    valid = tables.table(SCHEMA, 40, seed=3)
    wild = tables.anything(SCHEMA, 40, seed=4).cast(valid.schema, safe=False)
    nulls = pa.table({n: pa.nulls(1, t) for n, t in zip(valid.schema.names, valid.schema.types)})
    found = {f"a row that keeps the rules, {i}": valid.slice(i, 1) for i in range(4)}
    found |= {f"a row that keeps none, {i}": wild.slice(i, 1) for i in range(6)}
    for name, value in (("rooms", -(2**40)), ("places", 2**40), ("usual", float("inf")), ("base", 1e300)):
        place = valid.schema.get_field_index(name)
        odd = valid.slice(0, 1).set_column(place, name, pa.array([value], valid.schema.types[place]))
        found[f"outlier of {name}"] = odd
    at_sea = valid.slice(0, 1)
    for name, value in (("lat", 65.0), ("lon", 5.0)):
        at_sea = at_sea.set_column(at_sea.schema.get_field_index(name), name, pa.array([value]))
    found["a place at sea"] = at_sea
    for name, value in (("seen", -(2**62)), ("seen", 2**62), ("admitted", -(2**62))):
        place = valid.schema.get_field_index(name)
        odd = pa.array([value]).cast(pa.timestamp("us")).cast(valid.schema.types[place], safe=False)
        found[f"outlier of {name}, {value}"] = valid.slice(0, 1).set_column(place, name, odd)
    words = valid.slice(0, 1)
    for name in ("school", "sex", "relation"):
        words = words.set_column(words.schema.get_field_index(name), name, pa.array(["nobody else's"]))
    return found | {"a row of nulls": nulls, "labels of nobody else": words}


def neighbours(base: pa.Table) -> dict[str, pa.Table]:
    """The base with one row more, at its end or at its beginning, or one fewer."""
    odd = odd_rows()
    found = {name: together(base, row) for name, row in odd.items()}
    found["first row removed"] = base.slice(1)
    found["a row that keeps none, first"] = together(odd["a row that keeps none, 0"], base)
    return found


def together(one: pa.Table, other: pa.Table) -> pa.Table:
    """The rows of both in one batch, where a fault would see them together."""
    return pa.concat_tables([one, other.cast(one.schema)]).combine_chunks()


def pairs():
    base = tables.table(SCHEMA, 24, seed=7)
    bad = tables.anything(SCHEMA, 24, seed=8).cast(base.schema, safe=False)
    return [(one, other) for one in (base, bad) for other in neighbours(one).values()]


def tables_move_no_further(tmp_path) -> None:
    """No neighbour moves exact tables of what is modelled further than one row in one cell each."""
    checks.check_sensitivity(TABLES, pairs(), SCHEMA.inner, "zero_out")
    one = pairs()[0][0]
    swapped = [(together(one.slice(1), row), one) for row in odd_rows().values()]
    checks.check_sensitivity(TABLES, swapped, SCHEMA.inner, "replace_one")


def replay(tmp_path) -> None:
    base = tables.table(SCHEMA, 200)
    near = neighbours(base)
    names = [n for n in near if n.endswith((", 0", "nulls", "nobody else", "removed", "first"))]
    fit = checks.fit_with("independent", SCHEMA, {})
    checks.check_replay(fit, base, {n: near[n] for n in names}, tmp_path)


def test_movement_of_exact_tables(tmp_path):
    tables_move_no_further(tmp_path)


def test_movement_of_exact_sums():
    checks.check_sensitivity(SUMS, pairs(), SCHEMA.inner, "zero_out")


@pytest.mark.parametrize("method", FURTHER)
def test_replay_on_neighbours_with_rules(method, tmp_path):
    base = tables.table(SCHEMA, 200)
    near = neighbours(base)
    names = ["a row that keeps none, 0", "a row of nulls", "first row removed"]
    target = "sex" if method in ("dpcgan", "gswgan") else None
    sampled = {"batch": 40} if method in GANS[:2] else {}
    fit = checks.fit_with(method, SCHEMA, {**SMALL.get(method, {}), **sampled}, target)
    checks.check_replay(fit, base, {name: near[name] for name in names}, tmp_path)


def test_a_release_shows_no_value_of_a_row_that_was_moved(tmp_path):
    base = tables.stays(300)
    base.loc[3, "school"] = "canary school"
    made = checks.fit_with("sketch", SCHEMA, SMALL["sketch"])(base)
    made.save(tmp_path / "r.nacre")
    texts = {"release": checks.members((tmp_path / "r.nacre").read_bytes())}
    texts["sample"] = made.sample(500, seed=1).to_csv().encode()
    checks.check_no_canaries(texts, {"label": b"canary school"})


def test_any_map_of_modelled_records_is_still_checked():
    """The door itself looks for maps that couple rows, on made-up records of what is modelled."""
    made = feature_sums.made_up_records(SCHEMA.inner, 10, np.random.default_rng(0))
    assert set(made) == set(SCHEMA.inner.modelled)


# ------------------------------------------------------------------------------------------------------------ the twins


@twin(tables_move_no_further)
def a_distance_from_the_row_before(patch):
    real = ordered.Gap._base
    patch.setattr(ordered.Gap, "_base", lambda self, values: np.roll(real(self, values), 1))


@twin(tables_move_no_further)
def a_distance_from_the_least_of_all_rows(patch):
    real = ordered.Gap._base
    patch.setattr(ordered.Gap, "_base", lambda self, values: np.full_like(real(self, values), real(self, values).min()))


@twin(tables_move_no_further)
def weeks_counted_from_the_first_of_the_rows(patch):
    real = calendar.Parts.encode

    def relative(self, values):
        real(self, values)
        week = values[self.carrier]
        if len(week):
            values[self.carrier] = Values.of(week.values - week.values.min(), week.null)

    patch.setattr(calendar.Parts, "encode", relative)


@twin(tables_move_no_further)
def a_place_at_sea_goes_where_the_row_before_was(patch):
    real = quadtree.Quadtree.number

    def nearest_row(self, x, y):
        found = real(self, x, y)
        if self.region is not None and len(x):
            lost = ~self.region.holds(x, y)
            found[lost] = np.roll(found, 1)[lost]
        return found

    patch.setattr(quadtree.Quadtree, "number", nearest_row)


@twin(tables_move_no_further)
def rows_that_break_a_rule_take_the_combination_of_the_last(patch):
    real = merging.Merged.nearest
    patch.setattr(merging.Merged, "nearest", lambda *given: np.full_like(real(*given), real(*given)[-1]))


@twin(tables_move_no_further)
def nulls_filled_with_the_last_value_of_the_column(patch):
    real = presence.Presence._put

    def last(self, values, name, absent, donors=None):
        own = values[name]
        held = own.values[~own.null]
        real(self, values, name, absent, donors)
        if len(held):
            values[name] = Values.of(np.where(own.null & ~absent, held[-1], values[name].values), absent)

    patch.setattr(presence.Presence, "_put", last)


@twin(tables_move_no_further)
def rows_that_break_a_rule_empty_their_batch(patch):
    real = RowMap.encode

    def strict(self, encoded):
        found = real(self, encoded)
        if any(name.startswith("rule") for name in found.outside()):
            found = dataclasses.replace(found, columns={n: v.take(np.arange(0)) for n, v in found.columns.items()})
        return found

    patch.setattr(RowMap, "encode", strict)


@twin(replay)
def a_list_of_combinations_learnt_from_the_rows(patch):
    real = fitting.carry_out

    def learnt(table, schema, terms, access):
        rows = {(a, b) for a, b in zip(*(table[n].to_pylist() for n in ("relation", "sex"))) if a and b}
        known = [r for r in sorted(rows) if "nobody else's" not in r]
        rules = [r for r in schema.rules if not {"relation", "sex"} & {*r.names}]
        return real(table, dataclasses.replace(schema, rules=(*rules, Combinations(("relation", "sex"), known))), terms,
                    access)  # fmt: skip

    patch.setattr(fitting, "carry_out", learnt)


@twin(replay)
def rows_that_break_a_rule_stop_the_run(patch):
    real = RowMap.encode

    def refusing(self, encoded):
        found = real(self, encoded)
        for name, misfits in found.outside().items():
            if name.startswith("rule") and misfits:
                raise DataError(f"{misfits.outside} rows break the {name}")
        return found

    patch.setattr(RowMap, "encode", refusing)


@pytest.mark.parametrize("check", [tables_move_no_further, replay])
def test_nacre_passes(check, tmp_path):
    check(tmp_path)


@pytest.mark.parametrize("name", TWINS)
def test_twin_is_caught(name, tmp_path, monkeypatch):
    fault, check = TWINS[name]
    fault(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(tmp_path)
