"""What the benchmarks of hidden columns share: splits, trainings of all seeds together, and figures of hidden columns.

Every PPEM is three trainings: the method, `-paper` (the penalty on the energy alone; without a decoy it may not set
right what is linear at the end) and `-control` (neither penalty nor decoy). On an accelerator the trainings of all
seeds are one compiled loop; on a processor they run one by one. Trained weights are kept beside the logs, so that
training and scoring may happen in different runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.catalogue import Options
from benchmarks.places import WORK
from benchmarks.ppem.figures import Records, Split, column_distances, distances, stein_p, untilted
from benchmarks.results import Results, Setting
from nacre.errors import ConvergenceError, DataError
from nacre.synthesizers.parts import files, revealed
from nacre.synthesizers.parts.coding import Coding
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.ppem.finish import Moments
from nacre.synthesizers.ppem.method import Ppem
from nacre.synthesizers.ppem.model import PpemModel, split
from nacre.targets.weights import LEAST

LANES = ("", "-paper", "-control")
PRIVATE_LANES = ("", "-start", "-control")
EPSILON, DELTA = 1.0, 1e-6
FORM = 4  # of kept weights: one more whenever what is trained or kept changes
BEFORE = {"steps": 1}  # the generators move once in five steps of the energies: with one they stay where they start


@dataclass(frozen=True)
class Study:
    """One table of a benchmark. `useful`: figures of what rows serve for. `rows`: how many are drawn, None for as many
    as the private table has. `hidden_for_others`: where methods that hide nothing are looked at."""

    bench: str
    table: str
    splits: Sequence[Split]
    useful: Callable[[Records, Split], dict[str, float]]
    steps: int
    batch: int
    hidden_for_others: tuple[str, ...]
    options: Options
    results: Results
    rows: int | None = None

    def wants(self, name: str) -> bool:
        """--only names methods, tables, or table/method."""
        only = self.options.only
        return not only or any(word in only for word in (name, self.table, f"{self.table}/{name}"))

    def left(self, *names: str) -> list[Split]:
        """Splits for which one of these is still to be measured."""
        return [one for one in self.splits if any(self.open(name, one.seed) for name in names)]

    def open(self, name: str, seed: int) -> bool:
        return self.wants(name) and not self.results.has(f"{self.table}/{name}", seed)

    def add(self, setting: Setting, one: Split, figures: Mapping[str, float]) -> None:
        self.results.add(setting, one.seed, figures, f"{self.table}/{setting.method}")
        self.results.write()
        shown = ", ".join(f"{k} {v:.4f}" for k, v in figures.items())
        print(f"{self.table}/{setting.method} {one.seed}: {shown}", flush=True)

    def drawn(self, model: Any, one: Split) -> Records:
        count = self.rows or len(one.private)
        return model.draw(min(count, 5_000) if self.options.quick else count, np.random.default_rng(one.seed))

    @property
    def count(self) -> int:
        return 40 if self.options.quick else self.steps


def lanes(sizes: Iterable[str], private: Sequence[str] = PRIVATE_LANES) -> tuple[str, ...]:
    """The methods of the paper for those numbers of hidden columns: all lanes of `hiding`, and these with epsilon."""
    ends = (*LANES, *(f"-dp{end}" for end in private))
    return tuple(f"ppem-{size}{end}" for size in sizes for end in ends)


def names(table: str, methods: Iterable[str]) -> tuple[str, ...]:
    """What `--only` may name: methods, the table, or table/method."""
    return (table, *(word for name in ("real", *methods) for word in (name, f"{table}/{name}")))


# ------------------------------------------------------------------------------------------------------- methods


def real(study: Study) -> None:
    for one in study.left("real"):
        study.add(Setting("real", study.table), one, study.useful(one.real, one))


def hiding(study: Study, stem: str, hidden: tuple[str, ...], decoy: float | None = None) -> None:
    """The method, the paper's form and the control of all seeds."""
    names = [f"{stem}{lane}" for lane in LANES]
    left = study.left(*names)
    for some in [left] if together() else [[one] for one in left]:
        for (name, one), model in models(study, some, names, hidden, decoy):
            drawn = study.drawn(model, one)
            figures = {**study.useful(drawn, one), **given(model, study, one), **distances(drawn, one, hidden)}
            if name == stem:
                figures |= untilted(drawn, one, hidden, Ppem(decoy=decoy).distance)
            study.add(Setting(name, study.table), one, {**figures, "ksd_p": stein_p(model, one)})


