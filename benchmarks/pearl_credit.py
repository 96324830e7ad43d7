"""PEARL and DP-MERF on thinned credit-card payments: the same protocol as on Adult.

Twice: described by two ends per column (±150 where nearly all values lie within ±5), and by cells of growing width."""

from __future__ import annotations

from dataclasses import replace

from benchmarks import balanced, published
from benchmarks.catalogue import Options
from benchmarks.pearl_adult import ABLATIONS, MAKERS, STUDY
from benchmarks.protocol import run_study
from benchmarks.results import Results
from nacre.errors import NacreError

CREDIT = replace(STUDY, load=balanced.credit, cases=tuple(c for c in STUDY.cases if c.method not in ABLATIONS))
STUDIES = {"ends": CREDIT, "cells": replace(CREDIT, load=balanced.credit_cells)}
METHODS = tuple(c.method for c in CREDIT.cases)


def run(options: Options, results: Results) -> None:
    """`--only` takes methods, descriptions (ends, cells), or both: of those descriptions those methods."""
    results.published = published.rows("credit-balanced")
    for name, methods in asked(options.only).items():
        run_study(STUDIES[name], replace(options, only=methods), results, MAKERS)


def asked(only: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The methods to run of each description. A name that is neither is an error, not a run of nothing."""
    unknown = [name for name in only if name not in (*STUDIES, *METHODS)]
    if unknown:
        raise NacreError(f"--only {unknown[0]}: expected {', '.join(STUDIES)} or a method ({', '.join(METHODS)})")
    methods = tuple(name for name in only if name in METHODS) or METHODS
    return dict.fromkeys([name for name in STUDIES if name in only] or STUDIES, methods)
