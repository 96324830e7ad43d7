"""PEARL and DP-MERF on thinned credit-card payments: the same protocol as on Adult.

Twice: described by two ends per column (±150 where nearly all values lie within ±5), and by cells of growing width."""

from __future__ import annotations

from dataclasses import replace

from benchmarks import published
from benchmarks.catalogue import Options
from benchmarks.pearl import balanced
from benchmarks.pearl.adult import ABLATIONS, MAKERS, STUDY
from benchmarks.protocol import names_of, run_study
from benchmarks.results import Results

CREDIT = replace(STUDY, load=balanced.credit, cases=tuple(c for c in STUDY.cases if c.method not in ABLATIONS))
STUDIES = {"ends": CREDIT, "cells": replace(CREDIT, load=balanced.credit_cells)}
ONLY = (*STUDIES, *names_of(CREDIT))


def run(options: Options, results: Results) -> None:
    """`--only` takes methods, descriptions (ends, cells), or both: of those descriptions those methods."""
    results.published = published.rows("credit-balanced")
    methods = tuple(name for name in options.only if name not in STUDIES)
    for name in options.of(STUDIES):
        run_study(STUDIES[name], replace(options, only=methods), results, MAKERS)
