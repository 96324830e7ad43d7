"""Schemas: JSON in and out, provenance, attestation, dependencies."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from strategies import schemas

import nacre
from nacre.errors import CertificateError, DomainNotDeclared, SchemaError
from nacre.privacy.certificate.statement import provenance_of
from nacre.table import (
    Between,
    Boolean,
    Categorical,
    Datetime,
    Dependency,
    Identifier,
    Numeric,
    Schema,
    Tensor,
    Unit,
)
from nacre.table.columns import KINDS


def full_schema() -> Schema:
    """One of everything."""
    return Schema(
        {
            "id": Identifier(person=True),
            "age": Numeric((0, 120), integer=True, provenance={"bounds": "read"}),
            "pay": Numeric(edges=(0.0, 10.0, 1e6), atoms=(0.0,), nullable=True),
            "edu": Categorical(("low", "mid", "high"), ordered=True, other="mid"),
            "years": Numeric((1, 3), integer=True),
            "alive": Boolean(nullable=True, provenance={"nullable": "bought"}),
            "born": Datetime(("1900-01-01", "2024-12-31"), unit="day"),
            "seen": Datetime(("2020-01-01", "2024-12-31T23:00:00+01:00"), tz="Europe/Oslo"),
            "scan": Tensor((2, 3), (0, 1)),
        },
        rows=1000,
        unit=Unit("id", 5),
        dependencies=(Dependency("edu", "years", {"low": 1, "mid": 2, "high": 3}),),
        impossible=({"edu": ["high"], "age": Between(None, 15)}, {"alive": [False, None], "edu": "low"}),
        provenance={"rows": "read"},
    )


@settings(max_examples=60, deadline=None)
@given(schemas())
def test_json_round_trip_is_exact(schema):
    text = schema.to_json()
    back = Schema.from_json(text)
    assert back == schema and back.to_json() == text and back.digest() == schema.digest()
    assert [dataclasses.asdict(c) for c in back.columns.values()] == [
        dataclasses.asdict(c) for c in schema.columns.values()
    ]
    assert Schema.from_json(json.loads(text)) == schema


def test_json_of_everything(tmp_path):
    schema = full_schema()
    schema.save(tmp_path / "s.json")
    back = Schema.load(tmp_path / "s.json")
    assert back == schema
    assert back.impossible == schema.impossible and back.dependencies == schema.dependencies
    assert back.columns["age"].provenance["bounds"] == "read" and back.unit == Unit("id", 5)


def test_every_fact_has_a_provenance_and_what_is_not_marked_is_public():
    facts = full_schema().facts()
    assert facts[("age", "bounds")] == "read" and facts[("age", "kind")] == "public"
    assert facts[(None, "rows")] == "read" and facts[("alive", "nullable")] == "bought"
    assert ("pay", "edges") in facts and ("born", "bounds") in facts


def test_digest_sees_order_and_provenance():
    a, b = Numeric((0, 1)), Boolean()
    first, second = Schema({"a": a, "b": b}), Schema({"b": b, "a": a})
    read = Schema({"a": Numeric((0, 1), provenance={"bounds": "read"}), "b": b})
    assert len({first.digest(), second.digest(), read.digest()}) == 3
    assert first != second and first != read


def test_modelled_leaves_out_identifiers_and_dependents():
    assert full_schema().modelled == ("age", "pay", "edu", "alive", "born", "seen", "scan")


def test_weakest_and_attest():
    schema = full_schema()
    assert schema.weakest() == ("read", [(None, "rows"), ("age", "bounds")])
    one = schema.attest("age", by="A. Steward", why="ages are limited by law")
    assert one.weakest() == ("read", [(None, "rows")])
    both = one.attest(fact="rows", by="A. Steward", why="published yearly")
    assert both.weakest() == ("bought", [("alive", "nullable")])  # bought stays bought
    assert both.attestations[0].facts == (("age", "bounds"),)
    assert Schema.from_json(both.to_json()).attestations == both.attestations
    assert schema.weakest()[0] == "read"  # the first schema is untouched


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"column": "pay"}, "nothing to attest for column='pay'"),
        ({"column": "nope"}, "there is no column 'nope'"),
        ({"by": " "}, "by is ' '"),
        ({"why": ""}, "why is ''"),
    ],
)
def test_attest_refuses(arguments, part):
    with pytest.raises(SchemaError, match=part):
        full_schema().attest(**{"by": "me", "why": "because", **arguments})


def test_undeclared_facts():
    schema = Schema({"a": Numeric(), "b": Categorical(), "c": Datetime(), "d": Boolean(), "e": Numeric((0, 1))})
    assert schema.undeclared() == [("a", "bounds"), ("b", "categories"), ("c", "bounds")]


def test_edges_bring_their_bounds_and_provenance():
    column = Numeric(edges=(0, 5, 9), provenance={"edges": "bought"})
    assert column.bounds == (0.0, 9.0) and column.provenance["bounds"] == "bought"


def test_columns_are_values():
    assert Numeric((0, 1)) == Numeric([0, 1.0]) and hash(Numeric((0, 1))) == hash(Numeric([0, 1.0]))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Numeric((0, 1)).bounds = (0, 2)


@pytest.mark.parametrize(
    ("dependency", "part"),
    [
        (Dependency("edu", "years", {"low": 1, "mid": 2}), "no entry for 'high'"),
        (Dependency("edu", "years", {"low": 1, "mid": 2, "high": 9}), "9 lies outside the bounds"),
        (Dependency("edu", "years", {"low": 1, "mid": 2, "high": 3, "x": 1}), "'x' is not a category"),
        (Dependency("pay", "years", {0: 1}), "the determinant is numeric"),
        (Dependency("edu", "nowhere", {"low": 1}), "there is no column 'nowhere'"),
        (Dependency("alive", "edu", {True: "low", False: "mid"}), "the determinant may be null"),
        (Dependency("edu", "years", {"low": 1, "mid": 2, "high": None}), "maps to null"),
    ],
)
def test_dependencies_are_checked(dependency, part):
    with pytest.raises(SchemaError, match=part):
        dataclasses.replace(full_schema(), dependencies=(dependency,))


def test_dependencies_cannot_chain():
    labels = Categorical(("a", "b"))
    same = {"a": "a", "b": "b"}
    with pytest.raises(SchemaError, match="itself depends on another column"):
        Schema(
            {"x": labels, "y": labels, "z": labels},
            dependencies=(Dependency("x", "y", same), Dependency("y", "z", same)),
        )


def test_the_schema_in_the_documents_is_one():
    """Word for word what docs/schema.md shows; every kind but arrays, and every key that it explains."""
    page = (Path(__file__).parents[2] / "docs" / "schema.md").read_text()
    text = page.split("```json\n")[1].split("```")[0]
    schema = Schema.from_json(text)
    assert {c.kind for c in schema.columns.values()} == set(KINDS) - {"tensor"}
    assert schema.unit == Unit("patient", 3) and not schema.undeclared() and "floor" not in schema.modelled
    assert Schema.from_json(schema.to_json()) == schema
    shown = {key for spec in json.loads(text)["columns"].values() for key in spec} | set(json.loads(text))
    assert all(f"`{key}`" in page or f"**`{key}`**" in page for key in shown - {"format", "columns", "kind"})


def test_null_words_of_persons_are_for_the_whole_table():
    """The doors name persons before they know of such words: all rows of "NA" would be one person's."""
    with pytest.raises(SchemaError, match="column 'id' has null words, which would be one person; declare them for"):
        Schema({"id": Identifier(null_words=("NA",)), "a": Boolean()}, unit=Unit("id", 2))


