"""What a record map carries with it: arrays must come in through `public`, where the transcript records their digest.

A feature map or score is a function of one record and of public parameters. If it also carries rows (a closure over
the table, a default argument, a bound method of a model trained on it), its answers say more than was paid for, and
neither clipping nor noise notices. So a map may carry few numbers; more than `MOST` in one place are refused unless
the same object stands in `public`. The limit is a constant and not the number of rows: under add/remove that number is
private, and a refusal that compared with it would tell it.

This stops accidents, not malice: Python can hide rows where no inspection looks (a file, a counter, C code).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from nacre.errors import PlanError
from nacre.table import Column, Schema
from nacre.table.grid import Grid

MOST = 64  # numbers or texts in one array or list
_DEPTH = 8
_TEXT = 4096  # bytes or letters of one text
_SCALARS = (bool, int, float, complex, str, bytes, type(None))
_PUBLIC = (Schema, Column, Grid, types.ModuleType, type)


def refuse_captured(function: Callable[..., Any], public: Any, where: str) -> None:
    """Raise PlanError, before anything is spent, when `function` carries a large array that is not in `public`."""
    declared = {id(value) for _, value in _walk(public, "public", set(), 0, through=True)}
    for path, value in _walk(function, "the function", set(), 0):
        size = _size(value)
        if size > MOST and id(value) not in declared:
            raise PlanError(
                f"{where}: {path} carries {type(value).__name__} with more than {MOST} values. A record map sees one "
                "record and public parameters: pass arrays as `public`, where they are recorded, never rows of a table"
            )


def _size(value: Any, depth: int = 0) -> int:
    """How many plain values an array, frame or collection holds, in the collections and arrays inside it too.

    Counting stops soon after `MOST`, so that a long list costs no more than a short one. A long text or string of
    bytes counts by its length, since rows can be packed into it.
    """
    if isinstance(value, str | bytes | bytearray | memoryview):
        return 1 if len(value) <= _TEXT else len(value)
    if isinstance(value, _SCALARS):
        return 1
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        held = 0
        for item in value.values() if isinstance(value, Mapping) else value:
            held += _size(item, depth + 1) if depth < _DEPTH else MOST + 1
            if held > MOST:
                break
        return held
    shape = getattr(value, "shape", None)  # NumPy, JAX, pandas, polars, Arrow tables
    if isinstance(shape, tuple) and all(isinstance(n, int) for n in shape):
        return functools.reduce(lambda a, b: a * b, shape, 1)
    if hasattr(value, "to_pylist") and hasattr(value, "__len__"):  # Arrow arrays
        return len(value)
    return 0


def _walk(value: Any, path: str, seen: set[int], depth: int, through: bool = False) -> Iterator[tuple[str, Any]]:
    """Everything reachable from `value`, each object once, with the way to it; `through` enters large things too."""
    short = isinstance(value, _SCALARS) and _size(value) <= MOST
    if depth > _DEPTH or id(value) in seen or short or isinstance(value, _PUBLIC):
        return
    seen.add(id(value))
    yield path, value
    if _size(value) > MOST and not through:
        return
    for name, part in _parts(value):
        yield from _walk(part, f"{path}, {name}", seen, depth + 1, through)


def _parts(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, functools.partial):
        return [("function of partial", value.func), *_listed("argument", value.args), *value.keywords.items()]
    if isinstance(value, types.MethodType):
        return [("object of the method", value.__self__), ("method", value.__func__)]
    if isinstance(value, types.FunctionType):
        return _of_function(value)
    if isinstance(value, Mapping):
        return [(f"[{k!r}]", v) for k, v in value.items()]
    if isinstance(value, list | tuple | set | frozenset):
        return _listed("item", value)
    if hasattr(value, "shape"):
        return []
    held = {n: v for kind in type(value).__mro__ if kind.__module__ != "builtins" for n, v in _own(kind).items()}
    held |= dict(getattr(value, "__dict__", None) or {})
    for name in (n for kind in type(value).__mro__ for n in _slots(kind)):
        held[name] = getattr(value, name, None)
    if hasattr(value, "__wrapped__"):  # functools.wraps, jax.jit
        held["__wrapped__"] = value.__wrapped__
    return held.items()


def _own(kind: type) -> dict[str, Any]:
    """Plain attributes of a class: data, not its methods."""
    return {
        n: v for n, v in vars(kind).items() if not n.startswith("__") and not callable(v) and not hasattr(v, "__get__")
    }


def _slots(kind: type) -> list[str]:
    slots = kind.__dict__.get("__slots__", ())
    return [slots] if isinstance(slots, str) else list(slots)


def _of_function(function: types.FunctionType) -> list[tuple[str, Any]]:
    """Closed-over variables, defaults, and the globals that its code, or code inside it, names."""
    found = [
        (f"variable {n!r}", _content(c)) for n, c in zip(function.__code__.co_freevars, function.__closure__ or ())
    ]
    found += _listed("default", function.__defaults__ or ())
    found += [(f"default {n!r}", v) for n, v in (function.__kwdefaults__ or {}).items()]
    found += [(f"attribute {n!r}", v) for n, v in function.__dict__.items()]
    named = _global_names(function.__code__)
    return found + [(f"global {n!r}", function.__globals__[n]) for n in named if n in function.__globals__]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _global_names(code: types.CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*map(_global_names, inner))


def _listed(what: str, values: Iterable[Any]) -> list[tuple[str, Any]]:
    return [(f"{what} {i}", v) for i, v in enumerate(values)]
