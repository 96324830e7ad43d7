"""From one to a hundred million rows: memory, rows per second, and what the planner had said of both.

Simulated people of fifteen columns in Parquet files of a million rows. Ten files are written once to a temporary
folder; the hundred files of the largest table are ten names of each. A case is a whole fit in a process of its own:
`stream` reads the files itself, `ray-1` and `ray-2` have one and two workers of a local Ray cluster read them (without
Ray these cases are left out, and say so). Figures of a Ray case hold all processes of the cluster.
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.catalogue import Options
from benchmarks.child import answer
from benchmarks.places import ROOT
from benchmarks.results import Results, Setting
from nacre.privacy.budget import default_delta

SIZES = {"1m": 1_000_000, "10m": 10_000_000, "100m": 100_000_000}
FILE_ROWS, FILES = 1_000_000, 10
METHODS = ("stream", "ray-1", "ray-2")
EPSILON = 1.0
PICTURE = ROOT / "docs" / "scale.svg"
ONLY = (*SIZES, *METHODS)


def run(options: Options, results: Results) -> None:
    """`--only` takes methods, sizes, or both; each case is measured once."""
    cases = [(size, method) for size in SIZES for method in METHODS if _wanted(options, size, method)]
    cases = [c for c in cases if not results.has("/".join(c), 0)]
    with tempfile.TemporaryDirectory(prefix="nacre-scale-") as folder:
        files = _written(Path(folder), options.quick) if cases else []
        for size, method in cases:
            if method.startswith("ray") and importlib.util.find_spec("ray") is None:
                print(f"{method}: left out, Ray is not installed (nacre[distributed])")
                continue
            rows = len(files) * 1_000 if options.quick else SIZES[size]
            names = [files[i % len(files)] for i in range(max(1, rows // _per_file(options)))]
            figures = _child(method, names, rows)
            setting = Setting(method, size, EPSILON, default_delta(rows), None)
            results.add(setting, 0, figures, f"{size}/{method}")
            print(size, method, figures, flush=True)
            results.write()
    if not options.quick:
        PICTURE.write_text(picture(results))


def _wanted(options: Options, size: str, method: str) -> bool:
    return size in options.of(SIZES) and method in options.of(METHODS)


def _per_file(options: Options) -> int:
    return 1_000 if options.quick else FILE_ROWS


def _written(folder: Path, quick: bool) -> list[str]:
    """The files, written by a process of its own so that its memory is its own."""
    _python("write", folder=str(folder), rows=1_000 if quick else FILE_ROWS, files=FILES)
    return sorted(str(p) for p in folder.glob("*.parquet"))


def _child(method: str, files: list[str], rows: int) -> dict[str, float]:
    return _python("fit", engine=None if method == "stream" else method.replace("-", ":"), files=files, rows=rows)


def _python(task: str, **arguments: Any) -> dict[str, float]:
    environment = {"OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}
    return answer("speed.scale_child", task, arguments, environment=environment)


def picture(results: Results) -> str:
    """Rows per second and peak memory against the number of rows, both axes logarithmic."""
    cases: dict[tuple[str, str], dict[str, float]] = {}
    for row in results.rows():
        cases.setdefault((row["method"], row["dataset"]), {})[row["metric"]] = row["mean"]
    found = {m: [(rows, cases[m, size]) for size, rows in SIZES.items() if (m, size) in cases] for m in METHODS}
    left = _panel(found, "rows_per_s", "rows per second", 0)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 300" font-family="sans-serif" font-size="12">\n'
        f"{left}{_panel(found, 'peak_mb', 'peak memory, MiB', 360)}</svg>\n"
    )


COLOURS = {"stream": "#1b6ca8", "ray-1": "#c05746", "ray-2": "#5b8c5a"}


def _panel(found: dict[str, list], name: str, title: str, at: int) -> str:
    import math

    values = [f[name] for points in found.values() for _, f in points]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)

    def x(rows: float) -> float:
        return at + 60 + (math.log10(rows) - 6) / 2 * 270

    def y(value: float) -> float:
        return 250 - (math.log10(value) - low) / (high - low) * 200

    parts = [f'<text x="{at + 60}" y="30">{title}</text>\n']
    for power in range(low, high + 1):
        here, label = y(10**power), f"{10**power:,}"
        parts.append(f'<line x1="{at + 60}" x2="{at + 330}" y1="{here:.1f}" y2="{here:.1f}" stroke="#ddd"/>\n')
        parts.append(f'<text x="{at + 52}" y="{here + 4:.1f}" text-anchor="end">{label}</text>\n')
    for size, rows in SIZES.items():
        parts.append(f'<text x="{x(rows):.1f}" y="270" text-anchor="middle">{size}</text>\n')
    for place, (method, points) in enumerate(found.items()):
        line = " ".join(f"{x(rows):.1f},{y(f[name]):.1f}" for rows, f in points)
        colour = COLOURS[method]
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>\n')
        parts += [f'<circle cx="{x(r):.1f}" cy="{y(f[name]):.1f}" r="3" fill="{colour}"/>\n' for r, f in points]
        parts.append(f'<text x="{at + 70 + 80 * place}" y="292" fill="{colour}">{method}</text>\n')
    return "".join(parts)
