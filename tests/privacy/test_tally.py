"""Counting by 128-bit names: the same counts as a dictionary, in a fraction of its memory."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.privacy_contract import checks, doors

from nacre.engines import MemoryRows
from nacre.errors import DataError
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.curator import Curator
from nacre.privacy.passes import tally
from nacre.privacy.passes.tally import Tally, names_of
from nacre.privacy.plan import Categories, Plan
from nacre.table import Categorical, Schema

KEY = bytes(range(16))


def filled(batches):
    found = Tally()
    for batch in batches:
        counts = Counter(batch)
        found.add(names_of(list(counts), KEY), np.array(list(counts.values()), dtype=np.int64))
    return found


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.lists(st.binary(max_size=4), min_size=1, max_size=40), max_size=6))
def test_counts_and_counts_before_are_those_of_a_dictionary(batches):
    found, expected = Tally(), Counter()
    for batch in batches:
        counts = Counter(batch)
        before = found.add(names_of(list(counts), KEY), np.array(list(counts.values()), dtype=np.int64))
        assert before.tolist() == [expected[t] for t in counts]
        expected.update(batch)
    assert len(found) == len(expected)
    names, counts = found.pop_all()
    told = {n.tobytes(): c for n, c in zip(names, counts.tolist())}
    assert told == {names_of([t], KEY).tobytes(): c for t, c in expected.items()} and not len(found)


def test_names_that_want_the_same_slot_find_their_own():
    """All names share their low bits, so that every one of them collides until the table has grown very large."""
    names = np.stack([np.arange(500, dtype=np.uint64) << np.uint64(40), np.arange(500, dtype=np.uint64)], axis=1)
    found = Tally()
    for part in (names[:200], names[100:], names):
        found.add(part, np.ones(len(part), dtype=np.int64))
    got, counts = found.pop_all()
    assert np.array_equal(got, names)
    assert counts.tolist() == [2] * 100 + [3] * 100 + [2] * 300


def test_order_is_that_of_the_names_whatever_the_order_of_rows():
    texts = [f"t{i}".encode() for i in range(30_000)]
    one = filled([texts[:9_000], texts[9_000:]]).pop_all()
    other = filled([texts[::-1][:100], texts[::-1][100:]]).pop_all()
    assert all(np.array_equal(a, b) for a, b in zip(one, other))


def test_names_are_keyed_hashes():
    found = names_of([b"x", b""], KEY)
    expected = hashlib.blake2b(b"x", key=KEY, digest_size=16).digest()
    assert found[0].tobytes() == expected and not np.array_equal(found, names_of([b"x", b""], KEY[::-1]))


def test_collisions_are_charged_for_as_many_names_as_are_allowed(monkeypatch):
    """N²/2¹²⁹ for texts and again for persons; more names than that are refused."""
    assert 2 * tally.MAX_NAMES**2 / 2**129 <= accounting.HASH_ERROR
    spent = accounting.delta_at([accounting.Gaussian(0.1)], 1.0)
    assert spent - accounting.gaussian_delta(1.0, 0.1) >= 0.99 * (1 + np.e) * accounting.HASH_ERROR > 0
    monkeypatch.setattr(tally, "MAX_NAMES", 3)
    with pytest.raises(DataError, match="more than 3 different"):
        filled([[b"a", b"b"], [b"c", b"d"]])


def test_a_column_of_names_passes_nothing_and_the_frequent_texts_come_whole():
    """Ten thousand texts of one row each beside three frequent ones; batches of 700 rows."""
    texts = [f"name {i} é" for i in range(10_000)] + ["bergen"] * 400 + ["tromsø"] * 300 + ["72"] * 500
    table = pa.table({"t": np.random.default_rng(0).permutation(texts)})
    entry = Categories("texts", sigmas=(20.0,), threshold=150)
    plan = Plan("test", (entry,), checks.FREE)
    schema = Schema({"t": Categorical(categories=("x",))})
    rows = MemoryRows(table, batch_rows=700)
    for seed in (1, 2):
        room = Curator(rows, plan, schema, checks.FixedNoise(seed))
        assert list(room.categories(entry, ["t"])["t"]) == ["72", "bergen", "tromsø"]


def test_persons_are_capped_alike_in_every_pass():
    table = doors.table_of(doors.random_rows(np.random.default_rng(3), 300, persons=tuple(range(40))))
    schema = doors.schema(2)
    room = Curator(MemoryRows(table, 32), Plan("test", (), checks.FREE, 2), schema, checks.FixedNoise(1))
    first, second = ([r for b in room._batches(["age", "city"]) for r in b.to_pylist()] for _ in range(2))
    assert len(first) == 80 and str(first) == str(second)


BYTES = """
import resource, sys
import numpy as np
from nacre.privacy.passes.tally import Tally, names_of
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count, step, found = int(sys.argv[1]), 1 << 16, Tally()
for start in range(0, count, step):
    names = np.random.default_rng(start).integers(0, 2**64, (min(step, count - start), 2), dtype=np.uint64)
    found.add(names, np.ones(len(names), dtype=np.int64))
assert len(found) == count
names, counts = found.pop_all()
assert len(names) == count and counts.sum() == count
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / count)
"""


@pytest.mark.parametrize("count", (1_000_000, pytest.param(20_000_000, marks=pytest.mark.slow)))
def test_bytes_per_text(count):
    """Peak memory of counting and of taking everything out, per text (measured: 50 to 61 bytes); a dictionary of texts
    takes about 200."""
    done = subprocess.run([sys.executable, "-c", BYTES, str(count)], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 80, done.stdout
