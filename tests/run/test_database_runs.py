"""Databases through the one spine: planned, paid for, certified; mistakes are found before anything is spent."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pytest
from tests import clinics

import nacre
from nacre.certificates import verified
from nacre.engines import open_tables
from nacre.engines.owned import UNIT, OwnedRows
from nacre.errors import CertificateError, DataError, DomainNotDeclared, NacreError, PlanError, SchemaError
from nacre.privacy.certificate.owned import Owned
from nacre.privacy.certificate.statement import Certificate
from nacre.privacy.discovery import Undeclared, Unmeasured
from nacre.privacy.ledger.books import open_ledger
from nacre.privacy.ledger.policy import Policy
from nacre.privacy.nested.curator import NestedCurator
from nacre.table import Identifier, Key, Numeric, Schema, Unit
from nacre.table.database.long import LongTable


@pytest.fixture(scope="module")
def made():
    notes = nacre.OwnerNotes()
    return clinics.fitted(owner=notes), notes


# -------------------------------------------------------------------------------------------------------- the promise


def test_the_certificate_says_who_is_protected_and_by_which_keys(made):
    c = made[0].certificate
    assert (c.guarantee, c.epsilon, c.method) == ("proven", 4.0, "nested")
    assert c.unit == {
        "column": None, "cap": 1, "table": "patients", "most": {"stays": 4, "doses": 12}, "public": ["drugs"],
        "keys": ["stays.patient -> patients.id, at most 4, the first by admitted", "doses.stay -> stays.id, at most 3",
                 "doses.patient -> patients.id, which must agree"],
    }  # fmt: skip
    text = str(c)
    assert "for one row of patients and all rows that it owns (at most 4 in stays, 12 in doses)" in text
    assert "how many units there are, and how many rows each of them owns, is protected too" in text
    assert "the rows of drugs are public: they are given as they are" in text
    assert "kind, bounds, whether a value may be missing: patients.born, stays.admitted" in text
    assert "the promise is per row" not in text and "patients.born" in c.schema["provenance"]


def test_a_certificate_is_composed_anew_and_edited_ones_are_refused(made):
    c = made[0].certificate
    told = Certificate.from_json(json.loads(json.dumps(c.to_json())))
    described = Owned(clinics.database())
    assert verified(told, described) == told
    fewer = [a for a in told.assumptions if "given as they are" not in a]
    wide = {**told.unit, "most": {"stays": 2, "doses": 6}}
    dear = ({**told.entries[0], "mu": 2.0}, *told.entries[1:])
    for changed in (
        {"epsilon": 2.0}, {"guarantee": "conditional"}, {"unit": wide}, {"assumptions": tuple(fewer)},
        {"unit": {"column": None, "cap": 1}}, {"entries": told.entries[1:]},
        {"schema": {**told.schema, "digest": "0"}}, {"entries": dear}, {"method": "sketch"},
    ):  # fmt: skip
        with pytest.raises(CertificateError):
            verified(dataclasses.replace(told, **changed), described)


@pytest.mark.parametrize(
    "unit",
    [{"column": None, "cap": 1, "table": "patients"}, {"column": "x", "cap": 1, "table": "p", "most": {}, "keys": [],
     "public": []}, {"column": None, "cap": 1, "table": "p", "most": {"s": 0}, "keys": [], "public": []},
     {"column": None, "cap": 1, "table": 5, "most": {}, "keys": [], "public": []}],
)  # fmt: skip
def test_units_that_no_run_states_are_refused(made, unit):
    with pytest.raises(ValueError, match="unit"):
        Certificate.from_json({**made[0].certificate.to_json(), "unit": unit})


def test_facts_of_a_database_have_names_of_their_own(made):
    told = made[0].certificate.to_json()
    for facts in ({"": {"rows": "public"}}, {"stays.low": {"keys": "public"}}, {"": {"units": "guessed"}}):
        with pytest.raises(ValueError, match="schema"):
            Certificate.from_json({**told, "schema": {**told["schema"], "provenance": facts}})


# ----------------------------------------------------------------------------------------------------------- planning


def test_a_plan_opens_the_doors_that_a_fit_charges(made):
    job = nacre.plan(clinics.tables(), schema=clinics.database(), **clinics.ASKED)
    assert [e["name"] for e in made[0].certificate.entries] == [e.name for e in job.plan.entries]
    assert {e.door for e in job.plan.entries} == {"nested"}
    again = job.fit()
    assert again.certificate.entries == made[0].certificate.entries
    with pytest.raises(NacreError, match="'sketch' is the default there"):
        nacre.plan(clinics.visit_schema(), epsilon=1.0, method="nested")
    with pytest.raises(NacreError, match="makes single tables"):
        nacre.plan(clinics.tables(), schema=clinics.database(), epsilon=1.0, method="pearl")


def test_a_plan_reads_no_private_row():
    class Unread:
        column_names, arrow_schema = clinics.tables()["stays"].column_names, clinics.tables()["stays"].schema

        def batches(self, columns=None):
            raise AssertionError("a row was read")

    source = {**clinics.tables(), "stays": Unread(), "patients": Unread(), "doses": Unread()}
    job = nacre.plan(source, schema=clinics.database(), **clinics.ASKED)
    with pytest.raises(SchemaError, match="how many rows the public table 'drugs' has"):
        nacre.plan(clinics.database(), **clinics.ASKED)
    with pytest.raises(NacreError, match="name the data"):
        dataclasses.replace(job, source=None).fit()


def test_a_default_delta_follows_the_declared_units():
    asked = {"epsilon": 1.0, "options": clinics.QUICK}
    job = nacre.plan(clinics.tables(), schema=clinics.database(units=10**6), **asked)
    assert (job.plan.budget.delta, job.plan.rows) == (1e-9, 10**6)


# -------------------------------------------------------------------------------------- what the owner is told, books


def broken_tables():
    found = clinics.tables()
    stays, doses = found["stays"], found["doses"]
    first = stays.column("patient")[0].as_py()
    many = pa.table({**{n: stays.column(n)[:1].combine_chunks().take(pa.array([0] * 9)) for n in stays.column_names},
                     "id": np.arange(9) + 90_000})  # fmt: skip
    stray = stays.slice(0, 5).set_column(1, "patient", pa.array(["nobody"] * 5))
    stray = stray.set_column(0, "id", pa.array(np.arange(5) + 80_000))
    liars = doses.slice(doses.num_rows - 3).set_column(1, "patient", pa.array([first] * 3))
    return {**found, "stays": pa.concat_tables([stays, many, stray]), "doses": pa.concat_tables([doses, liars])}


def test_the_owner_is_told_what_was_left_out(made):
    assert "hang on no row" not in str(made[1]) and "beyond the cap" not in str(made[1])
    notes = nacre.OwnerNotes()
    clinics.fitted(source=broken_tables(), owner=notes)
    text = str(notes)
    assert "5 of" in text and "rows of 'stays' hang on no row of 'patients'" in text
    assert "lie beyond the cap of 4 under one row of 'patients'" in text
    assert "3 of" in text and "rows of 'doses' hang on no row of 'stays'" in text
    changed = clinics.tables()
    changed["stays"] = changed["stays"].set_column(3, "low", pa.array([500] * changed["stays"].num_rows))
    clinics.fitted(source=changed, owner=notes)
    assert "stays.low" in str(notes)


@pytest.fixture
def books(tmp_path):
    ledger = open_ledger(tmp_path / "books.db", create=True)
    ledger.create("clinic", Policy.from_json(Policy(10.0, 1e-4, unit="patients").to_json()))
    return ledger


def kinds(ledger):
    return [row.kind for row in ledger.rows("clinic")][1:]


def test_a_run_is_charged_to_the_population_of_the_unit_table(books):
    made = clinics.fitted(ledger=nacre.Account(books, "clinic"))
    assert kinds(books) == ["reserved", "opened", "settled"]
    assert made.certificate.extras["ledger"]["population"] == "clinic"


def test_an_id_that_stands_twice_is_refused_and_given_back(books):
    source = clinics.tables()
    source["stays"] = pa.concat_tables([source["stays"], source["stays"].slice(0, 1)])
    with pytest.raises(
        DataError, match=r"'id' of 'stays' names rows that other rows hang on, and some of its values stand twice"
    ):
        clinics.fitted(source=source, ledger=nacre.Account(books, "clinic"))
    assert kinds(books) == ["reserved", "refunded"]


# ----------------------------------------------------------------------------------------- mistakes, nothing is spent


def without(table, column):
    found = clinics.tables()
    return {**found, table: found[table].drop_columns([column])}


def stored_as_text():
    found = clinics.tables()
    stays = found["stays"]
    return {**found, "doses": found["doses"].set_column(0, "stay", found["doses"]["stay"].cast(pa.string())),
            "stays": stays}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (lambda: without("stays", "low"), r"table 'stays': missing in the table \['low'\]"),
        (lambda: {k: v for k, v in clinics.tables().items() if k != "doses"}, "doses"),
        (
            stored_as_text,
            "'stay' of 'doses' is stored as text, 'id' of 'stays' as numbers; no row would find its parent",
        ),
        (lambda: without("drugs", "id"), "'drugs' has no column 'id'"),
    ],
)
def test_tables_that_are_not_those_described_cost_nothing(books, source, said):
    with pytest.raises(DataError, match=said):
        clinics.fitted(source=source(), ledger=nacre.Account(books, "clinic"))
    assert kinds(books) == []


def test_several_tables_without_a_database_are_refused():
    with pytest.raises(SchemaError, match="several tables need a"):
        nacre.fit(clinics.tables(), epsilon=1.0)
    with pytest.raises(NacreError, match="target_shares: not for databases"):
        clinics.fitted(target_shares={"sex": {"f": 0.5, "m": 0.5}})


def test_what_is_read_or_not_declared_is_named_by_table_and_column():
    schemas = clinics.schemas()
    bare = dataclasses.replace(schemas["patients"], columns={**schemas["patients"].columns, "born": Numeric()})
    base = clinics.database(tables={**schemas, "patients": bare})
    with pytest.raises(DomainNotDeclared, match=r"'patients\.born'.*bounds"):
        clinics.fitted(schema=base, domain="declared")
    read = clinics.fitted(schema=base, domain="from-data")
    assert read.certificate.guarantee == "none" and "patients.born.bounds" in read.certificate.reasons[0]
    kept = read.schema.tables["patients"].columns["born"]
    assert kept.bounds is not None and kept.provenance["bounds"] == "read"
    with pytest.raises(DomainNotDeclared, match=r"'patients\.born': bounds was read from the data"):
        clinics.fitted(schema=read.schema)


def test_a_run_without_a_budget_promises_nothing():
    made = clinics.fitted(epsilon=None)
    assert made.certificate.guarantee == "none" and made.certificate.epsilon is None
    assert clinics.fitted(noise_seed=3).certificate.reasons[0].startswith("seeded")


# -------------------------------------------------------------------------------------------------------- long tables


def long(**changes):
    asked = {"person": "patient", "cap": 3, "order": "day", "constant": ["sex"], **changes}
    return LongTable(asked.pop("schema", clinics.visit_schema()), **asked)


def test_a_long_table_is_a_database_of_persons_and_rows():
    base = long().database
    assert base.owned == ("patient", "rows") and base.unit == "patient"
    assert base.tables["patient"].names == ("patient", "sex")
    assert base.tables["rows"].names == ("ward", "patient", "day")
    assert base.owner("rows") == Key("rows.patient -> patient.patient", cap=3, order="day")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"person": "who"}, "there is no column 'who'"), ({"order": "when"}, "there is no column 'when'"),
        ({"constant": ["day"]}, "constant names 'day'"), ({"person": "sex", "constant": []}, "never learnt"),
        ({"cap": 0}, "cap is 0"), ({"constant": "sex"}, "write a list"),
        ({"schema": dataclasses.replace(clinics.visit_schema(), rows=100)}, "rows=100"),
    ],
)  # fmt: skip
def test_a_long_table_that_cannot_be_is_refused(changes, said):
    with pytest.raises(SchemaError, match=said):
        long(**changes)


def test_a_long_table_comes_out_as_one():
    made = nacre.fit(clinics.visits(), schema=long(), **clinics.ASKED)
    drawn = made.sample(150, seed=1)
    assert list(drawn.columns) == ["ward", "patient", "sex", "day"]
    sizes = drawn.groupby("patient")
    assert drawn.patient.nunique() == 150 and sizes.size().between(1, 3).all()  # everybody has a row
    assert (sizes.sex.nunique() == 1).all() and sizes.day.apply(lambda d: d.is_monotonic_increasing).all()


def test_a_persons_row_does_not_depend_on_the_order_of_rows():
    from nacre.engines import open_rows
    from nacre.engines.persons import split

    table = clinics.visits()
    mixed = table.take(pa.array(np.random.default_rng(1).permutation(table.num_rows)))
    odd = table.set_column(2, "sex", pa.array(["f", "m"] * table.num_rows)[: table.num_rows])  # not constant at all
    for one, other in ((table, mixed), (odd, odd.take(pa.array(np.arange(odd.num_rows)[::-1])))):
        found = [pa.Table.from_batches([*split(long(), open_rows(t))["patient"].batches()]) for t in (one, other)]
        assert found[0].sort_by("patient").equals(found[1].sort_by("patient"))
        assert found[0].num_rows == len(set(table["patient"].to_pylist()))
    nameless = pa.concat_tables([table, table.slice(0, 4).set_column(1, "patient", pa.nulls(4, pa.int64()))])
    rows = split(long(), open_rows(nameless))["patient"]
    assert pa.Table.from_batches([*rows.batches(["patient"])]).num_rows == found[0].num_rows


def test_text_and_number_ids_come_out_in_their_kind():
    schema = dataclasses.replace(
        clinics.visit_schema(), columns={**clinics.visit_schema().columns, "patient": Identifier(text=True)}
    )
    table = clinics.visits()
    table = table.set_column(1, "patient", table["patient"].cast(pa.string()))
    made = nacre.fit(table, schema=long(schema=schema), **clinics.ASKED)
    assert made.sample(5, as_="pyarrow").schema.field("patient").type == pa.string()


# --------------------------------------------------------------------------------------------------- bought schemas


def undeclared():
    schemas = clinics.schemas()
    schemas["patients"] = Schema({"id": Identifier(text=True), "sex": Undeclared(), "born": Numeric(integer=True)})
    amount = {**schemas["doses"].columns, "amount": Undeclared()}
    return clinics.database(tables={**schemas, "doses": dataclasses.replace(schemas["doses"], columns=amount)})


def test_what_lacks_is_bought_table_by_table_and_paid_for_in_the_plan():
    source = clinics.tables(3000)
    job = nacre.plan(source, schema=undeclared(), **clinics.ASKED)
    found = {e.name: e.most for e in job.plan.entries[:4]}
    assert found == {"kinds of patients": 1, "domain of patients": 1, "kinds of doses": 4, "domain of doses": 4}
    made = job.fit()
    assert made.certificate.entries == tuple(e.to_json() for e in job.plan.entries)
    patients, doses = made.schema.tables["patients"].columns, made.schema.tables["doses"].columns
    assert set(patients["sex"].labels) >= {"f", "m"} and patients["sex"].provenance["categories"] == "bought"
    assert patients["born"].bounds[0] <= 1935 and doses["amount"].kind == "numeric"
    (paid,) = made.schema.purchases
    assert 0 < paid.epsilon < 4.0 and paid.cap == 1
    told = Certificate.from_json(json.loads(json.dumps(made.certificate.to_json())))
    assert verified(told, Owned(made.schema)) == told
    later = clinics.fitted(schema=made.schema)  # what it has cost stands in the next certificate
    assert any("bought by an earlier run, at (" in a for a in later.certificate.assumptions)


def test_what_tables_lack_costs_what_its_rows_of_a_unit_may_move():
    job = nacre.plan(clinics.tables(), schema=undeclared(), **clinics.ASKED)
    few, many = job.plan["kinds of doses"], dataclasses.replace(job.plan["kinds of doses"], most=1)
    (mu,), (less,) = (e.events(job.plan.scope) for e in (few, many))
    assert mu.mu == pytest.approx(4 * less.mu)
    certificate = clinics.fitted(source=clinics.tables(3000), schema=undeclared()).certificate
    cheap = [{**e, "most": 1} if e["name"] == "kinds of doses" else e for e in certificate.entries]
    strange = [{**e, "name": "kinds of drugs"} if e["name"] == "kinds of doses" else e for e in certificate.entries]
    assert str(dataclasses.replace(certificate, entries=tuple(cheap))) != str(certificate)
    with pytest.raises(CertificateError, match="never opens"):
        verified(dataclasses.replace(certificate, entries=tuple(strange)))
    less = tuple(e for e in certificate.entries if e["name"] != "kinds of doses")  # as if those of patients told them
    with pytest.raises(CertificateError, match="bought by an earlier run"):
        verified(dataclasses.replace(certificate, entries=less))


def test_facts_bought_with_seeded_noise_are_read():
    made = clinics.fitted(source=clinics.tables(3000), schema=undeclared(), noise_seed=1)
    assert made.certificate.guarantee == "none" and not made.schema.purchases
    assert made.schema.tables["patients"].columns["sex"].provenance["categories"] == "read"


def test_a_long_table_without_a_schema_is_bought(tmp_path):
    known = {"patient": Identifier(), "ward": Undeclared(), "sex": Undeclared(), "day": Unmeasured()}
    long = LongTable(Schema(known), "patient", 4, "day", ["sex"])
    made = nacre.fit(clinics.visits(4000), schema=long, **clinics.ASKED)
    assert made.described.names == ("patient", "ward", "sex", "day")
    assert made.described.columns["day"].kind == "datetime" and made.certificate.guarantee == "proven"
    drawn = made.sample(50)
    assert (drawn.groupby("patient").sex.nunique() == 1).all()


def test_rows_of_a_table_come_with_their_units():
    source, base = broken_tables(), clinics.database()
    sources = open_tables(source, tuple(base.tables))
    rows = pa.Table.from_batches([*OwnedRows(sources, base, "doses").batches()]).to_pandas()
    stays = source["stays"].to_pandas().set_index("id").patient
    assert (rows[UNIT] == rows.stay.map(stays)).all() and (rows[UNIT] == rows.patient).all()
    assert len(rows) <= source["doses"].num_rows - 2 and UNIT not in source["doses"].column_names
    for batch in OwnedRows(sources, base, "stays").batches(["low", UNIT]):
        assert batch.schema.names == ["low", UNIT] and "nobody" not in batch.column(UNIT).to_pylist()


def test_a_door_for_few_rows_of_a_unit_opens_for_no_more():
    base = undeclared()
    job = nacre.plan(clinics.tables(), schema=base, **clinics.ASKED)
    sources = open_tables(clinics.tables(), tuple(base.tables))
    curator = NestedCurator(sources, job.plan, base, job.forms)
    schema = Schema({"amount": Undeclared(), UNIT: Identifier(text=True)}, unit=Unit(UNIT, 9))
    with pytest.raises(PlanError, match="not planned for 9 rows of a unit"):
        curator.table("doses", schema).bounds(job.plan["kinds of doses"], {"amount": "kind"})
    with pytest.raises(PlanError, match="its rows belong to units"):
        curator.table("doses", Schema({"amount": Undeclared()}))
