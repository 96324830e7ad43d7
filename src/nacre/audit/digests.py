"""Names for values, so that two runs can be compared: equal contents give equal names, whatever the objects are."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

DEPTH = 12


def digest(value: Any) -> str:
    """A short name of a value's contents: numbers, texts, arrays, tables, containers and plain objects of these.

    Functions and objects without contents of their own count by their type alone.
    """
    return hashlib.sha256(_bytes(value, DEPTH)).hexdigest()[:16]


def _bytes(value: Any, depth: int) -> bytes:
    if depth == 0 or value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return f"{type(value).__name__}:{value!r}".encode() if depth else type(value).__name__.encode()
    if isinstance(value, np.ndarray | np.generic):
        return _array(np.asarray(value), depth)
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state).encode()
    if isinstance(value, Mapping):
        parts = sorted(_bytes(k, depth - 1) + b"=" + _bytes(v, depth - 1) for k, v in value.items())
        return b"{" + b",".join(parts) + b"}"
    if isinstance(value, Set):
        return b"(" + b",".join(sorted(_bytes(v, depth - 1) for v in value)) + b")"
    if isinstance(value, list | tuple):
        return type(value).__name__.encode() + b"[" + b",".join(_bytes(v, depth - 1) for v in value) + b"]"
    return _object(value, depth)


def _array(value: np.ndarray, depth: int) -> bytes:
    head = f"{value.dtype}{value.shape}".encode()
    return head + (_bytes(value.tolist(), depth - 1) if value.dtype.kind == "O" else value.tobytes())


def _object(value: Any, depth: int) -> bytes:
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}".encode()
    if name.startswith(b"pandas.") and hasattr(value, "to_numpy"):
        axes = [getattr(value, "index", None), getattr(value, "columns", None)]
        labels = [_array(np.asarray(a), depth - 1) for a in axes if a is not None]
        types = str(getattr(value, "dtypes", getattr(value, "dtype", ""))).encode()
        return name + types + b"|".join(labels) + _array(value.to_numpy(dtype=object), depth - 1)
    if name.startswith((b"pyarrow.", b"polars.")):
        return name + str(getattr(value, "schema", "")).encode() + repr(_plain(value)).encode()
    if callable(value) or not hasattr(value, "__dict__") or kind.__module__ in ("builtins", "types"):
        return name
    return name + _bytes(vars(value), depth - 1)


def _plain(value: Any) -> Any:
    for turn in ("to_pydict", "to_pylist", "to_dicts", "to_list"):
        if hasattr(value, turn):
            return getattr(value, turn)()
    return repr(value)
