"""JSON from anybody: parsed strictly, within limits, before anything is made of it. Errors are ValueErrors."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

DEPTH = 64  # levels of lists and objects
MOST = 1 << 19  # lists and objects: half a million of them take 50 MB
# What comes of a document that says the unexpected; loaders turn it into errors of their own.
UNFIT = (KeyError, TypeError, AttributeError, ValueError, IndexError, ArithmeticError, RecursionError, MemoryError)


def read(path: Path, most: int, containers: int = MOST) -> Any:
    """The document in a file of at most so many bytes. OSError where it cannot be read."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    return parse(data, most, containers)


def parse(data: str | bytes, most: int, containers: int = MOST) -> Any:
    """The document: one value under each name, finite numbers, nothing nested beyond reason."""
    if len(data) > most:
        raise ValueError(f"more than {most:,} characters")
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
        if text.count("[") + text.count("{") > containers:
            raise ValueError(f"more than {containers:,} lists and objects")
        made = json.loads(text, object_pairs_hook=_no_repeats, parse_constant=_constant, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text: byte {error.start} is not valid; save it as UTF-8") from None
    except RecursionError:
        raise ValueError("JSON nested too deep") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except ValueError as error:
        if str(error).startswith("Exceeds the limit"):  # of digits that Python reads
            raise ValueError("a number in it has thousands of digits") from None
        raise
    if isinstance(made, dict | list):
        _refuse_depth(made)
    return made


def _refuse_depth(value: Any) -> None:
    """Level by level, so that nothing recurs: what comes after may."""
    level = [value]
    for _ in range(DEPTH):
        below = (item for v in level for item in (v.values() if isinstance(v, dict) else v))
        level = [item for item in below if isinstance(item, dict | list)]
        if not level:
            return
    raise ValueError("JSON nested too deep")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()  # once through: a file of a few megabytes may hold a million keys
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise ValueError(f"the key {twice[:200]!r} appears twice in one object; keep one of them")
    return found


def _constant(text: str) -> Any:
    raise ValueError(f"the number {text} is not finite; write finite numbers")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:20]} is not finite; write finite numbers")
    return value
