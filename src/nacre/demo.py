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
from typing import TYPE_CHECKING, Any

from nacre.errors import DataError
from nacre.privacy.certificate.rounding import exact
from nacre.typed import Json

if TYPE_CHECKING:
    from nacre.report.report import Report

FILES = {
    "real": "people.csv",
    "schema": "people.schema.json",
    "synthetic": "synthetic.csv",
    "release": "people.nacre",
    "certificate": "certificate.txt",
    "certificate_json": "certificate.json",
    "report": "report.html",
    "sheet": "sheet.html",
}
TARGET = "late_payment"
SIMULATED = (
    "The real table of this demo is simulated and nobody is in it; a report about a real table stays with its owner."
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

    def to_json(self) -> dict[str, Json]:
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
    from nacre.report.html import report_html
    from nacre.table.simulate.people import people, people_schema
    from nacre.table.writing import write_table, write_text

    started = time.monotonic()
    place = _folder(folder, say)
    paths = {what: str(place / name) for what, name in FILES.items()}
    say(f"1. simulating {rows:,} people (nobody real) and writing {paths['real']}")
    real, schema = people(rows, seed=1), people_schema(rows)
    write_table(real, paths["real"], force=True)
    schema.save(paths["schema"], force=True)
    say(f"2. fitting with epsilon {exact(epsilon)} and the public schema" if epsilon else "2. fitting without a budget")
    release = nacre.fit(paths["real"], schema=schema, epsilon=epsilon, target=TARGET, progress=progress)
    release.save(paths["release"], force=True)
    write_text(paths["certificate"], f"{release.certificate}\n", force=True)
    write_text(paths["certificate_json"], json.dumps(release.certificate.to_json(), indent=1) + "\n", force=True)
    say("3. drawing synthetic rows and comparing them with the real ones")
    synthetic = release.sample(as_="pyarrow")
    write_table(synthetic, paths["synthetic"], force=True)
    report = _report(real, synthetic, release)
    write_text(paths["report"], report_html(report), force=True)
    write_text(paths["sheet"], _sheet(synthetic, release), force=True)
    distance = sum(c.distance for c in report.columns) / len(report.columns)
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


def _report(real: Any, synthetic: Any, release: Any) -> Report:
    """What the owner reads: here the columns alone, which needs nothing beyond the core packages."""
    from nacre.evaluation.columns import compare_columns
    from nacre.report.report import Report

    facts = {
        "real table": f"{real.num_rows:,} simulated people, {real.num_columns} columns",
        "synthetic table": f"{synthetic.num_rows:,} rows",
        "method": release.method,
    }
    columns = tuple(compare_columns(real, synthetic, release.schema))
    return Report((), columns, target=TARGET, facts=facts, notes=(SIMULATED,), certificate=release.certificate)


def _sheet(synthetic: Any, release: Any) -> str:
    """What may travel with the synthetic table: made from its rows, the schema and the certificate."""
    from nacre.evaluation.columns import profile_columns
    from nacre.report.sheet import sheet_html

    facts = {"synthetic table": f"{synthetic.num_rows:,} rows, {synthetic.num_columns} columns"}
    return sheet_html(release.certificate, release.schema, profile_columns(synthetic, release.schema), facts)


def story(made: Made) -> list[str]:
    """What happened and what to do next, for people."""
    files, nacre = made.files, _program()
    promise = "no privacy guarantee" if made.epsilon is None else f"epsilon {exact(made.epsilon)}, {made.guarantee}"
    return [
        f"Done in {made.seconds:.0f} s ({promise}). "
        f"Columns differ by {made.mean_distance:.3f} on average (0 is equal, 1 disjoint).",
        "",
        f"  {files['report']:32} real and synthetic side by side, for the owner: open it in a browser",
        f"  {files['sheet']:32} what may travel with the synthetic table",
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
