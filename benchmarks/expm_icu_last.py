"""`expm-icu` on the last value of each of the 104 measurements: a public reduction that makes every method cheap."""

from __future__ import annotations

from benchmarks.catalogue import Options
from benchmarks.expm_icu import measure
from benchmarks.results import Results


def run(options: Options, results: Results) -> None:
    measure(options, results, wide=False)
