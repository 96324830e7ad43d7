"""The sketch where tables are clear: rounds of chosen cliques, and tables of three and four columns. Replay and
sensitivity on plans that hold them, and twins whose choices see more than the doors give."""

from __future__ import annotations

import dataclasses
import itertools
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from tests.privacy_contract import checks
from tests.privacy_contract.twins import Twins

from nacre.certificates import verified
from nacre.errors import CertificateError, PlanError
from nacre.privacy.accounting import accountant
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.doors import select as selection
from nacre.privacy.doors.select import Deviation
from nacre.privacy.plan import Counts
from nacre.synthesizers.sketch import cliques, method
from nacre.synthesizers.sketch.method import Sketch
from nacre.table import Categorical, Identifier, Numeric, Schema, Unit

SMALL = {"particles": 32, "steps": 20}
CLEAR = 200_000  # declared: so many rows that rounds pay, of which few are there
TWINS = Twins()
twin = TWINS.caught_by


def described(kind: str, rows: int | None = CLEAR, unit: Unit | None = None) -> Schema:
    """Six columns: few values (tables of four), some more (tables of three), or numbers (pairs, then rounds)."""
    many = {"order 4": 4, "order 3": 12}.get(kind)
    column = Numeric((0, 200), integer=True) if many is None else Categorical(tuple(map(str, range(many))))
    person = {"person": Identifier(person=True)} if unit else {}
    return Schema({**person, **{f"c{i}": column for i in range(6)}}, rows=rows, unit=unit)


def people(schema: Schema, rows: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    column = schema.columns["c0"]
    top = len(column.every_value()) if column.labelled else 200
    base = rng.integers(0, top, rows)
    made = {}
    for name in schema.modelled:
        value = (base + rng.integers(0, 1 + top // 5, rows)) % top
        made[name] = value.astype(str) if column.labelled else value
    return pa.table({"person": np.arange(rows) // 2, **made} if schema.unit else made)


def one_more(table: pa.Table, value: object) -> pa.Table:
    row = {n: [10**6] if n == "person" else [value] for n in table.schema.names}
    return pa.concat_tables([table, pa.table(row).cast(table.schema)])


def near(table: pa.Table) -> dict[str, pa.Table]:
    words = pa.types.is_string(table.schema.field("c0").type)
    odd = "nobody else's" if words else 2**40
    return {
        "first row removed": table.slice(1),
        "first rows again": pa.concat_tables([table, table.slice(0, 1)]),
        "a row of nulls": one_more(table, None),
        "an outlier": one_more(table, odd),
    }


def replay(tmp_path, kind="rounds", unit=None) -> None:
    schema = described(kind, unit=unit)
    table = people(schema, 300)
    others = near(table)
    if unit:
        others = {"a person removed": table.slice(2), "an outlier": others["an outlier"]}
    fit = checks.fit_with("sketch", schema, SMALL)
    checks.check_replay(fit, table, others, tmp_path)


@pytest.mark.parametrize("kind", ["order 3", "order 4", "rounds"])
def test_plans_compose_to_the_budget(kind):
    """The entries that a case is about are there, and what all cost together is the budget, whoever is protected."""
    wanted = {"order 3": "tables of 3", "order 4": "tables of 4", "rounds": "choice 4"}[kind]
    for relation, cap in itertools.product(("add_or_remove_one", "zero_out", "replace_one"), (1, 3)):
        schema = described(kind, 10_000_000, None if cap == 1 else Unit("person", cap))
        plan = Sketch().plan(schema, schema.rows, Budget(8.0, 1e-5, neighbours=relation))
        names = [e.name for e in plan.entries]
        assert wanted in names and plan.cap == cap
        assert accountant.epsilon_at(plan.events(), 1e-5) == pytest.approx(8.0, rel=1e-4)
        assert accountant.delta_at(plan.events(), 8.0) <= 1e-5
        assert sum(n.startswith("choice ") for n in names) == sum(n.startswith("cliques ") for n in names)


@pytest.mark.parametrize("kind", ["order 3", "order 4", "rounds"])
def test_replay_on_neighbours(kind, tmp_path):
    replay(tmp_path, kind)


def test_replay_where_a_person_has_several_rows(tmp_path):
    replay(tmp_path, unit=Unit("person", 2))


def test_rounds_happen_and_count_what_was_chosen(tmp_path):
    """Each of these cases would pass on a plan without rounds, and prove nothing."""
    schema = described("rounds")
    seen = checks.observe(checks.fit_with("sketch", schema, SMALL), people(schema, 300), tmp_path).transcript
    asked = {q["entry"]: (q, a) for q, a in zip(seen.questions, seen.answers)}
    for i in range(1, 5):
        listed, picks = asked[f"choice {i}"][0]["score"]["deviation"], asked[f"choice {i}"][1]
        counted = [list(c) for c in asked[f"cliques {i}"][0]["cliques"]]
        assert counted == [listed[p] for p in picks]
    assert len(asked["choice 1"][1]) == 10


def scores_move_no_further(tmp_path=None) -> None:
    """The score of the rounds, on groups of groups, against what the door divides by."""
    schema = described("rounds")
    groups = {n: np.arange(202) // 13 for n in schema.modelled}
    columns = [("c0", "c1", "c2"), ("c1", "c3", "c4", "c5")]
    rng = np.random.default_rng(0)
    score = None
    for relation in ("add_or_remove_one", "replace_one"):
        table = people(schema, 40)
        others = list(near(table).values())
        if relation == "replace_one":
            others = [pa.concat_tables([table.slice(1), other.slice(len(other) - 1)]) for other in others[1:]]
        with _room(schema, table, relation) as room:
            sizes = [tuple(len(np.unique(room._groups([c], groups)[n])) for n in c) for c in columns]
            legal = room._groups(columns, groups)
            shapes = [tuple(int(legal[n].max()) + 1 for n in c) for c in columns]
        del sizes
        told = [rng.integers(0, 3, shape) for shape in shapes]
        score = Deviation(columns, lambda i, told=told: told[i], np.array([3, 5]), groups)
        checks.check_loss_range(score, [(table, other) for other in others], schema, relation)
