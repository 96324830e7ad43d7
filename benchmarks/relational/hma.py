"""HMA of SDV: several tables, no privacy. Runs in an environment of its own, and imports nothing of ours."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from benchmarks.relational.memory import peak_mb

SDTYPES = {"number": "numerical", "date": "datetime", "label": "categorical", "id": "id"}


def make(private: str, folder: str, seed: int, tables: dict[str, dict[str, Any]]) -> dict[str, Any]:
    import numpy as np
    import pandas as pd
    from sdv.metadata import Metadata
    from sdv.multi_table import HMASynthesizer

    np.random.seed(seed)
    frames, described, keys = {}, {}, []
    for name, table in tables.items():
        own = {table["id"], *([table["key"][0]] if table["key"] else [])}
        columns = {c: kind for c, kind in table["columns"].items() if kind != "id" or c in own}
        frames[name] = pd.read_parquet(Path(private) / f"{name}.parquet")[list(columns)]
        for column, kind in columns.items():
            if kind == "date":
                frames[name][column] = pd.to_datetime(frames[name][column])
        described[name] = {"columns": {c: {"sdtype": SDTYPES[kind]} for c, kind in columns.items()}}
        if table["id"] is not None:
            described[name]["primary_key"] = table["id"]
        if table["key"] is not None:
            column, parent, parent_column = table["key"]
            keys.append({"parent_table_name": parent, "parent_primary_key": parent_column, "child_table_name": name,
                         "child_foreign_key": column})  # fmt: skip
    metadata = Metadata.load_from_dict({"tables": described, "relationships": keys})
    start = time.perf_counter()
    model = HMASynthesizer(metadata, verbose=False)
    model.fit(frames)
    fitted = time.perf_counter()
    drawn = model.sample_scale(scale=1.0)
    figures = {"fit_s": fitted - start, "sample_s": time.perf_counter() - fitted, "run_s": time.perf_counter() - start}
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        frame = drawn[name]
        for column, kind in table["columns"].items():
            if column not in frame.columns:  # a name of rows that leads nowhere
                frame[column] = np.arange(1, len(frame) + 1)
            if kind == "date":
                frame[column] = pd.to_datetime(frame[column])
        frame.to_parquet(Path(folder) / f"{name}.parquet")
    return {"guarantee": "none", "figures": {**figures, "peak_mb": peak_mb()}}
