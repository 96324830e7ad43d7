"""Class groups of Fashion-MNIST in other shares than the table's, in place of the thesis's yearbook photographs.

Three studies: rare (1 % footwear among tops, to be half), grown (half and half, footwear to be 83 %) and tail (ten
classes, each 0.75 times as frequent as the one before, to be even). Weighted MMD-GANs with an autoencoder's kernel
against a conditional DCGAN. Shares and FID by one LeNet on the training pictures; the thesis reports pictures only.
"""

from __future__ import annotations

from benchmarks import iw_pictures as p
from benchmarks.catalogue import Options
from benchmarks.results import Results, Setting

DATASET = "fashion-mnist"
TOPS, SHOES = (0, 2, 4, 6), (5, 7, 9)
STEPS, ROWS = 2_000, 2_590
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


def run(options: Options, results: Results) -> None:
    for seed in range(options.seeds):
        for name in STUDIES:
            for method in CASES:
                case = f"{method}/{name}"
                if not options.wants(method) or results.has(case, seed):
                    continue
                pictures = study(name, seed)
                made = p.generated(pictures, method, seed, 5 if options.quick else STEPS)
                figures = p.classified(DATASET, pictures, made)
                results.add(Setting(method, f"fashion-{name}"), seed, figures, case)
                results.write()
                print(case, seed, {k: round(v, 4) for k, v in figures.items()}, flush=True)
                if seed == 0:
                    p.keep_strip(f"fashion-{name}", method, made)
    if not options.quick:
        p.figure("weighted-fashion", [(f"fashion-{n}", m) for n in STUDIES for m in ("iw-mmd", "id-mmd", "cgan")])
