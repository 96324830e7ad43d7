"""Pieces of a table: together they are the table, and folds over them give the same bits as one pass."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines.shards_here import ShardsHere
from tests.privacy import logistic
from tests.privacy_contract import checks, tables

import nacre
from nacre.engines import MemoryRows, ShardedRows, cluster, open_rows
from nacre.engines.holdout import split
from nacre.engines.sealed import new_key, seal, unseal
from nacre.engines.shards import even_cuts
from nacre.errors import DataError, NacreError
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.doors.select import RecordScore
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Counts, Plan, Select, Total
from nacre.table import Unit
from nacre.table.simulate.people import people, people_schema

ROWS = 3_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Simulated people in four files of several row groups, and the same table in memory."""
    place, table = tmp_path_factory.mktemp("people"), people(ROWS, seed=5)
    for i, (start, count) in enumerate(((0, 900), (900, 50), (950, 1_500), (2_450, 550))):
        pq.write_table(table.slice(start, count), place / f"part{i}.parquet", row_group_size=400)
    return place, table


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(1, 8))
def test_cuts_cover_everything_once_and_in_order(sizes, parts):
    cuts = even_cuts(sizes, parts)
    assert [i for a, b in cuts for i in range(a, b)] == list(range(len(sizes)))
    assert len(cuts) <= parts and all(a < b for a, b in cuts)


@pytest.mark.parametrize("parts", (1, 3, 7, 100))
def test_the_shards_are_the_table(folder, parts):
    place, table = folder
    shards = open_rows(place).split(parts)
    read = [pa.Table.from_batches(list(s.batches(["age"])), pa.schema([table.schema.field("age")])) for s in shards]
    assert pa.concat_tables(read)["age"].to_pylist() == table["age"].to_pylist()
    assert len(shards) <= parts and (parts < 3 or len(shards) > 1)


