"""Images: Fréchet and kernel distances on the features of one LeNet, and what a network learns from synthetic images.

The LeNet is trained once on the real training images and kept for every method that is compared: figures with
another network, or from other papers, are not comparable. Compare ratios: method / baseline, method / real against
real.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from nacre.errors import DataError

HELD_OUT = 10  # one image in ten tells the network's accuracy and is not trained on
CHUNK = 2_048


@dataclass(frozen=True)
class Judge:
    """A trained LeNet. Called on images it gives their 84 features; `accuracy` is on images it was not trained on."""

    parameters: dict[str, Any]
    accuracy: float
    shape: tuple[int, int]

    def __call__(self, images: object) -> np.ndarray:
        """Features [n, 84] in float64."""
        from nacre.nets.lenet import features

        return self._in_chunks(features, images).astype(np.float64)

    def predict(self, images: object) -> np.ndarray:
        """The likeliest class of each image."""
        from nacre.nets.lenet import logits

        return self._in_chunks(logits, images).argmax(axis=1)

    def _in_chunks(self, function: Any, images: object) -> np.ndarray:
        import jax

        x = grey(images, "images")
        if x.shape[1:] != self.shape:
            raise DataError(f"images: the network was trained on {self.shape}, got {x.shape[1:]}")
        compiled = jax.jit(function)
        parts = [np.asarray(compiled(self.parameters, x[s : s + CHUNK])) for s in range(0, len(x), CHUNK)]
        return np.concatenate(parts)

    def save(self, path: str | Path) -> None:
        """Weights as safetensors, so that every method is judged by this same network."""
        from safetensors.numpy import save_file

        facts = {"accuracy": repr(self.accuracy), "height": str(self.shape[0]), "width": str(self.shape[1])}
        save_file({k: np.asarray(v) for k, v in self.parameters.items()}, str(path), metadata=facts)


def load_judge(path: str | Path) -> Judge:
    from safetensors import safe_open

    with safe_open(str(path), framework="numpy") as file:
        facts = file.metadata() or {}
        parameters = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    missing = {"accuracy", "height", "width"} - set(facts)
    if missing:
        raise DataError(f"{path}: not a network saved by nacre, {', '.join(sorted(missing))} missing")
    return Judge(parameters, float(facts["accuracy"]), (int(facts["height"]), int(facts["width"])))


def grey(images: Any, name: str) -> np.ndarray:
    """float32 [n, height, width] in [0, 1]: integers are divided by 255, floats must already lie there."""
    x = np.asarray(images)
    if x.ndim == 4 and x.shape[-1] == 1:
        x = x[..., 0]
    if x.ndim != 3 or not len(x):
        raise DataError(f"{name}: expected grey images [n, height, width], got an array of shape {np.shape(images)}")
    scaled = x.astype(np.float32) / 255 if np.issubdtype(x.dtype, np.integer) else x.astype(np.float32)
    if not (scaled.min() >= -1e-6 and scaled.max() <= 1 + 1e-6):  # also when NaN
        raise DataError(f"{name}: expected whole numbers 0-255 or floats in [0, 1], got {x.min()} to {x.max()}")
    return scaled


def _classes(labels: object, rows: int, name: str) -> np.ndarray:
    y = np.asarray(labels)
    if y.shape != (rows,) or not np.issubdtype(y.dtype, np.integer) or y.min() < 0:
        raise DataError(f"{name}: expected {rows} whole numbers from 0, one per image, got {y.dtype} of {y.shape}")
    return y.astype(np.int64)


def lenet(images: object, labels: object, seed: int = 0, epochs: int = 6) -> Judge:
    """The judge for these real images. A random tenth of them is held out to measure its accuracy."""
    x = grey(images, "images")
    y = _classes(labels, len(x), "labels")
    if len(x) < 2 * HELD_OUT:
        raise DataError(f"images: expected at least {2 * HELD_OUT} to train on and to hold out, got {len(x)}")
    order = np.random.default_rng(seed).permutation(len(x))
    held, used = order[: len(x) // HELD_OUT], order[len(x) // HELD_OUT :]
    return _trained(x[used], y[used], x[held], y[held], seed, epochs)


def cnn_accuracy(
    train_images: object, train_labels: object, test_images: object, test_labels: object, seed: int = 0, epochs: int = 6
) -> float:
    """Share of the (real) test images that a LeNet trained on the (synthetic) training images gets right."""
    x, z = grey(train_images, "train_images"), grey(test_images, "test_images")
    y, truth = _classes(train_labels, len(x), "train_labels"), _classes(test_labels, len(z), "test_labels")
    return _trained(x, y, z, truth, seed, epochs).accuracy


def _trained(x: np.ndarray, y: np.ndarray, z: np.ndarray, truth: np.ndarray, seed: int, epochs: int) -> Judge:
    from nacre.nets.lenet import train

    parameters = train(x, y, int(max(y.max(), truth.max())) + 1, seed, epochs)
    judge = Judge(parameters, 0.0, (x.shape[1], x.shape[2]))
    return Judge(parameters, float(np.mean(judge.predict(z) == truth)), judge.shape)


def _features(values: object, name: str) -> np.ndarray:
    f = np.asarray(values, dtype=np.float64)
    if f.ndim != 2 or len(f) < 2 or not np.isfinite(f).all():
        raise DataError(f"{name}: expected finite features [n, d] of at least two images, got shape {f.shape}")
    return f


def fid(a: Any, b: Any) -> float:
    """Fréchet distance of the Gaussians fitted to two sets of features: ‖μ_a − μ_b‖² + tr(S_a + S_b − 2(S_a S_b)^½).

    Biased upward by about d²/n for few images: compare sets of equal size. The root is taken of the symmetric
    S_a^½ S_b S_a^½, which has the same trace and never a complex part.
    """
    a, b = _features(a, "a"), _features(b, "b")
    sa, sb = (np.atleast_2d(np.cov(f, rowvar=False)) for f in (a, b))
    values, axes = np.linalg.eigh(sa)
    root = (axes * np.sqrt(np.maximum(values, 0))) @ axes.T
    cross = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ sb @ root), 0)).sum()
    return float(np.sum((a.mean(axis=0) - b.mean(axis=0)) ** 2) + np.trace(sa) + np.trace(sb) - 2 * cross)


@cache
def _cubic_mmd2() -> Callable[[Any, Any], Any]:
    """Compiled once, however often KID is asked for."""
    import jax

    from nacre.distances.kernels import Polynomial
    from nacre.distances.mmd import plain

    k = Polynomial()
    return jax.jit(lambda x, y: plain(k(x, x), k(x, y), k(y, y)))


def kid(a: object, b: object, subsets: int = 100, rows: int | None = None, seed: int = 0) -> float:
    """Unbiased squared MMD of two sets of features with the kernel (x·y/d + 1)³, mean over random subsets.

    Each subset has `rows` rows of both sets, drawn without replacement; None: 1,000, or all of the smaller set.
    Unbiased at any size, so it may be negative.
    """
    import jax

    a, b = _features(a, "a"), _features(b, "b")
    least = min(len(a), len(b))
    rows = min(1_000, least) if rows is None else rows
    if not 2 <= rows <= least or subsets < 1:
        raise DataError(f"kid: expected 2 to {least} rows in at least 1 subset, got {rows} rows, {subsets} subsets")

    one = _cubic_mmd2()
    rng = np.random.default_rng(seed)
    draws = [[f[rng.choice(len(f), rows, replace=False)] for f in (a, b)] for _ in range(subsets)]
    with jax.enable_x64(True):
        return float(np.mean([one(x, y) for x, y in draws]))
