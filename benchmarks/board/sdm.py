"""SDMetrics' QualityReport of two tables, by that package in an environment of its own.

`scores` runs there and imports nothing of nacre; `sdmetrics` starts it from here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROPERTIES = {"Column Shapes": "sdm_shapes", "Column Pair Trends": "sdm_pairs"}
METRICS = tuple(PROPERTIES.values())


def scores(real: str, synthetic: str, kinds: str) -> dict[str, Any]:
    """Both properties of the report, and the version of the package; `kinds` says what every column holds."""
    from importlib.metadata import version

    import numpy as np
    import pandas as pd
    from sdmetrics.reports import QualityReport

    np.random.seed(0)  # large tables are sampled by the package
    columns = {name: {"sdtype": kind} for name, kind in json.loads(Path(kinds).read_text()).items()}
    report = QualityReport()
    tables = [{"table": pd.read_parquet(path)} for path in (real, synthetic)]
    report.generate(*tables, {"tables": {"table": {"columns": columns}}}, verbose=False)
    found = report.get_properties().set_index("Property")["Score"]
    figures = {name: float(found[title]) for title, name in PROPERTIES.items() if pd.notna(found[title])}
    return {"figures": figures, "version": version("sdmetrics")}
