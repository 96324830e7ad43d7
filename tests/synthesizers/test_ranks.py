"""Dependence inside groups: what a Gaussian copula loses to groups comes back, and nothing else changes."""

import numpy as np
import pytest
from scipy.stats import norm

from nacre.errors import ReleaseFileError
from nacre.synthesizers.mixture import ranks
from nacre.synthesizers.mixture.model import TableModel
from nacre.synthesizers.mixture.sampling import Particles
from nacre.table import Between, Condition, Numeric, Schema
from nacre.table.grid import Grid

RHO, GROUPS = 0.95, 8
SCHEMA = Schema({"x": Numeric((-4.0, 4.0)), "y": Numeric((-4.0, 4.0), nullable=True)})


class Table:
    def __init__(self, counts):
        self.columns, self.counts, self.sigma = (0, 1), counts, 1.0


def joint():
    """Shares of the 8 x 8 groups of equal width of two normal columns of correlation RHO, each on [-4, 4]."""
    rng = np.random.default_rng(0)
    z = np.clip(rng.multivariate_normal([0, 0], [[1, RHO], [RHO, 1]], 1_000_000), -3.999, 3.999)
    return np.histogram2d(*z.T, bins=np.linspace(-4, 4, GROUPS + 1))[0] / len(z)


def model(depends=True):
    """A particle per cell of the joint table; inside groups the shares of the normal law; a tenth of y is null."""
    shares = joint()
    a, b = np.nonzero(shares)
    eye = np.eye(GROUPS)
    y = np.hstack([0.9 * eye[b], np.full((len(b), 1), 0.1)])
    luts, insides = [], []
    for name in SCHEMA.columns:
        grid = Grid.of(SCHEMA.columns[name])
        cells = len(grid.low)
        lut = np.clip(((grid.low + grid.high) / 2 + 4).astype(int), 0, GROUPS - 1)
        mass = norm.cdf(grid.high) - norm.cdf(grid.low) + 1e-9
        share = mass / np.bincount(lut, mass)[lut]
        if grid.cells > cells:
            lut, share = np.append(lut, GROUPS), np.append(share, 1.0)
        luts.append(lut.astype(np.int32))
        insides.append(share)
    particles = Particles(np.hstack([eye[a], y]).astype(np.float32), luts, insides, shares[a, b])
    slopes = [np.zeros(Grid.of(c).cells) for c in SCHEMA.columns.values()]
    made = TableModel(SCHEMA, particles, slopes, 1000)
    counts = np.hstack([0.9 * shares, 0.1 * shares.sum(1, keepdims=True)]) * 1e5
    return made.depending([Table(counts)]) if depends else made


def numbers(values):
    x, y = values["x"], values["y"]
    kept = ~y.null
    return x.values[kept], y.values[kept]


def inside(x, y):
    """Correlation among rows of one central cell of the joint table."""
    here = (x > 0) & (x < 1) & (y > 0) & (y < 1)
    return np.corrcoef(x[here], y[here])[0, 1]


@pytest.fixture(scope="module")
def made():
    return model()


def test_the_correlation_of_the_scores_is_found(made):
    assert made.ranks.correlation[0, 1] == pytest.approx(RHO, abs=0.02)


def test_dependence_inside_groups_is_restored(made):
    z = np.random.default_rng(3).multivariate_normal([0, 0], [[1, RHO], [RHO, 1]], 60_000)
    x, y = numbers(made.draw(60_000, np.random.default_rng(1)))
    before = numbers(model(depends=False).draw(60_000, np.random.default_rng(1)))
    assert np.corrcoef(x, y)[0, 1] == pytest.approx(RHO, abs=0.02)
    assert np.std(x - y) == pytest.approx(np.std(z[:, 0] - z[:, 1]), rel=0.08)
    assert abs(inside(*before)) < 0.1 and np.std(before[0] - before[1]) > 1.2 * np.std(x - y)
    assert inside(x, y) > 0.5 * inside(*z.T) > 0.2


def test_one_way_laws_and_nulls_stay(made):
    drawn = made.draw(60_000, np.random.default_rng(1))
    apart = model(depends=False).draw(60_000, np.random.default_rng(2))
    assert np.mean(drawn["y"].null) == pytest.approx(0.1, abs=0.005)
    cuts = np.linspace(-3, 3, 49)  # eight to a group
    for name in ("x", "y"):
        ours, theirs = (np.histogram(t[name].values[~t[name].null], cuts)[0] for t in (drawn, apart))
        assert np.abs(ours - theirs).sum() / theirs.sum() < 0.06


def test_conditions_hold_in_every_row_and_reach_the_other_column(made):
    where = {"x": Condition.of(Between(0.6, 0.9), SCHEMA.columns["x"])}
    drawn = made.draw(20_000, np.random.default_rng(4), where)
    assert ((drawn["x"].values >= 0.6) & (drawn["x"].values <= 0.9)).all()
    free = made.draw(400_000, np.random.default_rng(5))
    met = (free["x"].values >= 0.6) & (free["x"].values <= 0.9)
    y, wanted = drawn["y"].values[~drawn["y"].null], free["y"].values[met & ~free["y"].null]
    assert np.mean(y) == pytest.approx(np.mean(wanted), abs=0.05)
    assert np.std(y) == pytest.approx(np.std(wanted), rel=0.1)


def test_the_law_of_a_row_does_not_depend_on_how_many_are_drawn(made):
    rng = np.random.default_rng(6)
    x, y = (np.concatenate(v) for v in zip(*(numbers(made.draw(20, rng)) for _ in range(600))))
    assert np.corrcoef(x, y)[0, 1] == pytest.approx(RHO, abs=0.02)


def test_a_file_keeps_them_and_older_files_have_none(made):
    facts, arrays = made.parts()
    again = TableModel.from_parts(SCHEMA, facts, arrays)
    one, two = (m.draw(100, np.random.default_rng(7)) for m in (made, again))
    assert all(np.array_equal(one[n].values, two[n].values) for n in one)
    older = TableModel.from_parts(SCHEMA, facts, {k: v for k, v in arrays.items() if not k.startswith("ranks")})
    assert older.ranks is None
    for name, bad in (("correlation", np.array([[1.0, 2.0], [2.0, 1.0]])), ("columns", np.array([0, 9], np.int32))):
        with pytest.raises(ReleaseFileError):
            TableModel.from_parts(SCHEMA, facts, arrays | {f"ranks.{name}": bad})


def test_numbers_between_far_limits_stay_there():
    low, high = (np.full(1000, v, np.float32) for v in (20.0, 21.0))
    for a, b in ((low, high), (-high, -low)):
        z = ranks._cut(a, b, np.random.default_rng(0))
        assert np.isfinite(z).all() and (z >= a).all() and (z <= b).all()
        assert np.abs(z).mean() == pytest.approx(20.05, abs=0.01)  # E|z| beyond 20 is 20 + 1/20
