"""Classifiers with the interface of scikit-learn and a certificate of what their training promises."""

from __future__ import annotations

import importlib
from typing import Any

# Loaded when first used: scikit-learn and JAX come with them.
_HOMES = {
    "LogisticRegression": "nacre.learners.logistic",
    "GRUD": "nacre.learners.grud",
    "Sgd": "nacre.learners.descending",
    "DpSgd": "nacre.learners.descending",
    "NoisyGd": "nacre.learners.descending",
    "Rejection": "nacre.learners.exponential",
    "Walk": "nacre.learners.exponential",
    "FlowChain": "nacre.learners.flow_chain",
    "Hamiltonian": "nacre.learners.hamiltonian",
    "ExpmNf": "nacre.learners.flow",
    "FlowShape": "nacre.learners.flow",
    "load": "nacre.learners.files",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
