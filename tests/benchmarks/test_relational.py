"""The benchmark of databases: splits keep units whole, baselines make whole databases, and the judge knows them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from benchmarks.relational import methods
from benchmarks.relational.judge import PLANTED, Judge
from benchmarks.relational.methods import BESIDE, COUNT, UNIT, Task
from benchmarks.relational.tables import DATABASES, Relational

from nacre.metrics.databases.events import Event
from nacre.metrics.databases.linking import link
from nacre.table.simulate import clinic
from nacre.table.simulate.planted import EFFECTS


@pytest.fixture(scope="module")
def data():
    made = clinic(800, 3)
    frames = {name: t.to_pandas() for name, t in made.tables.items()}
    return Relational(
        "planted", frames, made.database, (Event("severe next", "visits", "severity", ("severe",)),), True
    )


def test_a_split_keeps_units_whole(data):
    private, held = data.split(0)
    assert len(held["patients"]) == 160 and len(private["patients"]) == 640
    assert not set(private["patients"].id) & set(held["patients"].id)
    for name in ("visits", "items"):
        assert len(private[name]) + len(held[name]) == len(data.frames[name])
    for side in (private, held):
        assert link(side, data.database).kept["integrity"] == 1.0
    assert data.split(1)[1]["patients"].id.tolist() != held["patients"].id.tolist()


def test_a_bootstrap_is_a_database_of_real_units(data):
    private, held = data.split(0)
    made = methods.bootstrap(Task(data, private, None, 1e-6, 0))
    linked = link(made.frames, data.database)
    assert linked.kept == {"integrity": 1.0, "caps_kept": 1.0} and linked.units == 640
    figures = Judge(data, private, held, 0).score(made.frames)
    assert set(figures) == {"", "severe next"} and set(PLANTED.values()) <= set(figures[""])
    assert figures[""]["within_tvd2"] < 0.08 and figures[""]["planted_error"] < 0.4
    assert abs(figures["severe next"]["auc_trees_gap"]) < 0.2


def test_the_real_database_is_no_distance_from_itself(data):
    private, held = data.split(0)
    figures = Judge(data, private, held, 0).score(methods.real(Task(data, private, None, 1e-6, 0)).frames)
    for name, value in figures[""].items():
        if name.endswith(("_tvd", "_tvd2", "_gap", "join_error")):
            assert value == 0, name
    assert figures[""]["planted_error"] < 0.3


def test_relinked_rows_keep_counts_and_lose_all_ties(data, monkeypatch):
    """Where every table is given back as it is, only the ties are lost."""
    private, _ = data.split(0)

    def same(rows, schema, task, share, count):
        return rows.drop(columns=UNIT, errors="ignore").sample(frac=1, random_state=share).reset_index(drop=True)

    monkeypatch.setattr(methods, "_drawn", same)
    made = methods.relinked(Task(data, private, 1.0, 1e-6, 0))
    linked, real = link(made.frames, data.database), link(private, data.database)
    assert linked.kept == {"integrity": 1.0, "caps_kept": 1.0}
    for name, level in linked.levels.items():
        assert len(level) == len(real.levels[name])
    counts = [np.bincount(side.owned_rows(side.levels["visits"])) for side in (linked, real)]
    assert counts[0].tolist() == counts[1].tolist()
    tables = {name: pa.Table.from_pandas(frame, preserve_index=False) for name, frame in made.frames.items()}
    assert all(effect.error(tables) > 0.7 for effect in EFFECTS.values())


def test_flat_rows_are_put_together_as_many_as_they_say():
    table = pd.DataFrame(
        {
            "c.x": [1, 2, 3, 4, 5, 6, 7],
            BESIDE.format("c"): [2, 1, 2, 2, 1, 2, 1],
            "b.y": ["u", "v", "u", "w", "v", "w", "v"],
            BESIDE.format("b"): [1, 2, 1, 1, 2, 1, 1],
            "a.z": [0, 1, 0, 0, 1, 0, 1],
        }
    )
    drawn = methods._cut(table, ("a", "b", "c"))
    joined = drawn["c"].merge(drawn["b"], left_on=UNIT, right_index=True, suffixes=("", "_b"))
    joined = joined.merge(drawn["a"], left_on=f"{UNIT}_b", right_index=True)
    assert len(joined) == 7 and len(drawn["b"]) == 5
    expected = table.set_index("c.x")
    for _, row in joined.iterrows():
        assert row["y"] == expected.loc[row["x"], "b.y"] and row["z"] == expected.loc[row["x"], "a.z"]
    assert sorted(drawn["c"].groupby(UNIT).size()) == [1, 1, 1, 2, 2]
    assert sorted(drawn["b"].groupby(UNIT).size()) == [1, 1, 1, 2]


def test_every_database_has_a_name_and_counts_have_theirs():
    assert set(DATABASES) == {"diabetes130", "planted", "tpch-0.1", "mimic3demo"}
    assert COUNT.format("visits") == "visits owned"
