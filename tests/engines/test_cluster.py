"""A Ray cluster of four workers on this machine: the same bits, whoever dies, and nothing private outside the room."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.engines.worker_tasks import dies_once, read_all, stubborn
from tests.privacy_contract import tables

import nacre
from nacre.engines import MemoryRows, open_rows
from nacre.engines import cluster as cluster_module
from nacre.engines.cluster import Cluster
from nacre.engines.sealed import seal
from nacre.errors import DataError, NacreError
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Counts, Plan, Total
from nacre.table.simulate.people import people, people_schema

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install nacre[distributed]")
ROWS = 6_000
CANARY = "canary-street-4711"


@pytest.fixture(scope="module")
def cluster():
    made = Cluster("ray:4")
    yield made
    made.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place, table = tmp_path_factory.mktemp("people"), people(ROWS, seed=5)
    for i in range(6):
        pq.write_table(table.slice(1_000 * i, 1_000), place / f"part{i}.parquet", row_group_size=300)
    return place, table


def fitted(source, path, **changes):
    asked = {"schema": people_schema(ROWS), "target": "late_payment", "options": {"particles": 16, "steps": 10}}
    nacre.fit(source, epsilon=1.0, noise_seed=1, **{**asked, **changes}).save(path, force=True)
    return path.read_bytes()


def test_four_workers_give_the_release_of_memory_to_the_byte(cluster, folder, tmp_path):
    place, table = folder
    assert fitted(table, tmp_path / "a.nacre") == fitted(str(place / "*.parquet"), tmp_path / "b.nacre", engine=cluster)


def test_a_shared_sketch_too(cluster, folder):
    place, table = folder
    asked = {"schema": people_schema(ROWS), "epsilon": 1.0, "frequencies": 40, "noise_seed": 2}
    one, two = nacre.sketch(table, **asked), nacre.sketch(place, engine=cluster, **asked)
    assert np.array_equal(one.sums.sums, two.sums.sums)
    assert all(np.array_equal(a, b) for a, b in zip(one.sums.tables, two.sums.tables))


def test_a_worker_killed_in_the_middle_changes_nothing(cluster, tmp_path):
    table = tables.people(5_000)
    (tmp_path / "rows").mkdir()
    for i in range(8):
        pq.write_table(table.slice(625 * i, 625), tmp_path / "rows" / f"{i}.parquet")
    entry = Total("sum", size=2, sigma=3.0)
    public = {"who": np.array([os.getpid()]), "flag": np.frombuffer(str(tmp_path / "flag").encode(), np.uint8)}
    answers = []
    for rows in (MemoryRows(table), open_rows(tmp_path / "rows", engine=cluster)):
        curator = Curator(rows, Plan("m", (entry,), Budget(None)), tables.schema(), NoiseSource(3))
        answers.append(curator.total(entry, dies_once, public).tolist())
    assert (tmp_path / "flag").exists(), "no worker was killed"
    assert answers[0] == answers[1]


def test_workers_draw_and_judge_as_one_process_does(cluster, folder, tmp_path, monkeypatch):
    _, table = folder
    release = nacre.fit(table, schema=people_schema(ROWS), epsilon=1.0, method="independent", noise_seed=1)
    monkeypatch.setattr("nacre.release.release.CHUNK", 700)
    for name, engine in (("a.csv", None), ("b.csv", cluster)):
        assert release.write(tmp_path / name, 3_000, seed=3, engine=engine) == 3_000
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    asked = {"train": table, "schema": people_schema(ROWS), "rows": 1_000}
    one, two = (nacre.evaluate(tmp_path / "a.csv", **asked, engine=engine) for engine in (None, cluster))
    assert [(s.metric, s.columns, s.value) for s in one.scores] == [(s.metric, s.columns, s.value) for s in two.scores]


def workers_of(cluster: Cluster) -> list[int]:
    """Processes of this cluster that are working on a task now."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            name = (process / "cmdline").read_bytes()
            parent = (process / "stat").read_text().rsplit(")", 1)[1].split()[1]
            above = Path("/proc", parent, "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if name.startswith(b"ray::_sealed_task") and str(cluster._folder).encode() in above:
            found.append(int(process.name))
    return found


def test_workers_killed_from_outside_change_nothing(cluster, folder, tmp_path):
    """Whichever tasks they were at: up to three workers are killed while a fit runs."""
    place, table = folder
    killed, stop = [], threading.Event()

    def kill() -> None:
        while not stop.is_set() and len(killed) < 3:
            for worker in workers_of(cluster)[:1]:
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)
            time.sleep(0.05)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        found = fitted(place, tmp_path / "b.nacre", engine=cluster)
    finally:
        stop.set()
        thread.join()
    assert killed, "no worker was caught at work"
    assert found == fitted(table, tmp_path / "a.nacre")


