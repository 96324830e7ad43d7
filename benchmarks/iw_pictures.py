"""What the picture benchmarks of weighted generators share: networks, one training, and how pictures are judged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.pearl_images import DOCS, png
from benchmarks.results import WORK

SIDE, LATENT, CODE = 28, 64, 32
TRAIN, TEST = {"mnist": 12_000, "fashion-mnist": 7_000}, 2_000  # the first of each file
DRAWN = 4_000  # generated pictures that are judged
SHOWN = 20
CHANNELS, TURNS = 32, 2
CRITIC = {"rebuild": 0.1, "steep": 1.0}
SCALES = (1.0, 2.0, 4.0, 8.0, 16.0)
# Scheme and loss by method. "plain" knows no weights: what comes out without them.
METHODS: dict[str, dict[str, Any]] = {
    "sniw-mmd": {"scheme": "sniw"},
    "iw-mmd": {"scheme": "iw"},
    "miw-mmd": {"scheme": "miw"},
    "id-mmd": {"scheme": "plain"},
    "cgan": {"scheme": "plain", "loss": "ce"},
    "plain": {"scheme": "plain"},
}


@dataclass(frozen=True)
class Pictures:
    """Training pictures [n, 784] in [0, 1] with their class and weight. `classes`: those that occur; `target`: the
    share that each of them shall have, None where the target is no matter of classes."""

    name: str
    rows: np.ndarray
    kinds: np.ndarray
    weights: np.ndarray
    classes: tuple[int, ...]
    target: np.ndarray | None = None


@cache
def loaded(dataset: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test pictures in [0, 1], flat, and their classes."""
    x, y, z, t = data.images(dataset, TRAIN[dataset])
    return _flat(x), y.astype(np.int64), _flat(z[:TEST]), t[:TEST].astype(np.int64)


def _flat(images: np.ndarray) -> np.ndarray:
    return (images.reshape(len(images), -1) / 255).astype(np.float32)


@cache
def judge(dataset: str) -> Any:
    """One LeNet on all training pictures used here, the same for every method."""
    from nacre.evaluation.images import lenet

    x, y, _, _ = loaded(dataset)
    return lenet(x.reshape(-1, SIDE, SIDE), y)


def by_class(
    dataset: str, name: str, counts: dict[int, int], target: dict[int, float], seed: int, rows: int
) -> Pictures:
    """About so many training pictures of each class, `rows` in all, weighted by the ratio of the target's shares to
    theirs. Studies of one size share a compiled program."""
    x, y, _, _ = loaded(dataset)
    rng = np.random.default_rng([seed, 31])
    places = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:n] for c, n in counts.items()])
    places = rng.permutation(places)[:rows]
    classes = tuple(counts)
    wanted = np.array([target[c] for c in classes])
    kinds = y[places]
    have = np.array([(kinds == c).mean() for c in classes])
    weights = np.zeros(len(kinds))
    for c, ratio in zip(classes, wanted / have):
        weights[kinds == c] = ratio
    return Pictures(name, x[places], kinds, weights, classes, wanted)


def generated(pictures: Pictures, method: str, seed: int, steps: int, batch: int = 64) -> np.ndarray:
    """DRAWN pictures [n, 28, 28] of a generator trained on these. The conditional one gets classes by target share."""
    import jax
    import jax.numpy as jnp

    from nacre.synthesizers.weighted.training import prepared, train
    from nacre.targets.weights import duplicated

    conditional, given = method == "cgan", None
    if conditional:
        given = (pictures.kinds[:, None] == np.array(pictures.classes)).astype(np.float32)
    weights, copies = pictures.weights, None
    if method in ("cgan", "plain"):
        weights = np.ones(len(weights))
    if method == "id-mmd":
        places = duplicated(weights, np.random.default_rng([seed, 37]))
        copies = np.bincount(places, minlength=len(weights)).astype(np.float64)
    game = _game(method, len(pictures.classes) if conditional else 0, batch)
    net = train(prepared(pictures.rows, weights, given, copies), game, steps, jax.random.key(seed))
    rng = np.random.default_rng([seed, 41])
    call = jax.jit(lambda net, inputs: game.maker(net, inputs))
    parts = []
    for _ in range(DRAWN // 1_000):
        inputs = [jnp.asarray(rng.standard_normal((1_000, LATENT)), jnp.float32)]
        if conditional:
            inputs.append(jnp.eye(len(pictures.classes))[rng.choice(len(pictures.classes), 1_000, p=pictures.target)])
        parts.append(np.asarray(call(net, inputs)))
    return np.clip(np.concatenate(parts), 0, 1).reshape(-1, SIDE, SIDE)


def _game(method: str, given: int, batch: int) -> Any:
    from nacre.nets.pictures import Down, Up
    from nacre.synthesizers.weighted.game import Critic, Game

    chosen = METHODS[method]
    if method == "cgan":  # Adam 2e-4 as in the thesis
        nets = Up(LATENT, given, channels=CHANNELS), Down(1, given, channels=CHANNELS)
        return Game(nets[0], "ce", "plain", nets[1], latent=LATENT, batch=batch, turns=1, rate=2e-4,
                    judge_rate=2e-4, flat=0.05)  # fmt: skip
    return Game(
        Up(LATENT, channels=CHANNELS), "mmd", chosen["scheme"], Down(CODE, channels=CHANNELS),
        Up(CODE, channels=CHANNELS), Critic(**CRITIC), latent=LATENT,
        batch=2 * batch if method == "miw-mmd" else batch, groups=7, form="v", scales=SCALES, turns=TURNS,
        rate=2e-4, judge_rate=2e-4,
    )  # fmt: skip


def classified(dataset: str, pictures: Pictures, made: np.ndarray) -> dict[str, float]:
    """Largest error of a class's share, FID to test pictures of the target, and the mean FID within classes."""
    from nacre.evaluation.images import fid

    net = judge(dataset)
    kinds, codes = net.predict(made), net(made)
    _, _, test, truth = loaded(dataset)
    real = net(test.reshape(-1, SIDE, SIDE))
    assert pictures.target is not None
    gaps = [abs((kinds == c).mean() - p) for c, p in zip(pictures.classes, pictures.target)]
    found = {"class_share_error": float(max(gaps))}
    inside = [
        fid(codes[kinds == c], real[truth == c])
        for c in pictures.classes
        if (kinds == c).sum() >= 50  # fewer fit no Gaussian
    ]
    if inside:
        found["fid_class"] = float(np.mean(inside))
    rng = np.random.default_rng(43)
    places = np.concatenate([
        rng.choice(np.flatnonzero(truth == c), round(2_000 * p)) for c, p in zip(pictures.classes, pictures.target)
    ])  # fmt: skip
    return {**found, "fid_lenet": fid(codes, real[places])}


def keep_strip(name: str, method: str, images: np.ndarray) -> None:
    """The first pictures of a method, for the figure."""
    folder = WORK / "iw-pictures"
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / f"{name}-{method}.npy", np.rint(images[:SHOWN].reshape(-1, SIDE, SIDE) * 255).astype(np.uint8))


def figure(out: str, strips: list[tuple[str, str]]) -> None:
    """docs/methods/OUT.png: one row of pictures per (name, method), where they are there."""
    paths = [WORK / "iw-pictures" / f"{name}-{method}.npy" for name, method in strips]
    rows = [np.concatenate(list(np.pad(np.load(p), ((0, 0), (1, 1), (1, 1)))), axis=1) for p in paths if p.exists()]
    if rows:
        (DOCS / f"{out}.png").write_bytes(png(np.concatenate(rows)))
