"""What the owner is told goes to the owner, and nowhere else."""

from __future__ import annotations

import copy
import json
import pickle
import warnings

import pyarrow as pa
import pytest

import nacre
from nacre.table import Numeric, Schema

SCHEMA = Schema({"age": Numeric((0, 50), integer=True)}, rows=400)
TABLE = pa.table({"age": [*range(50)] * 7 + [99] * 50})
ASKED = {"schema": SCHEMA, "epsilon": 8.0, "delta": 1e-6, "method": "independent"}


def test_notes_hear_of_values_that_did_not_fit():
    notes = nacre.OwnerNotes()
    nacre.fit(TABLE, **ASKED, owner=notes)
    assert notes.misfits["age"].outside == 50
    assert str(notes) == "50 of 400 values of column 'age' lie outside the declared range and were clamped"
    assert "50" not in repr(notes)


def test_notes_have_no_way_into_a_file(tmp_path):
    notes = nacre.OwnerNotes()
    nacre.fit(TABLE, **ASKED, owner=notes).save(tmp_path / "r.nacre")
    assert b"misfits" not in (tmp_path / "r.nacre").read_bytes()
    for kept in (pickle.dumps, copy.deepcopy, json.dumps):
        with pytest.raises(TypeError):
            kept(notes)


def test_former_keywords_work_and_say_what_took_their_place(tmp_path):
    outside, told = [], {}
    with pytest.warns(DeprecationWarning, match="tell_owner, tell_diagnostics: use .*owner=nacre.OwnerNotes"):
        nacre.fit(TABLE, **ASKED, tell_owner=outside.append, tell_diagnostics=told.update)
    assert outside == [{"age": 50}] and told["reading"]["misfits"]["age"].outside == 50
    with pytest.raises(TypeError, match="'tell_everyone'"):
        nacre.fit(TABLE, **ASKED, tell_everyone=print)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        nacre.fit(TABLE, **ASKED, owner=nacre.OwnerNotes())


def test_a_former_population_is_charged(tmp_path, monkeypatch):
    from nacre.privacy.ledger import Policy, open_ledger

    monkeypatch.setenv("NACRE_STATE", str(tmp_path / "state"))
    books = open_ledger(tmp_path / "books.sqlite", create=True)
    books.create("people", Policy(20.0))
    with pytest.warns(DeprecationWarning, match="population, request"):
        nacre.fit(TABLE, **ASKED, ledger=books.url, population="people", request="monday")
    nacre.fit(TABLE, **{**ASKED, "epsilon": 0.5}, ledger=nacre.Account(books.url, "people", "tuesday"))
    assert [row.kind for row in books.rows("people")].count("settled") == 2
