"""PEARL and DP-MERF on small images: Fréchet and kernel distances on one LeNet, and what a network learns from them.

The LeNet is trained once on the real training images and judges every method; distances are taken to the test images,
10,000 against 10,000, and compare as ratios only. Cases run side by side in processes of their own (`--jobs`);
`--only steps` times single steps of training and nothing else.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data, published
from benchmarks.catalogue import Options
from benchmarks.places import PICTURES, WORK
from benchmarks.png import strips
from benchmarks.results import Results, Setting

DELTA = 1e-5
COMPARED = 10_000  # images on each side of a distance
SHOWN = 20  # images in a row of the picture, classes in turn
VARIANTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "pearl-paper": ("pearl-paper", {}),
    "pearl-paper-no-critic": ("pearl-paper", {"critic": 0}),
    "pearl-paper-large": ("pearl-paper", {"batch": 1000}),
    "merf": ("merf", {}),
    "merf-scale": ("merf", {"scale": "bought"}),
    "merf-scale-large": ("merf", {"scale": "bought", "batch": 1000}),
}
ONLY = (*VARIANTS, "steps")
# Data set and the paper's settings by benchmark; batches of 100 images.
STUDIES: Mapping[str, tuple[str, dict[str, int]]] = {
    "pearl-mnist": ("mnist", {"frequencies": 1000, "steps": 6000}),
    "pearl-fashion": ("fashion-mnist", {"frequencies": 3000, "steps": 3000}),
}
BUDGETS = (None, 10.0, 1.0, 0.2)  # of `pearl-paper`; the others have ε = 1
PICTURE = (
    *(("pearl-paper", e) for e in BUDGETS),
    ("pearl-paper-large", 1.0),
    ("merf-scale", 1.0),
    ("merf", 1.0),
)


@dataclass(frozen=True)
class Job:
    """One method at one budget on one data set."""

    dataset: str
    method: str
    epsilon: float | None
    seed: int
    settings: tuple[tuple[str, int], ...]
    rows: int | None = None

    @property
    def name(self) -> str:
        return f"{self.dataset}/{self.method}/{self.epsilon}"


def run(options: Options, results: Results) -> None:
    """All cases of all seeds."""
    dataset, settings = STUDIES[results.benchmark]
    results.published = published.rows(dataset)
    rows = 2_000 if options.quick else None
    settings = {"frequencies": 100, "steps": 20} if options.quick else settings
    base = Job(dataset, "pearl-paper", 1.0, 0, tuple(settings.items()), rows)
    if not options.nothing:
        if options.wants("steps") and not results.has(f"{dataset}/steps", 0):
            _steps(base, results)
        if options.only == ("steps",):
            return
        _real(base, options, results)
    todo = [job for job in _jobs(base, options) if not results.has(job.name, job.seed)]
    if options.jobs == 1:
        for job in todo:
            _keep(results, job, measured(job))
    else:
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(options.jobs, mp_context=spawn) as pool:
            waiting = {pool.submit(measured, job): job for job in todo}
            for done in as_completed(waiting):
                _keep(results, waiting[done], done.result())
    _ratios(dataset, options, results)
    if not options.quick:
        _picture(dataset)


def _jobs(base: Job, options: Options) -> list[Job]:
    cases = [("pearl-paper", e) for e in BUDGETS] + [(m, 1.0) for m in VARIANTS if m != "pearl-paper"]
    seeds = range(options.seeds)
    return [replace(base, method=m, epsilon=e, seed=s) for s in seeds for m, e in cases if options.wants(m)]


def _keep(results: Results, job: Job, found: tuple[str, dict[str, float]]) -> None:
    guarantee, figures = found
    delta = None if job.epsilon is None else DELTA
    results.add(Setting(job.method, job.dataset, job.epsilon, delta, guarantee), job.seed, figures, job.name)
    results.write()
    print(job.name, job.seed, {k: round(v, 4) for k, v in figures.items()}, flush=True)


# ------------------------------------------------------------------------------------------------------ one case


def measured(job: Job) -> tuple[str, dict[str, float]]:
    """The guarantee and the figures of one case; its images for the picture are left in the work folder."""
    release, figures = fitted(job)
    start = time.perf_counter()
    images, labels = drawn(release, len(_images(job)[0]), job.seed)
    figures["sample_s"] = time.perf_counter() - start
    return release.certificate.guarantee, figures | judged(job, images, labels)


def fitted(job: Job) -> tuple[Any, dict[str, float]]:
    import nacre

    x, y, _, _ = _images(job)
    table, schema = as_table(x, y)
    method, options = VARIANTS[job.method]
    start = last = time.perf_counter()

    def progress(what: str, done: int, total: int | None) -> None:
        nonlocal last
        if what != "training":
            last = time.perf_counter()

    release = nacre.fit(
        table,
        schema=schema,
        epsilon=job.epsilon,
        delta=DELTA,
        method=method,
        target="label",
        seed=job.seed,
        options={**dict(job.settings), **options},
        progress=progress,
    )
    end = time.perf_counter()
    return release, {"fit_s": end - start, "train_s": end - last}


def as_table(images: np.ndarray, labels: np.ndarray) -> tuple[Any, Any]:
    """An Arrow table of pixels in [0, 1] and labels, and its public schema."""
    import pyarrow as pa

    pixels = pa.array((images.astype(np.float32) / 255).ravel())
    table = pa.table(
        {
            "image": pa.FixedSizeListArray.from_arrays(pixels, int(np.prod(images.shape[1:]))),
            "label": pa.array(labels.astype(str)),
        }
    )
    return table, schema_of(images.shape[1:], len(images))


def schema_of(shape: tuple[int, ...], rows: int | None) -> Any:
    from nacre.table import Categorical, Schema, Tensor

    columns = {"image": Tensor(shape=shape, bounds=(0.0, 1.0)), "label": Categorical(categories=tuple("0123456789"))}
    return Schema(columns, rows=rows)


def drawn(release: Any, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Synthetic images [rows, height, width] in [0, 1] and their labels."""
    parts = [
        (np.asarray(t["image"].combine_chunks().flatten()), t["label"].to_numpy().astype(np.int64))
        for t in release.chunks(rows, seed=seed)
    ]
    height, width = release.schema.columns["image"].shape
    images = np.concatenate([p for p, _ in parts]).reshape(-1, height, width)
    return images, np.concatenate([k for _, k in parts])


