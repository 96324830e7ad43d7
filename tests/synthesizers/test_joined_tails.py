"""Divided tails of a faint sketch in one piece again: nothing is lost but the division."""

import numpy as np

from nacre.synthesizers.mixture.loss import Table
from nacre.synthesizers.sketch.allocation import Allocation
from nacre.synthesizers.sketch.far import joined
from nacre.synthesizers.sketch.method import Coarse
from nacre.table import Numeric
from nacre.table.grid import Grid


def test_tables_keep_their_sums_and_the_tail_its_reach():
    grid = Grid.of(Numeric((0.0, 100.0)))
    edge = np.append(grid.low, 100.0)
    counts = 20_000 * (np.exp(-edge[:-1] / 8) - np.exp(-edge[1:] / 8))
    coarse = Coarse.of(grid, counts, 5.0, 6, Allocation(5.0, None, 5.0, 1, 1.0, 20_000.0))
    parts = coarse.groups
    assert parts > coarse.whole.max() + 1, "the tail was divided"
    joint = np.outer(coarse.counts, coarse.counts) / coarse.counts.sum()
    given = [coarse.table(0), coarse.table(1), Table((0, 1), joint, 3.0)]
    found, tables = joined([coarse, coarse], given, counts.sum(), None)
    assert all(np.array_equal(c.lut, coarse.whole) and np.allclose(np.bincount(c.lut, c.inside), 1) for c in found)
    for before, after in zip(given, tables, strict=True):
        assert after.counts.shape == tuple(found[j].groups for j in after.columns)
        assert np.isclose(before.counts.sum(), after.counts.sum())
        variance = [np.broadcast_to(np.square(t.sigma), t.counts.shape).sum() for t in (before, after)]
        assert np.isclose(*variance)
    last = coarse.whole == coarse.whole.max()
    beyond = found[0].inside[last & (grid.low >= 40)].sum() * counts[last].sum()
    assert abs(beyond / counts[grid.low >= 40].sum() - 1) < 0.15


def test_the_target_keeps_its_groups():
    grid = Grid.of(Numeric((0.0, 100.0)))
    edge = np.append(grid.low, 100.0)
    counts = 20_000 * (np.exp(-edge[:-1] / 8) - np.exp(-edge[1:] / 8))
    coarse = Coarse.of(grid, counts, 5.0, 6, Allocation(5.0, None, 5.0, 1, 1.0, 20_000.0))
    joint = np.outer(coarse.counts, coarse.counts) / coarse.counts.sum()
    found, (table,) = joined([coarse, coarse], [Table((0, 1), joint, 3.0)], counts.sum(), 1)
    assert found[1].groups == coarse.groups > found[0].groups
    assert table.counts.shape == (found[0].groups, found[1].groups)
