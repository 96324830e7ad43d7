"""Rows held out of a fit: independent coins, the same in every pass, persons together."""

import numpy as np
import pyarrow as pa
import pytest

from nacre.engines import MemoryRows, Rows, open_rows
from nacre.engines.holdout import Part, _Coins, split
from nacre.errors import DataError, NacreError


def column(part, name):
    return pa.Table.from_batches(list(part.batches([name]))).column(name).to_pylist()


def rows(n, **more):
    return MemoryRows(pa.table({"i": list(range(n)), **more}), batch_rows=1_000)


def test_the_parts_divide_the_table_the_same_way_in_every_pass():
    train, held = split(rows(20_000), 0.2)
    assert isinstance(train, Rows) and open_rows(train) is train
    first, second = column(train, "i"), column(held, "i")
    assert sorted(first + second) == list(range(20_000)) and first == sorted(first)
    assert column(train, "i") == first
    # Binomial: 4,000 +- 57; outside five deviations once in two million runs.
    assert abs(len(second) - 4_000) < 5 * np.sqrt(20_000 * 0.2 * 0.8)


def test_the_size_of_batches_does_not_matter():
    table = pa.table({"i": list(range(40_000))})
    coins = _Coins(0.3)
    parts = [Part(MemoryRows(table, batch_rows=b), coins, True, None) for b in (7_001, 50_000)]
    assert column(parts[0], "i") == column(parts[1], "i")


def test_every_split_throws_new_coins():
    data = rows(2_000)
    assert column(split(data)[1], "i") != column(split(data)[1], "i")


def test_neighbouring_coins_are_independent():
    held = _Coins(0.2).places(0, 400_000)
    pair = (held[:-1] & held[1:]).mean()
    assert held.mean() == pytest.approx(0.2, abs=5 * 0.0007)
    assert pair == pytest.approx(0.04, abs=5 * 0.0005)  # false alarm below one in a million each
    np.testing.assert_array_equal(
        _Coins(0.2, b"k" * 32).places(20_000, 5), _Coins(0.2, b"k" * 32).places(0, 20_005)[-5:]
    )


def test_persons_stay_together_and_their_coin_is_theirs_alone():
    names = [f"p{i % 500}" for i in range(5_000)]
    data = rows(5_000, who=names)
    train, held = split(data, 0.3, "who")
    a, b = set(column(train, "who")), set(column(held, "who"))
    assert not a & b and len(a | b) == 500
    without = MemoryRows(data.table.filter(pa.array([n != "p7" for n in names])))
    again = Part(without, held.coins, True, "who")
    assert set(column(again, "who")) == b - {"p7"}  # nobody else's side changes when a person leaves
    assert held.batches(["i"]).__next__().schema.names == ["i"]


def test_rows_without_a_name_are_never_held_out():
    data = rows(300, who=pa.array([None, "", "x"] * 100))
    held = Part(data, _Coins(0.999999), True, "who")
    assert set(column(held, "who")) == {"x"}


def test_mistakes_are_named():
    with pytest.raises(NacreError, match=r"hold out is 1; expected a number between 0 and 1"):
        split(rows(5), 1.0)
    with pytest.raises(DataError, match="no column 'who'"):
        split(rows(5), 0.2, "who")
    with pytest.raises(DataError, match="no row was left to fit"):
        list(Part(rows(5), _Coins(1.0), False, None).batches())


def test_a_person_whose_rows_lie_on_both_sides_is_still_noticed():
    from nacre.errors import DataError
    from nacre.run import check_rows
    from nacre.table import Identifier, Numeric, Schema

    schema = Schema({"who": Identifier(person=True), "x": Numeric(bounds=(0, 9))})
    table = pa.table({"who": ["a", "b", "a", "c"], "x": [1.0, 2.0, 3.0, 4.0]})
    for _ in range(20):  # whatever the coins say
        fitted, _held = split(MemoryRows(table), 0.5)
        with pytest.raises(DataError, match="identifies persons and repeats"):
            check_rows(fitted, schema)
