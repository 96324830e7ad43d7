"""What this machine has seen of a ledger, kept outside it: a ledger that is behind was restored, cut or copied.

A small file per population, under $NACRE_STATE, or nacre/ledgers in the folder for state of the user. It is written
after a commit, so it never runs ahead of the ledger; two writers may leave the older of two sights: true as well.
Certificates are the other witnesses: they travel, and `nacre ledger verify --release` reads them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nacre.errors import LedgerError, LedgerRollback
from nacre.privacy.ledger.chain import Row
from nacre.privacy.ledger.sql import Book
from nacre.privacy.ledger.sqlite import identity_at

_BLOCK = 8192  # bytes of a sight: longer than a path may be, so that one overwrites the other


def folder() -> Path:
    told = os.environ.get("NACRE_STATE")
    if told:
        return Path(told)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "nacre" / "ledgers"


class Witness:
    """The highest row seen of each population of one ledger, and where the ledger was."""

    def __init__(self, identity: str, place: str | None):
        self.identity, self.place = identity, place

    def check(self, book: Book, seen: Mapping[str, Any] | None, known: Sequence[Row] = ()) -> None:
        """LedgerRollback if the ledger lacks what was seen before, or is a copy beside the one that was used.

        `seen` must have been read before the book was opened: later sights may be of later rows. `known` are rows that
        were read already: the one that was seen is mostly the last, and need not be asked for again.
        """
        if seen is None:
            return
        place = int(seen["sequence"])
        row = next((r for r in known if r.sequence == place), None) or book.at(place)
        if row is None or row.hash != seen["hash"]:
            raise LedgerRollback(
                f"population {book.population!r}: this machine has seen row {seen['sequence']} of this ledger, and it "
                "is not there, or is another: a backup was restored, rows were cut off, or this is a copy that was "
                "left behind. Nothing was read; go back to the newest ledger"
            )
        before = seen.get("place")
        if self.place and before and before != self.place and identity_at(before) == self.identity:
            raise LedgerRollback(
                f"population {book.population!r}: {self.place} is a copy of the ledger {before}, which is still there; "
                "one budget needs one ledger. Use that one, or remove it first"
            )

    def check_new(self, population: str) -> None:
        """LedgerRollback if this machine has seen that population before, in this ledger or, with something spent, in
        another one at this place: a new beginning would forget what was spent."""
        if (seen := self.sight(population)) is not None:
            raise LedgerRollback(
                f"population {population!r}: this machine has seen it in this ledger, up to row {seen['sequence']}, "
                "and it is not there: a backup was restored. Go back to the newest ledger"
            )
        for path in folder().glob(f"*-{_hashed(population)}.json") if self.place else ():
            earlier = _told(path)
            if earlier is not None and earlier.get("place") == self.place and earlier["sequence"] > 0:
                raise LedgerRollback(
                    f"population {population!r}: this machine has seen another ledger at {self.place} that holds it, "
                    f"up to row {earlier['sequence']}; a new one would forget what was spent. Restore that ledger; if "
                    f"nobody real was in it, remove {path}"
                )

    def saw(self, row: Row) -> None:
        """Remember a committed row, unless a later one is remembered."""
        path = self._path(row.population)
        seen = self.sight(row.population)
        if seen is not None and int(seen["sequence"]) >= row.sequence:
            return
        told = {"sequence": row.sequence, "hash": row.hash, "place": self.place, "population": row.population}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # In place and unflushed: a lost or torn sight is no sight, and a rename would wait for the disk.
            handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
            try:
                os.pwrite(handle, json.dumps(told).encode().ljust(_BLOCK), 0)
            finally:
                os.close(handle)
        except OSError as error:
            raise LedgerError(
                f"{path}: what was seen of the ledger cannot be kept ({error.strerror}), so a restored backup would "
                "not be noticed; set NACRE_STATE to a folder that can be written to"
            ) from None

    def check_writable(self) -> None:
        """LedgerError before anything is spent, where nothing could be remembered."""
        path = folder()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LedgerError(f"{path}: cannot be made ({error.strerror}); set NACRE_STATE to a folder") from None
        if not os.access(path, os.W_OK | os.X_OK):
            raise LedgerError(f"{path}: cannot be written to; set NACRE_STATE to a folder that can")

    def _path(self, population: str) -> Path:
        return folder() / f"{self.identity}-{_hashed(population)}.json"

    def sight(self, population: str) -> dict[str, Any] | None:
        """What was seen last; None where nothing was."""
        return _told(self._path(population))


def _hashed(population: str) -> str:
    return hashlib.sha256(population.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _told(path: Path) -> dict[str, Any] | None:
    try:
        told = json.loads(path.read_text())
        return told if isinstance(told["sequence"], int) and isinstance(told["hash"], str) else None
    except (OSError, ValueError, KeyError, TypeError):  # not there, or lost in a crash: nothing to compare with
        return None
