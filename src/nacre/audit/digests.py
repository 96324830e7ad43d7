"""Names for values, so that two runs can be compared: equal contents give equal names, whatever the objects are."""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from nacre.errors import NacreError

PLAIN = bool | int | float | complex | str | bytes
Path = tuple[Any, ...]  # the objects that a value lies in, outermost first


def digest(value: object) -> str:
    """A short name of a value's contents: numbers, texts, dates, arrays of any library, tables, containers, functions
    with what they enclose, and objects of these. Raises NacreError for contents that cannot be read (a generator, an
    open file): two of those could not be told apart.
    """
    return hashlib.sha256(_bytes(value, ())).hexdigest()[:16]


def _bytes(value: object, path: Path) -> bytes:
    if value is None or isinstance(value, PLAIN):
        return f"{type(value).__name__}:{value!r}".encode()
    for place, outer in enumerate(path):
        if outer is value:
            return f"again:{place}".encode()
    path = (*path, value)
    if isinstance(value, np.ma.MaskedArray):
        return b"masked" + _array(np.asarray(value.filled()), path) + _array(np.ma.getmaskarray(value), path)
    if isinstance(value, np.ndarray | np.generic):
        return _array(np.asarray(value), path)
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state).encode()
    if isinstance(value, Mapping):
        parts = sorted(_bytes(k, path) + b"=" + _bytes(v, path) for k, v in value.items())
        return b"{" + b",".join(parts) + b"}"
    if isinstance(value, Set):
        return b"(" + b",".join(sorted(_bytes(v, path) for v in value)) + b")"
    if isinstance(value, list | tuple):
        return type(value).__name__.encode() + b"[" + b",".join(_bytes(v, path) for v in value) + b"]"
    return _object(value, path)


def _array(value: np.ndarray, path: Path) -> bytes:
    head = f"{value.dtype}{value.shape}".encode()
    return head + (_bytes(value.tolist(), path) if value.dtype.hasobject else value.tobytes())


def _object(value: object, path: Path) -> bytes:
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}".encode()
    if isinstance(value, type | types.ModuleType):
        return name + f"{getattr(value, '__module__', '')}.{value.__name__}".encode()
    if name.startswith(b"pandas.") and (hasattr(value, "dtype") or hasattr(value, "dtypes")):
        return name + _pandas(value, path)
    if name.startswith((b"pyarrow.", b"polars.")):
        return name + _columnar(value, path)
    if isinstance(value, types.FunctionType | types.MethodType | types.BuiltinFunctionType | functools.partial):
        return name + _function(value, path)
    if hasattr(value, "__array__"):
        try:
            return name + _array(np.asarray(value), path)
        except (TypeError, ValueError):
            pass  # such as keys of a generator: by their contents below
    return name + _contents(value, path)


def _pandas(value: object, path: Path) -> bytes:
    """Values, labels, names, types with all their categories, and what was attached."""
    axes = [a for a in (getattr(value, "index", None), getattr(value, "columns", None)) if a is not None]
    labels = [_array(np.asarray(a), path) + _bytes(list(getattr(a, "names", [])), path) for a in axes]
    types_ = list(value.dtypes) if hasattr(value, "columns") else [getattr(value, "dtype", "")]
    kinds = [_kind(t) for t in types_]
    extra = [getattr(value, "attrs", {}), getattr(value, "name", None)]
    found = value.to_numpy(dtype=object) if hasattr(value, "to_numpy") else np.asarray(value, object)
    return _bytes(kinds, path) + _bytes(extra, path) + b"|".join(labels) + _array(found, path)


def _kind(dtype: object) -> list[Any]:
    categories = getattr(dtype, "categories", None)
    return [str(dtype), [] if categories is None else list(categories)]


def _columnar(value: Any, path: Path) -> bytes:
    schema: Any = getattr(value, "schema", None)
    told = schema.to_string(truncate_metadata=False) if hasattr(schema, "to_string") else str(schema)
    chunks = getattr(value, "chunks", [value])
    words = [c.dictionary.to_pylist() for c in chunks if hasattr(c, "dictionary")]
    for column in getattr(value, "columns", ()):
        words += [c.dictionary.to_pylist() for c in getattr(column, "chunks", [column]) if hasattr(c, "dictionary")]
    for turn in ("to_pydict", "to_pylist", "to_dicts", "to_list", "as_py"):
        if hasattr(value, turn):
            return told.encode() + _bytes(words, path) + _bytes(getattr(value, turn)(), path)
    return told.encode() + repr(value).encode()


def _function(value: object, path: Path) -> bytes:
    """The code and what it encloses: a function that carries rows with it is not the one that carries others."""
    if isinstance(value, functools.partial):
        return _bytes([value.func, list(value.args), value.keywords], path)
    if isinstance(value, types.MethodType):
        return _bytes([value.__func__, value.__self__], path)
    if isinstance(value, types.BuiltinFunctionType):
        return value.__qualname__.encode() + _bytes(value.__self__, path)
    cells = []
    for cell in value.__closure__ or ():
        try:
            cells.append(cell.cell_contents)
        except ValueError:
            cells.append("empty")
    constants = [c for c in value.__code__.co_consts if isinstance(c, PLAIN | tuple)]
    return value.__code__.co_code + _bytes([constants, value.__defaults__, value.__kwdefaults__, cells], path)


def _contents(value: object, path: Path) -> bytes:
    """Attributes of an object, and where its class says how it is copied, what it is copied from."""
    kind = type(value)
    slots = [s for k in kind.__mro__ for s in _slots(k) if hasattr(value, s)]
    own = kind.__reduce_ex__ is not object.__reduce_ex__ or kind.__reduce__ is not object.__reduce__
    seen = hasattr(value, "__dict__") or bool(slots)
    made = _reduced(value) if own or not seen else None
    if made is None and not seen:
        raise NacreError(
            f"a value of type {kind.__qualname__} cannot be compared between runs; return tables, arrays, numbers, "
            "texts or containers of them (a generator as a list)"
        )
    attributes = {**{s: getattr(value, s) for s in slots}, **getattr(value, "__dict__", {})}
    return _bytes([made, attributes], path)


def _reduced(value: object) -> Any:
    """What a copy would be made from; None where there is no copy."""
    try:
        made = value.__reduce_ex__(4)
    except Exception:
        return None
    if isinstance(made, str):
        return made
    return [list(part) if place > 2 and part is not None else part for place, part in enumerate(made)]


def _slots(kind: type) -> tuple[str, ...]:
    found = vars(kind).get("__slots__", ())
    names = (found,) if isinstance(found, str) else tuple(found)
    hidden = [f"_{kind.__name__.lstrip('_')}{n}" if n.startswith("__") and not n.endswith("__") else n for n in names]
    return tuple(n for n in hidden if n not in ("__dict__", "__weakref__"))
