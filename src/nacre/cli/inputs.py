"""What a run is given: the table, what is declared about it, and where the results go. Checked before spending."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.cli.streams import DASH
from nacre.errors import BudgetError, DataError, NacreError, SchemaError
from nacre.progress import Progress
from nacre.table.naming import choices

if TYPE_CHECKING:
    from nacre.cli.groups import Declared
    from nacre.synthesizers.options import Kind
    from nacre.table import Schema


def parse_epsilon(text: str, large: bool | None = True) -> float | None:
    """A number, or `none` for a run without a promise. Not `large`: a number that promises nothing is refused, with
    None by a command that has no option to allow it."""
    from nacre.privacy.budget import EPSILON_CAP

    if text.strip().lower() == "none":
        return None
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise BudgetError(
            f"--epsilon {text!r}: expected a number above 0 (1 is usual), or none for a run without a promise"
        )
    if found > EPSILON_CAP and not large:
        way = "lower it" if large is None else "lower it, or add --i-understand"
        raise BudgetError(
            f"--epsilon {text!r}: above {EPSILON_CAP:g} the promise says nothing in the worst case (1 is usual); {way}"
        )
    return found


def parse_options(texts: Sequence[str], method: str) -> dict[str, Any]:
    """Hyperparameters of a method from NAME=VALUE texts, with their declared types."""
    from nacre.synthesizers.auto import AUTO
    from nacre.synthesizers.registry import DATABASES, METHODS

    if texts and method == AUTO:
        raise NacreError(f"--option {texts[0]!r}: settings are of one method; name it with --method instead of 'auto'")
    listed = METHODS.get(method) or DATABASES.get(method)
    if not texts or listed is None:
        return {}
    known = listed.load().options()
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            names = ", ".join(known) or "none"
            wrong = f"no option {name!r}" if equals else "expected NAME=VALUE"
            raise NacreError(f"--option {text!r}: {wrong}; method {method!r} has the options {names}")
        found[name] = _typed(name, value, known[name].kind)
    return found


def _typed(name: str, text: str, kind: Kind) -> Any:
    """The value of an option of that kind."""
    try:
        value: Any = json.loads(text)
    except ValueError:
        value = text
    types, expected = {
        "truth": (bool, "true or false"),
        "list": (list, "a list of numbers, such as [1, 2]"),
        "whole": (int, "a whole number"),
        "number": (int | float, "a number"),
        "any": (object, ""),
    }[kind]
    if not isinstance(value, types) or (isinstance(value, bool) and kind not in ("truth", "any")):
        raise NacreError(f"--option {name}={text}: expected {expected}")
    if isinstance(value, list) and kind == "list":
        return tuple(value)
    return float(value) if kind == "number" and isinstance(value, int) else value


def schema_for(columns: Sequence[str], declared: Declared, base: Schema | None = None) -> Schema:
    """The schema of a table with these columns: `base`, the schema file or only the names, and the options on top."""
    from nacre.privacy.discovery import unknown
    from nacre.table import Identifier, Schema, Unit

    schema = base or (Schema.load(declared.schema) if declared.schema else unknown(columns))
    identifiers, unit, cap = declared.persons.identifiers or (), declared.persons.unit, declared.persons.cap
    for option, name in (*(("--id", n) for n in identifiers), ("--unit", unit)):
        if name is not None and name not in schema.columns:
            raise SchemaError(f"{option} {name!r}: there is no such column; choose among {choices(name, schema.names)}")
    changes: dict[str, Any] = {}
    if named := [*identifiers, *([unit] if unit else [])]:
        names = {n: Identifier(person=n == unit) for n in named if schema.columns[n].learnt}
        changes["columns"] = {**schema.columns, **names}
    if unit is not None and cap is not None:
        changes["unit"] = Unit(unit, cap)
        _agree("--unit and --cap", schema.unit, changes["unit"])
    if declared.rows is not None:
        changes["rows"] = declared.rows
        _agree("--rows", schema.rows, declared.rows)
    return dataclasses.replace(schema, **changes) if changes else schema


def _agree(option: str, stated: object, given: object) -> None:
    if stated is not None and stated != given:
        raise SchemaError(f"{option} says {given}, but the schema file says {stated}; make them agree")


def check_target_column(target: str | None, schema: Schema) -> None:
    """Raise SchemaError for a target that is not a column the method learns."""
    if target is not None and target not in schema.modelled:
        raise SchemaError(
            f"--target {target!r} is not a modelled column; choose among {choices(target, schema.modelled)}"
        )


def check_outputs(outputs: Mapping[str, str | None], force: bool, inputs: Sequence[str] = ()) -> None:
    """Raise unless every output can be put where it is asked for. Nothing is spent before this has passed.

    `outputs` maps the option to the path, or None when it is not asked for; `--output -` is stdout.
    """
    from nacre.table.writing import check_target

    files = [part for p in inputs if p != DASH for part in _files(p)]
    seen = {Path(part).resolve(): f"the input {part}" for part in files}
    for option, path in outputs.items():
        if path is None or (option, path) == ("--output", DASH):
            continue
        if path == DASH:
            raise DataError(f"{option} -: only --output can be stdout; name a file")
        place = Path(path).resolve()
        if place in seen:
            raise DataError(f"{option} {path}: this is also {seen[place]}; name another file")
        seen[place] = option
        if place.exists() and not place.is_dir() and not force:
            raise DataError(f"{option} {path}: the file exists already and is kept; name another, or add --force")
        _try_folder(check_target(path, force))


def _files(path: str) -> list[str]:
    """An input as it is named, and every file that a pattern or folder stands for."""
    from nacre.engines.rows import expand

    try:
        return [path, *map(str, expand(path))]
    except NacreError:  # a missing input is reported where it is read
        return [path]


def _try_folder(target: Path) -> None:
    """Some folders look writable and are not (read-only mounts, quotas): put a file there and take it away."""
    try:
        handle, name = tempfile.mkstemp(prefix=".nacre.", suffix=".part", dir=target.parent)
        os.close(handle)
        os.unlink(name)
    except OSError as error:
        raise DataError(f"{target}: cannot be written ({error.strerror}); check the folder") from None


def check_table_name(path: str) -> None:
    """Raise DataError unless the ending of the name says in which format a table is to be written."""
    from nacre.table.writing import written_kind

    written_kind(path)


def estimated_rows(path: str | os.PathLike) -> int | None:
    """About how many rows a file, pattern or folder has, for the time left on the owner's screen only. None when it is
    not cheap to say."""
    if not isinstance(path, str):
        return None
    from nacre.engines.rows import expand
    from nacre.table.sources.places import is_remote

    if is_remote(path):
        return None
    counts = [_estimated_rows(part) for part in expand(path)]
    return sum(c for c in counts if c) if all(counts) else None


def _estimated_rows(path: str) -> int | None:
    try:
        if path.endswith((".parquet", ".pq")):
            import pyarrow.parquet as pq

            return pq.ParquetFile(path).metadata.num_rows
        if path.endswith((".csv", ".tsv", ".txt")):
            with open(path, "rb") as file:
                start = file.read(1 << 20)
            lines = start.count(b"\n")
            return round(os.path.getsize(path) * lines / len(start)) if lines else None
    except (OSError, ValueError):
        return None
    return None


class WatchedRows:
    """Rows that tell how far they have been read."""

    def __init__(self, rows: Any, progress: Progress):
        self._rows, self._progress = rows, progress
        self.column_names, self.arrow_schema = rows.column_names, rows.arrow_schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        done = 0
        for batch in self._rows.batches(columns):
            done += batch.num_rows
            self._progress("reading rows", done, None)
            yield batch
