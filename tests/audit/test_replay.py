"""Replay for anyone: right synthesizers pass, planted leaks are named by the statement where they begin."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
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
