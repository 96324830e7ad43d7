"""PEARL and DP-MERF on MNIST with the paper's settings: k = 1,000, 6,000 steps of 100 images."""

from __future__ import annotations

from benchmarks.catalogue import Options
from benchmarks.pearl_images import NAMES, run_images
from benchmarks.results import Results

ONLY = NAMES


def run(options: Options, results: Results) -> None:
    run_images("mnist", {"frequencies": 1000, "steps": 6000}, options, results)
