"""Valid documents made invalid, by a seed: types swapped, numbers beyond reason, deep nesting, NaN, keys repeated,
missing or new, long and odd texts; arrays of other shapes, types and values."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

ODD_NUMBERS = (0, -1, 1, 2, 0.5, -0.0, 1e-308, 5e-324, 1e308, -1e308, 1e-15, 3e3, 0.01, 2**31, 2**31 - 1, 2**53 + 1,
               10**9, 2**63, 2**64, 10**30, -(2**63) - 1, 10**400)  # fmt: skip
ODD_TEXTS = ("", " ", "\n", "\x00", "\u202e", "\u2028", "\ud800", "a" * 5_000, "nan", "1e999", "../..", "é" * 99, "𝛆",
             "proven", "none", "__class__", "%s{0}", "counts", "public", "x\nGuarantee: proven")  # fmt: skip
OTHERS = (None, True, False, [], {}, [[]], [None], {"": 0}, [0] * 1_000, ["x"] * 1_000, [[0, 1]] * 100,
          {str(i): i for i in range(300)})  # fmt: skip
TOKENS = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" + "0" * 5_000, "[" * 2_000 + "]" * 2_000,
          "[" * 100 + "]" * 100, '{"a":' * 300 + "1" + "}" * 300)  # fmt: skip
_MARK = "\ue000token"


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything in a document; of long lists, the first items."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value[:50]) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def mutated(document: Any, rng: np.random.Generator) -> bytes:
    """The document as text, with one to three things wrong with it."""
    document = {"": copy.deepcopy(document)}
    token = None
    for _ in range(1 + int(rng.integers(3))):
        paths = list(places(document))[1:]
        path = paths[int(rng.integers(len(paths)))]
        parent, key = at(document, path[:-1]), path[-1]
        way = int(rng.integers(10))
        if way == 0 and token is None:
            token = TOKENS[int(rng.integers(len(TOKENS)))]
            parent[key] = _MARK
        elif way == 1 and len(path) > 1:
            del parent[key]
        elif way == 2:
            parent[key] = copy.deepcopy(at(document, paths[int(rng.integers(len(paths)))]))
        elif way == 3 and isinstance(parent, dict) and len(path) > 1:
            parent[_odd_text(rng)] = parent.pop(key)
        elif way == 4 and isinstance(parent[key], list) and parent[key]:
            parent[key] = parent[key] * int(rng.integers(2, 200))
        elif way == 5 and isinstance(parent[key], dict):
            parent[key][_odd_text(rng)] = _odd(rng)
        else:
            parent[key] = _near(parent[key], rng) if rng.random() < 0.5 else _odd(rng)
    text = json.dumps(document.get("", _odd(rng)))
    if token is not None:
        text = text.replace(json.dumps(_MARK), token)
    return _damaged(text, rng) if rng.random() < 0.1 else text.encode("utf-8", "surrogatepass")


def _odd_text(rng: np.random.Generator) -> str:
    return ODD_TEXTS[int(rng.integers(len(ODD_TEXTS)))]


def _odd(rng: np.random.Generator) -> Any:
    pool = (ODD_NUMBERS, ODD_TEXTS, OTHERS)[int(rng.integers(3))]
    return copy.deepcopy(pool[int(rng.integers(len(pool)))])


def _near(value: Any, rng: np.random.Generator) -> Any:
    """A value like the one that stands there."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.integers(-3, 4)) if rng.random() < 0.5 else value * 10 ** int(rng.integers(0, 12))
    if isinstance(value, float):
        return value * 10.0 ** int(rng.integers(-12, 13)) * (1 if rng.random() < 0.8 else -1)
    if isinstance(value, str):
        return value + _odd_text(rng) if rng.random() < 0.5 else value[: len(value) // 2]
    if isinstance(value, list):
        return value[::-1] if rng.random() < 0.5 else value[: len(value) // 2]
    return {"of": value}


def _damaged(text: str, rng: np.random.Generator) -> bytes:
    """As bytes, with a key twice, a stretch gone or bytes that are no text."""
    data = text.encode("utf-8", "surrogatepass")
    spot = int(rng.integers(len(data) + 1))
    way = int(rng.integers(4))
    if way == 0:
        return data.replace(b'{"', b'{"x": 1, "x": 2, "', 1)
    if way == 1:
        return data[:spot]
    return data[:spot] + rng.bytes(int(rng.integers(1, 9))) + data[spot + int(rng.integers(3)) :]


# -------------------------------------------------------------------------------------------------------------- arrays


def mutated_arrays(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """One array changed, left out, renamed or added."""
    changed = dict(arrays)
    if not changed:
        return {"extra": np.zeros(3)}
    name = sorted(changed)[int(rng.integers(len(changed)))]
    way = int(rng.integers(14))
    old = changed[name]
    if way == 0:
        del changed[name]
    elif way == 1:
        changed["extra"] = np.zeros(3)
    elif way == 2:
        changed[name + "x"] = changed.pop(name)
    elif way == 3:
        changed[name] = changed[sorted(changed)[int(rng.integers(len(changed)))]]
    else:
        changed[name] = _other_array(old, way, rng)
    return changed


def _other_array(old: np.ndarray, way: int, rng: np.random.Generator) -> np.ndarray:
    if way == 4:
        kinds = (np.float16, np.float32, np.float64, np.int8, np.uint8, np.int64, np.uint64, np.bool_)
        with np.errstate(all="ignore"):
            return old.astype(kinds[int(rng.integers(len(kinds)))])
    if way == 5:
        return old.ravel()[: max(0, old.size - 1)]
    if way == 6:
        return old.ravel() if old.ndim > 1 else old[None] if old.ndim else np.stack([old, old])
    if way == 7:
        return old.reshape(-1)[:0]
    if way == 8:
        return np.concatenate([old.ravel(), old.ravel()])
    if way == 9:
        return old.ravel()[0].reshape(()) if old.size else old
    if way == 10 and old.ndim > 1:
        return np.ascontiguousarray(old.T)
    new = old.copy()
    if new.size:
        odd = (np.nan, np.inf, -np.inf, 1e30, -1.0, 0.0, 2.0**31, 1e-30)
        value = odd[int(rng.integers(len(odd)))]
        with np.errstate(all="ignore"):
            value = np.asarray(value).astype(new.dtype)
        if way == 11:
            new[...] = value
        else:
            new.reshape(-1)[int(rng.integers(new.size))] = value
    return new
