"""Places: two coordinates as one column, none of them where a mask forbids it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.table.rules import tables

import nacre
from nacre import Between
from nacre.errors import SchemaError
from nacre.table import Categorical, Numeric, Schema
from nacre.table.encoding import Encoded, encode
from nacre.table.places import hilbert
from nacre.table.places.region import Region, polygons
from nacre.table.rules import AllOrNone, Geo
from nacre.table.values.stored import Values

SQUARE = [[0, 0, 4, 4]]
HOLE = {"type": "Polygon", "coordinates": [[[0, 0], [8, 0], [8, 8], [0, 8], [0, 0]], [[2, 2], [6, 2], [6, 6], [2, 6]]]}


@pytest.mark.parametrize("levels", [1, 2, 3, 6])
def test_the_curve_goes_through_every_point_by_steps_of_one(levels):
    side = 1 << levels
    x, y = (p.ravel() for p in np.meshgrid(np.arange(side), np.arange(side)))
    position = hilbert.along(x, y, levels)
    assert sorted(position) == [*range(side**2)]
    again = hilbert.at(position, levels)
    assert (again[0] == x).all() and (again[1] == y).all()
    order = np.argsort(position)
    assert (np.abs(np.diff(x[order])) + np.abs(np.diff(y[order])) == 1).all()
    for level in range(levels):  # squares are runs
        left = levels - level
        squares = {*zip(position >> (2 * left), x >> left, y >> left)}
        assert len(squares) == 4**level


def test_points_of_polygons_with_holes_and_of_several_that_overlap():
    x, y = (p.ravel() + 0.5 for p in np.meshgrid(np.arange(-1, 9), np.arange(-1, 9)))
    hole = Region(polygons(HOLE, "mask")).holds(x, y)
    wanted = (np.maximum(np.abs(x - 4), np.abs(y - 4)) < 4) & (np.maximum(np.abs(x - 4), np.abs(y - 4)) > 2)
    assert (hole == wanted).all()
    both = Region(polygons([[0, 0, 5, 5], [3, 3, 8, 8]], "mask")).holds(x, y)
    assert (both == ((x > 0) & (x < 5) & (y > 0) & (y < 5)) | ((x > 3) & (x < 8) & (y > 3) & (y < 8))).all()


def test_a_point_is_looked_at_by_itself():
    rng = np.random.default_rng(0)
    ring = [[10 + r * np.cos(t), r * np.sin(t)] for t, r in zip(np.linspace(0, 6.28, 3_000), rng.uniform(3, 9, 3_000))]
    region = Region(polygons({"type": "Polygon", "coordinates": [ring]}, "mask"))
    x, y = rng.uniform(0, 20, 400), rng.uniform(-10, 10, 400)
    together = region.holds(x, y)
    assert together.any() and not together.all()
    assert (together == [region.holds(x[i : i + 1], y[i : i + 1])[0] for i in range(400)]).all()


def tree_of(mask, decimals=2, bounds=((-10, 10), (-20, 20))):
    columns = {"lat": Numeric(bounds[0], decimals=decimals), "lon": Numeric(bounds[1], decimals=decimals)}
    schema = Schema(columns, rules=(Geo(("lat", "lon"), mask),))
    return schema, schema.inner.row_map.split[0].tree


@pytest.mark.parametrize("decimals", [0, 1, 2, 4, None])
@pytest.mark.parametrize("mask", [None, SQUARE, HOLE, tables.LAND])
def test_every_number_is_an_allowed_point_and_every_allowed_point_has_one(mask, decimals):
    bounds = ((57, 72), (3, 33)) if mask is tables.LAND else ((-10, 10), (-20, 20))
    schema, tree = tree_of(mask, decimals, bounds)
    rng = np.random.default_rng(0)
    x, y = tree.point(rng.integers(0, tree.size, 30_000))
    assert x.min() >= bounds[1][0] and x.max() <= bounds[1][1] and y.min() >= bounds[0][0] and y.max() <= bounds[0][1]
    region = schema.rules[0].region
    assert region is None or region.holds(x, y).all()
    lon, lat = (rng.uniform(*b, 30_000) for b in bounds[::-1])
    if decimals is not None:
        lon, lat = np.round(lon, decimals), np.round(lat, decimals)
    back = tree.point(tree.number(lon, lat))
    good = np.ones(30_000, bool) if region is None else region.holds(lon, lat)
    fine = 0 if decimals is not None else 40 / 2**27
    assert np.abs(back[0] - lon)[good].max() <= fine and np.abs(back[1] - lat)[good].max() <= fine
    if region is not None:
        assert region.holds(*back).all()  # what is not allowed is moved


def test_what_is_not_allowed_is_moved_to_a_point_near_by():
    _, tree = tree_of(SQUARE, 2)
    back = tree.point(tree.number(np.array([5.0, -3.0, 2.0]), np.array([1.0, -3.0, 2.0])))
    np.testing.assert_allclose(np.stack(back, 1), [[3.99, 1.0], [0, 0], [2, 2]], atol=1e-9)


def test_cells_are_squares_of_what_is_allowed():
    for mask, least in ((None, 4_000), (SQUARE, 2_000)):
        schema, tree = tree_of(mask)
        (column,) = schema.inner.columns.values()
        cells = column.grid()
        assert least < cells.cells <= 8_192 and column.bounds == (0, tree.size - 1)
        x, y = tree.point(np.arange(tree.size))
        cell = cells.codes(Values.of(np.arange(tree.size)))
        wide = [np.ptp(pd.Series(p).groupby(cell).agg(["min", "max"]).to_numpy(), axis=1).max() for p in (x, y)]
        assert max(wide) <= (0.65 if mask is None else 0.09)


def test_places_that_are_null_in_part_are_null():
    columns = {n: Numeric((0, 9), integer=True, nullable=True) for n in ("lat", "lon")}
    schema = Schema(columns, rules=(Geo(("lat", "lon")),))
    encoded = encode(pa.table({"lat": [1, None, 3], "lon": [4, 5, None]}), schema.inner)
    assert encoded["place of lat, lon"].null.tolist() == [False, True, True]
    assert encoded.outside()["rule place of lat, lon"].outside == 2


def test_a_place_may_be_null_together_with_other_columns():
    columns = {n: Numeric((0, 9), integer=True, nullable=True) for n in ("lat", "lon", "rooms")}
    schema = Schema(columns, rules=(Geo(("lat", "lon")), AllOrNone(("rooms", "lat", "lon"))))
    rng = np.random.default_rng(0)
    drawn = {n: Values.of(rng.integers(0, 10, 500), rng.random(500) < 0.5) for n in schema.inner.modelled}
    found = schema.inner.row_map.decode(Encoded(drawn, 500))
    assert not any(rule.misses(found.columns, schema.columns).any() for rule in schema.rules)


@pytest.mark.parametrize(
    ("columns", "mask", "words"),
    [
        (("lon", "lat"), None, "name the latitude first"),
        (("lat", "word"), None, "name columns of numbers"),
        (("lat", "lon", "x"), None, "names 3 columns"),
        (("lat", "lon"), [[0, 0, 1]], "is no box"),
        (("lat", "lon"), [[3, 0, 1, 1]], "is empty"),
        (("lat", "lon"), {"type": "LineString", "coordinates": []}, "give Polygon"),
        (("lat", "lon"), {"type": "Polygon", "coordinates": [[[0, 0], [1, 1]]]}, "fewer than three"),
        (("lat", "lon"), {"type": "Polygon", "coordinates": [[[0, 0], [1, "a"], [1, 1]]]}, "no coordinate"),
        (("lat", "lon"), {"type": "Polygon", "coordinates": [[[0, 0], [1, float("nan")], [1, 1]]]}, "no coordinate"),
        (("lat", "lon"), {"type": "Feature"}, "give GeoJSON"),
        (("lat", "lon"), "land.json", "give GeoJSON"),
        (("lat", "lon"), [], "at least one polygon"),
        (("lat", "lon"), [[100, 50, 101, 51]], "no point within the bounds"),
        (("lat", "maybe"), None, "declare both the same"),
    ],
)
def test_rules_that_cannot_be_meant(columns, mask, words):
    known = {"lat": Numeric((-10, 10), decimals=2), "lon": Numeric((-180, 180), decimals=2),
             "word": Categorical(("a",)), "x": Numeric((0, 1)), "maybe": Numeric((0, 1), nullable=True)}  # fmt: skip
    with pytest.raises(SchemaError, match=words):
        Schema(known, rules=(Geo(columns, mask),))


def test_json_has_the_mask_as_geojson():
    feature = {"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {}, "geometry": HOLE}]}
    schema, _ = tree_of(feature)
    (rule,) = [r.to_json() for r in schema.rules]
    assert rule["mask"]["type"] == "MultiPolygon" and len(rule["mask"]["coordinates"][0]) == 2
    assert Schema.from_json(schema.to_json()) == schema


def test_a_release_puts_places_where_they_were():
    rows = 4_000
    frame = tables.stays(rows)[["lat", "lon", "sex"]]
    frame.loc[frame["lat"] > 65, "sex"] = "f"
    schema = Schema({n: tables.COLUMNS[n] for n in frame}, rows=rows, rules=(Geo(("lat", "lon"), tables.LAND),))
    release = nacre.fit(frame, schema=schema, epsilon=3.0, noise_seed=0)
    drawn = release.sample(20_000, seed=1)
    assert not tables.broken(drawn, schema)
    north = drawn["lat"] > 65
    assert abs(north.mean() - (frame["lat"] > 65).mean()) < 0.03 and (drawn["sex"][north] == "f").mean() > 0.9
    oslo = np.hypot(drawn["lat"] - 59.95, drawn["lon"] - 8.3) < 0.5
    assert abs(oslo.mean() - (np.hypot(frame["lat"] - 59.95, frame["lon"] - 8.3) < 0.5).mean()) < 0.05
    box = release.sample(300, where={"lat": Between(59.5, 60.5), "lon": Between(8, 9)}, seed=2)
    assert box["lat"].between(59.5, 60.5).all() and box["lon"].between(8, 9).all()
    assert release.sample(50, where={"lat": None}, seed=2)["lon"].isna().all()
