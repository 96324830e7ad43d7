"""Counts over joins, models of the next row, and telling units apart: each finds what is broken and nothing else."""

import numpy as np
import pytest

from nacre.errors import SchemaError
from nacre.metrics import METRICS
from nacre.metrics.databases.events import Event, Shown, asked
from nacre.metrics.databases.linked import LinkedPair
from nacre.metrics.databases.linking import link
from nacre.table.simulate import clinic

UNITS = 3_000


def linked(seed, change=lambda frames: frames):
    made = clinic(UNITS, seed)
    return link(change({name: t.to_pandas() for name, t in made.tables.items()}), made.database)


def shuffled(frames):
    """Visits and items that hang on others at random."""
    rng = np.random.default_rng(4)
    visits, items = frames["visits"], frames["items"]
    return {
        **frames,
        "visits": visits.assign(patient=rng.permutation(visits["patient"])),
        "items": items.assign(visit=rng.permutation(items["visit"])),
    }


@pytest.fixture(scope="module")
def made():
    return {"same": linked(1), "broken": linked(1, shuffled), "real": linked(2), "held": linked(3)}


def scores(name, pair):
    computation = METRICS[name].linked
    assert computation is not None
    return {(s.metric, s.columns): s for s in computation(pair).scores}


def test_counts_over_joins_grow_wrong_where_rows_are_relinked(made):
    good, bad = (scores("join_error", LinkedPair(made[k], made["real"])) for k in ("same", "broken"))
    assert good["join_error", ()].value < 0.06
    assert bad["join_error", ("one hop",)].value > 1.2 * good["join_error", ("one hop",)].value
    s = good["join_error", ()]
    assert s.low is not None and s.high is not None and s.low <= s.value <= s.high
    assert {c for _, c in good} == {(), ("two hops",), ("one hop",), ("cross-parent",)}


def test_a_count_is_that_of_a_plain_join(made):
    from nacre.metrics.databases.queries import _joins

    real = made["real"]
    joined = next(j for kind, j in _joins(real) if kind == "two hops")
    assert [name for name, _, _ in joined.sides] == ["patients", "items"]
    plus, high = np.arange(4) == 1, np.arange(4) == 1
    found = joined.meets([(0, "plan", plus), (1, "dose", high)])
    items, root = real.levels["items"].frame, real.root.frame
    expected = (items["dose"].to_numpy() == "high") & (root["plan"].to_numpy()[real.levels["items"].unit] == "plus")
    assert (found == expected).all() and 0.05 < found.mean() < 0.4


def test_models_foresee_what_is_kept_from_row_to_row(made):
    events = asked(made["real"].database, made["real"], "visits.severity")
    assert [e.name for e in events] == ["next of visits", "visits.severity of the next"]
    assert events[1].labels == ("mild",)
    found = {}
    for name in ("same", "broken"):
        pair = LinkedPair(made[name], made["held"], asked=events)
        found[name] = scores("auc_next", pair)
    key = ("auc_next_trees", ("visits.severity of the next",))
    assert found["same"][key].value > 0.75 and abs(found["broken"][key].value - 0.5) < 0.12
    s = found["same"][key]
    assert s.low is not None and s.high is not None and s.low < s.value < s.high
    each = [s.value for (name, columns), s in found["same"].items() if columns]
    assert found["same"]["auc_next", ()].value == pytest.approx(np.mean(each))


def test_an_event_is_asked_only_where_it_can_happen(made):
    level = made["real"].levels["visits"]
    rows, y = Event("n", "visits").rows(level)
    assert (level.place[rows] < 7).all() and y.sum() == len(level.successive)
    rows, y = Event("c", "visits", "cost", least=100.0).rows(level)
    assert (rows == level.successive).all()
    assert (y == (level.frame["cost"].to_numpy()[rows + 1] >= 100)).all()
    shown = Shown.of(made["real"], Event("n", "visits", without=("severity",)), 0)
    assert "visits.severity" not in shown.domain.names
    assert {"visits.cost", "patients.plan"} <= set(shown.domain.names) == set(shown.frame.columns)


@pytest.mark.parametrize("target", ["severity", "patients.plan", "items.dose", "visits.nothing"])
def test_a_target_that_has_no_next_is_refused(made, target):
    with pytest.raises(SchemaError, match="target"):
        asked(made["real"].database, made["real"], target)


def test_where_nothing_varies_nothing_is_learnt(made):
    same = linked(1, lambda f: {**f, "visits": f["visits"].assign(severity="mild")})
    event = (Event("e", "visits", "severity", ("mild",)),)
    assert scores("auc_next", LinkedPair(same, made["held"], asked=event))["auc_next", ()].value == 0.5
    assert scores("auc_next", LinkedPair(made["same"], same, asked=event)) == {}


def test_units_are_told_apart_only_where_they_differ(made):
    good, bad = (scores("c2st_units", LinkedPair(made[k], made["real"])) for k in ("same", "broken"))
    assert abs(good["c2st_units", ()].value - 0.5) < 0.04 and good["c2st_units_p", ()].value > 0.01
    assert bad["c2st_units", ()].value > 0.6 and bad["c2st_units_p", ()].value < 1e-6


def test_times_between_rows_are_compared(made):
    late = linked(
        1, lambda f: {**f, "visits": f["visits"].assign(day=f["visits"]["day"].map(lambda d: d.replace(day=1)))}
    )
    assert scores("gap_ks", LinkedPair(made["same"], made["real"]))["gap_ks", ()].value < 0.04
    assert scores("gap_ks", LinkedPair(late, made["real"]))["gap_ks", ("visits gap",)].value > 0.1