def models(study: Study, some: list[Split], names: list[str], hidden: tuple[str, ...], decoy: float | None) -> Any:
    """((name, split), model) of every lane: weights that are kept, or trained together. The method itself is coded by
    the moments of the tilted rows, as `nacre.fit` does it; the other two hide nothing and have those of all rows. A
    decoy that would imitate a few people is left out, as `nacre.fit` refuses it."""
    method = Ppem(target=study.splits[0].target, hide=hidden, steps=study.count, batch=study.batch, decoy=decoy)
    asked = [(n, one) for one in some for n in names if study.open(n, one.seed)]
    asked = [(n, one) for n, one in asked if hides_nothing(n) or imitable(study, method, n, one)]
    nets = {(n, one.seed): kept(study, n, one.seed) for n, one in asked}
    lacking = [(n, one) for n, one in asked if "coding" not in (nets[n, one.seed] or ())]
    if lacking:
        parts = {(n, one.seed): coded(method, n, one) for n, one in lacking}
        ways = [form(method, n) for n, _ in lacking]
        rows = [parts[n, one.seed] for n, one in lacking]
        pools = [way.pool(own, one.seed) for way, own, (_, one) in zip(ways, rows, lacking)]
        data = [way.data(own, pool) for way, own, pool in zip(ways, rows, pools)]
        found = trained(
            data, joint_game(method, rows[0].coding), [w.lane(one.seed) for w, (_, one) in zip(ways, lacking)]
        )
        for (name, one), way, own, coded_rows, pool in zip(lacking, ways, found, rows, pools):
            moments = way.moments(coded_rows, pool)
            linear = {} if moments is None else {"moments": moments._asdict()}
            nets[name, one.seed] = own = {**own, "coding": arrays_of(coded_rows.coding), **linear}
            keep(study, name, one.seed, own)
    for name, one in asked:
        yield (name, one), released(method, name, one, nets[name, one.seed], len(one.private))


def joint_game(method: Ppem, coding: Coding) -> Any:
    """The game of all lanes, together or alone: with the penalty, whose weight is 0 in some of them."""
    return replace(method.config(coding), penalty=form(method, "-paper").config(coding).penalty)


def released(method: Ppem, name: str, one: Split, nets: Any, rows: int) -> PpemModel:
    """The model of kept weights."""
    coding = coding_of(method, one, nets["coding"])
    moments = Moments(**nets["moments"]) if "moments" in nets else None
    return form(method, name).released(coding, nets, rows, moments)


def coded(method: Ppem, name: str, one: Split) -> revealed.Rows:
    """The rows as a lane is trained on them."""
    return one.rows(split(one.schema, one.target, method.hidden), None if hides_nothing(name) else method.show)


def hides_nothing(name: str) -> bool:
    return name.endswith(("-paper", "-control"))


def imitable(study: Study, method: Ppem, name: str, one: Split) -> bool:
    """Whether the decoy leaves enough rows to imitate; where not, a note says so."""
    try:
        method.show(coded(method, "-control", one))
    except (DataError, ConvergenceError):
        study.results.note(
            f"{study.table}/{name} is left out: a decoy of {method.distance:g} in {len(method.hidden)} hidden columns "
            f"is out of reach or leaves fewer than {LEAST} effective rows, so that it would imitate a few people; "
            "nacre refuses it."
        )
        return False
    return True


def arrays_of(coding: Coding) -> dict[str, np.ndarray]:
    return {n: getattr(coding, n) for n in files.CODING if getattr(coding, n) is not None}


def coding_of(method: Ppem, one: Split, arrays: Mapping[str, np.ndarray]) -> Coding:
    layout = Layout.of(one.schema, one.target, "benchmark")
    return files.coding_of(layout, split(one.schema, one.target, method.hidden), arrays)


def form(method: Ppem, name: str) -> Ppem:
    """The method as that lane has it."""
    if name.endswith("-control"):
        return method.without_hiding()
    return replace(method, decoy=0.0) if name.endswith("-paper") else method


def together() -> bool:
    """Stacked products are several times slower on a processor and fill an accelerator."""
    import jax

    return jax.default_backend() != "cpu"


def trained(data: list[Any], config: Any, lanes: list[Any]) -> list[Any]:
    from nacre.synthesizers.ppem.training import train

    if together():
        return train(data, config, lanes)
    return [train(own, config, [lane])[0] for own, lane in zip(data, lanes)]


def given(model: PpemModel, study: Study, one: Split) -> dict[str, float]:
    """What p(x*|x') is worth: rows with the real hidden columns and all others drawn given them."""
    made = model.filled(one.real, np.random.default_rng([one.seed, 5]))
    far = column_distances(made, one)
    seen = [d for n, d in far.items() if n not in model.hidden and n != one.target]
    figures = study.useful(made, one)
    told = {f"{n}_given": v for n, v in figures.items() if n != "mse"}
    return {**told, "ks_given": float(np.mean(seen))}


