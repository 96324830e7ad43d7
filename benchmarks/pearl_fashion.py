"""PEARL and DP-MERF on Fashion-MNIST with the paper's settings: k = 3,000, 3,000 steps of 100 images."""

from __future__ import annotations

from benchmarks.catalogue import Options
from benchmarks.pearl_images import NAMES, run_images
from benchmarks.results import Results

ONLY = NAMES


def run(options: Options, results: Results) -> None:
    run_images("fashion-mnist", {"frequencies": 3000, "steps": 3000}, options, results)
