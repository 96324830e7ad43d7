"""Class groups of Fashion-MNIST in other shares than the table's, in place of the thesis's yearbook photographs.

Three studies: rare (1 % footwear among tops, to be half), grown (half and half, footwear to be 83 %) and tail (ten
classes, each 0.75 times as frequent as the one before, to be even). Weighted MMD-GANs with an autoencoder's kernel
against a conditional DCGAN. Shares and FID by one LeNet on the training pictures; the thesis reports pictures only.
"""

from __future__ import annotations

import numpy as np

from benchmarks.catalogue import Options
from benchmarks.results import Results
from benchmarks.weighted import pictures as p

DATASET = "fashion-mnist"
TOPS, SHOES = (0, 2, 4, 6), (5, 7, 9)
ROWS = 2_590
CASES = ("iw-mmd", "miw-mmd", "id-mmd", "cgan")
STUDIES = ("rare", "grown", "tail")


def study(name: str, seed: int) -> p.Pictures:
    def groups(tops: int, shoes: int, share: float) -> p.Pictures:
        counts = dict.fromkeys(TOPS, tops) | dict.fromkeys(SHOES, shoes)
        target = {c: (1 - share) / len(TOPS) for c in TOPS} | {c: share / len(SHOES) for c in SHOES}
        return p.by_class(DATASET, name, counts, target, seed, ROWS)

    if name == "rare":
        return groups(650, 9, 0.5)
    if name == "grown":
        return groups(330, 440, 0.83)
    counts = {c: round(700 * 0.75**c) for c in range(10)}
    return p.by_class(DATASET, name, counts, dict.fromkeys(range(10), 0.1), seed, ROWS)


ONLY = CASES


def jobs(options: Options, results: Results) -> list[p.Job]:
    """What is asked for and not measured yet."""
    return [
        p.Job(study(name, seed), method, seed)
        for method in CASES if options.wants(method)
        for name in STUDIES
        for seed in range(options.seeds) if not results.has(f"{method}/{name}", seed)
    ]  # fmt: skip


def judged(job: p.Job, made: np.ndarray, results: Results) -> None:
    p.keep(results, job, f"fashion-{job.pictures.name}", made, *p.classified(DATASET, job.pictures, made))


def run(options: Options, results: Results) -> None:
    for job, made in p.generated(jobs(options, results), p.training(options)):
        judged(job, made, results)
    if not options.quick:
        p.figure("weighted-fashion", [(f"fashion-{n}", m) for n in STUDIES for m in ("iw-mmd", "id-mmd", "cgan")])
