"""The power goes off: what a disk holds then is what was flushed, and of later writes any part.

A process writes a ledger and says so after each commit; `strace` keeps its writes and flushes. From these the files are
put together as they may lie on the disk at a random moment. Every commit that was said to be done must be there.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nacre.privacy.ledger import open_ledger

LOSSES, RELEASES = 200, 12
CHILD = """
import os, sys
from nacre.privacy.budget import Budget
from nacre.privacy.ledger import Policy, open_ledger
from nacre.privacy.plan import Counts, Plan

ledger = open_ledger(sys.argv[1], create=True)
ledger.store._connection().execute("PRAGMA wal_autocheckpoint=24")  # so that pages move to the file in between
ledger.store._connection().execute(f"PRAGMA synchronous={sys.argv[2]}")
said = lambda done: os.write(1, b"committed\\n")
said(ledger.create("people", Policy(3.0)))
plan = Plan("load", (Counts("table", sigmas=(50.0,)),), Budget(0.5, 1e-6))
for _ in range(int(sys.argv[3])):
    held = ledger.reserve("people", plan)
    said(held)
    said(held.open(plan))
    said(held.settle())
"""
CALL = re.compile(
    r'(\w+)\((?:\d+<|")((?:\\x[0-9a-f]{2})+)[>"](?:, "((?:\\x[0-9a-f]{2})*)")?(?:, (\d+))?(?:, (\d+))?\)\s+= (\d+)'
)


@dataclass
class Disk:
    """What was flushed of each file, and what was written since, in order."""

    flushed: dict[str, bytearray] = field(default_factory=dict)
    since: dict[str, list[tuple[int, bytes | None]]] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)  # for good once the folder is flushed
    said: int = 0

    def happen(self, call: str, path: str, data: bytes, numbers: list[int]) -> None:
        if call == "write" and data == b"committed\n":
            self.said += 1
        elif call == "pwrite64":
            self.since.setdefault(path, []).append((numbers[1], data))
        elif call == "ftruncate":
            self.since.setdefault(path, []).append((numbers[0], None))
        elif call == "unlink":
            self.removed.add(path)
        elif call in ("fdatasync", "fsync"):
            for gone in [p for p in self.removed if str(Path(p).parent) == path]:
                self.removed.discard(gone)
                self.flushed.pop(gone, None)
                self.since.pop(gone, None)
            for write in self.since.pop(path, ()):
                _apply(self.flushed.setdefault(path, bytearray()), *write)

    def after_a_loss(self, rng: random.Random) -> dict[str, bytes]:
        """The files that were flushed at least once; of each later write all, half or nothing arrived."""
        found = {}
        for path, flushed in self.flushed.items():
            if path in self.removed and rng.random() < 0.5:
                continue
            held = bytearray(flushed)
            for at, data in self.since.get(path, ()):
                part = rng.choice((0.0, 0.5, 1.0))
                if data is None:
                    _apply(held, at, None) if part else None
                else:
                    _apply(held, at, data[: round(part * len(data))])
            found[path] = bytes(held)
        return found


def _apply(held: bytearray, at: int, data: bytes | None) -> None:
    if data is None:
        del held[at:]
        held.extend(bytes(at - len(held)))
    elif data:
        held.extend(bytes(max(0, at + len(data) - len(held))))
        held[at : at + len(data)] = data


def _text(escaped: str | None) -> bytes:
    return bytes.fromhex((escaped or "").replace("\\x", ""))


def _history(folder: Path, synchronous: str) -> list[tuple[str, str, bytes, list[int]]]:
    """What a process that keeps a ledger asked of the disk."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed (Debian: apt install strace); the loss of power is not simulated")
    trace = folder / "trace"
    calls = "trace=pwrite64,write,fdatasync,fsync,ftruncate,unlink"
    command = [strace, "-y", "-xx", "-s", "9000", "-e", calls, "-o", str(trace), sys.executable, "-c", CHILD]
    done = subprocess.run([*command, str(folder / "books.sqlite"), synchronous, str(RELEASES)], capture_output=True)
    if done.returncode and "ptrace" in done.stderr.decode():
        pytest.skip(f"strace may not follow processes here ({done.stderr.decode().splitlines()[0]})")
    assert done.returncode == 0, done.stderr.decode()
    found = []
    for line in trace.read_text().splitlines():
        if match := CALL.search(line):
            call, path, data, *numbers = match.groups()
            found.append((call, _text(path).decode(), _text(data), [int(n) for n in numbers[:2] if n is not None]))
    return found


def _lost(folder: Path, synchronous: str, monkeypatch) -> int:
    """In how many of the losses a commit that was said to be done is not there. Never more than that goes wrong."""
    monkeypatch.setenv("NACRE_STATE", str(folder / "state"))
    history = _history(folder, synchronous)
    assert sum(data == b"committed\n" for _, _, data, _ in history) == 1 + 3 * RELEASES
    assert sum(call == "fdatasync" for call, *_ in history) > 0
    monkeypatch.setenv("NACRE_STATE", str(folder / "elsewhere"))  # the memory of this machine is not asked
    rng, lost = random.Random(0), 0
    moments = sorted(rng.choices(range(len(history)), k=LOSSES))
    disk, place = Disk(), 0
    for number, moment in enumerate(moments):
        while place <= moment:
            disk.happen(*history[place])
            place += 1
        if not disk.said:
            continue
        where = folder / f"loss-{number}"
        where.mkdir()
        for path, held in disk.after_a_loss(rng).items():
            if Path(path).name.startswith("books.sqlite"):
                (where / Path(path).name).write_bytes(held)
        lost += not _holds(where, disk.said)
        shutil.rmtree(where)
    return lost


def _holds(where: Path, said: int) -> bool:
    if not (where / "books.sqlite").exists():
        return False
    ledger = open_ledger(where / "books.sqlite")
    try:
        return ledger.verify(["people"])["people"].sequence + 1 >= said
    except Exception:  # the twin may lose a whole table
        return False
    finally:
        ledger.store.close()


def test_commits_outlive_a_loss_of_power(tmp_path, monkeypatch):
    """200 losses at random moments, with checkpoints in between: no commit is lost, every file is whole."""
    assert _lost(tmp_path, "FULL", monkeypatch) == 0


def test_a_twin_that_does_not_flush_every_commit_is_caught(tmp_path, monkeypatch):
    """synchronous=NORMAL flushes at checkpoints only."""
    assert _lost(tmp_path, "NORMAL", monkeypatch) > 20
