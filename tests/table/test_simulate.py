"""The simulated table is what its schema says, and has the difficulties it promises."""

import numpy as np
import pyarrow.compute as pc
import pytest

from nacre.errors import DataError
from nacre.table.encoding import encode
from nacre.table.rules import violations
from nacre.table.simulate.people import CHUNK, people, people_chunks, people_schema
from nacre.table.values.decoding import arrow_schema


def test_people_keep_their_schema():
    schema, table = people_schema(), people(60_000, seed=1)
    encoded = encode(table, schema)
    assert not any(encoded.outside().values())
    assert not violations(encoded, schema.never).any()
    assert table.schema.equals(arrow_schema(schema)) and len(schema.modelled) == 15
    assert schema.weakest()[0] == "public" and not schema.undeclared()
    for name, column in schema.columns.items():
        assert (table[name].null_count > 0) == column.nullable, name
        if column.kind == "categorical":
            assert set(pc.unique(table[name].drop_null()).to_pylist()) == set(column.labels), name


def test_people_are_repeatable_and_chunked():
    assert people(1_000, seed=7).equals(people(1_000, seed=7))
    assert not people(1_000, seed=7).equals(people(1_000, seed=8))
    rows = CHUNK + 10
    assert [t.num_rows for t in people_chunks(rows, 3)] == [CHUNK, 10]
    table = people(rows, 3)
    assert table["person_id"].to_numpy().tolist() == list(range(1, rows + 1))
    assert table.slice(0, CHUNK).equals(people(CHUNK, 3))


def test_people_have_spikes_skew_rare_values_and_a_learnable_target():
    table = people(60_000, seed=1)
    income = table["income"].drop_null().to_numpy()
    assert 0.05 < np.mean(income == 0) < 0.35
    assert np.mean(income) > 1.2 * np.median(income)
    assert 0 < np.mean(table["region"].to_numpy(zero_copy_only=False) == "abroad") < 0.003
    assert np.mean(table["hours"].to_numpy() == 40) > 0.15
    late = table["late_payment"].to_numpy(zero_copy_only=False)
    assert 0.05 < late.mean() < 0.4
    poor = table["savings"].to_numpy() < np.median(table["savings"].to_numpy())
    assert late[poor].mean() > 1.3 * late[~poor].mean()


def test_people_need_a_positive_number():
    with pytest.raises(DataError, match="rows is 0"):
        people(0)
