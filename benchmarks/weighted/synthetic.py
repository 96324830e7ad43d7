"""Importance-weighted generators on the simulated tables of their thesis: KL, squared MMD and energy to the target.

Ten latent numbers, uniform in the target; the first is seen with density 2t, so that a row has weight 1/(2t); ten
latents are mixed linearly into 2, 4 or 10 columns. The weights have no second moment: neither theorem of the thesis
covers this case. The tables "-bounded" have density (2t + a)/(1 + a), a = 0.2, and weights of at most 6.
Figures are of 1,000 generated rows against 1,000 fresh rows of the target, columns standardised by the training rows:
KL(generated, target) by five neighbours, squared MMD as a V statistic with the kernel of the published code (Gaussians
of variance 0.01, 1 and 2, added up), energy as a V statistic. "real" has fresh rows in place of generated ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.catalogue import Options
from benchmarks.places import PICTURES
from benchmarks.png import png
from benchmarks.results import Results, Setting, published_row

LATENTS, ROWS, COMPARED = 10, 10_000, 1_000
BOUND = 0.2
STEPS = {"mmd": 10_000, "ce": 5_000}  # of the generator
THESIS = "Diesendruck, thesis 2019, tables 3.2 and A.1: mean of 20 runs"
METHODS: Mapping[str, dict[str, Any]] = {
    **{f"{scheme}-mmd": {"loss": "mmd", "scheme": scheme} for scheme in ("iw", "sniw", "miw", "id")},
    **{f"{scheme}-ce": {"loss": "ce", "scheme": scheme} for scheme in ("iw", "sniw", "miw", "id")},
    "cgan": {"loss": "ce", "scheme": "conditional"},
}
DATASETS = ("2d", "4d", "10d")
BOUNDED = ("iw-mmd", "sniw-mmd")  # also on the tables with bounded weights
# (KL, squared MMD, energy) in 2, 4 and 10 dimensions.
PUBLISHED: Mapping[str, tuple[tuple[float, float, float], ...]] = {
    "iw-ce": ((0.1768, 0.0171, 0.0141), (0.4934, 0.0214, 0.0361), (2.7945, 0.0214, 0.0794)),
    "miw-ce": ((0.3265, 0.0246, 0.0230), (0.6251, 0.0293, 0.0473), (3.3093, 0.0233, 0.1040)),
    "sniw-ce": ((0.0925, 0.0165, 0.0144), (0.3864, 0.0197, 0.0350), (2.3060, 0.0186, 0.0720)),
    "id-ce": ((0.1526, 0.0304, 0.0361), (0.3444, 0.0230, 0.0600), (1.4128, 0.0154, 0.0998)),
    "iw-mmd": ((0.0343, 0.0199, 0.0179), (0.0037, 0.0174, 0.0341), (0.5133, 0.0105, 0.0700)),
    "miw-mmd": ((0.2698, 0.0586, 0.0881), (0.0939, 0.0342, 0.0908), (0.8501, 0.0136, 0.2123)),
    "sniw-mmd": ((0.0451, 0.0149, 0.0136), (0.1435, 0.0137, 0.0291), (0.6623, 0.0107, 0.0506)),
    "cgan": ((0.0879, 0.0174, 0.0140), (0.3108, 0.0177, 0.0297), (6.9016, 0.0630, 0.5828)),
}


@dataclass(frozen=True)
class Table:
    """Rows of the observed law with their weights and first latent, and fresh rows of the target."""

    rows: np.ndarray
    weights: np.ndarray
    first: np.ndarray
    fresh: np.ndarray
    again: np.ndarray


def simulated(dataset: str, seed: int, rows: int = ROWS, world: int = 0) -> Table:
    """`world` fixes the mixing matrix, the same for all seeds; columns are standardised by the observed rows."""
    name, _, bounded = dataset.partition("-")
    columns = int(name.removesuffix("d"))
    mixing = np.random.default_rng([world, 17, columns]).normal(size=(LATENTS, columns))
    rng = np.random.default_rng([seed, 23, columns])
    theta = rng.random((rows, LATENTS))
    if bounded:  # distribution function (t² + at)/(1 + a)
        theta[:, 0] = (np.sqrt(BOUND**2 + 4 * (1 + BOUND) * theta[:, 0]) - BOUND) / 2
        weights = (1 + BOUND) / (2 * theta[:, 0] + BOUND)
    else:
        theta[:, 0] = np.sqrt(theta[:, 0])
        weights = 1 / (2 * theta[:, 0])
    seen = theta @ mixing
    mean, spread = seen.mean(axis=0), seen.std(axis=0)
    fresh, again = ((rng.random((COMPARED, LATENTS)) @ mixing - mean) / spread for _ in range(2))
    return Table((seen - mean) / spread, weights, theta[:, 0], fresh, again)


def compared(made: np.ndarray, fresh: np.ndarray) -> dict[str, float]:
    """The three figures; infinite where a training diverged."""
    from nacre.distances import RBFSum, energy_distance, kl_knn, mmd2

    if not np.isfinite(made).all():
        return dict.fromkeys(("kl_knn", "mmd2", "energy"), float("inf"))
    kernel = RBFSum(tuple(float(np.sqrt(s)) for s in (0.01, 1.0, 2.0)))
    return {
        "kl_knn": kl_knn(made, fresh, k=5),
        "mmd2": mmd2(made, fresh, kernel, form="v"),
        "energy": energy_distance(made, fresh),
    }


def generated(method: str, tables: list[Table], seeds: list[int], steps: int | None = None, **settings: Any) -> list:
    """COMPARED generated rows per table; all trainings are one compiled program."""
    import jax

    from nacre.synthesizers.parts.heads import Heads
    from nacre.synthesizers.weighted.method import Weighted
    from nacre.synthesizers.weighted.training import prepared, train
    from nacre.targets import Weights

    kind = Weighted(**METHODS[method], **settings)
    conditional = kind.scheme == "conditional"
    roots = [np.linalg.cholesky(np.cov(t.rows.T)) for t in tables]  # correlations out, as for tables in the product
    data = []
    for table, root, seed in zip(tables, roots, seeds):
        weights, copies = kind.weighed(Weights(table.weights, True), len(table.rows), seed)
        given = table.first[:, None] * 2 - 1 if conditional else None
        white = np.linalg.solve(root, table.rows.T).T
        data.append(prepared(white, np.ones(len(white)) if conditional else weights, given, copies))
    config = kind.config(Heads(tables[0].rows.shape[1], ()), given=1 if conditional else 0)
    keys = jax.vmap(jax.random.key)(np.array(seeds))
    nets = train(jax.tree.map(lambda *a: np.stack(a), *data), config, steps or kind.steps, keys)
    found = []
    for i, (root, seed) in enumerate(zip(roots, seeds)):
        rng = np.random.default_rng([seed, 29])
        inputs = [rng.standard_normal((COMPARED, config.latent)).astype(np.float32)]
        inputs += [(rng.random((COMPARED, 1)) * 2 - 1).astype(np.float32)] if conditional else []
        found.append(np.asarray(config.generator({k: v[i] for k, v in nets.items()}, inputs), np.float64) @ root.T)
    return found


def picture(seen: np.ndarray, fresh: np.ndarray, made: np.ndarray) -> None:
    """docs/methods/weighted-2d.png: rows of the table, of the target, and generated ones, as points, side by side."""
    panels = []
    for rows in (seen[:COMPARED], fresh, made):
        spots = np.clip(np.rint(80 + 24 * rows), 1, 158).astype(int)
        panel = np.full((160, 160), 255)
        np.subtract.at(panel, (159 - spots[:, 1], spots[:, 0]), 120)
        panel[[0, -1]] = panel[:, [0, -1]] = 128
        panels.append(np.clip(panel, 0, 255).astype(np.uint8))
    (PICTURES / "weighted-2d.png").write_bytes(png(np.concatenate(panels, axis=1)))


ONLY = ("real", *METHODS, *(f"{m}/{d}" for m in METHODS for d in DATASETS),
        *(f"{m}/{d}-bounded" for m in BOUNDED for d in DATASETS))  # fmt: skip


def run(options: Options, results: Results) -> None:
    results.published = [
        published_row(Setting(method, dataset, guarantee=None), name, value, THESIS)
        for method, rows in PUBLISHED.items()
        for dataset, values in zip(DATASETS, rows)
        for name, value in zip(("kl_knn", "mmd2", "energy"), values)
    ]
    seeds = list(range(options.seeds))
    cases = [(m, d) for d in DATASETS for m in METHODS] + [(m, f"{d}-bounded") for d in DATASETS for m in BOUNDED]
    for dataset in dict.fromkeys(d for _, d in cases):
        for seed in seeds if options.wants("real") else []:
            table = simulated(dataset, seed)
            results.add(Setting("real", dataset), seed, compared(table.again, table.fresh), f"real/{dataset}")
    for method, dataset in cases:
        case = f"{method}/{dataset}"
        todo = [s for s in seeds if not results.has(case, s)]
        if not (options.wants(method) or options.wants(case)) or not todo:
            continue
        tables = [simulated(dataset, s, 1_000 if options.quick else ROWS) for s in todo]
        made = generated(method, tables, todo, 20 if options.quick else STEPS[METHODS[method]["loss"]])
        for seed, rows, table in zip(todo, made, tables):
            results.add(Setting(method, dataset), seed, compared(rows, table.fresh), case)
        results.write()
        if case == "sniw-mmd/2d" and not options.quick:
            picture(tables[0].rows, tables[0].fresh, made[0])
        print(case, {r["metric"]: r["mean"] for r in results.rows() if (r["method"], r["dataset"]) == (method, dataset)
                     and r["source"] == "nacre"}, flush=True)  # fmt: skip
