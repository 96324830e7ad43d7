"""Rare labels join their family."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.synthesizers.parts.families import group

LABELS = ("a1", "a2", "a3", "b1", "b2", "c1", "d")
ABOVE = {"a1": "a", "a2": "a", "a3": "a", "b1": "b", "b2": "b", "c1": "c", "a": "ab", "b": "ab"}


def _groups(counts, limit=100, floor=10.0, null=None):
    lut = group(np.array(counts, float), LABELS, ABOVE, limit, floor, null)
    assert sorted({*lut.tolist()}) == list(range(lut.max() + 1))
    found = [{LABELS[i] if i < len(LABELS) else None for i in np.flatnonzero(lut == g)} for g in range(lut.max() + 1)]
    return {frozenset(members) for members in found}


def test_frequent_labels_stand_alone_and_rare_ones_with_their_family():
    found = _groups([50, 6, 5, 6, 6, 20, 30])
    assert found == {frozenset(g) for g in ({"a1"}, {"a2", "a3"}, {"b1", "b2"}, {"c1"}, {"d"})}


def test_small_families_join_the_one_above():
    found = _groups([50, 3, 2, 4, 3, 20, 30])
    assert frozenset({"a2", "a3", "b1", "b2"}) in found


def test_what_nothing_holds_joins_the_smallest_group():
    found = _groups([50, 40, 40, 40, 40, 1, 30])
    assert found == {frozenset(g) for g in ({"a1"}, {"a2"}, {"a3"}, {"b1"}, {"b2"}, {"c1", "d"})}


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_there_are_at_most_so_many(limit):
    assert len(_groups([50, 40, 45, 60, 30, 20, 35], limit)) <= limit


def test_null_is_a_group_or_rides_with_the_largest():
    assert frozenset({None}) in _groups([50, 40, 40, 40, 40, 30, 30, 25], null=7)
    assert frozenset({"a1", None}) in _groups([50, 40, 40, 40, 40, 30, 30, 2], null=7)


def test_noise_below_zero_does_no_harm():
    assert len(_groups([-5, -3, 2, -40, 1, 0, -1])) == 1