def test_unattested_facts_promise_nothing_until_somebody_attests_them():
    schema = Schema(
        {"age": Numeric((0, 90), integer=True, provenance={"bounds": "unattested"}), "ok": Boolean()},
        rows=4_000,
        provenance={"rows": "unattested"},
    )
    assert Schema.from_json(schema.to_json()) == schema
    assert schema.unprotected == [(None, "rows"), ("age", "bounds")]
    rng = np.random.default_rng(0)
    table = {"age": rng.integers(0, 90, 4_000), "ok": rng.random(4_000) < 0.5}
    rows = pa.table(table)
    with pytest.raises(DomainNotDeclared, match=r"table: rows was read from another document \(2 such facts\); review"):
        nacre.fit(rows, schema=schema, epsilon=1.0, method="independent")
    release = nacre.fit(rows, schema=schema, epsilon=1.0, method="independent", domain="from-data")
    assert release.certificate.guarantee == "none" and release.certificate.epsilon is None
    said = str(release.certificate)
    assert "these schema facts come from another document, and nobody has attested that they are public: " in said
    assert "table.rows, age.bounds" in said and "Facts from another document, which nobody has attested" in said
    attested = schema.attest(by="M. Curie", why="the code book")
    assert not attested.unprotected and attested.attestations[0].facts == ((None, "rows"), ("age", "bounds"))
    promised = nacre.fit(rows, schema=attested, epsilon=1.0, method="independent").certificate
    assert promised.guarantee == "proven" and "nobody has attested" not in str(promised)


def test_a_certificate_that_promises_over_unattested_facts_is_refused(tmp_path):
    schema = Schema({"age": Numeric((0, 90), integer=True)}, rows=2_000)
    release = nacre.fit(pa.table({"age": [5] * 2_000}), schema=schema, epsilon=1.0, method="independent")
    planted = schema.with_provenance({("age", "bounds"): "unattested"})
    told = {"digest": planted.digest(), "rows": 2_000, "provenance": provenance_of(planted)}
    forged = dataclasses.replace(
        release, schema=planted, certificate=dataclasses.replace(release.certificate, schema=told)
    )
    forged.save(tmp_path / "r.nacre")
    with pytest.raises(CertificateError, match="its certificate states 'proven', but its parts give 'none'"):
        nacre.load(tmp_path / "r.nacre")
