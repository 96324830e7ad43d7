"""The lines of docs/engines.md in a local Spark of two cores: the same sketch to the byte. Needs pyspark and Java."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import nacre
from nacre.table.simulate.people import people, people_schema

ROOT = Path(__file__).parents[2]


def test_the_lines_of_the_document_are_those_that_are_tested():
    code = (ROOT / "tests" / "e2e" / "spark_rows.py").read_text()
    lines = code[code.index("# [spark]\n") + 10 : code.index("# [end]")].strip()
    assert lines in (ROOT / "docs" / "engines.md").read_text()


@pytest.mark.slow
def test_spark_gives_the_sketch_of_memory(tmp_path, monkeypatch):
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # the workers' Python
    from pyspark.sql import SparkSession
    from tests.e2e.spark_rows import SparkRows

    table, schema = people(2_000, seed=5), people_schema(2_000)
    for i in range(3):
        pq.write_table(table.slice(700 * i, 700), tmp_path / f"{i}.parquet")
    asked = {"schema": schema, "epsilon": 1.0, "frequencies": 40, "noise_seed": 2}
    settings = {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    try:
        two = nacre.sketch(SparkRows(spark.read.parquet(str(tmp_path))), **asked)
    finally:
        spark.stop()
    one = nacre.sketch(table, **asked)
    assert np.array_equal(one.sums.sums, two.sums.sums)
    assert all(np.array_equal(a, b) for a, b in zip(one.sums.tables, two.sums.tables))
