"""The checks on small instances, ready to be run twice: on nacre, and on each of its broken twins."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.privacy_contract import checks, doors, tables, test_doors

from nacre.errors import BudgetError, PlanError
from nacre.privacy.budget import Budget
from nacre.privacy.passes import feature_sums
from nacre.privacy.plan import Categories, Counts, Plan, Scope, Total
from nacre.synthesizers.independent import Independent


def law(tmp_path) -> None:
    schema, table = test_doors.wide_schema()
    checks.check_door_noise(test_doors.WIDE_COUNTS, table, schema)


def whole(tmp_path) -> None:
    schema, table = test_doors.wide_schema()
    door = test_doors.WIDE_COUNTS
    checks.check_whole(door.answers(checks.curator(door, table, schema, checks.FixedNoise(1)), door.entry))


def independence(tmp_path) -> None:
    test_doors.test_noise_of_tables_and_of_doors_is_independent()


def tables_add_remove(tmp_path) -> None:
    checks.check_sensitivity(doors.COUNTS, doors.pairs("add_or_remove_one", None, 21), doors.schema(None), "zero_out")


def tables_replace(tmp_path) -> None:
    checks.check_sensitivity(doors.COUNTS, doors.pairs("replace_one", None, 22), doors.schema(None), "replace_one")


def tables_person(tmp_path) -> None:
    checks.check_sensitivity(doors.COUNTS, doors.pairs("add_or_remove_one", 2, 23), doors.schema(2), "zero_out")


def tables_nameless(tmp_path) -> None:
    checks.check_sensitivity(doors.COUNTS, doors.nameless_pairs(5), doors.schema(1), "add_or_remove_one")


def sums(tmp_path) -> None:
    checks.check_sensitivity(
        doors.TOTAL, doors.pairs("add_or_remove_one", None, 24, 12), doors.schema(None), "zero_out"
    )


def sums_by_part(tmp_path) -> None:
    checks.check_sensitivity(
        doors.PARTS, doors.pairs("add_or_remove_one", None, 27, 12), doors.schema(None), "add_or_remove_one"
    )
    checks.check_sensitivity(doors.PARTS, doors.pairs("replace_one", None, 28, 12), doors.schema(None), "replace_one")


def law_of_sums(tmp_path) -> None:
    def answers(room: Any, entry: Any) -> list[np.ndarray]:
        def halves(records: Any, public: Any) -> np.ndarray:
            values = records["a"].values.astype(np.float64)
            return np.column_stack([values % 2, np.zeros((len(values), 1500)) + values[:, None]])

        return [room.total(entry, halves)]

    schema, table = test_doors.wide_schema()
    door = checks.Door("total", Total("s", size=1500, bound=1.0, sigma=7.0, parts=2), answers)
    checks.check_door_noise(door, table, schema)


def ranges(tmp_path) -> None:
    pairs = doors.pairs("replace_one", None, 25, 60)
    checks.check_loss_range(test_doors.deviation(), pairs, doors.schema(None), "replace_one")


def ranges_of_nearness(tmp_path) -> None:
    for relation in ("add_or_remove_one", "replace_one"):
        pairs = doors.pairs(relation, None, 26, 60)
        checks.check_loss_range(test_doors.nearness(), pairs, doors.schema(None), relation)


def ledger(tmp_path) -> None:
    entry = Counts("x", sigmas=(2.0,))
    stranger = dataclasses.replace(entry, name="y")
    checks.check_ledger(test_doors.make_curator, tables.people(9), entry, stranger, test_doors._ask_counts)


def lonely(tmp_path) -> None:
    rate = test_doors.lonely_texts(100, 2.0, 4, rounds=20)
    entry = Categories("t", sigmas=(2.0,), threshold=4)
    checks.check_categories(rate, 2000, entry, Scope("add_or_remove_one"))


def order(tmp_path) -> None:
    test_doors.check_order()


def stamp(tmp_path) -> None:
    checks.check_stamp(checks.fit_with("independent", tables.schema(), {}), tables.people(60))


def replay(tmp_path) -> None:
    base = tables.people(200)
    checks.check_replay(checks.fit_with("independent", tables.schema(), {}), base, tables.neighbours(base), tmp_path)


SMALL_PEARL = {"frequencies": 24, "particles": 16, "steps": 4}
SMALL_NETWORK = {"frequencies": 8, "steps": 3, "batch": 12}


NEAR = ("first row removed", "outlier", "reordered")


def _replay(method: str, options: dict[str, Any], target: str | None, tmp_path, names: tuple[str, ...] = NEAR) -> None:
    base = tables.people(200)
    near = {k: v for k, v in tables.neighbours(base).items() if k in names}
    epsilon = 1.0 if {"mode", "bandwidth"} & {*options} else 8.0  # draws and selections: shorter privacy-loss grids
    checks.check_replay(checks.fit_with(method, tables.schema(), options, target, epsilon), base, near, tmp_path)


def replay_pearl(tmp_path) -> None:
    _replay("pearl", SMALL_PEARL, "smoker", tmp_path)


def replay_merf(tmp_path) -> None:
    _replay("merf", {**SMALL_NETWORK, "scale": "bought"}, "city", tmp_path)


SMALL_POINTS = {"frequencies": 12, "points": 4}


def replay_points(tmp_path) -> None:
    _replay("support-points", {**SMALL_POINTS, "bandwidth": "bought"}, None, tmp_path)


def replay_laplace(tmp_path) -> None:
    _replay("support-points", {**SMALL_POINTS, "bandwidth": "laplace"}, None, tmp_path, NEAR[:1])


def replay_chains(tmp_path) -> None:
    _replay("support-points", {"points": 4, "mode": "data", "moves": 1000, "chains": 2}, None, tmp_path)


def replay_bought(tmp_path) -> None:
    base = tables.people(400)
    checks.check_replay(checks.fit_with("independent", None, {}), base, tables.neighbours(base), tmp_path)


def canaries(tmp_path) -> None:
    base = tables.with_row(tables.people(60).slice(1), city="a-canary-text")
    base = base.take(pa.array([base.num_rows - 1, *range(base.num_rows - 1)]))
    outcome = checks.observe(checks.fit_with("independent", tables.schema(), {}), base, tmp_path)
    assert not outcome.error
    seen = {"release": outcome.release, "unpacked": checks.members(outcome.release), "output": outcome.output.encode()}
    checks.check_no_canaries(seen, {"text": b"a-canary-text"})


def coupling(tmp_path) -> None:
    """Maps that centre, scale or rank within the chunk must be refused."""
    entry = Total("t", size=1, bound=1.0, sigma=1.0, exact=False)
    schema = tables.schema()

    def age(records: Any) -> np.ndarray:
        return records["age"].values.astype(np.float64)

    feature_sums.check_record_map(lambda r, public: age(r)[:, None] / 100, None, schema, entry)
    for coupled in (
        lambda r, public: (age(r) - age(r).mean())[:, None] / 100,
        lambda r, public: (age(r) / r["income"].values.max())[:, None],
        lambda r, public: np.argsort(np.argsort(r["income"].values))[:, None] / 4096,
        lambda r, public: np.cumsum(age(r))[:, None] / 1e6,
    ):
        with pytest.raises(PlanError, match="depend on other records"):
            feature_sums.check_record_map(coupled, None, schema, entry)


def no_free_lunch(tmp_path) -> None:
    """A plan that costs more than its budget is refused when it is made, whatever the relation."""
    for relation, cap in (("add_or_remove_one", 1), ("replace_one", 1), ("add_or_remove_one", 3)):
        budget = Budget(1.0, 1e-6, relation)
        plan = Independent().plan(doors.schema(None if cap == 1 else cap), None, budget)
        dearer = tuple(s * 0.99 for s in plan["one-way"].sigmas)
        with pytest.raises(BudgetError):
            Plan("test", (Counts("one-way", sigmas=dearer),), budget, cap)
