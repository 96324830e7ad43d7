"""Frequencies and record features of `pearl`, `pearl-paper` and `merf`, against closed forms and brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.passes import feature_sums
from nacre.privacy.passes.captured import MOST
from nacre.privacy.plan import Total
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.pearl import fourier
from nacre.synthesizers.pearl.characters import HARMONICS, choose, cut
from nacre.synthesizers.pearl.columns import Groups, row_count
from nacre.synthesizers.pearl.records import character_map
from nacre.table import Boolean, Categorical, Numeric, Schema
from nacre.table.encoding import Values
from nacre.table.grid import Grid

SCHEMA = Schema(
    {
        "a": Categorical(categories=("p", "q", "r", "s", "t")),
        "b": Numeric(bounds=(0, 9), integer=True),
        "c": Boolean(nullable=True),
        "x": Numeric(bounds=(-1.0, 3.0), nullable=True),
        "y": Categorical(categories=("no", "yes")),
    }
)
NAMES = list(SCHEMA.modelled)
GRIDS = [Grid.of(SCHEMA.columns[n]) for n in NAMES]


def columns(rng):
    counts = [rng.integers(20, 90, g.cells) for g in GRIDS]
    return [Groups.of(g, c, 1.0, 6, j == 4) for j, (g, c) in enumerate(zip(GRIDS, counts))]


def some_characters(groups, k=60, shares=(0.4, 0.4, 0.2)):
    ordered = [g.ordered for g in GRIDS]
    return choose([g.angle for g in groups], ordered, [0, 1, 2, 3], k, np.random.default_rng(5), shares)


def records(rng, rows=200):
    return feature_sums.made_up_records(SCHEMA, rows, rng)


def test_columns_that_leave_no_room_for_pairs_are_told():
    angle, many = [np.pi * np.arange(20) / 19] * 12, list(range(12))
    with pytest.warns(UserWarning, match="12 columns take all frequencies=40 by themselves.*about 96"):
        few = choose(angle, [True] * 12, many, 40, np.random.default_rng(0), (0.3, 0.7, 0.0))
    assert (few.order == 1).all()
    lattice = [2 * np.pi * np.arange(60) / 60] * 4  # labels keep more harmonics than numbers, and the advice knows
    with pytest.warns(UserWarning, match="about 128"):
        choose(lattice, [False] * 4, [0, 1, 2, 3], 40, np.random.default_rng(0), (0.3, 0.7, 0.0))
    assert (choose(angle, [True] * 12, many, 96, np.random.default_rng(0), (0.3, 0.7, 0.0)).order == 2).sum() > 40


def test_characters_are_different_and_their_amplitudes_spend_the_whole_norm():
    groups = columns(np.random.default_rng(0))
    chosen = some_characters(groups)
    assert len({tuple(m) for m in chosen.members.tolist()}) == len(chosen.members) <= 60
    assert np.square(chosen.amplitude).sum() == pytest.approx(1.0)
    spent = [np.square(chosen.amplitude[chosen.order == o]).sum() for o in (1, 2, 3)]
    assert spent == pytest.approx([0.4, 0.4, 0.2])
    for held in chosen.members:  # never two atoms of one column
        own = chosen.column[held[held < chosen.one]]
        assert len(set(own.tolist())) == len(own)


def test_order_one_of_a_label_column_is_the_fourier_transform_of_its_table():
    groups = columns(np.random.default_rng(1))
    chosen = choose([g.angle for g in groups], [g.ordered for g in GRIDS], [0], 9, np.random.default_rng(0), (1, 0, 0))
    size = len(groups[0].counts)
    counts = np.random.default_rng(2).random(size)
    _, cos, sin = chosen.tables(0)
    values = (counts[:, None] * (cos + 1j * sin)).sum(0)
    harmonics = chosen.harmonic[chosen.column == 0]
    np.testing.assert_allclose(values, np.fft.fft(counts).conj()[harmonics], atol=1e-12)


@pytest.mark.parametrize("labels", (2, 33, 34, 48, 101))
def test_all_labels_of_a_column_are_told_apart_and_the_norm_stays_one(labels):
    """Cosines and sines of all harmonics and the constant span every function of the labels."""
    angle = [2 * np.pi * np.arange(labels) / labels, np.pi * (np.arange(40) + 0.5) / 40]
    chosen = choose(angle, [False, True], [0, 1], 200, np.random.default_rng(0), (0.3, 0.7, 0.0))
    own, cos, sin = chosen.tables(0)
    single = np.isin(own, chosen.members[chosen.order == 1, 0])
    basis = np.concatenate([np.ones((labels, 1)), cos[:, single], sin[:, single]], axis=1)
    assert np.linalg.matrix_rank(basis) == labels and cut(chosen, [False, True], [0, 1]) == []
    assert np.square(chosen.amplitude).sum() == pytest.approx(1.0)
    assert (chosen.column[chosen.harmonic > 0] == 1).sum() == HARMONICS


def test_what_does_not_fit_is_shared_and_told():
    """Half of the frequencies is left to pairs; large columns share the other half; every column has its part."""
    angle = [2 * np.pi * np.arange(m) / m for m in (500, 30, 400)]
    chosen = choose(angle, [False] * 3, [0, 1, 2], 150, np.random.default_rng(0), (0.3, 0.7, 0.0))
    assert cut(chosen, [False] * 3, [0, 1, 2]) == [(0, 30, 250), (2, 30, 200)]
    assert (chosen.order == 1).sum() == 75 == (chosen.order == 2).sum()
    many = choose([np.arange(40) / 40] * 30, [True] * 30, range(30), 100, np.random.default_rng(0), (1, 0, 0))
    assert np.bincount(many.column[many.members[:, 0]], minlength=30).min() == 3


@pytest.mark.parametrize("columns", (30, 40, 62, 100))
def test_many_numbers_leave_half_of_the_frequencies_to_pairs(columns):
    """Their finest harmonics go first, of all columns alike: a few pairs would take most of the norm for themselves."""
    angle = [np.arange(20) / 20] * columns
    chosen = choose(angle, [True] * columns, range(columns), 1000, np.random.default_rng(0), (0.3, 0.7, 0.0))
    kept = np.bincount(chosen.column[chosen.members[chosen.order == 1, 0]], minlength=columns)
    assert set(kept) == {min(HARMONICS, 500 // columns)}
    assert (chosen.order == 2).sum() >= 500 >= (chosen.order == 1).sum()


@pytest.mark.parametrize("parts", (1, 2))
def test_record_features_are_the_characters_and_have_norm_one(parts):
    rng = np.random.default_rng(3)
    groups, rows = columns(rng), records(rng)
    chosen = some_characters(groups)
    target = 4 if parts > 1 else None
    size = 2 * len(chosen.members) + 6
    features, public = character_map(chosen, NAMES, GRIDS, [g.lut for g in groups], target, (parts, size))
    found = features(rows, public)
    if parts > 1:
        assert np.array_equal(found[:, 0], rows["y"].values)
        found = found[:, 1:]
    angle = np.zeros((200, len(chosen.members)))
    for i, held in enumerate(chosen.members):
        for a in held[held < chosen.one]:
            j = chosen.column[a]
            cells = groups[j].lut[GRIDS[j].codes(rows[NAMES[j]])]
            angle[:, i] += groups[j].angle[cells] * chosen.harmonic[a]
    k = len(chosen.members)
    np.testing.assert_allclose(found[:, :k], np.cos(angle) * chosen.amplitude, atol=1e-12)
    np.testing.assert_allclose(found[:, k : 2 * k], np.sin(angle) * chosen.amplitude, atol=1e-12)
    assert not found[:, 2 * k :].any()
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-12)


def test_no_frequency_at_all_gives_zeros():
    """Few rows and little budget: nothing is worth its noise, and records are mapped to zeros."""
    groups = columns(np.random.default_rng(0))
    features, public = character_map(some_characters(groups, 0), NAMES, GRIDS, [g.lut for g in groups], None, (1, 6))
    found = features(records(np.random.default_rng(1), 40), public)
    assert found.shape == (40, 6) and not found.any()


def test_character_map_is_exact_bit_by_bit():
    """The door itself tries it: an exact entry is refused if one bit of a record depends on its company."""
    groups = columns(np.random.default_rng(4))
    chosen = some_characters(groups)
    features, public = character_map(chosen, NAMES, GRIDS, [g.lut for g in groups], 4, (2, 140))
    feature_sums.check_record_map(features, public, SCHEMA, Total("s", size=140, sigma=3.0, parts=2))


def test_tables_of_many_columns_reach_the_doors():
    """The maps carry no list that grows with the table: more names than `captured.MOST` come in as public too."""
    labels = Schema(
        {f"c{i}": Categorical(categories=("a", "b")) for i in range(MOST // 2 + 1)}
    )  # a name and a size each
    wide = Schema({f"x{i}": Numeric(bounds=(0.0, 1.0)) for i in range(MOST + 6)})
    for schema, mixed in ((labels, 2 * len(labels.columns)), (wide, 100)):
        layout = Layout.of(schema, None, "test")
        t = fourier.frequencies(50, layout.width, 1.0, (1.0,), 0)
        sizes = {fourier.cosine_map: 100, fourier.mixed_map: mixed, fourier.moment_map: layout.width + 1}
        for make, size in sizes.items():
            entry = Total("s", size=size, sigma=3.0, exact=False)
            feature_sums.check_record_map(make(layout), fourier.public_parameters(layout, t), schema, entry)
    grids = [Grid.of(wide.columns[n]) for n in wide.modelled]
    angle = [np.arange(g.cells) / g.cells for g in grids]
    luts = [np.arange(g.cells) for g in grids]
    chosen = choose(angle, [True] * len(grids), range(len(grids)), 80, np.random.default_rng(0), (1, 0, 0))
    features, public = character_map(chosen, list(wide.modelled), grids, luts, None, (1, 160))
    feature_sums.check_record_map(features, public, wide, Total("s", size=160, sigma=3.0))


def test_declared_edges_scale_a_number_piece_by_piece():
    """Each cell an equal part of [0, 1]; without `pieces`, and without edges, the ends alone decide."""
    edges = (-100.0, -1.0, 0.0, 1.0, 100.0)
    schema = Schema({"x": Numeric(edges=edges), "n": Numeric(edges=(0, 1, 10, 1000), integer=True)})
    x, n = np.array([-100.0, -50.5, -0.5, 0.25, 100.0]), np.array([0, 1, 4, 10, 1000])
    rows = {"x": Values.of(x), "n": Values.of(n)}
    layout = Layout.of(schema, None, "test", pieces=True)
    coded, _ = layout.encode(rows)
    assert coded[:, 0] == pytest.approx([0.0, 0.125, 0.375, 0.5625, 1.0])
    assert coded[:, 1] == pytest.approx([0.0, 1 / 3, 4 / 9, 2 / 3, 1.0])
    back = layout.decode(coded, [], np.zeros(5, np.int64))
    assert back["x"].values == pytest.approx(x)
    assert back["n"].values.tolist() == n.tolist()
    plain, _ = Layout.of(schema, None, "test").encode(rows)
    assert plain[:, 0] == pytest.approx((x + 100) / 200)


MAPS = {"cosine": 1.0, "mixed": math.sqrt(2), "characters": 1.0}  # and the norm that each is planned with


def mapped(name):
    """The sum's contribution of records: the class' part [n, classes · size], zeros in the others."""
    layout = Layout.of(SCHEMA, "y", "test")
    if name == "characters":
        groups = columns(np.random.default_rng(4))
        features, public = character_map(some_characters(groups), NAMES, GRIDS, [g.lut for g in groups], 4, (2, 140))
    else:
        make = fourier.cosine_map if name == "cosine" else fourier.mixed_map
        t = fourier.frequencies(40, layout.width if name == "cosine" else len(layout.numbers), 2.0, (1.0,), 0)
        features, public = make(layout), fourier.public_parameters(layout, t)

    def contribution(rows):
        vectors = features(rows, public)
        out = np.zeros((len(vectors), 2, vectors.shape[1] - 1))
        out[np.arange(len(vectors)), vectors[:, 0].astype(int)] = vectors[:, 1:]
        return out.reshape(len(vectors), -1)

    return contribution


def furthest(contribution, pool, rng, pairs=60, rounds=150):
    """Pairs of records spread over the domain, one column of one of them changed at a time to what moves the sum most:
    their distances at the start and at the end, and all norms met on the way."""

    def distances(index):
        both = [
            contribution({n: Values.of(v.values[i], v.null[i]) for (n, v), i in zip(pool.items(), side.T)})
            for side in index
        ]
        norms.extend(np.linalg.norm(np.concatenate(both), axis=1))
        return np.linalg.norm(both[0] - both[1], axis=1)

    norms, size = [], len(next(iter(pool.values())).values)
    index = rng.integers(0, size, (2, pairs, len(pool)))
    start = best = distances(index)
    for _ in range(rounds):
        tried = index.copy()
        place = rng.integers(0, 2, pairs), np.arange(pairs), rng.integers(0, len(pool), pairs)
        tried[place] = rng.integers(0, size, pairs)
        found = distances(tried)
        index[:, found > best] = tried[:, found > best]
        best = np.maximum(best, found)
    return start, best, np.array(norms)


@pytest.mark.parametrize("name", MAPS)
def test_no_replacement_moves_the_sum_further_than_twice_the_bound(name):
    """A search for the worst pair, changes of class included (specs/pearl.md E4). It gets beyond pairs at random,
    in one class further than any change of class, and never beyond the bound."""
    rng, bound = np.random.default_rng(6), MAPS[name]
    pool = records(rng, 300)
    for column in ("b", "x"):  # the ends of the domain, where the waves turn furthest
        pool[column].values[:2] = SCHEMA.columns[column].bounds
        pool[column].null[:2] = False
    start, best, norms = furthest(mapped(name), pool, rng)
    np.testing.assert_allclose(norms, bound, atol=1e-9)  # nothing is clipped, and nothing exceeds it
    assert best.max() <= 2 * bound * (1 + 1e-9)
    assert best.mean() > start.mean() + 0.05 * bound and best.max() > math.sqrt(2) * bound * (1 + 1e-9)


def test_moments_give_the_mean_squared_distance():
    rng = np.random.default_rng(7)
    layout, rows = Layout.of(SCHEMA, "y", "test"), records(rng, 400)
    vectors = fourier.moment_map(layout)(rows, None)
    assert np.linalg.norm(vectors, axis=1).max() <= 1 + 1e-12
    numbers, codes = layout.encode(rows)
    hot = [np.eye(size)[code] for (_, size), code in zip(layout.blocks, codes)]
    x = np.concatenate([numbers, *hot], axis=1)
    squares = [np.square(x[i] - x[j]).sum() for i, j in itertools.product(range(400), repeat=2)]
    exact = fourier.mean_distance(layout, vectors.sum(0), 400, 0.0)
    assert exact == pytest.approx(math.sqrt(np.mean(squares)), rel=1e-9)
    assert max(squares) <= layout.diameter**2 + 1e-9
    assert fourier.mean_distance(layout, 9 * vectors.sum(0), 400, 0.0) == 0.01 * layout.diameter  # whatever noise says


def test_a_record_at_a_corner_spends_the_norm_of_the_moments():
    """Numbers at their ends (missing ones stand at an end) and labels of large blocks: 1 exactly, never more."""
    wide = Schema({"a": Numeric(bounds=(0.0, 8.0)), "b": Numeric(bounds=(-1.0, 3.0), nullable=True)})
    layout = Layout.of(wide, None, "test")
    here = {"a": Values.of(np.array([0.0, 8.0, 4.0])), "b": Values.of(np.array([3.0, -1.0, 1.0]))}
    norms = np.linalg.norm(fourier.moment_map(layout)(here, None), axis=1)
    np.testing.assert_allclose(norms[:2], 1.0, rtol=1e-12)
    assert norms[2] == pytest.approx(math.sqrt(0.5 * 0.5 / (0.5 + 0.5)))  # only the block of b, half of r² = 1


@pytest.mark.parametrize(("width", "rows", "off"), [(0.13, 2600, 0.15), (0.13, 11000, 0.05), (0.02, 2600, None)])
def test_the_bought_distance_of_a_small_table_is_the_true_one_or_its_own_error(width, rows, off):
    """29 numbers at the price of (1, 1e-5), 300 noises; means within 5 standard errors of the truth."""
    rng, sigma = np.random.default_rng(3), 11.8
    layout = Layout.of(Schema({f"x{j}": Numeric(bounds=(0.0, 1.0)) for j in range(29)}), None, "test")
    x = np.clip(0.5 + width * rng.normal(size=(rows, 29)), 0.0, 1.0)
    sums = fourier.moment_map(layout)({f"x{j}": Values.of(x[:, j]) for j in range(29)}, None).sum(0)
    found = np.array(
        [fourier.mean_distance(layout, sums + sigma * rng.normal(size=30), rows, sigma) for _ in range(300)]
    )
    true = math.sqrt(2 * x.var(0).sum())
    if off is None:  # the noise drowns it: near the error of 2(E‖x‖² - ‖E x‖²), which is close to that of the squares
        assert np.median(found) == pytest.approx(math.sqrt(2 * math.sqrt(2) * 29 / 4 * sigma / rows), rel=0.05)
    else:
        assert np.square(found).mean() == pytest.approx(true**2, abs=5 * np.square(found).std() / math.sqrt(300))
        assert np.quantile(np.abs(found / true - 1), 0.9) < off


def test_the_number_of_rows_is_weighted_by_what_the_tables_say_of_it():
    """Tables of 248 and 2 cells, 4,000 noises: unbiased, and the spread of the best linear estimate (7 standard
    deviations each)."""
    rng, sigmas = np.random.default_rng(2), [3.0, 3.0, 6.0]
    cells, rows = [248, 2, 2], 569
    found = np.empty(4000)
    for i in range(len(found)):
        tables = [rng.normal(0.0, s, c) for c, s in zip(cells, sigmas)]
        for table in tables:
            table[0] += rows
        found[i] = row_count(tables, sigmas)
    variance = 1 / sum(1 / (c * s**2) for c, s in zip(cells, sigmas))
    assert abs(found.mean() - rows) < 7 * math.sqrt(variance / len(found))
    assert abs(found.var() / variance - 1) < 7 * math.sqrt(2 / len(found))
    assert row_count([np.full(3, -9.0)], [1.0]) == 1.0


def test_records_come_back_from_their_encoding():
    rows = records(np.random.default_rng(8), 100)
    layout = Layout.of(SCHEMA, "y", "test")
    numbers, codes = layout.encode(rows)
    back = layout.decode(numbers, codes, layout.kinds(rows))
    for name in NAMES:
        assert np.array_equal(back[name].null, rows[name].null), name
        here = ~rows[name].null
        np.testing.assert_allclose(back[name].values[here], rows[name].values[here], atol=1e-9, err_msg=name)


def test_noise_of_the_spec():
    """Multipliers at δ = 1e-5 for one release, and two equal ones that compose to (1, 1e-5)."""
    for epsilon, sigma in ((0.2, 16.304), (0.5, 7.032), (1, 3.7306), (2, 1.994), (5, 0.892), (10, 0.4999)):
        assert accounting.gaussian_sigma(epsilon, 1e-5) == pytest.approx(sigma, abs=1e-3)
    both = [accounting.Gaussian(1 / 5.2759)] * 2
    assert accounting.delta_at(both, 1.0) == pytest.approx(1e-5, rel=1e-3)
