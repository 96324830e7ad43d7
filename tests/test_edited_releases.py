"""Releases made by the version before load and say what they said; edited ones load nowhere."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pyarrow as pa
import pytest
from tests.edited import ABOUT_A_TABLE, HONEST, PROMISED, UNPROMISED, edited, inside, set_to

import nacre
from nacre.errors import CertificateError, ReleaseFileError
from nacre.learners import load as load_learner
from nacre.privacy.certificate.statement import Certificate
from nacre.table.columns import Boolean, Categorical

UNPRICED = "at a cost that the schema does not state; if from these rows, it adds to this promise"
LOADERS = {".nacre": nacre.load, ".sketch": nacre.load_sketch, ".learner": load_learner}
LEVELS = {"bought": "proven", "dpgan": "proven (real arithmetic)", "points": "conditional", "none": "none",
          "seeded": "none", "merged": "proven", "dpsgd": "proven (real arithmetic)",
          "merf": "proven (real arithmetic)", "ppem": "none", "weighted": "none"}  # fmt: skip
HONEST_FILES = sorted(p.name for p in HONEST.iterdir())
WITH_PROMISE = [name for name in HONEST_FILES if LEVELS[name.partition(".")[0]] != "none"]


def loaded(path):
    return LOADERS[path.suffix](path)


def certificate(made):
    return getattr(made, "certificate", None) or made.certificate_


@pytest.mark.parametrize("name", HONEST_FILES)
def test_an_honest_release_of_the_version_before_loads(name):
    made = loaded(HONEST / name)
    found = certificate(made)
    assert found.guarantee == LEVELS[name.partition(".")[0]] and str(found).startswith("nacre certificate")
    if name.endswith(".nacre"):
        assert made.sample(5, seed=0, as_="pyarrow").num_rows == 5


def refused(tmp_path, data, suffix):
    path = tmp_path / f"edited{suffix}"
    path.write_bytes(data)
    with pytest.raises(ReleaseFileError) as caught:
        loaded(path)
    return caught


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n == "dpgan.nacre" else n for n in WITH_PROMISE]
)
def test_an_edited_promise_is_refused(name, tmp_path):
    ways = PROMISED if name.endswith(".learner") else {**PROMISED, **ABOUT_A_TABLE}
    for way, edit in ways.items():
        path = tmp_path / f"edited{(HONEST / name).suffix}"
        path.write_bytes(edited(HONEST / name, edit))
        try:
            loaded(path)
        except ReleaseFileError as error:
            assert str(path) in str(error)
        else:
            raise AssertionError(f"accepted: {way}")


@pytest.mark.parametrize("name", ["none.nacre", "seeded.nacre"])
def test_a_promise_out_of_nothing_is_refused(name, tmp_path):
    for edit in UNPROMISED.values():
        assert refused(tmp_path, edited(HONEST / name, edit), ".nacre").type is CertificateError


def test_the_error_names_what_differs(tmp_path):
    for way, part in (
        ("half the epsilon", "was spent costs more"),
        ("a curve below what was spent", "at delta 0.001"),
        ("a level its parts do not have", "but its parts give 'conditional'"),
        ("no entries beside a promise", "never goes without"),
        ("another entry", "lists 'free' through the door 'select'"),
        ("a label over the level", "'label'"),
    ):
        assert part in str(refused(tmp_path, edited(HONEST / "points.nacre", PROMISED[way]), ".nacre").value)


def test_facts_that_were_paid_for_are_in_the_list_or_said_to_be_older(tmp_path):
    def cheaper(c):
        c["entries"] = [e for e in c["entries"] if e["name"] != "kinds"]

    caught = refused(tmp_path, edited(HONEST / "bought.nacre", cheaper), ".nacre")
    caught.match("leaves out what its promise rests on: facts of the schema were bought by an earlier run")


def test_a_counted_number_of_rows_is_listed_and_never_protected(tmp_path):
    """Where neighbours have the same number it is public. One word changed, and it was said to be protected."""
    table = pa.table({"x": ["a", "b"] * 200})
    schema = nacre.Schema({"x": Categorical(categories=("a", "b"))})
    made = nacre.fit(table, schema=schema, epsilon=1.0, method="independent", neighbours="replace_one")
    assert made.certificate.schema["provenance"][""] == {"rows": "counted"}
    assert "  - of the table: the number of rows\n" in str(made.certificate)
    made.save(tmp_path / "r.nacre")
    caught = refused(tmp_path, edited(tmp_path / "r.nacre", set_to(neighbours="add_or_remove_one")), ".nacre")
    caught.match("its parts give 'none'")


def test_what_was_paid_earlier_is_said_as_the_schema_has_it(tmp_path):
    """A schema is bought, a column of it taken out; the fit buys that one and uses the rest. Neither the sentence nor
    the figure in it can be made smaller."""
    table = pa.table({"x": ["a", "b"] * 1_500, "y": ["c", "d", "d"] * 1_000})
    first = nacre.buy_schema(table, epsilon=1.0).schema
    for known in (first, dataclasses.replace(first, columns={**first.columns, "y": Categorical()})):
        made = nacre.fit(table, schema=known, epsilon=2.0, method="independent", delta=1e-6)
        (said,) = [a for a in made.certificate.assumptions if "bought by an earlier run" in a]
        made.save(tmp_path / "r.nacre", force=True)
        assert nacre.load(tmp_path / "r.nacre").certificate.assumptions == made.certificate.assumptions
        for instead in ([said.replace("(1, ", "(0.001, ")], [said.partition(", at (")[0] + ", " + UNPRICED], []):
            assert instead != [said]

            def cheaper(c, said=said, instead=instead):
                c["assumptions"] = [a for a in c["assumptions"] if a != said] + instead

            caught = refused(tmp_path, edited(tmp_path / "r.nacre", cheaper), ".nacre")
            caught.match("paid for facts bought earlier|leaves out what its promise rests on")


def test_how_the_table_is_stored_is_said_whoever_leaves_it_out(tmp_path):
    """It is the last sentence where persons are declared, and all promises on tables rest on it."""
    stored = "column names and how the table stores its columns are public"
    path = tmp_path / "r.nacre"
    path.write_bytes(edited(Path(__file__).parent / "kept/0.1.0/unit-sketch.nacre", lambda c: c["assumptions"].pop()))
    found = nacre.load(path).certificate
    assert found.assumptions[-1] == stored and f"Assumption: {stored}" in str(found)
    nacre.load(path).save(tmp_path / "again.nacre")
    assert nacre.load(tmp_path / "again.nacre").certificate.assumptions == found.assumptions
    assert f"Assumption: {stored}" in str(nacre.load(HONEST / "merged.nacre").certificate)


def test_facts_have_names_and_sources_of_their_own():
    told = nacre.load(HONEST / "bought.nacre").certificate.to_json()
    for facts in (
        {"": {"every row is protected": "public"}},
        {"age": {"rows": "public"}},
        {"age": {"kind": "counted"}},
    ):
        with pytest.raises(ValueError, match="schema"):
            Certificate.from_json({**told, "schema": {**told["schema"], "provenance": facts}})


def test_a_name_of_somebodys_own_is_quoted():
    told = nacre.load(HONEST / "bought.nacre").certificate.to_json()
    stamp = {"ledger": "a", "population": "p, row 9; proven", "sequence": 1, "head": "b"}
    unit = {"column": "town, epsilon 0.1", "cap": 1}
    made = str(Certificate.from_json({**told, "unit": unit, "extras": {"ledger": stamp}}))
    assert 'for all rows of one "town, epsilon 0.1"' in made and 'population "p, row 9; proven", row 1' in made


def test_the_method_of_model_and_certificate_is_one(tmp_path):
    data = edited(HONEST / "bought.nacre", inside("method", to="sketch"), "model.json")
    refused(tmp_path, data, ".nacre").match("that of method 'independent', its model of 'sketch'")


def test_a_little_less_than_another_accountant_finds_is_shown_as_found(tmp_path):
    """Accountants of other versions may differ in the last digits: then the larger figure is shown, and said."""

    def shave(c):
        c["epsilon"] *= 0.9999
        c["curve"] = [[d, 0.9999 * e] for d, e in c["curve"]]

    path = tmp_path / "r.nacre"
    path.write_bytes(edited(HONEST / "bought.nacre", shave))
    with pytest.warns(UserWarning, match="this accountant finds epsilon"):
        made = nacre.load(path).certificate
    true = nacre.load(HONEST / "bought.nacre").certificate
    assert 0.9999 * true.epsilon < made.epsilon <= true.epsilon * (1 + 1e-5)
    assert dict(made.curve) == pytest.approx(dict(true.curve), rel=1e-8)


def test_columns_of_any_number_and_name_are_told_and_loaded_again(tmp_path):
    """One sentence says how all of them are stored."""
    names = ("a, b", 'c; text: "d"', "e\\", "f) and nobody is in danger (", "g: h", " i", "long " * 100, "k")
    names += tuple(f"measurement number {i}" for i in range(300))
    table = pa.table({name: [True, False] * 20 for name in names} | {"k": ["x"] * 40})
    schema = nacre.Schema({n: Boolean() if n != "k" else Categorical(("x",)) for n in names}, rows=40)
    made = nacre.fit(table, schema=schema, epsilon=1.0, method="independent")
    made.save(tmp_path / "r.nacre")
    found = nacre.load(tmp_path / "r.nacre").certificate
    assert found.to_json() == made.certificate.to_json()
    (said,) = (a for a in found.assumptions if a.startswith("column names"))
    assert 'truth values: "a, b", "c; text: \\"d\\"", "e\\\\", "f) and nobody is in danger (", "g: h"' in said


def test_what_was_paid_before_is_what_the_schema_says(tmp_path):
    table = pa.table({"x": ["a", "b"] * 200, "y": [1, 2] * 200})
    bought = nacre.buy_schema(table, epsilon=3.0, delta=1e-6, neighbours="zero_out").schema
    made = nacre.fit(table, schema=bought, epsilon=1.0, method="independent", neighbours="zero_out")
    made.save(tmp_path / "r.nacre")
    assert nacre.load(tmp_path / "r.nacre").certificate.to_json() == made.certificate.to_json()
    unpriced = "at a cost that the schema does not state; if from these rows, it adds to this promise"
    for before, after in (
        ("at (3, 1e-06)", "at (0.03, 1e-06)"),
        ("zero_out: ", "replace_one: "),
        ("zero_out: ", "zero_out, 2 rows of a unit: "),
        ("that cost adds to this promise", "under a promise other than this one, which does not cover them"),
        ("at (3, 1e-06), zero_out: if from these rows, that cost adds to this promise", unpriced),
    ):
        data = edited(tmp_path / "r.nacre", _saying(before, after))
        caught = refused(tmp_path, data, ".nacre")
        caught.match("assumes what no promise of its kind rests on|does not state what its schema says was paid")


def _saying(before, after):
    def edit(c):
        assert any(before in said for said in c["assumptions"])
        c["assumptions"] = [said.replace(before, after) for said in c["assumptions"]]

    return edit
