"""The number of rows: declared, public by the neighbours, or bought first with an entry of its own."""

from __future__ import annotations

import warnings

import pyarrow as pa
import pytest
from tests.privacy_contract import checks, tables

import nacre
from nacre.errors import DomainNotDeclared
from nacre.privacy import discovery
from nacre.privacy.certificate.rounding import up
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Counts, Plan, Scope, gaussian_share
from nacre.privacy.transcript import Transcript
from nacre.progress import silent
from nacre.run import Terms, prepare
from nacre.synthesizers.independent import Independent
from nacre.table import Boolean, Categorical, Identifier, Numeric, Schema, Unit


def names(schema, relation="add_or_remove_one"):
    return [e.name for e in prepare(schema.names, schema, Terms(1.0, 1e-6, relation)).plan.entries]


def test_the_count_comes_first_and_costs_a_hundredth():
    schema, terms = discovery.unknown(["a", "b"]), Terms(1.0, 1e-6)
    job = prepare(["a", "b"], schema, terms)
    entry = job.plan.entries[0]
    assert (entry.name, entry.cliques) == ("rows", ((),))
    whole = gaussian_share(terms.budget, Scope("add_or_remove_one"))
    assert entry.sigmas[0] ** -2 == pytest.approx(0.01 * whole)


def test_it_is_bought_only_where_it_is_neither_declared_nor_public():
    person = Unit("person", 3)
    assert names(tables.schema())[0] == "rows"
    assert "rows" not in names(tables.schema(rows=500))
    for relation in ("zero_out", "replace_one"):
        assert "rows" not in names(tables.schema(), relation), "neighbours have the same number of rows"
        assert names(tables.schema(person), relation)[0] == "rows", "persons may hold different numbers of rows"


@pytest.mark.parametrize("cap", (None, 2))
def test_rows_are_counted_before_anything_is_known(cap):
    """Exactly, without noise: every row, or at most `cap` of each person; one column is read."""
    schema = Schema(
        {"who": Identifier(), **discovery.unknown(["a", "b"]).columns}, unit=Unit("who", cap) if cap else None
    )
    table = pa.table({"who": [1, 1, 1, 2, None], "a": ["x"] * 5, "b": [None] * 5})
    entry = Counts("rows", sigmas=(3.0,), cliques=((),))
    rows = checks.CountedRows(table)
    room = Curator(rows, Plan("test", (entry,), checks.FREE, cap or 1), schema, checks.ZeroNoise())
    (found,) = room.counts(entry, [()])
    assert found == (5 if cap is None else 3) and rows.passes == 1


def test_codes_read_for_the_count_serve_the_next_door():
    entries = (Counts("rows", sigmas=(3.0,), cliques=((),)), Counts("age", sigmas=(3.0,)))
    rows = checks.CountedRows(tables.people(50))
    room = Curator(rows, Plan("test", entries, checks.FREE), tables.schema(), checks.ZeroNoise())
    (found,) = room.counts(entries[0], [()])
    room.adopt(tables.schema(rows=int(found)))
    (ages,) = room.counts(entries[1], [("age",)])
    assert found == 50 == ages.sum() and rows.passes == 1


@pytest.mark.parametrize("schema", (None, tables.schema()), ids=("bought domain", "declared domain"))
def test_everything_after_uses_the_noisy_count(schema, monkeypatch):
    """The plan that the method gets, the release and the saved schema agree on it; the true number is nowhere."""
    seen, transcript = [], Transcript()
    real = Independent.fit

    def fit(self, curator, plan, seed, progress=silent):
        seen.append((plan.rows, curator.schema.rows))
        return real(self, curator, plan, seed, progress)

    monkeypatch.setattr(Independent, "fit", fit)
    monkeypatch.setattr("nacre.run.session.NoiseSource", checks.FixedNoise)
    release = nacre.fit(tables.people(3_000), epsilon=2.0, schema=schema, method="independent", transcript=transcript)
    bought = int(transcript.answers[0][0])
    assert transcript.questions[0]["entry"] == "rows" and bought != 3_000
    assert seen == [(bought, bought)] and release.rows == bought == release.schema.rows
    assert release.schema.provenance["rows"] == "bought"
    assert abs(bought - 3_000) < 6 * release.certificate.entries[0]["sigmas"][0]


@pytest.mark.parametrize("relation", ("zero_out", "replace_one"))
def test_a_public_number_of_rows_is_taken_as_it_is(relation):
    release = nacre.fit(
        tables.people(300), epsilon=1.0, schema=tables.schema(), neighbours=relation, method="independent"
    )
    assert release.rows == 300 and release.schema.provenance["rows"] == "counted"
    assert [e["name"] for e in release.certificate.entries] == ["one-way"]


def test_a_count_is_public_under_its_own_promise_alone():
    """What zero-out leaves open to all is a secret of add/remove: a schema kept from one run must not carry it over."""
    counted = nacre.fit(
        tables.people(300), epsilon=1.0, schema=tables.schema(), neighbours="zero_out", method="independent"
    ).schema
    assert Schema.from_json(counted.to_json()) == counted
    with pytest.raises(DomainNotDeclared, match="table: rows was read from the data"):
        nacre.fit(tables.people(301), epsilon=1.0, schema=counted, method="independent")
    again = nacre.fit(tables.people(300), epsilon=1.0, schema=counted, neighbours="zero_out", method="independent")
    assert again.certificate.guarantee == "proven"
    marked = nacre.fit(tables.people(301), epsilon=1.0, schema=counted, method="independent", domain="from-data")
    assert marked.certificate.guarantee == "none"


