"""The simulated clinic is what its database says, and holds the effects that it promises, to their exact size."""

import numpy as np
import pyarrow as pa
import pytest

from nacre.errors import DataError
from nacre.table.encoding import encode
from nacre.table.simulate import clinic, clinic_database
from nacre.table.simulate.clinic import ITEMS_MOST, VISITS_MOST, visit_shares
from nacre.table.simulate.planted import EFFECTS
from nacre.table.values.decoding import arrow_schema

UNITS = 30_000


@pytest.fixture(scope="module")
def made():
    return clinic(UNITS, seed=5)


def test_tables_keep_their_schemas_and_caps(made):
    database = made.database
    assert database == clinic_database() and database.owned == ("patients", "visits", "items")
    for name, schema in database.tables.items():
        table = made.tables[name]
        assert table.column_names == list(schema.names)
        assert not any(encode(table, schema).outside().values()), name
        assert table.schema.types == arrow_schema(schema).types, name
    for child, column, cap in (("visits", "patient", VISITS_MOST), ("items", "visit", ITEMS_MOST)):
        counts = np.unique(made.tables[child][column].to_numpy(), return_counts=True)[1]
        assert counts.max() == cap
    assert set(made.tables["visits"]["patient"].to_pylist()) == set(range(1, UNITS + 1))


def test_the_same_seed_gives_the_same_tables(made):
    again = clinic(UNITS, seed=5).tables
    assert all(again[name].equals(table) for name, table in made.tables.items())
    assert not clinic(UNITS, seed=6).tables["visits"].equals(made.tables["visits"])


@pytest.mark.parametrize("name", EFFECTS)
def test_an_effect_has_its_exact_size(made, name):
    """Each is a difference of shares of at least 10,000 rows: the standard error is below 0.01, mostly far below."""
    effect = EFFECTS[name]
    assert effect.measured(made.tables) == pytest.approx(effect.exact, abs=0.03)
    assert effect.error(made.tables) < 0.08


def test_effects_are_lost_where_rows_hang_on_others(made):
    rng = np.random.default_rng(0)
    broken = dict(made.tables)
    for name, column in (("visits", "patient"), ("items", "visit")):
        keys = broken[name][column].to_numpy()
        place = broken[name].column_names.index(column)
        broken[name] = broken[name].set_column(place, column, pa.array(rng.permutation(keys)))
    for effect in EFFECTS.values():
        assert effect.error(broken) > 0.85, effect.name


def test_what_cannot_be_measured_has_lost_everything(made):
    empty = {name: table.slice(0, 0) for name, table in made.tables.items()}
    assert [effect.error(empty) for effect in EFFECTS.values()] == [1.0] * len(EFFECTS)


def test_numbers_of_visits_follow_their_law(made):
    patients, visits = made.tables["patients"].to_pandas(), made.tables["visits"].to_pandas()
    north = patients.id[patients.region == "north"]
    counts = visits.groupby("patient").size().reindex(north)
    shares = np.bincount(counts, minlength=VISITS_MOST + 1)[1:] / len(counts)
    assert np.abs(shares - visit_shares(0)).max() < 4 * np.sqrt(0.25 / len(counts))


@pytest.mark.parametrize("units", [0, -1, True, 2.5, "many"])
def test_a_bad_number_of_units_is_refused(units):
    with pytest.raises(DataError, match="expected a whole number of patients"):
        clinic(units)
