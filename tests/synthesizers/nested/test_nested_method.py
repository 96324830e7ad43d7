"""The sketch of a database from end to end, on a made-up clinic."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.engines import open_rows
from nacre.errors import ReleaseFileError, SchemaError
from nacre.privacy.budget import Budget
from nacre.privacy.nested.curator import NestedCurator
from nacre.privacy.noise import NoiseSource
from nacre.synthesizers.nested.method import NestedSketch
from nacre.synthesizers.nested.model import Drawn, Facts, NestedModel
from nacre.table.conditions import parsed
from nacre.table.database.forms import Form, forms
from nacre.table.simulate.clinic import HIGH, KEPT, SEVERITY_SHARES, VISITS_MOST, Simulated, clinic


def _forms(made: Simulated) -> dict[str, Form]:
    return forms(made.database, {("drugs", "id"): tuple(map(str, made.tables["drugs"]["id"].to_pylist()))})


def _fitted(made: Simulated, method: NestedSketch, epsilon: float | None) -> NestedModel:
    known = _forms(made)
    plan = method.plan(made.database, known, Budget(epsilon, 1e-6))
    rows = {name: open_rows(table) for name, table in made.tables.items()}
    return method.fit(NestedCurator(rows, plan, made.database, known, NoiseSource(1)), plan, 0)


MADE = clinic(1_500, 1)
SMALL = NestedSketch(types=2, classes=8, rows=16, steps=30)


@pytest.fixture(scope="module")
def model() -> NestedModel:
    return _fitted(MADE, SMALL, 2.0)


@pytest.fixture(scope="module")
def drawn(model) -> dict[str, Drawn]:
    return model.draw(1_000, np.random.default_rng(0))


def test_units_come_with_all_that_is_theirs(model, drawn):
    assert abs(model.units - 1_500) < 200
    parent = {name: rows.parent for name, rows in drawn.items()}
    assert parent.pop("patients") is None
    assert len(drawn["patients"].columns["region"]) == 1_000
    for name, above, cap in (("visits", "patients", VISITS_MOST), ("items", "visits", 5)):
        over = len(next(iter(drawn[above].columns.values())))
        assert (np.diff(parent[name]) >= 0).all()
        assert parent[name].min() >= 0
        assert parent[name].max() < over
        assert np.bincount(parent[name]).max() <= cap
    assert set(drawn["items"].references) == {"drug"}


def test_visits_of_a_patient_stand_in_order_within_their_bounds(drawn):
    visits = drawn["visits"]
    day = visits.columns["day"]
    same = np.diff(visits.parent) == 0
    assert not day.null.any()
    assert (np.diff(day.values)[same] >= 0).all()
    low, high = MADE.database.tables["visits"].columns["day"].limits
    assert low <= day.values.min() <= day.values.max() <= high


def test_conditions_on_the_unit_hold_in_every_unit(model):
    where = parsed({"region": "west", "plan": ["plus"]}, model.forms["patients"].columns, "where")
    found = model.draw(300, np.random.default_rng(1), where)["patients"].columns
    assert (found["region"].values == 3).all()
    assert (found["plan"].values == 1).all()


def _parts(model: NestedModel) -> tuple[Facts, dict[str, np.ndarray]]:
    facts, arrays = model.parts()
    return facts.copy(), dict(arrays)


def test_the_parts_of_a_model_draw_the_same_rows(model):
    again = NestedModel.from_parts(MADE.database, model.forms, *_parts(model))
    one, other = (m.draw(200, np.random.default_rng(5)) for m in (model, again))
    for name in one:
        for column, values in one[name].columns.items():
            assert np.array_equal(values.values, other[name].columns[column].values), (name, column)


@pytest.mark.parametrize("what", ["missing", "shape", "type", "nan", "cells", "units"])
def test_parts_that_do_not_fit_are_refused(model, what):
    facts, arrays = _parts(model)
    if what == "missing":
        del arrays["table.0.start"]
    elif what == "shape":
        arrays["table.1.own"] = arrays["table.1.own"][:, :-1]
    elif what == "type":
        arrays["table.0.bond"] = arrays["table.0.bond"].astype(np.float64)
    elif what == "nan":
        arrays["table.0.habit"] = arrays["table.0.habit"] * np.float32("nan")
    elif what == "cells":
        arrays["table.0.cells.1.lut"] = arrays["table.0.cells.1.lut"] - 1
    else:
        facts["units"] = -3
    with pytest.raises(ReleaseFileError):
        NestedModel.from_parts(MADE.database, model.forms, facts, arrays)


def test_seeds_repeat_the_fit():
    one, other = (_fitted(MADE, NestedSketch(types=2, classes=8, rows=8, steps=3), None).parts()[1] for _ in range(2))
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_a_target_is_a_column_of_some_table():
    with pytest.raises(SchemaError, match=r"'visits.sevrity' is not a modelled column, written table.column"):
        NestedSketch(target="visits.sevrity").plan(MADE.database, _forms(MADE), Budget(1.0, 1e-6))


@pytest.mark.slow
def test_planted_laws_come_back():
    """Without noise: what a visit keeps of the one before, and what reaches over two keys."""
    found = _fitted(clinic(6_000, 2), NestedSketch(steps=300), None).draw(6_000, np.random.default_rng(0))
    visits, items, patients = found["visits"], found["items"], found["patients"]
    assert visits.parent is not None
    severity, later = visits.columns["severity"].values, np.flatnonzero(np.diff(visits.parent) == 0)
    kept = (severity[later] == severity[later + 1]).mean()
    assert kept == pytest.approx(KEPT + (1 - KEPT) * np.square(SEVERITY_SHARES).sum(), abs=0.03)
    plan = patients.columns["plan"].values[visits.parent[items.parent]]
    high = items.columns["dose"].values
    assert high[plan == 0].mean() == pytest.approx(HIGH[0], abs=0.04)
    assert high[plan == 1].mean() == pytest.approx(HIGH[1], abs=0.04)
