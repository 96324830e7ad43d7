"""Damaged files, many of them: each must be read, or refused with an error of nacre's own, in less than two seconds.

    python -m benchmarks.reading.fuzz_sources --seconds 600 --seed 1

A case is a function of its seed alone. Cases run in batches in forked children, so that a reader that ends the process
is seen; the batch of a child that died is run again one case at a time to name the case.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.catalogue import Options
from benchmarks.reading.seed_files import packed, seeds, zipped
from benchmarks.results import Results, Setting

SLOW = 2.0  # seconds that a case may take
BATCH = 2_000
PATIENCE = 120.0  # seconds after which a batch is taken to hang
# How often each ending is drawn: parsing a workbook takes as long as ten of the others.
SHARES = {".csv": 24, ".jsonl": 16, ".parquet": 16, ".arrow": 16, ".csv.gz": 6, ".csv.zst": 6, ".csv.bz2": 3,
          ".jsonl.gz": 4, ".zip": 7, ".xlsx": 2}  # fmt: skip
TOKENS = {
    "csv": (b'"', b'""', b",", b";", b"\t", b"|", b"\n", b"\r", b"\r\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe",
            b"\xc3", b"# ", b"'", b"x" * 300, b'","', b"\n\n\n", b"\xed\xa0\x80", b"\x1a"),
    "jsonl": (b"{", b"}", b"[", b"]", b'"', b"\\", b"\\u0000", b"\\ud800", b"null", b"NaN", b"1e999", b"9" * 400, b":",
              b",", b"\n", b"\0", b"\xff", b"[" * 500, b'{"a":' * 300, b"-", b"true", b'"a":1,"a":2'),
    "binary": (b"\0" * 8, b"\xff" * 8, b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x80\x80\x80\x80\x10", b"\x01\0\0\0",
               b"ARROW1", b"PAR1", b"PK\3\4", b"PK\1\2", b"PK\5\6"),
    "xml": (b"<c>", b"</row>", b'r="A1048577"', b't="s"', b't="d"', b't="b"', b"<v>99999</v>", b"&amp;", b"&x;",
            b'r="999999999"', b"<!DOCTYPE x>", b"<f>", b"<v/>", b'r="ZZZZ1"', b"<v>1e999</v>", b"<v>nan</v>", b"\xff"),
}  # fmt: skip


@dataclass
class Found:
    """What the cases of some batches did."""

    cases: int = 0
    read: int = 0
    refused: int = 0
    slowest: float = 0.0
    endings: Counter = field(default_factory=Counter)
    faults: list[dict[str, Any]] = field(default_factory=list)

    def add(self, other: dict[str, Any]) -> None:
        self.cases += other["cases"]
        self.read += other["read"]
        self.refused += other["refused"]
        self.slowest = max(self.slowest, other["slowest"])
        self.endings.update(other["endings"])
        self.faults += other["faults"]

    def told(self) -> dict[str, Any]:
        return {**self.__dict__, "endings": dict(self.endings)}


def case(seed: int, good: dict[str, list[bytes]]) -> tuple[str, bytes]:
    """(ending, content) of the damaged file of this seed."""
    rng = random.Random(seed)
    (ending,) = rng.choices(list(SHARES), list(SHARES.values()))
    content = rng.choice(good[ending])
    if ending == ".xlsx":
        return ending, _in_archive(rng, content, "xml")
    inner, _, packing = ending[1:].partition(".")
    if packing and rng.random() < 0.5:  # damage inside of a whole package
        how = {"gz": "gzip", "zst": "zstd", "bz2": "bz2"}[packing]
        return ending, packed(damaged(rng, rng.choice(good[f".{inner}"]), inner), how)
    if ending == ".zip" and rng.random() < 0.5:
        return ending, _in_archive(rng, content, "csv")
    kind = inner if not packing and inner in TOKENS else "binary"
    return ending, damaged(rng, content, kind)


def damaged(rng: random.Random, content: bytes, kind: str) -> bytes:
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        if not data:
            break
        at, length = rng.randrange(len(data)), rng.choice((1, 2, 4, 16, 64))
        what = rng.randrange(7)
        if what == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif what == 1:
            data[at] = rng.randrange(256)
        elif what == 2:
            del data[at : at + length]
        elif what == 3:
            data[at:at] = rng.choice(TOKENS[kind])
        elif what == 4:
            data[at : at + length] = rng.choice(TOKENS[kind])
        elif what == 5:
            start = rng.randrange(len(data))
            data[at:at] = data[start : start + length] * rng.choice((1, 1, 50))
        elif rng.random() < 0.3:
            del data[at:]
        else:
            data[at : at + 8] = rng.randrange(2**64).to_bytes(8, "little")
    return bytes(data)


def _in_archive(rng: random.Random, content: bytes, kind: str) -> bytes:
    """The archive with one member damaged, or damaged itself."""
    if rng.random() < 0.3:
        return damaged(rng, content, "binary")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(members))
    return zipped({**members, name: damaged(rng, members[name], kind)})


def attempt(path: Path) -> bool:
    """Open and read the whole file; whether it could be. Raises what must not be raised."""
    from nacre.engines import open_rows
    from nacre.errors import NacreError

    try:
        rows = open_rows(path)
        for batch in rows.batches():
            if batch.schema.names != rows.column_names:
                raise AssertionError("a batch of other columns")
        for _ in rows.batches(rows.column_names[-1:]):
            pass
    except NacreError:
        return False
    return True


def run_cases(seed_range: range, good: dict[str, list[bytes]], folder: str) -> dict[str, Any]:
    """What the cases of these seeds did, in this process."""
    found = Found()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seed_range:
            ending, content = case(seed, good)
            path = Path(folder) / f"case{ending}"
            path.write_bytes(content)
            start, fault = time.perf_counter(), None
            try:
                fine = attempt(path)
            except BaseException:
                fine, fault = False, traceback.format_exc(limit=-4)
            seconds = time.perf_counter() - start
            if fault is None and seconds > SLOW:
                fault = f"took {seconds:.1f} s"
            if fault is not None:
                found.faults.append({"seed": seed, "ending": ending, "what": fault})
            found.cases += 1
            found.read += fine
            found.refused += not fine
            found.slowest = max(found.slowest, seconds)
            found.endings[ending] += 1
    return found.told()


def in_child(seed_range: range, good: dict[str, list[bytes]]) -> dict[str, Any] | None:
    """The same in a forked child; None if it died or hung."""
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        answer = Path(folder) / "answer.json"
        child = os.fork()
        if child == 0:
            code = 1
            try:
                told = run_cases(seed_range, good, folder)
                answer.write_text(json.dumps(told))
                code = 0
            finally:
                os._exit(code)
        return json.loads(answer.read_text()) if _ended(child) and answer.exists() else None


def _ended(child: int) -> bool:
    """Wait for a child; whether it ended well and in time."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def campaign(seed: int, seconds: float, most: int | None = None) -> Iterator[Found]:
    """Batch after batch until the time is over; what was found so far, after each."""
    import nacre.table.sources.csv
    import nacre.table.sources.excel
    import nacre.table.sources.jsonl  # noqa: F401 - once, not in every child

    good, found, start = seeds(), Found(), time.monotonic()
    first = seed * 10**9
    while time.monotonic() - start < seconds and (most is None or found.cases < most):
        size = BATCH if most is None else min(BATCH, most - found.cases)
        batch = range(first + found.cases, first + found.cases + size)
        told = in_child(batch, good)
        if told is None:
            _one_by_one(batch, good, found)
        else:
            found.add(told)
        yield found


