"""Documents of other formats, from anybody: loaded within limits of size, depth and number, and nothing run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nacre.errors import DataError, SchemaError
from nacre.table import documents
from nacre.table.imports.base import Raw

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    import pyarrow as pa

MAX_BYTES = 8 * 2**20  # of JSON and SQL: thousands of columns
MAX_YAML = 2 * 2**20  # which is read twenty times slower
DEPTH = documents.DEPTH

ARROW = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
YAML = (".yaml", ".yml")
SQL = (".sql", ".ddl")


def load(path: Path) -> Raw:
    """The document: what JSON or YAML holds, the text of SQL, the `pyarrow.Schema` of a table in Parquet or Arrow."""
    suffix = path.suffix.lower()
    try:
        if suffix in ARROW:
            return arrow_schema(path)
        most = MAX_YAML if suffix in YAML else MAX_BYTES
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    if len(data) > most:
        raise SchemaError(f"{path}: a document of more than {most:,} bytes, which is no schema; give a smaller one")
    try:
        if suffix in YAML:
            return yaml(data)
        if suffix in SQL:
            return data.decode("utf-8-sig")
        return documents.parse(data, most)
    except UnicodeDecodeError as error:
        raise SchemaError(f"{path}: not UTF-8 text: byte {error.start} is not valid; save it as UTF-8") from None
    except ValueError as error:
        raise SchemaError(f"{path}: {error}") from None


def arrow_schema(path: Path) -> pa.Schema:
    """Names, types and metadata, out of the footer or the first message. No rows are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from nacre.table.sources.checks import READ_ERRORS, first_line

    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            return pq.read_schema(path)
        with path.open("rb") as file:
            whole = file.read(6) == b"ARROW1"
            file.seek(0)
            source = pa.PythonFile(file, mode="r")
            return (pa.ipc.open_file(source) if whole else pa.ipc.open_stream(source)).schema
    except READ_ERRORS as error:
        if isinstance(error, OSError) and error.strerror is not None:
            raise
        raise SchemaError(
            f"{path}: its schema cannot be read ({first_line(error)}); check that it is complete"
        ) from None


def yaml(data: bytes) -> Raw:
    """The one document of YAML, its plain values alone. ValueErrors, as of JSON: also for a key that stands twice, and
    for anchors, by which a short text may stand for a long one."""
    try:
        import yaml as pyyaml
    except ImportError:
        raise SchemaError("YAML is read by PyYAML, which is not installed: pip install 'nacre[yaml]'") from None
    try:
        _check_events(pyyaml.parse(data, Loader=_loader(pyyaml)), pyyaml)
        node = pyyaml.compose(data, Loader=_loader(pyyaml))
        _check_keys(node, pyyaml)
        return pyyaml.load(data, Loader=_loader(pyyaml))
    except pyyaml.YAMLError as error:
        raise ValueError(f"not YAML: {' '.join(str(error).split())[:200]}") from None


def _loader(pyyaml: ModuleType) -> type:
    """That of plain values, in C where it was built."""
    return pyyaml.CSafeLoader if pyyaml.__with_libyaml__ else pyyaml.SafeLoader


def _check_events(events: Iterable[object], pyyaml: ModuleType) -> None:
    """Event by event, so that nothing recurs before the depth is known."""
    depth = containers = 0
    for event in events:
        if isinstance(event, pyyaml.AliasEvent):
            raise ValueError("an alias (*) of YAML; write what it stands for")
        if isinstance(event, pyyaml.CollectionStartEvent):
            depth, containers = depth + 1, containers + 1
            if depth > DEPTH:
                raise ValueError("YAML nested too deep")
            if containers > documents.MOST:
                raise ValueError(f"more than {documents.MOST:,} lists and objects")
        elif isinstance(event, pyyaml.CollectionEndEvent):
            depth -= 1


def _check_keys(node: object, pyyaml: ModuleType) -> None:
    level = [node]
    while level:
        below = []
        for one in level:
            if isinstance(one, pyyaml.MappingNode):
                names = [key.value for key, _ in one.value if isinstance(key, pyyaml.ScalarNode)]
                if len(set(names)) < len(one.value):
                    twice = next((n for n in names if names.count(n) > 1), "a list")
                    raise ValueError(f"the key {twice!r} appears twice in one object, or is no text; keep one of them")
                below += [value for _, value in one.value]
            elif isinstance(one, pyyaml.SequenceNode):
                below += one.value
        level = below
