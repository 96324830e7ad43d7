"""Figures of docs/methods/ppem.md: the test of Figure 2 of the paper, and hidden beside visible columns.

Run `python -m benchmarks.ppem.pictures` after `python -m benchmarks run ppem-credit`, whose trained weights it reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.places import PICTURES

MEAN = np.array([6.9734, 7.1579, 2.4358, 9.2579, 3.0420])  # Appendix C.1 of the paper
VARIANCE = np.array([0.2622, 0.9046, 0.4533, 0.0773, 0.7823])
SETS, SIZE = 2_000, 128


def scores(x: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """∇ log p of an equal mixture of normal laws."""
    gap = x[..., None] - mean
    log = -0.5 * gap**2 / variance - 0.5 * np.log(variance)
    weight = np.exp(log - log.max(axis=-1, keepdims=True))
    weight /= weight.sum(axis=-1, keepdims=True)
    return (weight * -gap / variance).sum(axis=-1)


def statistics(rng: np.random.Generator, sets: int, other: bool) -> np.ndarray:
    """S_ln of sets of 128 points of the mixture against itself, or against mixtures drawn at random."""
    found = []
    for _ in range(sets):
        part = rng.integers(0, 5, SIZE)
        x = rng.normal(MEAN[part], VARIANCE[part] ** 0.5)
        law = (rng.uniform(0, 10, 5), rng.uniform(0.05, 1, 5)) if other else (MEAN, VARIANCE)
        s = scores(x, *law)
        h = np.median(np.abs(x[:, None] - x)[np.triu_indices(SIZE, 1)])
        (a, b), (sa, sb) = x.reshape(-1, 2).T, s.reshape(-1, 2).T
        d = a - b
        u = np.exp(-0.5 * d**2 / h**2) * (sa * sb + (sa - sb) * d / h**2 + 1 / h**2 - d**2 / h**4)
        n = len(u)
        found.append((n - 1) / n * u.sum() ** 2 / (u**2).sum())
    return np.array(found)


def figure_two(plt: Any) -> dict[str, float]:
    from scipy.stats import chi2

    rng = np.random.default_rng(0)
    null, other = statistics(rng, SETS, False), statistics(rng, SETS, True)
    level = chi2.ppf(0.95, 1)
    told = {"type I": float((null >= level).mean()), "type II": float((other < level).mean())}
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3))
    grid = np.linspace(0.02, 12, 300)
    left.hist(null, bins=60, range=(0, 12), density=True, alpha=0.6, label="null: the law of the data")
    left.hist(np.minimum(other, 11.99), bins=60, range=(0, 12), density=True, alpha=0.5, label="another mixture")
    left.plot(grid, chi2.pdf(grid, 1), "k", lw=1, label="chi-square, 1 degree of freedom")
    left.axvline(level, color="k", ls=":")
    left.set(ylim=(0, 1.2), xlabel="normalised KSD of 128 points (last bar: beyond)", ylabel="density")
    left.legend(fontsize=7)
    bars = right.bar(list(told), list(told.values()), color=["tab:blue", "tab:orange"])
    right.bar_label(bars, fmt="%.3f")
    right.axhline(0.05, color="k", ls=":")
    right.set(ylabel="error rate at level 0.05")
    figure.tight_layout()
    figure.savefig(PICTURES / "ppem-test.png", dpi=80)
    return told


def columns(plt: Any) -> None:
    from benchmarks.catalogue import Options
    from benchmarks.ppem import hiding
    from benchmarks.ppem.credit import HIDDEN, TARGET, study
    from benchmarks.results import Results
    from nacre.synthesizers.ppem.method import Ppem

    job = study(Options(seeds=1), Results("ppem-credit", "", resume=True))
    one, hidden, made = job.splits[0], HIDDEN["2"], {}
    method = Ppem(target=TARGET, hide=hidden)
    for name, words in (("ppem-2", "PPEM"), ("ppem-2-control", "control")):
        nets = hiding.kept(job, name, one.seed)
        if "coding" not in (nets or ()):
            raise SystemExit("run `python -m benchmarks run ppem-credit` first")
        model = hiding.released(method, name, one, nets, 1)
        made[words] = model.draw(40_000, np.random.default_rng(0))
    shown = [*hidden, "V3", "V4", "V10", "Amount"]
    figure, axes = plt.subplots(2, 3, figsize=(9, 4.6))
    for axis, name in zip(axes.ravel(), shown):
        low, high = np.quantile(one.private[name], [0.005, 0.98 if name == "Amount" else 0.995])
        for words, records in (("real", one.real), *made.items()):
            values = np.clip(records[name].values, low, high)
            axis.hist(values, bins=60, density=True, histtype="step", label=words)
        axis.set_title(f"{name} ({'hidden' if name in hidden else 'visible'})", fontsize=9)
        axis.set_yticks([])
    axes[0, 0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(PICTURES / "ppem-columns.png", dpi=80)


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    print(figure_two(plt))
    columns(plt)
