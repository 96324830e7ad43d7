"""`-` for a table: stdin, kept in a private temporary file since a table is read several times, and stdout.

What is written to stdout is written to a private file first and copied when the whole command has gone well: a reader
gets a whole table or nothing. All such files are removed when the command ends, however it ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from nacre.errors import DataError, NacreError

DASH = "-"
_FORMATS = {"csv": ".csv", "tsv": ".tsv", "parquet": ".parquet", "arrow": ".arrow"}
_open = contextlib.ExitStack()
_taken: list[str] = []


def close_all() -> None:
    """Remove what the command kept: called when it ends."""
    _taken.clear()
    _open.close()


def table(file: object, reading: Any) -> Any:
    """The path of a table, or the place of what stdin holds."""
    if file != DASH:
        return file
    from nacre.table.sources.spool import spooled

    if _taken:
        raise NacreError("stdin holds one table; name files for the others")
    if sys.stdin is None or sys.stdin.isatty():
        raise NacreError("-: stdin is a terminal; pipe a table into nacre, or name a file")
    _taken.append(DASH)
    return _open.enter_context(spooled(getattr(sys.stdin, "buffer", sys.stdin), reading.format))


def name_of(file: object) -> str:
    """What a table is called where people read it."""
    return "standard input" if file == DASH else str(file)


class Target:
    """Where a result goes: `path` is where it is written, `send` brings it to stdout if that was asked for."""

    def __init__(self, output: str, format: str | None, as_json: bool, endings: dict[str, str] = _FORMATS):
        self.to_stdout = output == DASH
        self.path = self.name = output
        if not self.to_stdout:
            if format is not None:
                raise NacreError("--output-format is for --output -: the ending of a name says the format")
            return
        if as_json:
            raise NacreError("--output - and --json both want stdout; leave one of the two out")
        if (format or "csv") not in endings:
            raise NacreError(f"--output-format {format!r}: use one of {', '.join(endings)}")
        self.name = "standard output"
        folder = _open.enter_context(tempfile.TemporaryDirectory(prefix="nacre-"))
        self.path = str(Path(folder) / f"table{endings[format or 'csv']}")

    def send(self) -> None:
        """Copy to stdout. A reader that goes away has had enough: no error."""
        if not self.to_stdout:
            return
        out = getattr(sys.stdout, "buffer", None)
        if out is None:
            raise DataError("stdout takes no bytes here; name a file")
        sys.stdout.flush()
        try:
            with open(self.path, "rb") as file:
                shutil.copyfileobj(file, out, 2**20)
            out.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter complains at its end
        except OSError as error:
            raise DataError(f"stdout: writing failed ({error.strerror})") from None