def judged(job: Job, images: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    from nacre.evaluation.images import cnn_accuracy, fid, kid, load_judge

    _, _, z, truth = _images(job)
    judge = load_judge(_folder(job.dataset) / "judge.safetensors")
    ours, theirs = judge(images[:COMPARED]), judge(z[:COMPARED])
    if job.seed == 0:
        order = np.concatenate([np.flatnonzero(labels == c)[: SHOWN // 10] for c in range(10)])
        np.save(_strip(job.dataset, job.method, job.epsilon), (images[order] * 255).astype(np.uint8))
    return {
        "fid_lenet": fid(ours, theirs),
        "kid_lenet": kid(ours, theirs, seed=job.seed),
        "cnn_accuracy": cnn_accuracy(images, labels, z, truth, seed=job.seed),
    }


# -------------------------------------------------------------------------------------------- around the cases


def _real(base: Job, options: Options, results: Results) -> None:
    """The judge, and the figures of real images against real ones: 10,000 of training against those of the test."""
    from nacre.evaluation.images import lenet

    folder = _folder(base.dataset)
    x, y, _, _ = _images(base)
    if not (folder / "judge.safetensors").exists() or not results.resume:
        folder.mkdir(parents=True, exist_ok=True)
        judge = lenet(x, y)
        judge.save(folder / "judge.safetensors")
        results.note(f"The judge of {base.dataset} is right on {judge.accuracy:.4f} of the images it did not see.")
    for seed in range(options.seeds):
        job = replace(base, method="real", epsilon=None, seed=seed)
        if results.has(job.name, seed):
            continue
        order = np.random.default_rng(seed).permutation(len(x))
        figures = judged(job, x[order].astype(np.float32) / 255, y[order])
        results.add(Setting("real", base.dataset), seed, figures, job.name)
        results.write()


def _steps(base: Job, results: Results) -> None:
    """How long a step of `pearl-paper` takes, on the processor and on an accelerator."""
    from benchmarks.pearl.step import step_times

    setting = Setting("pearl-paper", base.dataset, 1.0, DELTA, "proven (real arithmetic)")
    found = step_times(dict(base.settings))
    results.add(setting, 0, found, f"{base.dataset}/steps")
    results.write()
    print(base.dataset, "steps", {k: round(v, 3) for k, v in found.items()}, flush=True)


def _ratios(dataset: str, options: Options, results: Results) -> None:
    """Distances over those of real images against real ones, and at ε = 1 over those of DP-MERF, seed by seed."""
    for seed in range(options.seeds):
        real = results.of(Setting("real", dataset), seed)
        base = results.find("merf", dataset, 1.0)
        merf = results.of(base, seed) if base else {}
        for setting in results.settings(dataset):
            own = results.of(setting, seed)
            if "fid_lenet" not in own or setting.method == "real":
                continue
            found = {"fid_over_real": own["fid_lenet"] / real["fid_lenet"]}
            if merf and setting.epsilon == 1.0:
                found["fid_over_merf"] = own["fid_lenet"] / merf["fid_lenet"]
                found["kid_over_merf"] = own["kid_lenet"] / merf["kid_lenet"]
            results.add(setting, seed, found, "ratios")
    results.write()


def _picture(dataset: str) -> None:
    """docs/methods/pearl-NAME.png: real images, then those of the cases in PICTURE, one row each."""
    paths = [_strip(dataset, "real", None), *(_strip(dataset, m, e) for m, e in PICTURE)]
    if all(p.exists() for p in paths):
        (PICTURES / f"pearl-{dataset}.png").write_bytes(strips([np.load(p) for p in paths]))


def _images(job: Job) -> tuple[np.ndarray, ...]:
    return data.images(job.dataset, job.rows)


def _folder(dataset: str) -> Path:
    return WORK / dataset


def _strip(dataset: str, method: str, epsilon: float | None) -> Path:
    return _folder(dataset) / f"{method}-{epsilon}.npy"
