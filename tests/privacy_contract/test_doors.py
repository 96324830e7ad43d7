"""(2) Sensitivity, (3) noise, (5) audit and the books, for every door."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pyarrow as pa
import pytest
from tests.privacy_contract import checks, doors, tables

from nacre.engines import MemoryRows
from nacre.errors import PlanError
from nacre.privacy.curator import Curator
from nacre.privacy.doors.select import STEPS, Deviation, Nearness, RecordScore
from nacre.privacy.noise import rounded_gaussian
from nacre.privacy.passes import feature_sums
from nacre.privacy.plan import DOORS, Bounds, Categories, Counts, Plan, Reveal, Scope, Select, Total
from nacre.table import Boolean, Categorical, Identifier, Numeric, Schema, Unit
from nacre.table.encoding import Values
from nacre.table.votes import probe

CAPS = (None, 1, 3)


def test_every_door_is_under_contract():
    apart = {"select", "reveal", "sample", "descend", "teach", "nested"}  # test_sample, test_nested_door, ...
    covered = {d.name for d in doors.DOORS} | apart
    assert set(DOORS) == covered, "a new door needs its own lines in doors.py and here"


# ------------------------------------------------------------------------------------------------------- sensitivity


@pytest.mark.parametrize("trials", (12, pytest.param(25, marks=pytest.mark.slow)))
@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("relation", doors.RELATIONS)
@pytest.mark.parametrize("door", doors.DOORS, ids=lambda d: d.entry.name)
def test_no_neighbour_moves_a_door_further_than_told(door, relation, cap, trials):
    trials = 6 if door.name == "categories" else trials
    pairs = doors.pairs(relation, cap, seed=11, trials=trials)
    checks.check_sensitivity(door, pairs, doors.schema(cap), relation)


@pytest.mark.parametrize("cap", (1, 2))
def test_a_row_without_identifier_moves_no_more_than_a_person(cap):
    checks.check_sensitivity(doors.COUNTS, doors.nameless_pairs(5), doors.schema(cap), "add_or_remove_one")


def deviation() -> Deviation:
    rng = np.random.default_rng(4)
    cliques = [("city", "age"), ("smoker", "city"), ("age", "smoker")]
    shapes = [(4, 4), (3, 4), (4, 3)]
    references = [rng.integers(0, 4, shape) for shape in shapes]
    return Deviation(cliques, references.__getitem__, np.array([1, 0, 2]), {"age": np.arange(101) // 30})


def record_score() -> RecordScore:
    return RecordScore(doors.features, 3, low=-0.5, high=40.0)


def nearness() -> Nearness:
    value = RecordScore(lambda records, public: doors.features(records, public)[:, :1], 1, low=-0.5, high=40.0)
    return Nearness(value, np.arange(60) * STEPS // 7)


@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("relation", doors.RELATIONS)
@pytest.mark.parametrize("score", (deviation, record_score, nearness))
def test_no_neighbour_moves_a_score_further_than_its_range(score, relation, cap):
    checks.check_loss_range(score(), doors.pairs(relation, cap, seed=12), doors.schema(cap), relation)


def test_a_score_of_range_zero_is_refused():
    for low, high in ((1.0, 1.0), (2.0, 1.0), (0.0, math.inf), (math.nan, 1.0)):
        with pytest.raises(PlanError, match="record score"):
            RecordScore(lambda records, public: None, 2, low, high)


# ------------------------------------------------------------------------------------------------------------- noise


def wide_schema() -> tuple[Schema, pa.Table]:
    """Two columns whose tables have thousands of cells: one opening gives thousands of draws."""
    schema = Schema({"a": Numeric(bounds=(0, 199), integer=True), "b": Numeric(bounds=(0, 99), integer=True)})
    return schema, pa.table({"a": [3, 4, 190], "b": [5, 5, 80]})


WIDE_COUNTS = checks.Door(
    "counts", Counts("t", sigmas=(0.8, 30.0)), lambda room, entry: room.counts(entry, [("a", "b"), ("b", "a")])
)
WIDE_BOUNDS = checks.Door(
    "bounds",
    Bounds("p", sigmas=(12.0, 3.0)),
    lambda room, entry: list(room.bounds(entry, {"a": "month", "b": "magnitude"}).values()),
)
WIDE_TOTAL = checks.Door(
    "total",
    Total("s", size=3000, bound=1.0, sigma=7.0),
    lambda room, entry: [
        room.total(entry, lambda r, public: np.zeros((len(r["a"].values), 3000)) + r["a"].values[:, None])
    ],
)


@pytest.mark.parametrize("door", (WIDE_COUNTS, WIDE_BOUNDS, WIDE_TOTAL), ids=lambda d: d.name)
def test_noise_has_the_law_the_accountant_was_told(door):
    schema, table = wide_schema()
    checks.check_door_noise(door, table, schema)


def test_noise_of_tables_and_of_doors_is_independent():
    schema, table = wide_schema()
    one, two = Counts("one", sigmas=(9.0, 9.0)), Counts("two", sigmas=(9.0,))
    room = Curator(MemoryRows(table), Plan("test", (one, two), checks.FREE), schema, checks.FixedNoise(8))
    a, b = (t.ravel() for t in room.counts(one, [("a", "b"), ("a", "b")]))
    (c,) = (t.ravel() for t in room.counts(two, [("a", "b")]))
    for x, y in ((a, b), (a, c), (b, c)):
        checks.check_independence(x, y)
    checks.check_whole([a, b, c])


def lonely_texts(columns: int, sigma: float, threshold: int, rounds: int, cap: int = 1) -> float:
    """How often a text of one unit alone, in `cap` rows, passes the door `categories`."""
    names = [f"c{i}" for i in range(columns)]
    schema = Schema({n: Categorical(categories=("x",)) for n in names})
    table = pa.table({n: ["alone"] * cap for n in names})
    passed = 0
    for i in range(rounds):
        entry = Categories("t", sigmas=(sigma,) * columns, threshold=threshold)
        room = Curator(MemoryRows(table), Plan("test", (entry,), checks.FREE), schema, checks.FixedNoise(i))
        passed += sum("alone" in texts for texts in room.categories(entry, names).values())
    return passed / (columns * rounds)


def test_a_lonely_text_passes_as_rarely_as_told():
    entry = Categories("t", sigmas=(2.0,), threshold=4)
    rate = lonely_texts(100, 2.0, 4, rounds=60)
    checks.check_categories(rate, 6000, entry, Scope("add_or_remove_one"))
    # And not much more rarely: the failure probability of one text is exact.
    told = entry.events(Scope("add_or_remove_one"))[1].delta
    assert abs(rate - told) < 5 * math.sqrt(told / 6000)


def test_categories_come_in_lexicographic_order_whatever_the_order_of_rows():
    check_order()


def check_order() -> None:
    texts = ["b", "a", "ø", "Z", "c"] * 40
    answers = []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(texts))
        schema = Schema({"t": Categorical(categories=("x",))})
        entry = Categories("t", sigmas=(2.0,), threshold=5)
        rows = MemoryRows(pa.table({"t": [texts[i] for i in order]}), batch_rows=7 + seed)
        room = Curator(rows, Plan("test", (entry,), checks.FREE), schema, checks.FixedNoise(1))
        answers.append(list(room.categories(entry, ["t"])["t"]))
    assert answers[0] == sorted(answers[0]) and len(answers[0]) == 5
    assert all(a == answers[0] for a in answers), "the answer depends on the order of the rows"


# ------------------------------------------------------------------------------------------------------------- books


def _ask_counts(room, entry):
    return room.counts(entry, [("city",)])


LEDGER = [
    (Counts("x", sigmas=(2.0,)), _ask_counts),
    (Bounds("x", sigmas=(2.0,)), lambda room, entry: room.bounds(entry, {"age": "kind"})),
    (Categories("x", sigmas=(2.0,), threshold=9), lambda room, entry: room.categories(entry, ["city"])),
    (Total("x", size=3, bound=1.0, sigma=1.0), lambda room, entry: room.total(entry, doors.features)),
    (Select("x", picks=1, epsilon=1.0), lambda room, entry: room.select(entry, deviation())),
    (Reveal("x", reason="tests"), lambda room, entry: list(room.reveal(entry))),
]


def make_curator(rows, plan):
    return Curator(rows, plan, tables.schema(), checks.FixedNoise(0))


@pytest.mark.parametrize(("entry", "ask"), LEDGER, ids=[e.door for e, _ in LEDGER])
def test_entries_open_once_and_only_if_planned(entry, ask):
    better = {"sigmas": (1.0,), "sigma": 0.5, "epsilon": 2.0, "reason": "other"}
    field = next(f for f in better if hasattr(entry, f))
    for change in ({"name": "stranger"}, {field: better[field]}):
        checks.check_ledger(make_curator, tables.people(20), entry, dataclasses.replace(entry, **change), ask)


def test_doors_refuse_entries_of_other_doors_and_too_many_questions():
    rows = checks.CountedRows(tables.people(20))
    entries = (
        Counts("c", sigmas=(2.0,)),
        Bounds("b", sigmas=(2.0, 5.0)),
        Categories("t", sigmas=(2.0, 5.0), threshold=3),
    )
    room = make_curator(rows, Plan("test", entries, checks.FREE))
    with pytest.raises(PlanError, match="planned"):
        room.counts(entries[0], [("city",), ("age",)])
    with pytest.raises(PlanError, match="planned for the door `counts`"):
        room.categories(entries[0], ["city"])
    with pytest.raises(PlanError, match="planned for the door `bounds`"):
        room.categories(entries[1], ["city"])
    with pytest.raises(PlanError, match="3 asked for"):
        room.bounds(entries[1], dict.fromkeys(("age", "income", "city"), "kind"))
    with pytest.raises(PlanError, match="twice"):
        room.categories(entries[2], ["city", "city"])
    with pytest.raises(PlanError, match="cells in all"):
        room.counts(entries[0], [("age",)], {"age": np.full(101, 2**40)})
    with pytest.raises(PlanError, match="not a modelled column"):
        room.counts(entries[0], [("person",)])
    assert rows.passes == 0 and not room.opened, "a refusal costs nothing"


def test_an_entry_shared_by_columns_gives_each_column_its_own_noise():
    """An entry may be spent column by column; the scales go with the order of spending, none is used twice."""
    schema, table = wide_schema()
    entry = Categories("domain", sigmas=(5.0, 40.0), threshold=3)
    room = Curator(MemoryRows(table), Plan("test", (entry,), checks.FREE), schema, checks.FixedNoise(2))
    first = room.bounds(entry, {"a": "month"})["a"]
    second = room.bounds(entry, {"b": "month"})["b"]
    checks.check_noise_law(first, 5.0)
    checks.check_noise_law(second, 40.0)
    for again in ({"a": "kind"}, {"c": "kind"}):
        with pytest.raises(PlanError):
            room.bounds(entry, again)
    empty = Curator(MemoryRows(table), Plan("test", (entry,), checks.FREE), schema, checks.FixedNoise(2))
    assert empty.bounds(entry, {}) == {} and set(empty.categories(entry, ["a", "b"])) == {"a", "b"}


def test_an_adopted_schema_keeps_the_unit():
    plan = Plan("test", (Counts("c", sigmas=(2.0,)),), checks.FREE, cap=1)
    room = Curator(MemoryRows(tables.people(9)), plan, tables.schema(Unit("person", 1)))
    with pytest.raises(PlanError, match="unit"):
        room.adopt(tables.schema())
    with pytest.raises(PlanError, match="rows per unit"):
        room.adopt(tables.schema(Unit("person", 2)))


# ------------------------------------------------------------------------------------------------------------- audit

MANY = 1000


def one_column(texts: list[str], persons: list[int] | None = None, cap: int | None = None) -> tuple[Schema, pa.Table]:
    columns = {"t": Categorical(categories=("p", "q"))}
    data = {"t": texts}
    if cap is None:
        return Schema(columns), pa.table(data)
    return Schema({"who": Identifier(), **columns}, unit=Unit("who", cap)), pa.table({"who": persons, **data})


def table_draws(texts, sigma, rounds=30, persons=None, cap=None, seed=0):
    """`rounds` openings of `MANY` equal tables [p, q]: every table is a draw of the mechanism."""
    schema, table = one_column(texts, persons, cap)
    entry = Counts("t", sigmas=(sigma,) * MANY)
    drawn = []
    for i in range(rounds):
        plan = Plan("test", (entry,), checks.FREE, cap or 1)
        room = Curator(MemoryRows(table), plan, schema, checks.FixedNoise(seed * 10_000 + i))
        drawn += room.counts(entry, [("t",)] * MANY)
    return np.stack(drawn)


@pytest.mark.parametrize("rounds", (30, pytest.param(100, marks=pytest.mark.slow)))
def test_audit_counts_add_or_remove(rounds):
    """The record is there or not, alone in its cell: μ = 1/σ. 10⁵ draws in the slow form."""
    present, absent = (table_draws(t, 1.0, rounds, seed=s)[:, 0] for t, s in ((["p", "q"], 1), (["q"], 2)))
    told = checks.told_mu(Counts("t", sigmas=(1.0,)), Scope("add_or_remove_one"))
    checks.check_audit(present, absent, 0.5, told)


def test_audit_counts_replace_one():
    """The record moves from one cell to the other: μ = sqrt(2)/σ, seen in the difference of the two."""
    present, absent = table_draws(["p"], 1.5, 30, seed=3), table_draws(["q"], 1.5, 30, seed=4)
    told = checks.told_mu(Counts("t", sigmas=(1.5,)), Scope("replace_one"))
    difference = [np.diff(-t, axis=1).ravel() for t in (present, absent)]
    checks.check_audit(difference[0], difference[1], 0.5, told)


def test_audit_counts_of_a_person():
    """All rows of a person in one cell; those beyond the cap do not count: μ = cap/σ."""
    present = table_draws(["p"] * 5 + ["q"], 3.0, persons=[1] * 5 + [2], cap=3, seed=5)[:, 0]
    absent = table_draws(["q"], 3.0, persons=[2], cap=3, seed=6)[:, 0]
    told = checks.told_mu(Counts("t", sigmas=(3.0,)), Scope("add_or_remove_one", 3))
    checks.check_audit(present, absent, 1.5, told)


def test_audit_bounds():
    """One value more in the only cell of the probe that is drawn fastest: μ = 1/σ."""
    names = [f"c{i}" for i in range(500)]
    schema = Schema({n: Categorical(categories=("x",)) for n in names})
    entry, probes = Bounds("b", sigmas=(1.0,) * 500), dict.fromkeys(names, probe.unreadable(Boolean()))
    draws = {}
    for who, values in (("present", [None, "neither"]), ("absent", [None])):
        table = pa.table(dict.fromkeys(names, pa.array(values, pa.string())))
        drawn = []
        for i in range(40):
            plan = Plan("test", (entry,), checks.FREE)
            room = Curator(MemoryRows(table), plan, schema, checks.FixedNoise(i + 500 * (who == "absent")))
            drawn += [h[0] for h in room.bounds(entry, probes).values()]
        draws[who] = np.array(drawn)
    checks.check_audit(draws["present"], draws["absent"], 0.5, 1.0)


def test_audit_categories():
    """Common texts at the threshold, with one row more or less each: passing is a test of μ = 1/σ."""
    names, texts = [f"c{i}" for i in range(25)], [f"common{i}" for i in range(10)]
    schema = Schema({n: Categorical(categories=("x",)) for n in names})
    entry = Categories("b", sigmas=(1.0,) * 25, threshold=20)
    draws = []
    for rows in (20, 19):
        table = pa.table(dict.fromkeys(names, texts * rows))
        passed = []
        for i in range(80):
            plan = Plan("test", (entry,), checks.FREE)
            room = Curator(MemoryRows(table), plan, schema, checks.FixedNoise(1000 * rows + i))
            passed += [float(text in found) for found in room.categories(entry, names).values() for text in texts]
        draws.append(np.array(passed))
    checks.check_audit(draws[0], draws[1], 0.5, 1.0)


def test_audit_total():
    """One record at the bound or none: μ = bound/σ."""
    entry = Total("s", size=1, bound=2.0, sigma=2.0)
    # A sum of one number per opening would need 10⁵ openings: the arithmetic behind the door is used instead.
    one = {"t": Values.of(np.zeros(1, np.int32))}
    step = feature_sums.grid_step(entry)
    (contribution,) = feature_sums.integer_sum(lambda r, p: np.full((feature_sums.CHUNK, 1), 99.0), None, one, 1, entry)
    noise = [rounded_gaussian(entry.sigma / step, 100_000, checks.FixedNoise(s)) for s in (1, 2)]
    present, absent = (contribution + noise[0]) * step, noise[1] * step
    checks.check_audit(present, absent, 1.0, checks.told_mu(entry, Scope("add_or_remove_one")))


def test_select_has_the_exact_law_of_its_range():
    """Two candidates whose scores differ by one record: the odds change by exp(ε·Δu/R) and no more."""
    schema = Schema({"t": Categorical(categories=("p", "q")), "u": Categorical(categories=("p", "q"))})
    score = Deviation([("t",), ("u",)], lambda j: np.array([0, 0]), np.array([0, 0]), {})
    entry = Select("s", picks=1, epsilon=1.0)
    draws = 1500
    chosen = {}
    for who, table in (
        ("with", pa.table({"t": ["p", "p"], "u": ["p", None]})),
        ("without", pa.table({"t": ["p"], "u": ["p"]})),
    ):
        rows = MemoryRows(table)
        found = []
        for i in range(draws):
            room = Curator(rows, Plan("test", (entry,), checks.FREE), schema, checks.FixedNoise(i))
            found += room.select(entry, score)
        chosen[who] = np.mean(np.array(found) == 0)
    expected = 1 / (1 + math.exp(-0.5))  # the scores differ by 1, the range is 2
    assert abs(chosen["with"] - expected) < 5 * math.sqrt(0.25 / draws)
    assert abs(chosen["without"] - 0.5) < 5 * math.sqrt(0.25 / draws)