def test_what_was_bought_carries_its_cost_and_counts_as_read_when_its_noise_was_seeded():
    table = tables.people(3_000)
    first = nacre.fit(table, epsilon=2.0, delta=1e-6, method="independent")
    (paid,) = first.schema.purchases
    assert 0 < paid.epsilon < 2.0 and (paid.delta, paid.neighbours, paid.cap) == (1e-6, "add_or_remove_one", 1)
    assert not any("bought" in said for said in first.certificate.assumptions)
    second = nacre.fit(table, epsilon=2.0, delta=1e-6, method="independent", schema=first.schema)
    (said,) = [a for a in second.certificate.assumptions if "bought by an earlier run" in a]
    assert f"({up(paid.epsilon)}, {up(paid.delta)}), add_or_remove_one" in said and "adds to this promise" in said
    other = nacre.fit(
        table, epsilon=2.0, delta=1e-6, method="independent", schema=first.schema, neighbours="zero_out"
    ).certificate
    (said,) = [a for a in other.assumptions if "bought by an earlier run" in a]
    assert "under a promise other than this one, which does not cover them" in said and "adds" not in said
    seeded = nacre.fit(table, epsilon=2.0, delta=1e-6, method="independent", noise_seed=1).schema
    assert "bought" not in seeded.facts().values() and not seeded.purchases
    with pytest.raises(DomainNotDeclared, match="was read from the data"):
        nacre.fit(table, epsilon=2.0, delta=1e-6, method="independent", schema=seeded)


def test_how_columns_are_stored_is_always_said():
    table = pa.table({"a": [1, 2] * 50, "b": ["x", "y"] * 50, "d": pa.array([b"x", b"y"] * 50).dictionary_encode()})
    schema = Schema({"a": Numeric((0, 9)), "b": Categorical(("x", "y")), "d": Categorical(("x", "y"))})
    release = nacre.fit(table, epsilon=1.0, schema=schema, method="independent")
    (said,) = [a for a in release.certificate.assumptions if "stores its columns" in a]
    assert "numbers: a; text: b, d" in said


def test_weak_delta_is_said_of_declared_and_of_bought_rows():
    table = tables.people(400)
    settings = {"epsilon": 1.0, "delta": 0.1, "method": "independent"}
    with pytest.warns(UserWarning, match=r"at least 1/rows.*for 1,000 rows"):
        nacre.fit(table, schema=tables.schema(rows=1000), **settings)
    transcript = Transcript()
    with pytest.warns(UserWarning, match="at least 1/rows") as said:
        nacre.fit(table, schema=tables.schema(), transcript=transcript, **settings)
    assert f"for {int(transcript.answers[0][0]):,} rows" in str(said[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nacre.fit(table, schema=tables.schema(rows=1000), epsilon=1.0, delta=1e-6, method="independent")


def test_tables_of_an_undeclared_schema_have_equal_noise():
    """A bought column may turn out to be a mere name and drop out; noise planned by position would shift then."""
    mixed = Schema(
        {"name": Categorical(), "yes": Boolean(), "code": Categorical(tuple(map(str, range(400))))}, rows=10**6
    )
    plan = prepare(["name", "yes", "code"], mixed, Terms(3.0, 1e-7)).plan
    assert len(set(plan["one-way"].sigmas)) == 1
    known = Schema({n: c for n, c in mixed.columns.items() if n != "name"}, rows=10**6)
    plan = prepare(["yes", "code"], known, Terms(3.0, 1e-7)).plan
    assert plan["one-way"].sigmas[0] > 2 * plan["one-way"].sigmas[1]


@pytest.mark.parametrize("values", ([None] * 3000, [""] * 2990 + ["2020-01-01"] * 10), ids=("all null", "nearly all"))
def test_a_column_of_nulls_gets_no_kind_from_the_noise(values):
    """Whatever the noise: no dates or numbers are made up where only nulls stand out."""
    table = pa.table({"a": ["x", "y"] * 1500, "b": pa.array(values, pa.string())})
    for seed in range(8):
        made = nacre.fit(table, epsilon=1.0, method="independent", noise_seed=seed)
        column = made.schema.columns["b"]
        assert isinstance(column, Categorical) and (column.categories, column.nullable) == (("other",), True)
        assert made.sample(2000, seed=0)["b"].isna().mean() > 0.9


def test_a_count_that_is_all_noise_does_not_ask_for_millions_of_rows():
    """With a cap of a million rows per person the noise is tens of millions; what stands out of it is kept as it is."""
    table = pa.table({"who": range(600), "a": ["x", "y"] * 300})
    columns = {"who": Identifier(person=True), "a": Categorical(("x", "y"))}
    huge = Schema(columns, unit=Unit("who", 1_000_000))
    found = [nacre.fit(table, schema=huge, epsilon=1.0, method="independent", noise_seed=s).rows for s in range(12)]
    assert max(found) == discovery.FAINT_ROWS and min(found) >= 1
    near = nacre.fit(
        table, schema=Schema(columns, unit=Unit("who", 1)), epsilon=5.0, method="independent", noise_seed=0
    )
    assert near.rows != 600 and abs(near.rows - 600) < 100
