"""Sketches that several sites make apart and add (docs/proofs/sites.md)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nacre.sites.shared import SharedSketch, load_sketch, merge, recipe_digest, sketch

__all__ = ["SharedSketch", "load_sketch", "merge", "recipe_digest", "sketch"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("nacre.sites.shared"), name)