def test_a_dataset_is_rows_and_has_shards(folder):
    place, _ = folder
    rows = open_rows(ds.dataset(place))
    assert pa.Table.from_batches(list(rows.batches())).equals(pq.read_table(place))
    halves = [sum(b.num_rows for b in part.batches(["age"])) for part in rows.split(2)]
    assert len(halves) == 2 and sum(halves) == ROWS
    (place.parent / "text").mkdir(exist_ok=True)
    (place.parent / "text" / "a.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match="types that depend on its rows; open the files by their names"):
        open_rows(ds.dataset(place.parent / "text", format="csv"))


@pytest.mark.filterwarnings("ignore:too little data")
@pytest.mark.parametrize("kind", ("declared", "bought", "capped"))
def test_a_fit_over_shards_is_the_same_to_the_byte(folder, tmp_path, kind):
    """Also where a person has rows in several shards: the first ones in the order of the table count."""
    place, table = folder
    asked = {"epsilon": 1.0, "noise_seed": 1, "options": {"particles": 16, "steps": 10}}
    if kind == "declared":
        asked |= {"schema": people_schema(ROWS), "target": "late_payment"}
    if kind == "capped":
        table = table.set_column(0, "person_id", pa.array(np.random.default_rng(0).integers(0, 700, ROWS)))
        for i in range(3):
            pq.write_table(table.slice(1_000 * i, 1_000), tmp_path / f"{i}.parquet", row_group_size=300)
        place = tmp_path
        schema = people_schema(ROWS)
        asked |= {"schema": dataclasses.replace(schema, unit=Unit("person_id", 2)), "method": "independent"}
        asked.pop("options")
    found, outside = [], []
    for source in (table, ShardsHere(sorted(place.glob("*.parquet")))):
        notes = nacre.OwnerNotes()
        release = nacre.fit(source, **asked, owner=notes)
        outside.append(notes.misfits)
        release.save(tmp_path / "r.nacre", force=True)
        found.append((tmp_path / "r.nacre").read_bytes())
    assert found[0] == found[1] and outside[0] == outside[1]


def features(columns, public):
    age, income = columns["age"].values, np.where(columns["income"].null, 0.0, columns["income"].values)
    return np.stack([age / 100, income / 1e5], axis=1)


def close_to(columns, public):
    return -np.abs(columns["age"].values[:, None] - public[None, :]) / 100


def test_sums_scores_and_descents_over_shards_are_the_same(tmp_path):
    table = tables.people(500)
    for i in range(4):
        pq.write_table(table.slice(125 * i, 125), tmp_path / f"{i}.parquet")
    total, select = Total("sum", size=2, sigma=3.0), Select("pick", picks=2, epsilon=1.0)
    plan = Plan("m", (total, select), Budget(None))
    score = RecordScore(close_to, 3, -1.0, 0.0, np.array([20.0, 50.0, 80.0]))
    answers = []
    for rows in (MemoryRows(table), ShardsHere(sorted(tmp_path.glob("*.parquet")))):
        curator = Curator(rows, plan, tables.schema(), NoiseSource(3))
        answers.append((curator.total(total, features).tolist(), curator.select(select, score), curator.outside))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("unit", (pytest.param(None, marks=pytest.mark.slow), Unit("who", 2)))
def test_a_descent_over_shards_sees_the_rows_in_their_order(tmp_path, unit):
    """Bit for bit, persons across shards included: coins and keys belong to places in the table."""
    table = logistic.people(200, per_person=3 if unit else None)
    for i in range(4):
        pq.write_table(table.slice(50 * i, 50), tmp_path / f"{i}.parquet")
    planned = logistic.entry(steps=3)
    found = []
    query = logistic.plain if unit is None else grouped
    for rows in (MemoryRows(table), ShardsHere(sorted(tmp_path.glob("*.parquet")))):
        room = logistic.room(rows, planned, checks.FixedNoise(1), schema=logistic.schema(unit))
        found.append(logistic.fit(room, planned, query, batch=64))
    assert np.array_equal(found[0], found[1])


def grouped(state, unit, key):
    import jax

    tree, present = unit

    def loss(parameters):
        each = jax.vmap(logistic.one_loss, (None, 0))(parameters, tree)
        return (each * present).sum()

    return {"gradient": jax.grad(loss)(state["parameters"])}


class Careless(ShardsHere):
    """An engine that delivers some answers twice, or loses one."""

    lost = False

    def each(self, task, given):
        found = list(super().each(task, given))
        return iter(found[1:] if self.lost else [*found, *found[:2]])


def test_an_answer_counts_once_and_none_may_be_missing(tmp_path):
    table = tables.people(500)
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    entry = Counts("one-way", sigmas=(1.0,))
    rows = Careless(tmp_path / "t.parquet")
    plan = Plan("m", (entry,), Budget(None))
    rooms = [Curator(r, plan, tables.schema(), NoiseSource(3)) for r in (rows, MemoryRows(table))]
    answers = [room.counts(entry, [("age",)]) for room in rooms]
    assert np.array_equal(answers[0][0], answers[1][0])
    rows.lost = True
    with pytest.raises(DataError, match="1 of 5 shards gave no answer"):
        Curator(rows, plan, tables.schema(), NoiseSource(3)).counts(entry, [("age",)])


def test_a_split_of_shards_is_the_same_in_every_pass(folder):
    """Held and fitted rows are the table, whoever reads them: all of them here, or each shard by itself."""
    place, table = folder
    rows = ShardsHere(sorted(place.glob("*.parquet")))
    fitted, held = split(rows, 0.3)
    assert isinstance(fitted, ShardedRows)
    ids = [[v for b in part.batches(["person_id"]) for v in b["person_id"].to_pylist()] for part in (fitted, held)]
    assert sorted(ids[0] + ids[1]) == sorted(table["person_id"].to_pylist())
    by_shard = [v for s in fitted.shards for b in s.batches(["person_id"]) for v in b["person_id"].to_pylist()]
    assert by_shard == ids[0] and 0.6 < len(by_shard) / ROWS < 0.8
    assert len({s.coins.key for s in fitted.shards}) == len(rows.shards)
    persons = split(rows, 0.3, "person_id")[0]
    assert len({s.coins.key for s in persons.shards}) == 1


def test_sealed_messages_hide_their_text_and_notice_a_change():
    key, text = new_key(), b"canary 4711 " * 100
    one, two = seal(key, text), seal(key, text)
    assert unseal(key, one) == unseal(key, two) == text
    assert b"canary" not in one and one != two
    for wrong in (one[:-1] + bytes([one[-1] ^ 1]), bytes([one[0] ^ 1]) + one[1:], one[:20], b""):
        with pytest.raises(DataError, match="damaged or is not of this run"):
            unseal(key, wrong)
    with pytest.raises(DataError):
        unseal(new_key(), one)
    assert unseal(key, seal(key, b"")) == b""


def test_a_url_is_read_as_a_file_is(folder, tmp_path):
    """Through fsspec: patterns, folders, all three formats, and the same refusals."""
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: pip install nacre[distributed]")
    place, table = folder
    memory = fsspec.filesystem("memory")
    memory.pipe({f"/people/{p.name}": p.read_bytes() for p in place.glob("*.parquet")})
    for source in ("memory://people/*.parquet", "memory://people", f"file://{place}/part*.parquet"):
        assert open_rows(source).split(3) and sum(b.num_rows for b in open_rows(source).batches(["age"])) == ROWS
    memory.pipe({"/t/a.csv": b"a,b\n1,x\n2,\n", "/t/bad.parquet": b"nothing of the kind", "/t/empty.csv": b""})
    assert open_rows("memory://t/a.csv").column_names == ["a", "b"]
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as out:
        out.write_table(table.slice(0, 10))
    memory.pipe({"/t/t.arrow": (tmp_path / "t.arrow").read_bytes()})
    assert sum(b.num_rows for b in open_rows("memory://t/t.arrow").batches()) == 10
    for wrong, message in {
        "memory://t/bad.parquet": "not a readable Parquet file",
        "memory://t/empty.csv": "the file is empty",
        "memory://t/none.csv": "no such file",
        "memory://t/*.xyz": "no file matches",
        "nosuch://t/a.csv": "fsspec cannot open it",
    }.items():
        with pytest.raises(DataError, match=message):
            open_rows(wrong)


def test_a_name_that_is_no_engine_is_refused(folder):
    for name in ("spark", "ray:0", "ray:many", "raym"):
        with pytest.raises(NacreError, match="use ray, ray:4"):
            open_rows(folder[0], engine=name)


def test_without_ray_it_says_what_to_install(folder, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(NacreError, match=r"install nacre\[distributed\]"):
        open_rows(folder[0], engine="ray")


class JoinedRay:
    """Stands for a running cluster of forty workers: remembers how many tasks waited at most."""

    def __init__(self):
        self.waiting, self.most = 0, 0

    def is_initialized(self):
        return True

    def cluster_resources(self):
        return {"CPU": 40.0, "memory": 1e9}

    def remote(self, **options):
        def submit(*args):
            self.waiting += 1
            self.most = max(self.most, self.waiting)
            return object()

        return lambda task: SimpleNamespace(remote=submit)

    def wait(self, waiting, num_returns):
        self.waiting -= 1
        return waiting[:1], waiting[1:]


def test_a_joined_cluster_is_kept_busy_whatever_this_machine_has(monkeypatch):
    """The cores of the machine that asks say nothing about the cluster."""
    ray = JoinedRay()
    monkeypatch.setattr(cluster, "_ray", lambda: ray)
    monkeypatch.setattr(cluster, "_dumps", lambda value: b"")
    monkeypatch.setattr(cluster, "_result", lambda ray, done, key, place: None)
    joined = cluster.Cluster("ray://head:10001")
    assert sorted(i for i, _ in joined.each(len, [()] * 300)) == list(range(300))
    assert ray.most == 80 and joined.shards >= 80
