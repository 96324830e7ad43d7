"""Expected tables: their gradients are those of differences, and drawn rows have them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.synthesizers.nested.made import EVERY_FOUR, EVERY_SIX, SHAPES, logits, nested, weights

from nacre.synthesizers.nested.drawing import Laws, draw, pick
from nacre.synthesizers.nested.expected import Nested
from nacre.synthesizers.nested.shape import Walk
from nacre.synthesizers.nested.tape import Node, backward

UNITS = 120_000
RNG = np.random.default_rng(3)
OWN, PARTS = weights(RNG, 3, 5), weights(RNG, 1, 3)
PLAIN = OWN[:1]
OVER = (OWN[0],)


def _tables(of: Nested) -> list[Node]:
    return [
        of.unit(),
        of.single("parts", OVER, PARTS),
        *of.within("rows", (), OWN),
        *of.within("parts", OVER, PARTS),
        of.upward("rows", "units", (), PLAIN),
        of.upward("parts", "rows", OVER, PARTS),
        of.upward("parts", "units", OVER, PARTS),
        *of.counted("rows", (), OWN, EVERY_SIX),
        *of.counted("parts", OVER, PARTS, EVERY_FOUR),
        of.consecutive("rows", (), PLAIN),
        of.consecutive("parts", OVER, PARTS),
        of.beside("rows", "others", ()),
    ]


def test_gradients_are_those_of_differences():
    rng = np.random.default_rng(0)
    given = {name: {k: v.astype(np.float64) for k, v in own.items()} for name, own in logits(0).items()}
    nodes, of = nested(given)
    found = _tables(of)
    factors = [rng.normal(size=table.shape) for table in found]
    backward(list(zip(found, factors)))
    for name, own in given.items():
        for key, value in own.items():
            way = rng.normal(size=value.shape)

            def moved(step: float, name=name, key=key, value=value, way=way) -> float:
                other = {n: dict(o) for n, o in given.items()}
                other[name][key] = value + step * way
                return sum(float((t.value * f).sum()) for t, f in zip(_tables(nested(other)[1]), factors))

            slope = (moved(1e-5) - moved(-1e-5)) / 2e-5
            grad = nodes[name][key].grad
            assert grad is not None, (name, key)
            assert float((grad * way).sum()) == pytest.approx(slope, rel=1e-5, abs=1e-6), (name, key)


def _hot(groups: list[np.ndarray], name: str) -> np.ndarray:
    found = np.zeros((len(groups[0]), SHAPES[name].cells))
    for group, edge in zip(groups, SHAPES[name].edges):
        found[np.arange(len(group)), edge + group] = 1
    return found


class _Rows:
    """Drawn rows, and where each stands under its parent."""

    def __init__(self, name: str, parent: np.ndarray, groups: list[np.ndarray]):
        self.parent, self.hot = parent, _hot(groups, name)
        self.number = np.bincount(parent)[parent]
        self.place = np.arange(len(parent)) - np.searchsorted(parent, parent)
        self.stratum = np.where(self.number == 1, 0, np.where(self.place + 1 < self.number, 1, 2))


@pytest.fixture(scope="module")
def drawn() -> tuple[Nested, np.ndarray, _Rows, _Rows]:
    rng, given = np.random.default_rng(1), logits(1)
    _, of = nested(given)
    share = of.share.value.astype(np.float64)
    z = rng.choice(len(share), UNITS, p=share / share.sum())
    own = [pick(of.own.value[:, spot].astype(np.float64), z, rng) for spot in SHAPES["units"].spots]
    rows = draw(SHAPES["rows"], Laws.of(SHAPES["rows"], SHAPES["units"], given["rows"]), z, own[2], rng)
    numbers = rows.groups[3].astype(np.int64)
    parts = draw(SHAPES["parts"], Laws.of(SHAPES["parts"], SHAPES["rows"], given["parts"]), rows.classes, numbers, rng)
    return of, _hot(own, "units"), _Rows("rows", rows.parent, rows.groups), _Rows("parts", parts.parent, parts.groups)


def _near(expected: Node, counted: np.ndarray, mask: np.ndarray | None = None) -> None:
    """Within four standard errors: of a unit, at most five rows of weight one are in most cells."""
    mask = np.ones(1) if mask is None else mask
    seen, law = counted / UNITS * mask, expected.value * mask
    assert (np.abs(seen - law) <= 4 * np.sqrt(5 * law / UNITS) + 1e-5).all()
    assert law.max() > 0.002


def _off(name: str) -> np.ndarray:
    column = SHAPES[name].column_of
    return (column[:, None] != column[None]).astype(float)


def test_drawn_rows_have_the_tables_within_rows(drawn):
    of, _, rows, parts = drawn
    weight = OWN[rows.stratum, rows.number]
    for stratum, law in enumerate(of.within("rows", (), OWN)):
        here = rows.hot[rows.stratum == stratum]
        _near(law, (here * weight[rows.stratum == stratum, None]).T @ here, _off("rows"))
    weight = OWN[0][rows.number[parts.parent]] * PARTS[0][parts.number]
    _near(of.within("parts", OVER, PARTS)[0], (parts.hot * weight[:, None]).T @ parts.hot, _off("parts"))


def test_drawn_rows_have_the_tables_with_their_ancestors(drawn):
    of, units, rows, parts = drawn
    weight = PLAIN[0][rows.number]
    own = np.ones((11, 1))
    own[5:] = 0  # the number of rows has tables of its own
    _near(of.upward("rows", "units", (), PLAIN), (units[rows.parent] * weight[:, None]).T @ rows.hot, own)
    weight = OWN[0][rows.number[parts.parent]] * PARTS[0][parts.number]
    own = np.ones((13, 1))
    own[9:] = 0
    _near(of.upward("parts", "rows", OVER, PARTS), (rows.hot[parts.parent] * weight[:, None]).T @ parts.hot, own)
    top = units[rows.parent[parts.parent]]
    own = np.ones((11, 1))
    own[5:] = 0
    _near(of.upward("parts", "units", OVER, PARTS), (top * weight[:, None]).T @ parts.hot, own)


def test_drawn_rows_have_the_tables_with_their_number(drawn):
    of, _, rows, parts = drawn
    for stratum, law in enumerate(of.counted("rows", (), OWN, EVERY_SIX)):
        here = rows.stratum == stratum
        weight = OWN[stratum, rows.number[here]]
        _near(law, (EVERY_SIX[rows.number[here]] * weight[:, None]).T @ rows.hot[here])
    weight = OWN[0][rows.number[parts.parent]] * PARTS[0][parts.number]
    table = (EVERY_FOUR[parts.number] * weight[:, None]).T @ parts.hot
    _near(of.counted("parts", OVER, PARTS, EVERY_FOUR)[0], table)


def test_drawn_rows_have_the_tables_with_the_row_after(drawn):
    of, _, rows, parts = drawn
    first = np.flatnonzero(rows.place + 1 < rows.number)
    weight = PLAIN[0][rows.number[first]]
    _near(of.consecutive("rows", (), PLAIN), (rows.hot[first] * weight[:, None]).T @ rows.hot[first + 1])
    first = np.flatnonzero(parts.place + 1 < parts.number)
    weight = OWN[0][rows.number[parts.parent[first]]] * PARTS[0][parts.number[first]]
    _near(of.consecutive("parts", OVER, PARTS), (parts.hot[first] * weight[:, None]).T @ parts.hot[first + 1])


def test_first_rows_and_only_they_have_no_gap(drawn):
    _, _, rows, _ = drawn
    null = rows.hot[:, SHAPES["rows"].edges[1] + 3]
    assert null[rows.place == 0].all()
    assert 0 < null[rows.place > 0].mean() < 1  # unknown ones are left


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("cap", [1, 2, 3, 8, 9, 30])
def test_every_row_and_pair_has_a_place(cap, ordered):
    walk, m = Walk.of(cap, ordered), np.arange(cap + 1)
    assert np.array_equal(walk.middle.sum(0), np.maximum(m - 2, 0))
    assert np.array_equal(walk.last.sum(0), m > 1)
    assert np.array_equal(walk.to_middle.sum(0), np.maximum(m - 2, 0))
    assert np.array_equal(walk.to_last.sum(0), m > 1)
