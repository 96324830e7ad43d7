"""What the picture benchmarks of weighted generators share: networks, one training, and how pictures are judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.catalogue import Options
from benchmarks.places import PICTURES, WORK
from benchmarks.png import strips
from benchmarks.results import Results, Setting

SIDE, LATENT, CODE = 28, 64, 32
KINDS = 10
TRAIN, TEST = {"mnist": 36_000, "fashion-mnist": 7_000}, 2_000  # the first of each file
JUDGED = {"mnist": 12_000, "fashion-mnist": 7_000}  # of them the judge is trained on
DRAWN = 4_000  # generated pictures that are judged
SHOWN = 20
SCALES = (1.0, 2.0, 4.0, 8.0, 16.0)
# Scheme of the loss by method. "plain" knows no weights: those of its self-normalised loss are equal.
METHODS = {"sniw-mmd": "sniw", "plain": "sniw", "iw-mmd": "iw", "miw-mmd": "miw", "id-mmd": "plain", "cgan": "plain"}


@dataclass(frozen=True)
class Training:
    """Length and pace of all trainings; `rate` and what the critic minimises are of the weighted MMD-GANs."""

    steps: int = 2_000
    batch: int = 64
    rate: float = 2e-4
    turns: int = 2
    rebuild: float = 0.1
    channels: int = 32


TRAINING = Training()


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


@dataclass(frozen=True, eq=False)
class Job:
    """One training: these pictures, by that method."""

    pictures: Pictures
    method: str
    seed: int


@cache
def loaded(dataset: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test pictures in [0, 1], flat, and their classes."""
    x, y, z, t = data.images(dataset, TRAIN[dataset])
    return _flat(x), y.astype(np.int64), _flat(z[:TEST]), t[:TEST].astype(np.int64)


def _flat(images: np.ndarray) -> np.ndarray:
    return (images.reshape(len(images), -1) / 255).astype(np.float32)


@cache
def critic(dataset: str) -> Any:
    """One LeNet on real training pictures, the same for every method."""
    from nacre.evaluation.images import lenet

    x, y = (part[: JUDGED[dataset]] for part in loaded(dataset)[:2])
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


# ------------------------------------------------------------------------------------------------------- training


def generated(jobs: Sequence[Job], training: Training = TRAINING) -> Iterator[tuple[Job, np.ndarray]]:
    """(job, DRAWN pictures [n, 28, 28] of its generator), trainings of one program together."""
    from nacre.errors import ConvergenceError

    for group in together(jobs, training):
        for job, made in zip(group, trained(group, training)):
            if not np.isfinite(made).all():
                raise ConvergenceError(
                    f"{job.method}/{job.pictures.name}, seed {job.seed}: training left finite numbers"
                )
            yield job, made


def together(jobs: Sequence[Job], training: Training = TRAINING) -> list[list[Job]]:
    """Jobs in groups that one program can train at once: one game, as many pictures. An accelerator takes 16 at a time;
    a processor gains nothing by more than one."""
    import jax

    most = 1 if jax.default_backend() == "cpu" else 16
    groups: dict[Any, list[Job]] = {}
    for job in jobs:
        groups.setdefault((config(job.method, training), len(job.pictures.rows)), []).append(job)
    return [group[i : i + most] for group in groups.values() for i in range(0, len(group), most)]


def trained(group: Sequence[Job], training: Training = TRAINING, **watch: Any) -> list[np.ndarray]:
    """Pictures of every job of a group; not finite where a training diverged. `watch`: see `train`."""
    import jax

    from nacre.synthesizers.weighted.training import train

    played = config(group[0].method, training)
    data = jax.tree.map(lambda *a: np.stack(a), *map(prepared_for, group))
    keys = jax.vmap(jax.random.key)(np.array([job.seed for job in group]))
    nets = train(data, played, training.steps, keys, **watch)
    return [_drawn(job, played.generator, {name: w[i] for name, w in nets.items()}) for i, job in enumerate(group)]


def prepared_for(job: Job) -> Any:
    """Rows, weights and conditions as the training takes them."""
    from nacre.synthesizers.weighted.training import prepared
    from nacre.targets.weights import duplicated

    pictures, given, copies = job.pictures, None, None
    weights = np.ones(len(pictures.rows)) if job.method in ("cgan", "plain") else pictures.weights
    if job.method == "cgan":
        given = np.eye(KINDS)[pictures.kinds]
    if job.method == "id-mmd":
        places = duplicated(weights, np.random.default_rng([job.seed, 37]))
        copies = np.bincount(places, minlength=len(weights)).astype(np.float64)
    return prepared(pictures.rows, weights, given, copies, fixed=False)


