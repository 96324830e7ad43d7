"""The door `nested` against tables added up row by row, and what it leaves out."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.nested.exact import exact_tables
from tests.engines.shards_here import ShardsHere
from tests.privacy_contract import checks, nested_checks, nesting

from nacre.errors import DataError, PlanError
from nacre.privacy.nested import keys
from nacre.privacy.nested.curator import NestedCurator
from nacre.privacy.nested.units import Left
from nacre.privacy.nested.views import View
from nacre.privacy.opening import Record
from nacre.privacy.plan import Plan
from nacre.table.values import labels


def clean(seed: int, patients: int = 12) -> nesting.Tables:
    """Units whose kept rows are clear: no ties, and no more rows than fit where no order says which."""
    rng = np.random.default_rng(seed)
    units = [nesting.unit(rng, 1 + i, int(rng.integers(5)), 0, (1, 1)) for i in range(patients)]
    for u in units:
        who = u["patients"][0]["id"]
        ranks = rng.permutation(30)[: rng.integers(6)]
        u["calls"] = [{"patient": who, "topic": "pq"[i % 2], "rank": str(r)} for i, r in enumerate(ranks)]
    return nesting.shuffled(nesting.together(*units), rng)


@pytest.mark.parametrize("seed", range(6))
def test_tables_are_those_added_up_row_by_row(seed):
    tables = clean(seed)
    found = nesting.answers(tables)
    tops = nesting.reference(tables)
    for view, cliques, tables_found in zip(nesting.VIEWS, nesting.CLIQUES, found):
        expected = nesting.tables_of(tops, view, cliques, tables_found)
        for clique, a, b in zip(cliques, tables_found, expected):
            assert a.dtype == np.float64
            np.testing.assert_allclose(a, b, atol=1e-12, err_msg=f"{view.name} {clique}")


def same(one, other) -> bool:
    return all(np.array_equal(a, b) for x, y in zip(one, other) for a, b in zip(x, y))


# --------------------------------------------------------------------------------------------------------- in parts


def test_parts_that_fit_give_the_same_tables_and_the_same_account_of_what_was_left_out(monkeypatch):
    rng = np.random.default_rng(2)
    tables = nesting.together(nesting.random_tables(rng, 40), {**nesting.unit(rng, 999, 6, 6, (5, 5))})
    tables["calls"].append({"patient": 12345, "topic": "p", "rank": "1"})
    tables["patients"] += [{"id": None, "sex": "f", "old": None}] * 5
    whole = nesting.curator(tables)
    expected = whole.nested(nesting.ENTRY)
    reads = []
    for room in (2_000, 4_000, 9_000):
        monkeypatch.setattr(NestedCurator, "room", room)
        part = nesting.curator(tables)
        assert same(part.nested(nesting.ENTRY), expected)
        assert part.dropped == whole.dropped and part.outside == whole.outside
        reads.append(part._parts)
    assert reads[0] > reads[-1] > 1, "rooms so small that units are read in parts"


def test_a_unit_that_fits_nowhere_is_said(monkeypatch):
    monkeypatch.setattr(NestedCurator, "room", 50)
    with pytest.raises(DataError, match="lower the caps"):
        nesting.curator(clean(1)).nested(nesting.ENTRY)


@pytest.mark.parametrize("room", (10**9, 3_000))
def test_ids_that_stand_twice_are_refused(room, monkeypatch):
    monkeypatch.setattr(NestedCurator, "room", room)
    for table in ("patients", "stays"):
        tables = clean(2, 30)
        tables[table].append(dict(tables[table][0]))
        with pytest.raises(DataError, match=f"column 'id' of '{table}'.*stand twice"):
            nesting.curator(tables).nested(nesting.ENTRY)
        sources = {t: nesting.Lines(found) for t, found in nesting.arrow(tables).items()}
        with pytest.raises(DataError, match="stand twice"):
            keys.refuse_repeated_ids(nesting.DATABASE, sources)
    monkeypatch.setattr(keys, "_AT_ONCE", 7)
    with pytest.raises(DataError, match="stand twice"):
        keys.refuse_repeated_ids(nesting.DATABASE, sources)
    sources = {t: nesting.Lines(found) for t, found in nesting.arrow(clean(2, 30)).items()}
    keys.refuse_repeated_ids(nesting.DATABASE, sources)


# ----------------------------------------------------------------------------------------------------- what is kept


def sums(tables: nesting.Tables, view: View, clique: tuple[str, ...]) -> np.ndarray:
    return nesting.answers(tables, nesting.entry_of((view,), ((clique,),), ((1.0,),)))[0][0]


def only(**rows: list[dict]) -> nesting.Tables:
    return {**{t: [] for t in nesting.TYPES}, "patients": [{"id": 1, "sex": "f", "old": True}], **rows}


def test_caps_keep_the_first_rows_by_order_and_nulls_come_last():
    days = [50, None, 3, 40, 9, None]
    wards = ["c", "c", "a", "c", "a", "c"]
    stays = [{"id": i, "patient": 1, "day": d, "ward": w} for i, (d, w) in enumerate(zip(days, wards))]
    found = sums(only(stays=stays), View("v", "stays"), ("stays.ward", "stays@place"))
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[0, 2] = expected[2, 3] = 1  # days 3, 9, 40
    np.testing.assert_array_equal(found, expected)
    room = nesting.curator(only(stays=stays))
    room.nested(nesting.ENTRY)
    assert room.dropped.rows["stays"] == Left(rows=6, cap=3)


def test_a_unit_has_no_more_rows_of_a_table_than_declared():
    stays = [{"id": i, "patient": 1, "day": i, "ward": "abc"[i]} for i in range(3)]
    codes = [{"stay": i, "patient": 1, "code": "x", "drug": "d1"} for i in (2, 2, 0, 0, 1, 1, 1)]
    found = sums(only(stays=stays, codes=codes), View("v", "codes", above=((1, 1, 1),)), ("stays.ward", "codes@place"))
    expected = np.zeros((4, 4))
    expected[0, [1, 3]] = expected[1, [1, 3]] = expected[2, 0] = 1  # 2 of each stay, 5 of the patient: 2, 2 and 1
    np.testing.assert_array_equal(found, expected)
    room = nesting.curator(only(stays=stays, codes=codes))
    room.nested(nesting.ENTRY)
    assert room.dropped.rows["codes"] == Left(rows=7, cap=1, most=1)


def test_rows_below_a_row_that_was_left_out_are_left_out():
    stays = [{"id": i, "patient": 1, "day": i, "ward": "a"} for i in range(5)]
    tests = [{"stay": i, "level": i} for i in range(6)]
    found = sums(only(stays=stays, tests=tests), View("v", "tests", above=((1, 1, 1),)), ("tests.level",))
    np.testing.assert_array_equal(found, [1, 1, 1, 0, 0, 0, 0, 0, 0, 0])
    room = nesting.curator(only(stays=stays, tests=tests))
    room.nested(nesting.ENTRY)
    assert room.dropped.rows["tests"] == Left(rows=6, orphans=1, below=2)


def test_an_order_of_texts_has_numbers_by_value_first():
    ranks = ["b", "10", "9", "-3", "a", None]
    topics = ["q", "p", "p", "p", "q", "q"]
    calls = [{"patient": 1, "topic": t, "rank": r} for t, r in zip(topics, ranks)]
    found = sums(only(calls=calls), View("v", "calls"), ("calls.topic", "calls@place"))
    np.testing.assert_array_equal(found, [[0, 1, 2, 0], [0, 0, 0, 1]])  # -3, 9, 10, a


def test_chance_is_fair_between_rows():
    """Of three alike rows and one other, half stay with a cap of two, whatever they hold; a pair is drawn likewise."""
    units = []
    for who in range(1, 1501):
        one = only(patients=[{"id": who, "sex": "f", "old": True}])
        one["stays"] = [{"id": who, "patient": who, "day": 1, "ward": "a"}]
        one["codes"] = [{"stay": who, "patient": who, "code": c, "drug": "d1"} for c in "xxxy"]
        one["tests"] = [{"stay": who, "level": level} for level in (1, 1, 6)]
        units.append(one)
    tables = nesting.together(*units)
    kept = sums(tables, View("v", "codes", above=((1, 1, 1),)), ("codes.code",))
    assert kept.sum() == 3000 and abs(kept[1] / 3000 - 0.25) < 0.04
    pair = View("v", "codes", kind="pair", other="tests", above=((1, 1, 1),))
    drawn = sums(tables, pair, ("codes.code", "tests.level"))
    assert drawn.sum() == 1500 and drawn.any(axis=1).all()
    assert abs(drawn[:, 6].sum() / 1500 - 1 / 3) < 0.06 and abs(drawn[1].sum() / 1500 - 0.25) < 0.06


# ------------------------------------------------------------------------------------------------------ the bound mu


def test_a_unit_that_would_move_the_tables_further_is_left_out():
    tables = clean(4, 20)
    view = View("v", "stays")
    tops = {r["patient"] for r in tables["stays"]}
    stays = {who: sum(r["patient"] == who for r in tables["stays"]) for who in tops}
    entry = nesting.entry_of((view,), (((), ("stays.ward",)),), ((2.0, 2.0),), mu=1.5)
    room = nesting.curator(tables, entry)
    total = room.nested(entry)[0][0]
    assert total == sum(m for m in stays.values() if m <= 2) > 0
    assert room.dropped.units == {"tables": sum(m > 2 for m in stays.values())} != {"tables": 0}


# --------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("view", "clique"),
    (
        (View("v", "drugs"), ()),
        (View("v", "nothing"), ()),
        (View("v", "patients", own=((2,),)), ()),
        (View("v", "patients", kind="next"), ()),
        (View("v", "stays", above=((1, 1, 1),)), ()),
        (View("v", "codes"), ()),
        (View("v", "codes", above=((1, 1),)), ()),
        (View("v", "stays", own=((1, 1),)), ()),
        (View("v", "codes", kind="pair", other="calls", above=((1, 1, 1),)), ()),
        (View("v", "stays"), ("codes.code",)),
        (View("v", "stays"), ("stays.ward+",)),
        (View("v", "stays"), ("stays.day",)),
        (View("v", "stays"), ("stays.patient",)),
        (View("v", "stays"), ("patients@place",)),
    ),
)
def test_what_a_database_does_not_have_is_refused_and_costs_nothing(view, clique):
    entry = nesting.entry_of((view,), ((clique,),), ((1.0,),), mu=1.0)
    room = nesting.curator(clean(1), entry)
    with pytest.raises(PlanError):
        room.nested(entry)
    assert not room.opened


def test_entries_open_once_and_only_if_planned():
    entry = nesting.entry_of((View("v", "stays"),), ((("stays.ward",),),), ((1.0,),))
    room = nesting.curator(clean(1), entry)
    for stranger in (replace(entry, mu=2 * entry.mu), replace(entry, name="another"), replace(entry, sigmas=((2.0,),))):
        with pytest.raises(PlanError, match="not in the plan"):
            room.nested(stranger)
    for groups in (np.zeros(3, np.int64), np.zeros(4), np.full(4, 2**40)):
        with pytest.raises(PlanError):
            room.nested(entry, {"stays.ward": groups})
    coarse = room.nested(entry, {"stays.ward": np.array([0, 1, 0, -1])})[0][0]
    assert coarse.shape == (2,)
    with pytest.raises(PlanError, match="opened before"):
        room.nested(entry)


def test_exact_tables_are_those_of_the_door_without_noise():
    tables = clean(3)
    frames = {t: found.to_pandas() for t, found in nesting.arrow(tables).items()}
    frames["drugs"] = None
    found = exact_tables(frames, nesting.DATABASE, nesting.FORMS, nesting.ENTRY)
    assert same(found, nesting.answers(tables))


# ---------------------------------------------------------------------------------------------------------- the names

IDS = (
    "0",
    "7",
    "007",
    "-7",
    "-0",
    "+7",
    "7.0",
    "7.5",
    "1e3",
    "x",
    "ü",
    "123456789012345678",
    "1234567890123456789",
    " 7",
)


def test_an_id_has_one_name_whatever_stores_it():
    texts = pa.array([*IDS, None, ""])
    names, there = keys.named(texts, b"k")
    assert there.tolist() == [True] * len(IDS) + [False, False]
    expected = labels.names(texts).to_pylist()[: len(IDS)]
    for i, j in itertools.combinations(range(len(IDS)), 2):
        assert (names[i] == names[j]).all() == (expected[i] == expected[j]), (IDS[i], IDS[j])
    for stored in (
        pa.array([0, 7, -7, 123456789012345678, 1234567890123456789]),
        pa.array([0, 7, -7]).cast(pa.int8()),
        pa.array([0.0, 7.0, -7.0]),
        pa.array([0, 7]).cast(pa.uint64()),
        pa.array(["7", "x"]).dictionary_encode(),
        pa.array([7, 0]).dictionary_encode(),
        pa.array([-(2**63), 2**63 - 1]),
    ):
        told = labels.names(stored).to_pylist()
        again = keys.named(pa.array(told), b"k")[0]
        assert np.array_equal(keys.named(stored, b"k")[0], again), stored
    assert not np.array_equal(keys.named(texts, b"other")[0][:7], names[:7]), "names are keyed"


def test_names_that_share_half_are_told_apart():
    names = np.array([[5, 1], [5, 2], [3, 9], [5, 3]], np.uint64)
    index = keys.Index(names, np.arange(4, dtype=np.int32), "here")
    asked = np.array([[5, 3], [5, 2], [5, 4], [3, 9], [2, 0], [9, 9], [5, 1]], np.uint64)
    there = np.array([True] * 6 + [False])
    assert index.find(asked, there).tolist() == [3, 1, -1, 2, -1, -1, -1]


def test_workers_that_read_shards_give_the_same_tables(tmp_path):
    tables = nesting.together(nesting.random_tables(np.random.default_rng(8), 30), nested_checks.anchor())
    whole = nesting.curator(tables)
    sources = {}
    for t, found in nesting.arrow(tables).items():
        paths = [tmp_path / f"{t}{i}.parquet" for i in range(4)]
        for i, path in enumerate(paths):
            pq.write_table(found.take(pa.array(range(i, len(found), 4))), path)
        sources[t] = ShardsHere(paths, 3)
    plan = Plan("test", (nesting.ENTRY,), checks.FREE)
    seen: list[int] = []
    record = Record(progress=seen.append)
    shards = NestedCurator(sources, plan, nesting.DATABASE, nesting.FORMS, checks.ZeroNoise(), record)
    assert same(shards.nested(nesting.ENTRY), whole.nested(nesting.ENTRY))
    assert shards.dropped == whole.dropped and shards.outside == whole.outside
    assert seen == sorted(seen) and seen[-1] == sum(map(len, tables.values()))
