"""PEARL and DP-MERF on thinned credit-card payments: the same protocol as on Adult."""

from __future__ import annotations

from dataclasses import replace

from benchmarks import balanced, published
from benchmarks.catalogue import Options
from benchmarks.pearl_adult import MAKERS, STUDY
from benchmarks.protocol import run_study
from benchmarks.results import Results

CREDIT = replace(
    STUDY,
    load=balanced.credit,
    cases=tuple(c for c in STUDY.cases if c.method not in ("pearl-network", "pearl-one-way", "pearl-paper-scales")),
)


def run(options: Options, results: Results) -> None:
    results.published = published.rows("credit-balanced")
    run_study(CREDIT, options, results, MAKERS)