def config(method: str, training: Training = TRAINING) -> Any:
    """Networks and loss; what rebuilds pictures from codes is small: it only keeps the encoder honest. A conditional
    DCGAN learns at the thesis's 2e-4; the median of groups gets a double batch, as there."""
    from nacre.nets.pictures import Down, Up
    from nacre.synthesizers.weighted.config import CriticConfig, TrainingConfig

    t, c = training, training.channels
    if method == "cgan":
        return TrainingConfig(Up(LATENT, KINDS, channels=c), "ce", "plain", Down(1, KINDS, channels=c), latent=LATENT,
                    batch=t.batch, turns=1, rate=2e-4, critic_rate=2e-4, flat=0.05)  # fmt: skip
    return TrainingConfig(
        Up(LATENT, channels=c), "mmd", METHODS[method], Down(CODE, channels=c), Up(CODE, channels=max(c // 4, 2)),
        CriticConfig(rebuild=t.rebuild, steep=1.0), latent=LATENT,
        batch=2 * t.batch if method == "miw-mmd" else t.batch, groups=7, form="v", scales=SCALES,
        turns=t.turns, rate=t.rate, critic_rate=t.rate,
    )  # fmt: skip


def _drawn(job: Job, generator: Any, net: dict[str, np.ndarray]) -> np.ndarray:
    """The conditional generator gets classes by target share."""
    rng = np.random.default_rng([job.seed, 41])
    parts = []
    for _ in range(DRAWN // 1_000):
        inputs = [rng.standard_normal((1_000, LATENT)).astype(np.float32)]
        if job.method == "cgan":
            kinds = rng.choice(job.pictures.classes, 1_000, p=job.pictures.target)
            inputs.append(np.eye(KINDS, dtype=np.float32)[kinds])
        parts.append(np.asarray(_pictures(generator)(net, inputs)))
    return np.clip(np.concatenate(parts), 0, 1).reshape(-1, SIDE, SIDE)


@cache
def _pictures(generator: Any) -> Any:
    """Compiled once for all generators of that shape."""
    import jax

    return jax.jit(lambda net, inputs: generator(net, inputs))


# -------------------------------------------------------------------------------------------------------- judging


def classified(dataset: str, pictures: Pictures, made: np.ndarray) -> tuple[dict[str, float], dict[int, dict]]:
    """(figures of all classes, figures of each). Of all: largest error of a class's share, FID to test pictures of the
    target, mean of the FIDs within classes if all came out. Of each: its share, and its FID if enough came out."""
    from nacre.evaluation.images import fid

    net = critic(dataset)
    kinds, codes = net.predict(made), net(made)
    _, _, test, truth = loaded(dataset)
    real = net(test.reshape(-1, SIDE, SIDE))
    assert pictures.target is not None
    each: dict[int, dict[str, float]] = {c: {"class_share": float((kinds == c).mean())} for c in pictures.classes}
    for c, found in each.items():
        if (kinds == c).sum() >= 50:  # fewer fit no Gaussian
            found["fid_class"] = fid(codes[kinds == c], real[truth == c])
    gaps = [abs(found["class_share"] - p) for found, p in zip(each.values(), pictures.target)]
    inside = [found["fid_class"] for found in each.values() if "fid_class" in found]
    missed = len(each) - len(inside)
    rng = np.random.default_rng(43)
    places = np.concatenate([
        rng.choice(np.flatnonzero(truth == c), round(2_000 * p)) for c, p in zip(pictures.classes, pictures.target)
    ])  # fmt: skip
    whole = {"class_share_error": float(max(gaps)), "fid_lenet": fid(codes, real[places]), "classes_missed": missed}
    return whole | ({} if missed else {"fid_class": float(np.mean(inside))}), each


def training(options: Options) -> Training:
    return Training(steps=5, channels=8) if options.quick else TRAINING


def keep(
    results: Results, job: Job, dataset: str, made: np.ndarray, figures: dict[str, float],
    each: Mapping[int, dict[str, float]] = MappingProxyType({}),
) -> None:  # fmt: skip
    """Write the rows of a job, those of `each` class first, and keep pictures of the first seed for the figure."""
    case = f"{job.method}/{job.pictures.name}"
    for kind, found in each.items():
        results.add(Setting(job.method, f"{dataset}, class {kind}"), job.seed, found, f"{case}/{kind}")
    results.add(Setting(job.method, dataset), job.seed, figures, case)
    results.write()
    print(case, job.seed, {k: round(v, 4) for k, v in figures.items()}, flush=True)
    if job.seed == 0:
        keep_strip(dataset, job.method, made)


def keep_strip(name: str, method: str, images: np.ndarray) -> None:
    """The first pictures of a method, for the figure."""
    folder = WORK / "iw-pictures"
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / f"{name}-{method}.npy", np.rint(images[:SHOWN].reshape(-1, SIDE, SIDE) * 255).astype(np.uint8))


def figure(out: str, wanted: list[tuple[str, str]]) -> None:
    """docs/methods/OUT.png: one row of pictures per (name, method), where they are there."""
    paths = [WORK / "iw-pictures" / f"{name}-{method}.npy" for name, method in wanted]
    rows = [np.load(p) for p in paths if p.exists()]
    if rows:
        (PICTURES / f"{out}.png").write_bytes(strips(rows))
