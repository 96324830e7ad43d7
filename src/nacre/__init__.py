"""nacre: private synthetic tables with a certificate of what was promised."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from nacre.moved import Finder

__version__ = "0.1.0"

sys.meta_path.insert(0, Finder())  # before others: a former package has the files of its new home

# Loaded when first used, so that `import nacre` stays fast.
_HOMES = {
    "fit": "nacre.run",
    "evaluate": "nacre.evaluation.evaluate",
    "load": "nacre.release.release",
    "sketch": "nacre.sites.shared",
    "merge": "nacre.sites.shared",
    "load_sketch": "nacre.sites.shared",
    "plan": "nacre.run",
    "buy_schema": "nacre.run.buying",
    "Account": "nacre.privacy.ledger.payment",
    "OwnerNotes": "nacre.owner",
    "Release": "nacre.release.release",
    "Schema": "nacre.table",
    "Numeric": "nacre.table",
    "Categorical": "nacre.table",
    "Boolean": "nacre.table",
    "Datetime": "nacre.table",
    "Tensor": "nacre.table",
    "Text": "nacre.table",
    "Identifier": "nacre.table",
    "Database": "nacre.table",
    "Key": "nacre.table",
    "LongTable": "nacre.table.database.long",
    "Unit": "nacre.table",
    "Dependency": "nacre.table",
    "Between": "nacre.table",
    "Budget": "nacre.privacy.budget",
    "Certificate": "nacre.privacy.certificate.statement",
    "NacreError": "nacre.errors",
    "Shares": "nacre.targets",
    "WeightColumn": "nacre.targets",
    "Thinning": "nacre.targets",
    "Labelled": "nacre.targets",
}
_MODULES = ("learners", "sites", "targets")
__all__ = sorted((*_HOMES, *_MODULES))

if TYPE_CHECKING:
    from nacre import learners, sites, targets
    from nacre.errors import NacreError
    from nacre.evaluation.evaluate import evaluate
    from nacre.owner import OwnerNotes
    from nacre.privacy.budget import Budget
    from nacre.privacy.certificate.statement import Certificate
    from nacre.privacy.ledger.payment import Account
    from nacre.release.release import Release, load
    from nacre.run import fit, plan
    from nacre.run.buying import buy_schema
    from nacre.sites.shared import load_sketch, merge, sketch
    from nacre.table import (
        Between,
        Boolean,
        Categorical,
        Database,
        Datetime,
        Dependency,
        Identifier,
        Key,
        Numeric,
        Schema,
        Tensor,
        Text,
        Unit,
    )
    from nacre.table.database.long import LongTable
    from nacre.targets import Labelled, Shares, Thinning, WeightColumn


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"nacre.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'nacre' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
