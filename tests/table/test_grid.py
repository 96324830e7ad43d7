"""Grids: every value in one cell, every cell gives its own values back, shares add up."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import columns, inside, numerics, small_integers

from nacre.errors import DomainNotDeclared, SchemaError
from nacre.table import Between, Boolean, Categorical, Condition, Datetime, Numeric, Tensor
from nacre.table.encoding import Values
from nacre.table.grid import Grid


def mask_of(grid, asked):
    return Condition.of(asked, grid.column).mask(grid)


@settings(max_examples=150, deadline=None)
@given(columns, st.integers(0, 2**32))
def test_values_and_cells_agree(column, seed):
    grid, rng = Grid.of(column), np.random.default_rng(seed)
    codes = grid.codes(column.encode(inside(column, rng, 200)))
    assert codes.dtype == np.int32 and codes.min() >= 0 and codes.max() < grid.cells
    placed = grid.place(codes, rng.random(len(codes)))
    np.testing.assert_array_equal(grid.codes(placed), codes)


@settings(max_examples=150, deadline=None)
@given(columns, st.integers(0, 2**32))
def test_every_cell_can_be_drawn_from_end_to_end(column, seed):
    grid, rng = Grid.of(column), np.random.default_rng(seed)
    codes = np.arange(grid.cells)
    for u in (np.zeros(grid.cells), np.full(grid.cells, np.nextafter(1, 0)), rng.random(grid.cells)):
        placed = grid.place(codes, u)
        np.testing.assert_array_equal(grid.codes(placed), codes)
    np.testing.assert_array_equal(grid.codes(grid.draw(codes, rng)), codes)
    assert len(grid.width) == grid.cells and (grid.width >= 0).all()


@settings(max_examples=80, deadline=None)
@given(st.one_of(numerics(), small_integers()))
def test_cells_tile_the_bounds(column):
    grid = Grid.of(column)
    low, high = column.bounds
    assert grid.low[0] == low
    if column.integer:  # every integer in one cell: the counts add up
        assert int((grid.high - grid.low).sum()) == high - low + 1
    else:
        assert (np.diff(grid.low) > 0).all()
        assert grid.width.sum() == pytest.approx(high - low, rel=1e-9)


@pytest.mark.parametrize(
    ("column", "value"),
    [(Numeric((-10.0, 1e6)), 0.0), (Numeric((3.0, 9.0)), 3.0), (Numeric((3.0, 9.0)), 9.0),
     (Numeric((0.0, 1.0), atoms=(0.25,)), 0.25), (Numeric((0, 10**6), integer=True, atoms=(999,)), 999),
     (Numeric((0, 10**6), integer=True), 10**6)],
)  # fmt: skip
def test_atoms_hold_one_value_exactly(column, value):
    grid = Grid.of(column)
    step = 1 if column.integer else 1e-9 * max(1.0, abs(value))
    near = [v for v in (value - step, value + step) if column.bounds[0] <= v <= column.bounds[1]]
    code = grid.codes(Values.of(np.array([value])))[0]
    assert grid.width[code] == 0
    assert code not in grid.codes(Values.of(np.array(near)))
    assert set(grid.draw(np.full(20, code), np.random.default_rng(0)).values) == {value}


def test_small_integer_columns_have_a_cell_for_each_value():
    grid = Grid.of(Numeric((17, 90), integer=True, nullable=True))
    assert grid.cells == 75 and grid.null == 74 and grid.ordered
    assert grid.codes(Values.of(np.array([17, 90]))).tolist() == [0, 73]
    assert grid.width[:3].tolist() == [1, 1, 1] and grid.width[-1] == 0


def test_declared_edges_are_taken_as_they_are():
    grid = Grid.of(Numeric(edges=(0, 10, 20, 50), integer=True))
    assert grid.cells == 3 and grid.codes(Values.of(np.array([0, 9, 10, 19, 20, 50]))).tolist() == [0, 0, 1, 1, 2, 2]
    grid = Grid.of(Numeric(edges=(0, 1, 5), atoms=(0,)))
    assert grid.codes(Values.of(np.array([0, 0.5, 1, 5]))).tolist() == [0, 1, 2, 2]


def test_skewed_columns_get_fine_cells_near_zero():
    """Equal cells alone would put everything below 5,000 of a range of a million in one."""
    grid = Grid.of(Numeric((0.0, 1e6)))
    assert len(set(grid.codes(Values.of(10.0 ** np.arange(0, 6.01, 0.25))))) == 25
    assert 200 < grid.cells < 330


def test_rows_that_land_nowhere():
    values = Categorical(("a", "b")).encode(_texts("a", "q", None))
    assert Grid.of(Categorical(("a", "b"))).codes(values).tolist() == [0, -1, -1]
    column = Categorical(("a", "b"), nullable=True, other="z")
    assert Grid.of(column).codes(column.encode(_texts("a", "q", None))).tolist() == [0, 2, 3]
    numbers = Numeric((0, 9), integer=True).encode(_texts("7", "x", None))
    assert Grid.of(Numeric((0, 9), integer=True)).codes(numbers).tolist() == [7, -1, -1]


def _texts(*values):
    import pyarrow as pa

    return pa.array(values, pa.string())


@settings(max_examples=80, deadline=None)
@given(numerics(), st.integers(0, 2**32))
def test_mask_of_a_range_is_the_share_of_uniform_draws(column, seed):
    grid, rng = Grid.of(column), np.random.default_rng(seed)
    low, high = column.bounds
    a, b = sorted(low + (high - low) * rng.random(2))
    a, b = (int(np.ceil(a)), int(np.floor(b))) if column.integer else (a, b)
    assume(a <= b and (column.integer or a < b))
    mask = mask_of(grid, Between(a, b))
    assert ((mask >= 0) & (mask <= 1)).all()
    if column.integer:  # counting by brute force on cells of at most 50 integers
        sizes = grid.high - grid.low
        for code in np.flatnonzero(sizes <= 50)[:20]:
            members = range(grid.low[code], grid.high[code])
            assert mask[code] == pytest.approx(np.mean([a <= m <= b for m in members]))
    picked = np.flatnonzero(mask)
    drawn = grid.draw(picked, rng, a, b)
    assert ((drawn.values >= a) & (drawn.values <= b)).all()
    np.testing.assert_array_equal(grid.codes(drawn), picked)


def test_mask_shares_agree_with_draws():
    grid, rng = Grid.of(Numeric((0.0, 1000.0))), np.random.default_rng(5)
    mask = mask_of(grid, Between(12.3, 456.7))
    for code in (np.flatnonzero((mask > 0) & (mask < 1))).tolist():
        values = grid.draw(np.full(20_000, code), rng).values
        # 5 standard errors: false alarm below 1e-6 per cell
        assert abs(np.mean((values >= 12.3) & (values <= 456.7)) - mask[code]) < 5 * 0.5 / np.sqrt(20_000)


def test_masks_of_values_sets_and_null():
    grid = Grid.of(Categorical(("a", "b", "c"), nullable=True))
    assert mask_of(grid, "b").tolist() == [0, 1, 0, 0]
    assert mask_of(grid, ["a", "c", None]).tolist() == [1, 0, 1, 1]
    assert mask_of(grid, ("a", "c")).tolist() == [1, 0, 1, 0]  # a tuple of labels is a set
    ordered = Grid.of(Categorical(("a", "b", "c"), ordered=True))
    assert mask_of(ordered, Between("a", "b")).tolist() == [1, 1, 0] and mask_of(
        ordered, Between("b", None)
    ).tolist() == [0, 1, 1]
    assert mask_of(Grid.of(Boolean(nullable=True)), True).tolist() == [0, 1, 0]
    wide = Grid.of(Numeric((0, 10_000), integer=True, nullable=True))
    assert mask_of(wide, 777).sum() == pytest.approx(1 / (wide.high - wide.low)[mask_of(wide, 777)[:-1] > 0][0])
    assert (
        mask_of(wide, Between(-5, 10**9))[:-1].tolist() == [1] * (wide.cells - 1)
        and mask_of(wide, Between(0, 9))[-1] == 0
    )


def test_masks_of_dates():
    grid = Grid.of(Datetime(("2020-01-01", "2020-12-31"), unit="day"))
    assert mask_of(grid, Between("2020-02-01", "2020-02-29")).sum() == 29
    seconds = Grid.of(Datetime(("2020-01-01", "2020-12-31T23:59:59")))
    inside = mask_of(seconds, Between("2020-03-01", "2020-03-31")) @ (seconds.high - seconds.low)
    assert inside == pytest.approx(31 * 86_400)  # the last day counts to its end


@pytest.mark.parametrize(
    ("column", "condition", "part"),
    [
        (Categorical(("a",)), "q", "'q' is not a category"),
        (Categorical(("a", "b")), Between("a", "b"), "a range needs an ordered column"),
        (Categorical(("a",)), None, "the column is not nullable"),
        (Categorical(("a",)), [], "the list of values is empty"),
        (Boolean(), "yes", "is not a truth value"),
        (Numeric((0, 9), integer=True), 12, "lies outside the bounds"),
        (Numeric((0, 9), integer=True), Between(20, 30), "nothing of the declared domain lies in"),
        (Numeric((0, 9), integer=True), 1.5, "the column is integer"),
        (Numeric((0, 9)), 4.5, "has probability 0"),
        (Numeric((0, 9)), "four", "is not a number"),
        (Datetime(("2020-01-01", "2021-01-01")), "soon", "is not a date"),
    ],
)
def test_conditions_outside_the_domain(column, condition, part):
    with pytest.raises(SchemaError, match=part):
        mask_of(Grid.of(column), condition)


@pytest.mark.parametrize("column", [Numeric(), Categorical(), Datetime(), Tensor((2,))])
def test_no_grid_without_a_domain(column):
    with pytest.raises(DomainNotDeclared, match="are not declared"):
        Grid.of(column)


def test_null_rows_may_hold_anything():
    grid = Grid.of(Numeric((0, 10**5), integer=True, nullable=True))
    values = Values.of(np.array([2**62, -5, 7]), np.array([True, True, False]))
    assert grid.codes(values).tolist() == [grid.null, grid.null, grid.codes(Values.of(np.array([7])))[0]]


@settings(max_examples=40, deadline=None)
@given(columns)
def test_a_grid_is_a_function_of_the_column(column):
    a, b = Grid.of(column), Grid.of(column)
    np.testing.assert_array_equal(a.low, b.low)
    np.testing.assert_array_equal(a.high, b.high)


@pytest.mark.parametrize(
    "column, piled, many",
    [
        (Numeric((0, 1_000_000), integer=True), [0, 90, 999, 9999, 10_000, 230_000, 1_000_000], 1500),
        (Numeric((-5_000, 100_000), integer=True), [-5_000, -1_900, 0, 99_999], 1500),
        (Numeric((0.0, 500.0), decimals=2), [0.0, 0.5, 2.99, 10.99, 12.0, 19.99, 250.0], 1500),
    ],
)
def test_likely_spikes_get_cells_of_their_own(column, piled, many):
    plain, grid = Grid.of(column), Grid.of(column.spiked())
    assert plain.cells < grid.cells <= many
    values = Values.of(np.array(piled, plain.dtype))
    codes = grid.codes(values)
    again = grid.place(codes, np.full(len(codes), 0.999)).values
    assert np.array_equal(again, values.values), "nothing else lies in the cell"
    assert column.spiked().spiked() == column.spiked()


def test_columns_without_a_step_or_with_edges_or_few_values_have_no_likely_spikes():
    for column in (
        Numeric((0.0, 500.0)),
        Numeric((0, 500), integer=True),
        Numeric((0, 9_000), integer=True, edges=(0, 10, 9_000)),
        Numeric(integer=True),
        Categorical(("a", "b")),
    ):
        assert column.spiked() is column
