"""python -m benchmarks.house.frozen write DIR | compare OLD_DIR [--only PATTERN] [--cache DIR] [--keep DIR]

Writes what comes out of nacre on small made-up tables, file by file, or writes it anew and compares: for changes of the
source tree that must change nothing else. `--only` takes the cases whose names hold PATTERN (a regular expression);
`--cache` is a folder of compiled programs, which makes a second run several times faster. Exit code 1: something
differs.
"""

from __future__ import annotations

import argparse
import difflib
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.house import harness

SHOWN, WIDE = 12, 300  # lines of one difference; of longer lines only where they begin to differ


def write(folder: Path, only: str, cache: Path | None) -> None:
    """Every case, into a folder of its own under `folder`; what is there already of other cases stays."""
    entropy = harness.settle(cache)
    from benchmarks.house import cases, inputs

    begun = time.process_time()
    with tempfile.TemporaryDirectory(prefix="frozen-") as place:
        given = Path(place) / "given"
        given.mkdir()
        inputs.fill(given)
        for name, case in cases.all_cases().items():
            if not re.search(only, name):
                continue
            start = time.process_time()
            entropy.start(name)
            shutil.rmtree(folder / name, ignore_errors=True)
            work = Path(place) / name
            shutil.copytree(given, work)
            room = harness.Room(work, folder / name)
            with harness.inside(work):
                case(room)
                if not room.harvested:
                    room.harvest()
            shutil.rmtree(work)
            print(f"{time.process_time() - start:7.1f} s  {name}", flush=True)
    listed = folder / "methods" / "02.txt"
    if listed.exists() and (other := cases.unknown_methods(listed)):
        sys.exit(f"methods that the cases do not know, or that are gone: {', '.join(sorted(other))}")
    print(f"{time.process_time() - begun:7.1f} s  in all, of one core")


def differences(old: Path, new: Path, only: str) -> Iterator[tuple[str, list[str]]]:
    """(name, lines of a short difference) of every file that is not the same in both folders."""
    names = sorted({str(p.relative_to(at)) for at in (old, new) for p in at.rglob("*") if p.is_file()})
    for name in names:
        if not re.search(only, name.split("/", 1)[0]):
            continue
        before, after = old / name, new / name
        if not after.exists() or not before.exists():
            yield name, ["is gone" if before.exists() else "is new"]
        elif before.read_bytes() != after.read_bytes():
            yield name, _arrays(before, after) if name.endswith(".safetensors") else _text(before, after)


def _text(before: Path, after: Path) -> list[str]:
    old, new = (p.read_text().splitlines() for p in (before, after))
    lines = list(difflib.unified_diff(old, new, n=0, lineterm=""))[2:]
    if max(map(len, lines)) > WIDE:
        start = max(0, _first(before.read_text(), after.read_text()) - WIDE // 3)
        return [f"{sign}{p.read_text()[start : start + WIDE]!r}" for sign, p in (("-", before), ("+", after))]
    return [*lines[:SHOWN], *([f"... {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else [])]


def _first(old: str, new: str) -> int:
    """The place of the first difference."""
    return next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))


def _arrays(before: Path, after: Path) -> list[str]:
    import numpy as np
    from safetensors.numpy import load_file

    old, new = load_file(before), load_file(after)
    told = [f"{name}: only {'before' if name in old else 'after'}" for name in sorted({*old} ^ {*new})]
    for name in sorted({*old} & {*new}):
        a, b = old[name], new[name]
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            told.append(f"{name}: {a.dtype}{a.shape} before, {b.dtype}{b.shape} after")
        elif a.tobytes() != b.tobytes():
            far = np.abs(a.astype(float) - b.astype(float)).max()
            told.append(f"{name}: {int((a != b).sum())} of {a.size} numbers differ, by up to {far:.3g}")
    return told or ["the same numbers in other bytes"]


def compare(old: Path, new: Path, only: str) -> int:
    found = list(differences(old, new, only))
    for name, lines in found:
        print(f"DIFFERS  {name}", *(f"    {line}" for line in lines), sep="\n")
    print(f"{len(found)} files differ" if found else "nothing differs")
    return 1 if found else 0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m benchmarks.house.frozen", description=__doc__)
    top.add_argument("command", choices=("write", "compare"))
    top.add_argument("folder", type=Path, help="write: where to; compare: what was written before")
    top.add_argument("--only", default="", metavar="PATTERN", help="cases whose names hold this")
    top.add_argument("--cache", type=Path, help="folder of compiled programs, shared by runs")
    top.add_argument("--keep", type=Path, help="compare: keep what is written now in this folder")
    return top


def main(argv: list[str] | None = None) -> int:
    args = parser().parse_args(argv)
    only, cache = args.only, args.cache and args.cache.resolve()
    if args.command == "write":
        args.folder.mkdir(parents=True, exist_ok=True)
        write(args.folder.resolve(), only, cache)
        return 0
    if not args.folder.is_dir():
        sys.exit(f"{args.folder}: no such folder; make it with `write` on the tree before")
    with tempfile.TemporaryDirectory(prefix="frozen-new-") as place:
        new = (args.keep or Path(place)).resolve()
        write(new, only, cache)
        return compare(args.folder.resolve(), new, only)


if __name__ == "__main__":
    sys.exit(main())