def _one_by_one(batch: range, good: dict[str, list[bytes]], found: Found) -> None:
    for seed in batch:
        told = in_child(range(seed, seed + 1), good)
        if told is None:
            found.cases += 1
            found.faults.append({"seed": seed, "ending": case(seed, good)[0], "what": "the process died or hung"})
        else:
            found.add(told)


ONLY = ("sources",)
CASES = 1_000_000


def run(options: Options, results: Results) -> None:
    """The whole campaign; `--quick` takes 4,000 cases. Faults are printed with their seeds."""
    if not options.of(ONLY) or results.has("sources", 1):
        return
    found = Found()
    for found in campaign(1, float("inf"), 4_000 if options.quick else CASES):
        print(f"\r{found.cases:,} cases, {len(found.faults)} faults", end="", file=sys.stderr, flush=True)
    for fault in found.faults:
        print(json.dumps(fault), flush=True)
    figures = {"cases_read": found.read, "cases_refused": found.refused, "faults": len(found.faults)}
    results.add(Setting("reading", "damaged files"), 1, {**figures, "longest_s": found.slowest}, "sources")


def main() -> int:
    asked = argparse.ArgumentParser(description="Read damaged files.")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--seconds", type=float, help="600, or as long as it takes where --cases says how many")
    asked.add_argument("--cases", type=int)
    given = asked.parse_args()
    found = Found()
    seconds = given.seconds or (600.0 if given.cases is None else float("inf"))
    for found in campaign(given.seed, seconds, given.cases):
        print(f"\r{found.cases:,} cases, {len(found.faults)} faults", end="", file=sys.stderr, flush=True)
    print(json.dumps(found.told(), indent=1))
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