def gan(study: Study, name: str) -> None:
    """An adversarial method without a promise, all seeds."""
    for one, model in gan_models(study, study.left(name), name):
        scored(study, one, model, name, study.hidden_for_others)


def gan_models(study: Study, some: list[Split], name: str) -> Any:
    """(split, model) of every seed: weights that are kept, or trained together."""
    import jax

    from nacre.synthesizers.gans.model import GanModel
    from nacre.synthesizers.gans.training import train, train_together
    from nacre.synthesizers.parts.adversarial import prepared
    from nacre.synthesizers.parts.generator_model import GENERATOR
    from nacre.synthesizers.registry import METHODS

    if not some:
        return
    parts = {one.seed: one.rows((tuple(n for n in one.schema.modelled if n != one.target),)) for one in some}
    first = parts[some[0].seed].coding
    gan: Any = METHODS[name].load()
    config = gan.config(first.heads(0), first.layout.classes, 256, batch=study.batch)
    lacking = [one for one in some if not kept(study, name, one.seed)]
    nets: dict[int, Any] = {one.seed: kept(study, name, one.seed) for one in some}
    if lacking:
        tables = [_plain(parts[one.seed], prepared) for one in lacking]
        keys = [jax.random.key(one.seed) for one in lacking]
        alone = [train(t, config, study.count, k) for t, k in zip(tables, keys)] if not together() else None
        for one, own in zip(lacking, alone or train_together(tables, config, study.count, keys)):
            nets[one.seed] = own
            keep(study, name, one.seed, own)
    kinds = {GENERATOR: config.generator, "decoder": config.decoder}
    for one in some:
        rows, own = parts[one.seed], nets[one.seed]
        whole = {n: (kinds[n], w) for n, w in own.items()}
        yield one, GanModel(rows.coding, whole, rows.shares, len(rows.kinds))


def _plain(rows: revealed.Rows, prepared: Any) -> Any:
    nothing = np.zeros((len(rows.kinds), 0))
    return prepared(nothing, rows.vectors[0], rows.kinds, rows.coding.layout.classes, [1.0])


def private(study: Study, name: str, hidden: tuple[str, ...] = (), **settings: Any) -> None:
    """A method with differential privacy at a total of ε = 1, δ = 10⁻⁶, through `nacre.fit`; `hidden` makes it PPEM."""
    from nacre.run import fit

    for one in study.left(name):
        short = {"steps": min(6, settings.get("steps", 6))} if study.options.quick else {}
        how: dict[str, Any] = {"hide": hidden, "neighbours": "zero_out"} if hidden else {}
        made = fit(one.private, epsilon=EPSILON, delta=DELTA, schema=one.schema, target=one.target, seed=one.seed,
                   method="ppem" if hidden else name, options={**settings, **short}, **how)  # fmt: skip
        setting = Setting(name, study.table, EPSILON, DELTA, made.certificate.guarantee)
        energy = {"ksd_p": stein_p(made.model, one)} if hidden and not name.endswith("-start") else {}
        scored(study, one, made.model, name, hidden or study.hidden_for_others, setting, energy)


def hiding_private(study: Study, stem: str, hidden: tuple[str, ...], **settings: Any) -> None:
    """PPEM with epsilon; `-start`: as many noisy moments bought and no step of the generators, which shows what the
    descent buys; `-control`: the same without the penalty on the energy."""
    private(study, stem, hidden, **settings)
    private(study, f"{stem}-start", hidden, **{**settings, **BEFORE})
    private(study, f"{stem}-control", hidden, **{**settings, "weight": 0.0})


def scored(
    study: Study,
    one: Split,
    model: Any,
    name: str,
    hidden: Sequence[str],
    setting: Setting | None = None,
    more: Mapping[str, float] | None = None,
) -> None:
    drawn = study.drawn(model, one)
    figures = {**study.useful(drawn, one), **distances(drawn, one, hidden), **(more or {})}
    study.add(setting or Setting(name, study.table), one, figures)


# ------------------------------------------------------------------------------------------------ kept weights


def _path(study: Study, name: str, seed: int) -> Any:
    return WORK / study.bench / f"{study.table}-{name}-{seed}-{FORM}.npz"


def kept(study: Study, name: str, seed: int) -> dict[str, dict[str, np.ndarray]] | None:
    """Weights that an earlier run left."""
    path = _path(study, name, seed)
    if study.options.quick or not path.exists():
        return None
    found: dict[str, dict[str, np.ndarray]] = {}
    for both, array in np.load(path).items():
        net, _, key = both.partition("|")
        found.setdefault(net, {})[key] = array
    return found


def keep(study: Study, name: str, seed: int, nets: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    if study.options.quick:
        return
    path = _path(study, name, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **{f"{net}|{key}": a for net, arrays in nets.items() for key, a in arrays.items()})  # type: ignore[arg-type]
