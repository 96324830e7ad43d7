"""Releases of databases: tables that hang together, conditions that are exact, files that are checked."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import load as arrays_of
from safetensors.numpy import save as bytes_of
from tests import clinics
from tests.edited import edited, inside

import nacre
from nacre.errors import NacreError, ReleaseFileError, SchemaError
from nacre.release import public
from nacre.release.databases import DatabaseRelease
from nacre.table.database.long import LongTable


@pytest.fixture(scope="module")
def made():
    return clinics.fitted()


@pytest.fixture(scope="module")
def drawn(made):
    return made.sample(1500, seed=4)


def owner_of(tables):
    """The patient of each dose, by the stays."""
    return tables["doses"].merge(tables["stays"], left_on="stay", right_on="id", how="left", suffixes=("", " of stay"))


def test_every_key_names_a_row_and_ids_are_new(drawn):
    patients, stays, doses = (drawn[name] for name in ("patients", "stays", "doses"))
    assert len(patients) == 1500 and patients.id.is_unique and stays.id.is_unique
    assert patients.id[0] == "00000000-0000-4000-8000-000000000001" and list(stays.id) == list(range(1, len(stays) + 1))
    assert stays.patient.isin(patients.id).all() and doses.stay.isin(stays.id).all()
    assert (owner_of(drawn)["patient"] == owner_of(drawn)["patient of stay"]).all()  # the key that is implied
    assert doses.drug.dropna().isin(drawn["drugs"].id).all() and 0 < doses.drug.isna().mean() < 0.5


def test_caps_order_and_rules_hold(drawn):
    stays = drawn["stays"]
    assert stays.groupby("patient").size().max() <= 4 and drawn["doses"].groupby("stay").size().max() <= 3
    assert stays.groupby("patient").admitted.apply(lambda days: days.is_monotonic_increasing).all()
    assert (stays.low <= stays.high).all()


def test_public_tables_are_given_as_they_are(made, drawn):
    given = made.sample(3, as_="pyarrow")["drugs"]
    assert given.equals(clinics.tables()["drugs"]) and list(drawn["drugs"].columns) == ["id", "name"]
    assert list(drawn) == list(clinics.database().tables)


def test_types_come_from_the_schema(made):
    found = made.sample(5, as_="pyarrow")
    assert [str(t) for t in found["stays"].schema.types] == ["int64", "string", "date32[day]", "int64", "int64"]
    none = made.sample(0, as_="pyarrow")
    assert {n: t.schema for n, t in none.items()} == {n: t.schema for n, t in found.items()}
    assert none["stays"].num_rows == 0 and none["drugs"].num_rows == 5
    assert type(made.sample(2, as_="polars")["stays"]).__module__.startswith("polars")


def test_parts_count_on_and_repeat_with_the_seed(made):
    parts = [*made.chunks(2500, seed=1)]
    assert len(parts) > 1 and parts[1]["stays"]["id"][0].as_py() == parts[0]["stays"].num_rows + 1
    whole, again = made.sample(2500, seed=1, as_="pyarrow"), made.sample(2500, seed=1, as_="pyarrow")
    assert all(whole[name].equals(again[name]) for name in whole)
    assert not whole["stays"].equals(made.sample(2500, seed=2, as_="pyarrow")["stays"])


def test_conditions_and_shares_of_the_unit_are_exact(made):
    found = made.sample(200, where={"sex": "f", "born": nacre.Between(1950, 1960)}, seed=1)
    assert (found["patients"].sex == "f").all() and found["patients"].born.between(1950, 1960).all()
    assert found["stays"].patient.isin(found["patients"].id).all()
    found = made.sample(2000, rebalance={"sex": {"f": 0.8, "m": 0.2}}, seed=1)
    assert abs((found["patients"].sex == "f").mean() - 0.8) < 0.03 and len(found["patients"]) == 2000
    two = {"sex": {"f": 0.7, "m": 0.3}, "born": {nacre.Between(1930, 1969): 0.5, nacre.Between(1970, 2010): 0.5}}
    found = made.sample(500, rebalance=two, seed=1)
    assert abs((found["patients"].sex == "f").mean() - 0.7) < 0.07 and found["patients"].id.is_unique
    assert (owner_of(found)["patient"] == owner_of(found)["patient of stay"]).all()


def test_what_cannot_be_drawn_is_refused_before_anything_is(made):
    with pytest.raises(SchemaError, match="no column 'low'"):  # of another table
        made.sample(3, where={"low": 3})
    for units in (-1, 2.5, True, "all"):
        with pytest.raises(NacreError, match="whole number of units"):
            made.sample(units)


def test_impossible_rows_are_not_drawn():
    base = clinics.database()
    stays = base.tables["stays"]
    never = ({"low": nacre.Between(0, 20), "high": nacre.Between(20, 100)},)
    import dataclasses

    changed = dataclasses.replace(stays, rules=(), impossible=never, provenance={})
    made = clinics.fitted(schema=clinics.database(tables={**clinics.schemas(), "stays": changed}))
    found = made.sample(100, seed=1)["stays"]
    assert len(found) and not ((found.low <= 20) & (found.high >= 20)).any()


# ------------------------------------------------------------------------------------------------------------- the file


@pytest.fixture(scope="module")
def saved(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("releases") / "clinic.nacre"
    made.save(path)
    return path


def test_a_saved_release_draws_the_same(made, saved, tmp_path):
    loaded = nacre.load(saved)
    assert isinstance(loaded, DatabaseRelease) and loaded.certificate.to_json() == made.certificate.to_json()
    here, there = (r.sample(60, seed=2, as_="pyarrow") for r in (made, loaded))
    assert all(here[name].equals(there[name]) for name in here)
    loaded.save(tmp_path / "again.nacre")
    assert (tmp_path / "again.nacre").read_bytes() == saved.read_bytes()
    with pytest.raises(NacreError, match="exists already"):
        made.save(saved)


def refused(tmp_path, data, said):
    (tmp_path / "bad.nacre").write_bytes(data)
    with pytest.raises(ReleaseFileError, match=said):
        nacre.load(tmp_path / "bad.nacre")


@pytest.mark.parametrize(
    ("member", "edit", "said"),
    [
        ("certificate.json", inside("epsilon", to=0.5), "do not rely on"),
        ("certificate.json", inside("unit", "most", "doses", to=1), "who is protected"),
        ("certificate.json", inside("method", to="sketch"), "is that of method 'sketch'"),
        ("model.json", inside("public", to={}), "public tables"),
        ("model.json", inside("public", "drugs", "rows", to=4), "public tables"),
        ("model.json", inside("public", "drugs", "rows", to=10**12), "public tables"),
        ("model.json", inside("public", "drugs", "columns", to=[["id", "int64"]]), "other columns"),
        ("model.json", inside("public", "drugs", "columns", to=[["id", "dictionary"], ["name", "string"]]), "public"),
        ("model.json", inside("long", to=["id", "sex"]), "long table"),
        ("schema.json", inside("unit", to="stays"), "does not hold what it should|another schema"),
        ("schema.json", inside("public", to=[]), "does not hold what it should"),
    ],
)
def test_altered_files_are_refused(saved, tmp_path, member, edit, said):
    refused(tmp_path, edited(saved, edit, member), said)


def test_a_method_for_tables_cannot_be_put_in_its_place(saved, tmp_path):
    refused(tmp_path, edited(saved, inside("method", to="sketch"), "model.json"), "does not hold|do not rely")


@pytest.mark.parametrize("seed", range(12))
def test_damaged_arrays_are_refused_or_draw_tables_that_hang_together(saved, tmp_path, seed):
    """Whatever stands in the arrays: refused, or rows whose keys name rows."""
    import hashlib
    import zipfile

    rng = np.random.default_rng(seed)
    with zipfile.ZipFile(saved) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    arrays = arrays_of(parts["arrays.safetensors"])
    name = sorted(arrays)[rng.integers(len(arrays))]
    hurt = arrays[name].copy()
    if seed % 3 == 0:
        hurt = hurt[:-1] if hurt.ndim else hurt.reshape(1)
    elif hurt.size:
        flat = hurt.reshape(-1)
        flat[rng.integers(flat.size)] = np.nan if hurt.dtype.kind == "f" else np.iinfo(hurt.dtype).max
    parts["arrays.safetensors"] = bytes_of({**arrays, name: np.ascontiguousarray(hurt)})
    manifest = json.loads(parts["manifest.json"])
    manifest["sha256"]["arrays.safetensors"] = hashlib.sha256(parts["arrays.safetensors"]).hexdigest()
    parts["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(tmp_path / "hurt.nacre", "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in parts.items():
            archive.writestr(member, data)
    try:
        found = nacre.load(tmp_path / "hurt.nacre").sample(20, seed=1)
    except NacreError:
        return
    assert found["stays"].patient.isin(found["patients"].id).all()


# ------------------------------------------------------------------------------------------------------- public tables


def every_type():
    import datetime as dt
    from decimal import Decimal

    return pa.table({
        "text": ["a", None, "é"], "whole": pa.array([1, None, -3], pa.int16()), "real": [0.5, None, float("nan")],
        "truth": [True, None, False], "day": pa.array([dt.date(2020, 1, 1), None, dt.date(1900, 2, 3)]),
        "moment": pa.array([dt.datetime(2020, 1, 1, 2), None, dt.datetime(1950, 1, 1)], pa.timestamp("us", "UTC")),
        "money": pa.array([Decimal("1.50"), None, Decimal("-0.01")], pa.decimal128(8, 2)),
        "word": pa.array(["x", "y", None]).dictionary_encode(),
    })  # fmt: skip


def test_public_rows_keep_their_values_and_types():
    table = public.kept(every_type(), "codes")
    facts, arrays = public.to_parts({"codes": table})
    back = public.from_parts(json.loads(json.dumps(facts)), arrays)["codes"]
    assert back.schema == table.schema and back.to_pydict()["money"] == every_type().to_pydict()["money"]
    assert str(back.to_pydict()) == str(every_type().to_pydict())  # NaN is no value's equal
    with pytest.raises(NacreError, match="column 'x' is stored as list"):
        public.kept(pa.table({"x": [[1]]}), "codes")


def test_a_long_table_is_saved_as_one(tmp_path):
    long = LongTable(clinics.visit_schema(), "patient", 3, "day", ["sex"])
    made = nacre.fit(clinics.visits(), schema=long, **clinics.ASKED)
    made.save(tmp_path / "long.nacre")
    loaded = nacre.load(tmp_path / "long.nacre")
    assert loaded.sample(30, seed=5).equals(made.sample(30, seed=5)) and loaded.long == clinics.visit_schema().names
    assert loaded.write(tmp_path / "fake.csv", 30, seed=5) == 30
    assert (tmp_path / "fake.csv").read_text().splitlines()[0] == "ward,patient,sex,day"
    only = loaded.sample(20, where={"sex": "m"})
    assert (only.sex == "m").all() and only.patient.nunique() == 20
