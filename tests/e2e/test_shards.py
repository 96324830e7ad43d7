"""A table in one piece, in two shards and in memory: with the same noise, the same release to the byte."""

import pyarrow.parquet as pq

import nacre
from nacre.table.simulate.people import people, people_schema


def test_two_shards_give_the_identical_release(tmp_path):
    table, schema = people(3_000, seed=5), people_schema()
    pq.write_table(table, tmp_path / "whole.parquet")
    pq.write_table(table.slice(0, 1_111), tmp_path / "shard1.parquet")
    pq.write_table(table.slice(1_111), tmp_path / "shard2.parquet")
    sources = {
        "memory": table,
        "whole": tmp_path / "whole.parquet",
        "shards": [tmp_path / "shard1.parquet", tmp_path / "shard2.parquet"],
        "other order": [tmp_path / "shard2.parquet", tmp_path / "shard1.parquet"],
    }
    made = set()
    settings = {"epsilon": 1.0, "target": "late_payment", "options": {"particles": 32, "steps": 50}}
    for name, source in sources.items():
        release = nacre.fit(source, schema=schema, noise_seed=1, **settings)
        release.save(tmp_path / f"{name}.nacre")
        made.add((tmp_path / f"{name}.nacre").read_bytes())
    assert len(made) == 1
