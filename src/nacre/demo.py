"""The whole job on a simulated table, from nothing: what `make demo` runs.

The table is made up, so its "real" file may lie beside the synthetic one; with a real table it never would.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nacre.errors import DataError

FILES = {
    "real": "people.csv",
    "schema": "people.schema.json",
    "synthetic": "synthetic.csv",
    "release": "people.nacre",
    "certificate": "certificate.txt",
    "certificate_json": "certificate.json",
    "page": "compare.html",
}
TARGET = "late_payment"
WARNING = (
    "This page contains unprotected statistics of the table it compares with. Here that table is simulated and nobody "
    "is in it. Such a page about a real table must stay with its owner."
)


@dataclass(frozen=True)
class Made:
    """What a demo left behind."""

    folder: str
    rows: int
    epsilon: float | None
    seconds: float
    mean_distance: float
    guarantee: str
    files: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def run(
    folder: str,
    rows: int,
    epsilon: float | None,
    progress: Callable[[str, int, int | None], None],
    say: Callable[[str], None] = lambda text: None,
) -> Made:
    """Simulate, fit, sample, certify and compare. Writes only the files in `FILES`, over those of an earlier demo."""
    import nacre
    from nacre.table.simulate import people, people_schema
    from nacre.table.writing import write_table, write_text

    started = time.monotonic()
    place = _folder(folder, say)
    paths = {what: str(place / name) for what, name in FILES.items()}
    say(f"1. simulating {rows:,} people (nobody real) and writing {paths['real']}")
    real, schema = people(rows, seed=1), people_schema(rows)
    write_table(real, paths["real"], force=True)
    schema.save(paths["schema"], force=True)
    say(f"2. fitting with epsilon {epsilon:g} and the public schema" if epsilon else "2. fitting without a budget")
    release = nacre.fit(paths["real"], schema=schema, epsilon=epsilon, target=TARGET, progress=progress)
    release.save(paths["release"], force=True)
    write_text(paths["certificate"], f"{release.certificate}\n", force=True)
    write_text(paths["certificate_json"], json.dumps(release.certificate.to_json(), indent=1) + "\n", force=True)
    say("3. drawing synthetic rows and comparing columns")
    synthetic = release.sample(as_="pyarrow")
    write_table(synthetic, paths["synthetic"], force=True)
    distance = _page(paths["page"], real, synthetic, release)
    seconds = time.monotonic() - started
    return Made(str(place), rows, epsilon, seconds, distance, release.certificate.guarantee, paths)


def _folder(folder: str, say: Callable[[str], None]) -> Path:
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise DataError(f"{folder} is a file; name a folder for the demo")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made ({error.strerror}); name another folder") from None
    old = [name for name in FILES.values() if (place / name).exists()]
    if old:
        say(f"overwriting {len(old)} files of an earlier demo in {place}; other files there are left alone")
    return place


def _page(path: str, real: Any, synthetic: Any, release: Any) -> float:
    from nacre.evaluation.columns import compare_columns
    from nacre.report.page import comparison_page
    from nacre.table.writing import write_text

    columns = compare_columns(real, synthetic, release.schema)
    facts = [
        ("Real table", f"{real.num_rows:,} simulated people, {real.num_columns} columns"),
        ("Synthetic table", f"{synthetic.num_rows:,} rows, method {release.method}"),
    ]
    page = comparison_page("Real and synthetic, column by column", WARNING, facts, columns, release.certificate)
    write_text(path, page, force=True)
    return sum(c.distance for c in columns) / len(columns)


def story(made: Made) -> list[str]:
    """What happened and what to do next, for people."""
    files, nacre = made.files, _program()
    promise = f"epsilon {made.epsilon:g}, {made.guarantee}" if made.guarantee != "none" else "no privacy guarantee"
    return [
        f"Done in {made.seconds:.0f} s ({promise}). "
        f"Columns differ by {made.mean_distance:.3f} on average (0 is equal, 1 disjoint).",
        "",
        f"  {files['page']:32} real and synthetic side by side: open it in a browser",
        f"  {files['synthetic']:32} the synthetic table",
        f"  {files['certificate']:32} what is promised, what it cost, what is assumed",
        f"  {files['release']:32} the release: draw as many rows as you like, at no further cost",
        f"  {files['real']:32} the simulated original, {files['schema']} its public schema",
        "",
        "Next, with the demo:",
        f"  {nacre} sample {files['release']} -o young.csv --where 'age=18..30'",
        f"  {nacre} sample {files['release']} -o even.csv --rebalance '{TARGET}=true:0.5,false:0.5'",
        f"  {nacre} certificate {files['release']}",
        "Next, with a table of your own:",
        f"  {nacre} plan mine.csv --rows 20000 --epsilon 1      (costs nothing, reads only the header)",
        f"  {nacre} synth mine.csv -o synthetic.csv --epsilon 1 --release mine.nacre --save-schema mine.schema.json",
    ]


def _program() -> str:
    """How to call this very program from the shell: `nacre` if the shell finds it, its path, or `python -m nacre`."""
    beside = Path(sys.executable).with_name("nacre")  # where this Python's programs are
    found = shutil.which("nacre")
    if found and (not beside.exists() or os.path.samefile(found, beside)):
        return "nacre"
    if beside.exists():
        return shlex.quote(os.path.relpath(beside) if beside.is_relative_to(Path.cwd()) else str(beside))
    return f"{shlex.quote(sys.executable)} -m nacre"
