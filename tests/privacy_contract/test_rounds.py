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
from nacre.synthesizers.sketch import cliques, method
from nacre.synthesizers.sketch.coarse import with_spikes
from nacre.synthesizers.sketch.method import Sketch
from nacre.table import Categorical, Identifier, Numeric, Schema, Unit

SMALL = {"particles": 32, "steps": 20}
TWINS = Twins()
twin = TWINS.caught_by


def described(kind: str, unit: Unit | None = None) -> Schema:
    """Six columns of few values, or of numbers, in so many declared rows that a plan holds what the case is about."""
    if kind == "rounds":
        columns = {f"c{i}": Numeric((0, 45 if i else 5_000), integer=True) for i in range(6)}
    else:
        columns = {f"c{i}": Categorical(tuple(map(str, range(4 if kind == "order 4" else 6)))) for i in range(6)}
    rows = {"order 3": 5_000, "order 4": 50_000, "rounds": 200_000}[kind]
    return Schema({**({"person": Identifier(person=True)} if unit else {}), **columns}, rows=rows, unit=unit)


def people(schema: Schema, rows: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    base = rng.random(rows)
    made = {}
    for name in schema.modelled:
        column = schema.columns[name]
        top = len(column.every_value()) if column.labelled else 46
        value = (base * top + rng.integers(0, 1 + top // 5, rows)).astype(int) % top
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
        schema = described(kind, None if cap == 1 else Unit("person", cap))
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
    assert len(asked["choice 1"][1]) == 5  # a quarter of the 20 triples of six columns


def scores_move_no_further(tmp_path) -> None:
    """The scores of the rounds, on the groups that they have in a fit, against what the door divides by."""
    schema = described("rounds")
    table = people(schema, 300)
    made: list[Deviation] = []
    with pytest.MonkeyPatch.context() as patch:
        real = cliques.Deviation
        patch.setattr(cliques, "Deviation", lambda **given: made.append(real(**given)) or made[-1])
        checks.fit_with("sketch", schema, SMALL)(table)
    assert made[0].cliques, "no clique to choose among"
    others = list(near(table).values())
    replaced = [pa.concat_tables([table.slice(1), other.slice(len(other) - 1)]) for other in others[1:]]
    for relation, found in (("add_or_remove_one", others), ("replace_one", replaced)):
        checks.check_loss_range(made[0], [(table, other) for other in found], with_spikes(schema), relation)


def test_movement_of_scores(tmp_path):
    scores_move_no_further(tmp_path)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("no choice", "'cliques 2', but not by which of 'choice 2'"),
        ("fewer picks", "'cliques 2', but not by which of 'choice 2'"),
        ("no noise to speak of", "costs more"),
        ("a fifth round", "never opens"),
    ],
)
def test_edited_certificates_are_refused(fault, words):
    schema = described("rounds")
    made = checks.fit_with("sketch", schema, SMALL)(people(schema, 300)).certificate
    assert verified(made, schema).epsilon == made.epsilon
    entries = {e["name"]: dict(e) for e in made.entries}
    if fault == "no choice":
        del entries["choice 2"]
    elif fault == "fewer picks":
        entries["choice 2"]["picks"] = 3
    elif fault == "no noise to speak of":
        entries["cliques 3"]["sigmas"] = [0.5] * len(entries["cliques 3"]["sigmas"])
    else:
        entries["cliques 5"] = entries["cliques 4"] | {"name": "cliques 5"}
    with pytest.raises(CertificateError, match=words):
        verified(dataclasses.replace(made, entries=tuple(entries.values())), schema)


# ------------------------------------------------------------------------------------------------------------ the twins


def _around_a_round(patch, before) -> None:
    """`before(search, curator)` is called before each round."""
    real = cliques.Search.round

    def broken(self, curator, *given):
        before(self, curator)
        return real(self, curator, *given)

    patch.setattr(cliques.Search, "round", broken)


def _exact(search, curator, cliques_):
    named = [tuple(search.columns[j] for j in c) for c in cliques_]
    return curator._count(named, curator._groups(named, search.groups))


@twin(replay)
def a_score_against_exact_tables(patch):
    seen = {}
    real = cliques.Deviation

    def against(**given):
        exact = _exact(*seen["now"], seen["now"][0].open)
        return real(**{**given, "references": lambda i: exact[i]})

    _around_a_round(patch, lambda search, curator: seen.update(now=(search, curator)))
    patch.setattr(cliques, "Deviation", against)


@twin(replay)
def candidates_that_the_rows_chose(patch):
    def some(search, curator):
        exact = _exact(search, curator, search.open)
        search.open = [c for c, table in zip(search.open, exact) if table.sum() % 2 == 0]

    _around_a_round(patch, some)


@twin(replay)
def a_table_that_was_not_planned(patch):
    real = cliques.Search.round

    def one_more(self, curator, *given):
        found = real(self, curator, *given)
        if not found:
            return found
        (exact,) = _exact(self, curator, [found[0].columns])
        return [dataclasses.replace(found[0], counts=exact.astype(np.float64)), *found[1:]]

    patch.setattr(cliques.Search, "round", one_more)


@twin(replay)
def a_round_that_stops_when_few_rows_are_left(patch):
    def stop(search, curator):
        (exact,) = curator._count([("c0",)], curator._groups([("c0",)], {}))
        if exact.sum() != 300:
            raise PlanError(f"{exact.sum()} rows")

    _around_a_round(patch, stop)


@twin(replay)
def spikes_where_the_rows_pile_up(patch):
    real = method.Sketch.fit

    def fit(self, curator, *given):
        def piled(schema):
            (exact,) = curator._count([("c0",)], curator._groups([("c0",)], {}))
            column = dataclasses.replace(schema.columns["c0"], atoms=(7 + int(exact.sum()),))
            return with_spikes(dataclasses.replace(schema, columns={**schema.columns, "c0": column}))

        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(method, "with_spikes", piled)
            return real(self, curator, *given)

    patch.setattr(method.Sketch, "fit", fit)


@twin(partial(replay, kind="order 3"))
def exact_tables_of_three(patch):
    real = Curator.counts_together

    def exact(self, asked, groups=None):
        real(self, asked, groups)
        named = [c for _, own in asked for c in own]
        tables = iter(self._count(named, self._groups(named, groups)))
        return [[next(tables) for _ in own] for _, own in asked]

    patch.setattr(Curator, "counts_together", exact)


@twin(scores_move_no_further)
def a_range_for_half_a_record(patch):
    patch.setattr(selection.Deviation, "loss_range", lambda self, scope: 0.5 * scope.sum)


@pytest.mark.parametrize("name", TWINS)
def test_twin_is_caught(name, tmp_path, monkeypatch):
    fault, check = TWINS[name]
    fault(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(tmp_path)