def everything_under(*folders: Path) -> dict[str, bytes]:
    found = {}
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and path.stat().st_size < 1 << 27:
                found[str(path)] = path.read_bytes()
    return found


def test_nothing_private_is_printed_or_left_in_clear(cluster, tmp_path, monkeypatch, capfd):
    """Canary texts, bytes of exact tables and the key of names, in the working folder and in the cluster's own."""
    table = tables.people(2_000)
    cities = [CANARY if i % 2 else "oslo" for i in range(2_000)]
    table = table.set_column(3, "city", [cities])
    (tmp_path / "rows").mkdir(), (tmp_path / "work").mkdir()
    for i in range(4):
        pq.write_table(table.slice(500 * i, 500), tmp_path / "rows" / f"{i}.parquet")
    monkeypatch.chdir(tmp_path / "work")
    entry = Counts("one-way", sigmas=(2.0, 2.0))
    rows = open_rows(tmp_path / "rows", engine=cluster)
    curator = Curator(rows, Plan("m", (entry,), Budget(None)), tables.schema(), NoiseSource(3))
    curator.counts(entry, [("age",), ("age", "joined")])
    exact = Curator(MemoryRows(table), Plan("m", (entry,), Budget(None)), tables.schema(), NoiseSource(3))
    partial = exact._count([("age",)], exact._groups([("age",)], None))[0]
    (tmp_path / "rows" / "3.parquet").write_bytes(b"PAR1 damaged " + CANARY.encode())
    with pytest.raises(DataError, match=r"3\.parquet"):
        list(rows.each(read_all, [(shard,) for shard in rows.shards]))
    printed = capfd.readouterr()
    assert printed.out == "" and printed.err == ""
    secrets = [CANARY.encode(), partial.tobytes()[80:160], curator._key]
    seen = everything_under(tmp_path / "work", Path(cluster._folder))
    assert not list((tmp_path / "work").iterdir())
    assert not {path for path, content in seen.items() for secret in secrets if secret in content}
    assert any("logs" in path for path in seen)


@pytest.mark.slow
def test_a_task_that_kills_every_worker_is_given_up(cluster, folder):
    rows = open_rows(folder[0], engine=cluster)
    with pytest.raises(NacreError, match="a task failed 9 times"):
        list(rows.each(stubborn, [(rows.shards[0],)]))


def test_an_answer_given_in_place_of_another_is_refused(cluster, monkeypatch):
    """By whoever can exchange sealed messages without the key: rows would count twice. Tasks are no answers either."""
    real, seen = ray.get, []

    def replayed(done):
        seen.append(real(done))
        return seen[0]

    monkeypatch.setattr(ray, "get", replayed)
    with pytest.raises(DataError, match="not of this task"):
        list(cluster.each(abs, [(-1,), (-2,)]))
    sent: list[bytes] = []
    monkeypatch.setattr(cluster_module, "seal", lambda key, text: sent.append(seal(key, text)) or sent[-1])
    monkeypatch.setattr(ray, "get", lambda done: sent[0])
    with pytest.raises(DataError, match="not of this task"):
        list(cluster.each(abs, [(-1,)]))


def test_a_table_in_memory_is_not_sent_to_workers(cluster, folder):
    with pytest.raises(DataError, match="write the table to Parquet files first"):
        open_rows(folder[1], engine=cluster)


def test_a_cluster_of_ones_own_is_stopped_and_its_folder_removed(folder):
    """Last: it stops the shared one too, as there is one per process."""
    made = Cluster("ray:1")
    ray.shutdown()
    assert sorted(made.each(abs, [(-1,), (2,), (-3,)])) == [(0, 1), (1, 2), (2, 3)]
    place = Path(made._folder)
    assert place.stat().st_mode & 0o077 == 0
    made.close()
    assert not place.exists() and not ray.is_initialized()
