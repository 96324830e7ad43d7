"""Distances between databases against plain joins, and their errors against many samples."""

import itertools

import numpy as np
import pandas as pd
import pytest

from nacre.metrics import METRICS
from nacre.metrics.databases import families
from nacre.metrics.databases.joins import apart
from nacre.metrics.databases.linked import LinkedPair
from nacre.metrics.databases.linking import link
from nacre.table.simulate import clinic

UNITS = 1_500


@pytest.fixture(scope="module")
def sides():
    made = [clinic(UNITS, seed) for seed in (1, 2)]
    return [{name: t.to_pandas() for name, t in m.tables.items()} for m in made], made[0].database


def linked_pair(sides):
    (ours, real), database = sides
    return LinkedPair(link(ours, database), link(real, database))


def tvd(a, b, columns):
    """Of two plain frames, by cross tables."""
    p, q = (frame.groupby(columns, observed=True).size() / len(frame) for frame in (a, b))
    return 0.5 * p.sub(q, fill_value=0).abs().sum()


def visits(frames):
    v = frames["visits"].merge(frames["patients"], left_on="patient", right_on="id", suffixes=("", "_p"))
    v = v.sort_values(["patient", "day"], kind="stable")
    return v.assign(following=v.groupby("patient").severity.shift(-1), beside=v.groupby("patient").id.transform("size"))


def items(frames):
    i = frames["items"].merge(visits(frames), left_on="visit", right_on="id", suffixes=("", "_v"))
    return i.merge(frames["drugs"], left_on="drug", right_on="id", suffixes=("", "_d"))


CASES = [
    ("within_tvd2", ("visits.reason", "visits.severity"), visits, ["reason", "severity"]),
    ("parent_child_tvd2", ("patients.region", "visits.reason"), visits, ["region", "reason"]),
    ("two_hop_tvd2", ("patients.plan", "items.dose"), items, ["plan", "dose"]),
    ("child_count_tvd2", ("visits.rows of one parent", "visits.severity"), visits, ["beside", "severity"]),
    ("reference_tvd2", ("items.dose", "drug -> drugs.group"), items, ["dose", "group_d"]),
    ("consecutive_tvd2", ("visits.severity", "next visits.severity"),
     lambda f: visits(f).dropna(subset="following"), ["severity", "following"]),
    ("tvd1", ("items.group",), items, ["group"]),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "columns", "frame", "by"), CASES, ids=[c[0] for c in CASES])
def test_a_distance_is_that_of_a_plain_join(sides, metric, columns, frame, by):
    computation = METRICS[metric].linked
    assert computation is not None
    found = computation(linked_pair(sides))
    (ours, real), _ = sides
    each = {s.columns: s for s in found.scores if s.metric == metric}
    assert each[columns].value == pytest.approx(tvd(frame(ours), frame(real), by))
    assert each[()].value == pytest.approx(np.mean([s.value for c, s in each.items() if c]))


def test_cardinalities_are_those_of_all_parents(sides):
    computation = METRICS["cardinality_tvd"].linked
    assert computation is not None
    found = {s.columns: s.value for s in computation(linked_pair(sides)).scores}
    each = [f["items"].groupby("visit").size().reindex(f["visits"].id).fillna(0) for f in sides[0]]
    ours, real = (pd.DataFrame({"n": n}) for n in each)
    assert found["visits.items count",] == pytest.approx(tvd(ours, real, ["n"]))
    assert set(found) == {(), ("visits.items count",), ("patients.visits count",)}


def test_a_parent_counts_once_among_siblings_whatever_rows_it_has():
    """All ordered pairs of different rows, each parent with weight 1, where no parent has more than five rows."""
    made = clinic(400, 3)
    linked = link({n: t.to_pandas() for n, t in made.tables.items()}, made.database)
    level = linked.levels["items"]
    i, j, weight = families._partners(level)
    found = pd.Series(weight).groupby([level.parent[i], i, j]).sum()
    expected = {}
    for parent in np.unique(level.parent):
        rows = np.flatnonzero(level.parent == parent)
        for a, b in itertools.permutations(rows.tolist(), 2):
            expected[parent, a, b] = 1 / (len(rows) * (len(rows) - 1))
    assert found.to_dict() == pytest.approx(expected)
    assert weight.sum() == pytest.approx((np.bincount(level.parent) > 1).sum())


def test_rows_across_two_tables_share_their_parent(sides):
    pair = linked_pair(sides)
    one = pair.ours.levels["visits"]
    i, j, weight = families._across(pair.ours, one, one)
    assert (one.parent[i] == one.parent[j]).all() and weight.sum() == pytest.approx(pair.ours.units)


@pytest.mark.parametrize("family", [families.within, families.consecutive, families.siblings, families.two_hops])
def test_errors_are_those_of_units_drawn_again(sides, family):
    """The standard deviation over resamples of units of both sides, with the sign of each cell held fixed by the size
    of what differs: one side has another law, so that no cell is near 0."""
    (ours, real), database = sides
    broken = {**ours, "visits": ours["visits"].assign(severity="mild"), "items": ours["items"].assign(dose="low")}
    a, b = link(broken, database), link(real, database)
    columns = {"within": ("visits.reason", "visits.severity"),
               "consecutive": ("visits.severity", "next visits.severity"),
               "siblings": ("items.dose", "other items.dose"), "two_hops": ("patients.plan", "items.dose")}  # fmt: skip
    key = columns[family.__name__]
    figure = apart(LinkedPair(a, b), family).each[key]
    again = [apart(LinkedPair(a.redrawn(s), b.redrawn(s + 999)), family).each[key].value for s in range(60)]
    assert 0.7 * np.std(again) < figure.error < 1.4 * np.std(again)


def test_what_one_side_lacks_is_as_far_as_can_be(sides):
    (ours, real), database = sides
    empty = {**ours, "items": ours["items"].head(0)}
    pair = LinkedPair(link(empty, database), link(real, database))
    found = apart(pair, families.two_hops)
    assert {f.value for f in found.each.values()} == {1.0} and found.mean.value == 1.0
    assert apart(LinkedPair(pair.ours, pair.ours), families.two_hops).measured("two_hop_tvd2", 1).scores == ()
