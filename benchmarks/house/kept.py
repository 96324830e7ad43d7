"""python -m benchmarks.house.kept FOLDER [--cache DIR]

Writes small files of every kind that nacre writes, with what they give (`expected.json`): what later versions must read
and draw the same from (tests/test_kept_files.py). Made once for a version; a new one gets a new folder beside the old.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.house import harness, settings

if TYPE_CHECKING:
    import pyarrow as pa

VARIANTS = ("bought-sketch", "unit-sketch", "shares-sketch", "network-pearl", "images-pearl-paper", "images-merf",
            "conditional-weighted", "two-sets-ppem")  # fmt: skip
SCHEMAS = ("people.json", "visits.json", "images.json")
LEARNERS = ("noisy-gd", "grud-noisy-gd")
ROWS, SEED, PICTURES = 12, 5, 2


def releases(room: harness.Room) -> list[str]:
    """One of each method, with its promise where it has one, and of the kinds of model that options make."""
    fits = {n: settings.few(n, "--target", "late") for n in settings.SMALL}
    fits |= {n: settings.VARIANTS[n] for n in VARIANTS}
    for name, arguments in fits.items():
        room.nacre("fit", *arguments, "-o", f"{name}.nacre", "--go-on", "-q")
    return [f"{name}.nacre" for name in fits]


def drawn(path: str) -> dict[str, object]:
    """The first rows of a release, as JSON takes them."""
    import nacre

    release = nacre.load(path)
    rows = PICTURES if "images" in path else ROWS
    table = release.sample(rows, seed=SEED, as_="pyarrow")
    found: dict[str, object] = {"certificate": str(release.certificate), "rows": plain(table)}
    if "sex" in release.schema.columns:
        found["where"] = plain(release.sample(4, seed=SEED, where={"sex": "F"}, as_="pyarrow"))
    return found


def plain(table: pa.Table) -> dict[str, list[object]]:
    return json.loads(json.dumps(table.to_pydict(), default=lambda v: v.isoformat()))


def learner(name: str) -> dict[str, object]:
    from benchmarks.house import learning
    from nacre import learners

    kind, training, how = learning.TRAININGS[name]
    X, y, known = learning.rows(kind)
    made = getattr(learners, kind)(getattr(learners, training)(**how), **known, seed=1).fit(X, y)
    made.save(f"{name}.learner")
    made = learners.load(f"{name}.learner")
    return {"certificate": str(made.certificate_), "proba": made.predict_proba(X[:8]).tolist()}


def others(room: harness.Room) -> dict[str, dict[str, object]]:
    """Sketches, a ledger with two releases in it, schemas, and what they say."""
    import nacre

    asked = ("--schema", "few.json", "-e", 4, "--delta", 1e-6, "--target", "late", "--frequencies", 20)
    for name, file in (("one", "few.csv"), ("two", "few2.csv")):
        room.nacre("sketch", file, "-o", f"{name}.sketch", *asked)
    room.nacre("merge", "one.sketch", "two.sketch", "-o", "merged.sketch")
    paid = ("fit", "few.csv", "--method", "independent", "--schema", "few.json", "--delta", 1e-6, "--go-on", "-q",
            "--ledger", "books.sqlite", "--population", "people")  # fmt: skip
    room.nacre("ledger", "init", "books.sqlite", "-p", "people", "-e", 3, "--per-release", 2)
    for number, epsilon in enumerate((1, 0.5)):
        room.nacre(*paid, "-o", f"paid{number}.nacre", "-e", epsilon)
    status = json.loads(harness.called(["ledger", "status", "books.sqlite", "--json"])[1])
    found: dict[str, dict[str, object]] = {"books.sqlite": status}
    for name in ("one.sketch", "merged.sketch"):
        made = nacre.load_sketch(name)
        found[name] = {"certificate": str(made.certificate), "digest": made.digest, "ids": list(made.ids)}
    found |= {name: {"json": nacre.Schema.load(name).to_json()} for name in SCHEMAS}
    return found


def write(folder: Path, cache: Path | None) -> None:
    entropy = harness.settle(cache)
    from benchmarks.house import inputs
    from nacre import __version__

    version = importlib.metadata.version
    importlib.metadata.version = lambda name: __version__ if name == "nacre" else version(name)

    with tempfile.TemporaryDirectory(prefix="kept-") as place:
        work = Path(place) / "work"
        work.mkdir()
        inputs.fill(work)
        entropy.start("kept")
        room = harness.Room(work, Path(place) / "said")
        with harness.inside(work):
            names = releases(room)
            expected = {name: drawn(name) for name in names}
            expected |= {f"{name}.learner": learner(name) for name in LEARNERS}
            expected |= others(room)
        folder.mkdir(parents=True)
        for name in (*expected, "paid0.nacre"):
            shutil.copy(work / name, folder / name)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


def main() -> None:
    top = argparse.ArgumentParser(prog="python -m benchmarks.house.kept", description=__doc__)
    top.add_argument("folder", type=Path)
    top.add_argument("--cache", type=Path)
    args = top.parse_args()
    write(args.folder.resolve(), args.cache and args.cache.resolve())


if __name__ == "__main__":
    main()
