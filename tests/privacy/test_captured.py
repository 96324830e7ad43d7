"""Record maps that carry rows with them are refused before anything is spent; what they may carry is not."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.privacy_contract import checks, tables

from nacre.errors import PlanError
from nacre.privacy.curator import Curator, Record
from nacre.privacy.doors.select import Deviation, RecordScore
from nacre.privacy.passes.captured import MOST, refuse_captured
from nacre.privacy.plan import Plan, Select, Total
from nacre.privacy.transcript import Transcript

ROWS = np.arange(500.0)
FEW = np.ones(8)
ENTRY = Total("sum", size=1, bound=1.0, sigma=1.0)
PICK = Select("pick", picks=1, epsilon=1.0)


def age(records):
    return records["age"].values.astype(np.float64)[:, None] / 100


class Model:
    def __init__(self, weights):
        self.weights = weights

    def features(self, records, public):
        return age(records) * self.weights[0]

    def __call__(self, records, public):
        return self.features(records, public)


class Holder:
    rows = ROWS

    def __call__(self, records, public):
        return age(records) + self.rows[0]


def closing_over(rows):
    return lambda records, public: age(records) + rows[0]


def uses_a_global(records, public):
    return age(records) + ROWS[0]


def uses_a_global_inside(records, public):
    return (lambda r: age(r) + ROWS[0])(records)


def with_default(records, public, *, rows=ROWS):
    return age(records) + rows[0]


def jitted():
    import jax

    return jax.jit(lambda records, public: ROWS[0])


CARRIERS = {
    "closure over an array": lambda: closing_over(ROWS),
    "closure over a list": lambda: closing_over(ROWS.tolist()),
    "closure over a frame": lambda: closing_over(pd.Series(ROWS)),
    "closure over Arrow": lambda: closing_over(pa.array(ROWS)),
    "closure over an Arrow table": lambda: closing_over(pa.table({"x": ROWS})),
    "closure over a dictionary of arrays": lambda: closing_over({0: {"x": ROWS}}),
    "closure over a function with rows": lambda: closing_over([closing_over(ROWS)]),
    "closure over rows as lists": lambda: closing_over(np.stack([ROWS] * 3, axis=1).tolist()),
    "closure over rows as dictionaries": lambda: closing_over([{"x": float(v)} for v in ROWS]),
    "closure over rows as small arrays": lambda: closing_over([np.array([v, v]) for v in ROWS]),
    "closure over bytes": lambda: closing_over(np.tile(ROWS, 100).tobytes()),
    "attribute of a class": lambda: Holder(),
    "default argument": lambda: with_default,
    "partial": lambda: functools.partial(with_default, rows=ROWS),
    "partial of a partial": lambda: functools.partial(functools.partial(lambda w, r, p: age(r), ROWS)),
    "bound method": lambda: Model(ROWS).features,
    "callable object": lambda: Model(ROWS),
    "global": lambda: uses_a_global,
    "global of an inner function": lambda: uses_a_global_inside,
    "jitted function": jitted,
}


@pytest.mark.parametrize("name", CARRIERS)
def test_rows_carried_along_are_refused_and_nothing_is_read(name):
    table = checks.CountedRows(tables.people(30))
    room = Curator(table, Plan("test", (ENTRY, PICK), checks.FREE), tables.schema())
    carrier = CARRIERS[name]()
    with pytest.raises(PlanError, match="pass arrays as `public`"):
        room.total(ENTRY, carrier)
    with pytest.raises(PlanError, match="record score: the function"):
        room.select(PICK, RecordScore(carrier, 1, 0.0, 1.0))
    assert table.passes == 0 and not room.opened


@pytest.mark.parametrize(
    "function",
    [closing_over(FEW), closing_over([1.0] * MOST), Model(FEW), Model(FEW).features, functools.partial(age)],
)
def test_a_few_numbers_may_be_carried(function):
    refuse_captured(function, None, "here")


def test_the_schema_and_its_grids_are_public():
    from nacre.table import Categorical, Schema
    from nacre.table.grid import Grid

    column = Categorical(tuple(map(str, range(300))))
    refuse_captured(closing_over([Schema({"x": column}), column, Grid.of(column)]), None, "here")


def test_what_stands_in_public_may_be_carried_too():
    refuse_captured(closing_over(ROWS), {"weights": [ROWS]}, "here")
    with pytest.raises(PlanError):
        refuse_captured(closing_over(ROWS.copy()), {"weights": [ROWS]}, "here")


def questions(score):
    transcript = Transcript()
    room = Curator(
        checks.CountedRows(tables.people(30)),
        Plan("test", (PICK,), checks.FREE),
        tables.schema(),
        record=Record(transcript),
    )
    room.select(PICK, score)
    return transcript.questions


def test_public_arrays_of_a_score_are_in_the_question():
    def score(public):
        return RecordScore(lambda records, public: age(records) * public[0], 1, 0.0, 1.0, public)

    assert questions(score(ROWS)) == questions(score(ROWS.copy())) != questions(score(ROWS + 1))


def test_references_of_a_deviation_are_in_the_question():
    def score(reference):
        return Deviation([("smoker",)], lambda j: np.array(reference), np.array([0]), {})

    same = questions(score([1, 2, 3])), questions(score([1, 2, 3]))
    assert same[0] == same[1] != questions(score([1, 2, 4]))
