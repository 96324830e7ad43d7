"""Regions of the plane: polygons of GeoJSON (RFC 7946), and which points lie in them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from nacre.errors import SchemaError
from nacre.table.checking import short

if TYPE_CHECKING:
    from nacre.typed import Json

Point = tuple[float, float]  # longitude, latitude
Ring = tuple[Point, ...]
Polygon = tuple[Ring, ...]  # its outline, then its holes

MOST_POINTS = 50_000  # of all outlines
_BLOCK = 1 << 20  # pairs of a point and an edge that are looked at together
_BANDS = 1_024


def polygons(raw: object, where: str) -> tuple[Polygon, ...]:
    """The polygons of a geometry, a feature or a collection of GeoJSON, or of a list of boxes [west, south, east,
    north]; SchemaError, beginning with `where`, for anything else."""
    found = tuple(_boxes(raw, where) if isinstance(raw, (list, tuple)) else _geometry(raw, where))
    points = sum(len(ring) for polygon in found for ring in polygon)
    if not found or points > MOST_POINTS:
        raise SchemaError(f"{where}: it has {points:,} points; give at least one polygon, and at most {MOST_POINTS:,}")
    return found


def _boxes(raw: list | tuple, where: str) -> Iterable[Polygon]:
    for box in raw:
        if not isinstance(box, (list, tuple)) or len(box) != 4:
            raise SchemaError(f"{where}: {short(box)} is no box; write [west, south, east, north]")
        west, south, east, north = (_number(v, where) for v in box)
        if west >= east or south >= north:
            raise SchemaError(f"{where}: the box {short(box)} is empty; write [west, south, east, north]")
        yield (((west, south), (east, south), (east, north), (west, north)),)


def _geometry(raw: object, where: str) -> Iterable[Polygon]:
    kind = raw.get("type") if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or not isinstance(kind, str):
        raise SchemaError(f"{where} is {short(raw)}; give GeoJSON of polygons, or boxes [west, south, east, north]")
    if kind == "FeatureCollection":
        return [p for one in _list(raw.get("features"), where) for p in _geometry(one, where)]
    if kind == "Feature":
        return _geometry(raw.get("geometry"), where)
    if kind not in ("Polygon", "MultiPolygon"):
        raise SchemaError(f"{where}: a geometry is of type {kind!r}; give Polygon, MultiPolygon, or features of these")
    parts = _list(raw.get("coordinates"), where)
    return [tuple(_ring(ring, where) for ring in _list(part, where)) for part in ([parts], parts)[kind[0] == "M"]]


def _ring(raw: object, where: str) -> Ring:
    points = tuple(_point(p, where) for p in _list(raw, where))
    points = points[:-1] if len(points) > 1 and points[0] == points[-1] else points
    if len(points) < 3:
        raise SchemaError(f"{where}: the ring {short(raw)} has fewer than three points")
    return points


def _point(raw: object, where: str) -> Point:
    if not isinstance(raw, (list, tuple)) or len(raw) < 2:
        raise SchemaError(f"{where}: {short(raw)} is no point; write [longitude, latitude]")
    return _number(raw[0], where), _number(raw[1], where)


def _number(raw: object, where: str) -> float:
    if isinstance(raw, bool) or not isinstance(raw, (int, float)) or not math.isfinite(raw) or abs(raw) > 1e9:
        raise SchemaError(f"{where}: {short(raw)} is no coordinate; write numbers")
    return float(raw)


def _list(raw: object, where: str) -> Sequence[object]:
    if not isinstance(raw, (list, tuple)):
        raise SchemaError(f"{where}: {short(raw)} where GeoJSON has a list")
    return raw


def as_geojson(found: Iterable[Polygon]) -> dict[str, Json]:
    """What `polygons` reads: rings are closed again."""
    parts: Json = [[[list(p) for p in (*ring, ring[0])] for ring in polygon] for polygon in found]
    return {"type": "MultiPolygon", "coordinates": parts}


@dataclasses.dataclass(frozen=True, eq=False)
class Region:
    """Points that lie in one of these polygons and not in its holes: those from which a ray to the east meets its
    rings an odd number of times. A left or lower border belongs to it, a right or upper one does not."""

    polygons: tuple[Polygon, ...]

    @cached_property
    def edges(self) -> np.ndarray:
        """[edges, 4]: x and y of both ends."""
        rings = [np.array(ring) for polygon in self.polygons for ring in polygon]
        return np.concatenate([np.hstack([ring, np.roll(ring, -1, 0)]) for ring in rings])

    @cached_property
    def _owner(self) -> np.ndarray:
        """Which polygon every edge is of."""
        counts = [sum(len(ring) for ring in polygon) for polygon in self.polygons]
        return np.repeat(np.arange(len(counts)), counts)

    @cached_property
    def _bands(self) -> tuple[float, float, np.ndarray, np.ndarray]:
        """(lowest y, bands for each unit of y, where each band's edges begin, the edges band by band)."""
        low, high = np.minimum(self.edges[:, 1], self.edges[:, 3]), np.maximum(self.edges[:, 1], self.edges[:, 3])
        least, per = float(low.min()), _BANDS / max(float(high.max() - low.min()), 1e-300)
        first, last = (np.clip((y - least) * per, 0, _BANDS - 1).astype(np.int64) for y in (low, high))
        many = last - first + 1
        edge = np.repeat(np.arange(len(many)), many)
        band = np.repeat(first, many) + np.arange(len(edge)) - np.repeat(np.cumsum(many) - many, many)
        order = np.argsort(band, kind="stable")
        return least, per, np.searchsorted(band[order], np.arange(_BANDS + 1)), edge[order]

    def holds(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """bool: which of these points lie in it. Each by itself."""
        least, per, begins, edges = self._bands
        band = np.clip((y - least) * per, 0, _BANDS - 1).astype(np.int64)
        many = begins[band + 1] - begins[band]
        found = np.zeros(len(x), bool)
        ends = np.cumsum(many)
        start = 0
        while start < len(x):
            before = ends[start - 1] if start else 0
            stop = max(int(np.searchsorted(ends, before + _BLOCK, side="right")), start + 1)
            block = slice(start, stop)
            point = np.repeat(np.arange(stop - start), many[block])
            turn = np.arange(len(point)) - np.repeat(ends[block] - many[block] - before, many[block])
            edge = edges[begins[band[block]][point] + turn]
            found[block] = self._odd(x[block], y[block], point, edge)
            start = stop
        return found

    def _odd(self, x: np.ndarray, y: np.ndarray, point: np.ndarray, edge: np.ndarray) -> np.ndarray:
        x1, y1, x2, y2 = self.edges[edge].T
        px, py = x[point], y[point]
        level = (y1 > py) == (y2 > py)
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = ~level & (px < x1 + (py - y1) * (x2 - x1) / (y2 - y1))
        keys, times = np.unique(point[meets] * len(self.polygons) + self._owner[edge[meets]], return_counts=True)
        found = np.zeros(len(x), bool)
        found[keys[times % 2 == 1] // len(self.polygons)] = True
        return found
