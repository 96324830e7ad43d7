"""Replay for anyone: right synthesizers pass, planted leaks are named by the statement where they begin."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import fractions
import functools
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from tests.audit import toys

from nacre.audit.digests import digest
from nacre.audit.neighbours import neighbours
from nacre.audit.replay import replay
from nacre.errors import DataError, NacreError


@pytest.mark.parametrize("synthesize", [toys.histogram, toys.shares])
def test_right_synthesizers_show_nothing(synthesize):
    found = replay(synthesize, toys.people())
    assert found.pairs == 6 and not found.leaks, str(found)
    assert "cannot rule out" in str(found) and "safe" not in str(found)


def test_a_bound_for_one_relation_fails_for_another():
    """One row exchanged moves two cells of a histogram: sqrt(2), where 1 was declared for a row more or fewer."""
    found = replay(toys.histogram, toys.people(), relation="replace_one")
    assert any("moved by 1.414, declared 1" in leak.what for leak in found.leaks)


# The statement where the leak begins, and one that it passes through.
PLANTED = [
    (toys.histogram_with_read_bounds, "ages = table[", "edges = np.linspace", "outlier"),
    (toys.shares_by_true_count, "total = table[", "chances = _normalise", "first row removed"),
    (toys.new_city_branch, 'if table["city"].nunique() > 3', 'kind = "diverse"', "new text"),
    (toys.chatty, "oldest = table[", "print(", "outlier"),
    (toys.noise_by_size, "scale = 100", "noise.gaussian", "a row twice"),
    (toys.fails_on_strangers, "codes = [", "codes = [", "new text"),
]


@pytest.mark.parametrize(("synthesize", "first", "through", "pair"), PLANTED, ids=lambda v: getattr(v, "__name__", ""))
def test_planted_leaks_are_named(synthesize, first, through, pair):
    found = replay(synthesize, toys.people())
    leak = next(x for x in found.leaks if x.neighbour == pair)
    assert leak.step is not None and leak.step.code.startswith(first), str(leak)
    assert any(through in step.code for step in leak.through), leak.through
    assert leak.step.function == synthesize.__name__
    assert str(leak.step.line) in str(found)


def test_a_private_value_inside_a_mechanism_is_no_leak():
    """`counts` differs on every neighbour and is read before `total`: the leak is `total`, not `counts`."""
    leak = replay(toys.shares_by_true_count, toys.people()).first
    assert all("counts" not in step.code for step in leak.through)


def test_a_mechanism_that_moves_more_than_declared():
    found = replay(toys.wrong_sensitivity, toys.people())
    assert any("moved by" in leak.what and "declared 1" in leak.what for leak in found.leaks)


def test_randomness_from_elsewhere_is_refused():
    with pytest.raises(NacreError, match="randomness"):
        replay(toys.other_randomness, toys.people())


def test_arrow_and_arrays():
    table = pa.Table.from_pandas(toys.people(), preserve_index=False)
    found = replay(lambda t, noise: noise.gaussian("rows", t.num_rows, 1.0, 1.0).tolist(), table)
    assert not found.leaks
    array = np.arange(12.0).reshape(6, 2)
    clipped = replay(lambda x, noise: noise.gaussian("sum", np.clip(x, 0, 1).sum(0), 1.0, np.sqrt(2)).tolist(), array)
    assert not clipped.leaks, str(clipped)
    scaled = replay(lambda x, noise: noise.gaussian("sum", (x / x.max(0)).sum(0), 1.0, np.sqrt(2)).tolist(), array)
    assert scaled.leaks and "moved by" in scaled.leaks[-1].what


def test_no_neighbours_compare_nothing():
    with pytest.raises(NacreError, match="nothing would be compared"):
        replay(toys.histogram, toys.people(), neighbours={})


def test_too_small_a_table():
    with pytest.raises(DataError, match="two or more"):
        neighbours(toys.people(1))


def test_digests_tell_contents_apart():
    a = toys.people()
    changed = a.copy()
    changed.loc[3, "age"] += 1
    assert digest(a) == digest(a.copy()) != digest(changed)
    assert digest({"x": [1, 2.0]}) == digest({"x": [1, 2.0]}) != digest({"x": [1, 2]})
    assert digest(np.arange(3)) != digest(np.arange(3.0))
    assert digest(pa.table({"x": [1, 2]})) != digest(pa.table({"x": [1, 3]}))


def _generator(n):
    return (i for i in range(n))


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


def _carrying(n):
    return lambda: n


PAIRS = {
    "jax array": lambda n: jnp.arange(3) + n,
    "date": lambda n: dt.date(2020, 1, n),
    "datetime": lambda n: dt.datetime(2020, 1, n, tzinfo=dt.UTC),
    "timedelta": dt.timedelta,
    "decimal": decimal.Decimal,
    "fraction": lambda n: fractions.Fraction(n, 7),
    "timestamp": lambda n: pd.Timestamp(2020, 1, n),
    "timestamp in a zone": lambda n: pd.Timestamp(2020, 1, n, tz="UTC"),
    "range": range,
    "path": lambda n: pathlib.Path(f"a{n}"),
    "slots": Slotted,
    "closure": _carrying,
    "partial": lambda n: functools.partial(min, n),
    "method": lambda n: Slotted(n).__init__,
    "deque": lambda n: collections.deque([n]),
    "masked array": lambda n: np.ma.masked_array([1, 2], mask=[n % 2, False]),
    "records of objects": lambda n: np.array([(n, "a")], dtype=[("i", int), ("t", object)]),
    "key": jax.random.key,
    "sparse": lambda n: scipy.sparse.csr_array(np.eye(2) * n),
    "column": lambda n: pd.Series([n, 2]),
    "categories": lambda n: pd.Series(["a"], dtype=pd.CategoricalDtype(["a", f"b{n}"])),
    "attached": lambda n: _attached(n),
    "arrow dictionary": lambda n: pa.DictionaryArray.from_arrays([0], ["a", f"b{n}"]),
    "deep": lambda n: functools.reduce(lambda inner, _: [inner], range(40), n),
}


def _attached(n):
    frame = pd.DataFrame({"x": [1]})
    frame.attrs["rows"] = n
    return frame


@pytest.mark.parametrize("make", PAIRS.values(), ids=PAIRS.keys())
def test_contents_of_every_kind_count(make):
    assert digest(make(1)) == digest(make(1)) != digest(make(2))
    leak = replay(lambda t, noise: make(min(len(t), 28)), toys.people(20)).first
    assert leak is not None and "result differs" in leak.what


def test_what_cannot_be_read_is_refused_and_circles_are_not():
    with pytest.raises(NacreError, match="generator"):
        digest(_generator(3))
    circle: list = [1]
    circle.append(circle)
    assert digest(circle) == digest(circle)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int64", "float16", "float64"])
def test_outliers_fit_into_narrow_columns(kind):
    column = np.array([1, 90, 100], kind)
    made = neighbours(pd.DataFrame({"x": column}))["outlier"]["x"]
    assert float(made.iloc[-1]) == min(1100, float(np.iinfo(kind).max if "int" in kind else np.finfo(kind).max))
    made = neighbours(column[:, None])["outlier"]
    assert made.dtype == kind and made[-1, 0] > 100


def test_a_synthesizer_that_ends_the_program_is_told_of():
    def leaves(table, noise):
        if (table["city"] == "a text that nobody else has").any():
            raise SystemExit(3)
        return 1

    assert "SystemExit" in replay(leaves, toys.people()).first.what
