"""What every method has, and the list of methods.

A method is a frozen dataclass of hyperparameters with two steps: `plan` declares every door it will open without
touching data, `fit` opens those doors and returns a model. A model is public: it knows how to draw rows and how to
become JSON and arrays.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from nacre.errors import NacreError, SchemaError
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan
from nacre.table import Condition, Schema
from nacre.table.encoding import Values
from nacre.table.naming import choices

RATE = 1 / 32  # of the rows in a step, where their number is not declared

Progress = Callable[[str, int, int | None], None]  # what is being done, how far, out of how many


def silent(what: str, done: int, total: int | None) -> None:
    """A progress that shows nothing."""


def refuse_tensors(schema: Schema, method: str) -> None:
    """Raise SchemaError for tables with arrays in their cells, or with nothing to model."""
    if not schema.modelled:
        raise SchemaError("the schema has no column to model: all are identifiers or follow from others")
    for name in schema.modelled:
        if schema.columns[name].kind == "tensor":
            raise SchemaError(
                f"column {name!r} holds arrays; method {method!r} models single values: leave it out, or use "
                "'pearl-paper' or 'merf' for images with a label"
            )


def refuse_unknown_target(schema: Schema, target: str | None) -> None:
    """Raise SchemaError for a target that is not among the modelled columns; None is no target."""
    if target is not None and target not in schema.modelled:
        raise SchemaError(
            f"target {target!r} is not a modelled column; choose among {choices(target, schema.modelled)}"
        )


def target_place(columns: Sequence[str], target: str | None) -> int | None:
    """The number of the target among the columns that are learnt; None where nothing is left to relate it to.

    A bought schema may leave it as the only one, or turn it into a mere name.
    """
    return columns.index(target) if target in columns and len(columns) > 1 else None


def check_whole(method: Any, *options: str) -> None:
    """Raise NacreError unless these settings are whole numbers of at least 1, or None where that is their default."""
    for option in options:
        value = getattr(method, option)
        if value is None and getattr(type(method), option) is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise NacreError(f"{option}={value!r}: expected a whole number, at least 1")


def refuse_idle(method: Any, where: str, **used: bool) -> None:
    """Raise NacreError for a setting that was changed and would do nothing `where` the method is."""
    for option, does in used.items():
        if not does and getattr(method, option) != getattr(type(method), option):
            raise NacreError(f"{option}={getattr(method, option)!r}: does nothing {where}; leave it out")


def chance(method: Any, rows: int | None) -> float:
    """Of a row to enter a step: `batch` of the declared rows, or one in 32 where the plan knows no number of rows."""
    if rows is None:
        refuse_idle(method, "where the schema declares no number of rows: one row in 32 enters a step", batch=False)
        return RATE
    return min(1.0, method.batch / max(rows, 1))


class Model(Protocol):
    """What a release holds: public numbers from which rows are drawn."""

    rows: int  # how many rows the table has, as far as the release knows

    def draw(
        self, rows: int, rng: np.random.Generator, where: Mapping[str, Condition] | None = None
    ) -> dict[str, Values]: ...

    def parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]: ...

    @classmethod
    def from_parts(cls, schema: Schema, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Model: ...


class Synthesizer(Protocol):
    """A method. Its fields are its hyperparameters."""

    name: ClassVar[str]
    model: ClassVar[type[Model]]

    def supports(self, schema: Schema) -> None:
        """Raise SchemaError, naming the column, if the method cannot model such a table."""

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        """Every door that `fit` will open, after the doors in `before`, within the budget.

        `schema` may lack facts that `before` will buy: then only its column names are known.
        """
        ...

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> Model: ...


@dataclasses.dataclass(frozen=True)
class Method:
    """One line of the list of methods, known without importing the method.

    `opens`, `needs` and `says` are what a certificate of it may state (`privacy.verification.Declared`): its entries
    by name and doors, of which one set in `needs` is never lacking, and the extras that are its own.
    """

    path: str  # module:class
    guarantee: str
    summary: str
    opens: Mapping[str, str] = dataclasses.field(default_factory=dict)
    needs: tuple[tuple[str, ...], ...] = ()
    says: Mapping[str, str | None] = dataclasses.field(default_factory=dict)

    def load(self) -> type[Any]:
        module, _, name = self.path.partition(":")
        return getattr(importlib.import_module(module), name)


METHODS: dict[str, Method] = {
    "sketch": Method(
        "nacre.synthesizers.sketch.method:Sketch",
        "proven",
        "all pairwise tables (with the target, if one is declared), particles fitted to them; the default",
        {"one-way": "counts", "pairs": "select", "with target": "counts", "tables": "counts"},
        (("one-way",),),
    ),
    "pearl": Method(
        "nacre.synthesizers.pearl.method:Pearl",
        "proven",
        "one characteristic-function sketch of low-order frequencies by class, particles fitted to it",
        {"one-way": "counts", "sketch": "total"},
        (("one-way", "sketch"),),
    ),
    "pearl-paper": Method(
        "nacre.synthesizers.pearl.paper:PearlPaper",
        "proven (real arithmetic)",
        "PEARL as published, for tables and images: a network trained against the critic; needs a declared schema",
        {"classes": "counts", "scale": "total", "embedding": "total"},
        (("scale", "embedding"),),
    ),
    "merf": Method(
        "nacre.synthesizers.merf:Merf",
        "proven (real arithmetic)",
        "DP-MERF, for tables and images: mean random features per class, a network; needs a declared schema",
        {"classes": "counts", "scale": "total", "embedding": "total"},
        (("embedding",),),
    ),
    "support-points": Method(
        "nacre.synthesizers.support_points.method:SupportPoints",
        "proven",
        "few points of small energy distance, fitted to a noisy characteristic function; needs a declared schema",
        {"bandwidth": "select total", "sketch": "total", "points": "sample"},
        (("sketch",), ("points",)),
    ),
    "kme": Method(
        "nacre.synthesizers.kme:Kme",
        "proven",
        "a noisy kernel mean and weighted points near it; a baseline of support-points; needs a declared schema",
        {"embedding": "total"},
        (("embedding",),),
    ),
    "hflow": Method(
        "nacre.synthesizers.hflow.method:Hflow",
        "proven (real arithmetic)",
        "a normalizing flow: noisy tables of pairs, then DP-SGD; with log-probabilities; needs a declared schema",
        {"one-way": "counts", "with target": "counts", "tables": "counts", "training": "descend"},
        (("one-way", "training"),),
    ),
    "hflow-paper": Method(
        "nacre.synthesizers.hflow.paper:HflowPaper",
        "proven (real arithmetic)",
        "DP-HFlow as published: three blocks of splines and rank-1 maps, DP-SGD; needs a declared schema",
        {"training": "descend"},
        (("training",),),
    ),
    "independent": Method(
        "nacre.synthesizers.independent:Independent",
        "proven",
        "one-way tables only, columns drawn independently; the floor every method must beat",
        {"one-way": "counts"},
        (("one-way",),),
    ),
    "ppem": Method(
        "nacre.synthesizers.ppem.method:Ppem",
        "proven (real arithmetic)",
        "hides the distribution of columns (--hide); with epsilon zero_out or replace_one; needs a declared schema",
        {"one-way": "counts", "means": "total", "covariance": "total", "pairs": "descend"},
        (("one-way", "pairs"),),
        {"hidden": None},
    ),
    **{
        name: Method(
            f"nacre.synthesizers.gans.{name}:{name.capitalize()}",
            "proven (real arithmetic)",
            f"{text}; needs a declared schema",
            {"marginals": "counts", "training": door},
            (("marginals", "training"),),
        )
        for name, door, text in (
            ("dpgan", "descend", "Wasserstein GAN whose critic learns by DP-SGD"),
            ("dpcgan", "descend", "GAN conditional on the target, discriminator by DP-SGD"),
            ("gswgan", "teach", "critics on disjoint parts of the rows, noisy gradients of theirs"),
            ("pategan", "teach", "teachers on disjoint parts of the rows, noisy votes of theirs"),
        )
    },
    **{
        name: Method(f"nacre.synthesizers.gans.{name}:{name.capitalize()}", "none", f"{text}; promises nothing")
        for name, text in (
            ("wgan", "WGAN with gradient penalty"),
            ("ebgan", "energy-based GAN with an autoencoder"),
            ("steingan", "generator by Stein's variational descent"),
            ("medgan", "generator of codes with a decoder"),
        )
    },
    "weighted": Method(
        "nacre.synthesizers.weighted.method:Weighted",
        "none",
        "generator for a stated target, rows weighted in its loss; promises nothing",
    ),
    "mmdgan": Method(
        "nacre.synthesizers.mmdgan.method:Mmdgan",
        "none",
        "generator with an autoencoder's kernel, for medical records; promises nothing",
        says={"statement": "no differential privacy; empirical attack scores only"},
    ),
}


# Settings beyond these would fill the memory of any machine before an error came.
LIMITS = {"particles": 1 << 16, "steps": 1_000_000, "lessons": 1_000_000, "groups": 4096, "frequencies": 1 << 17}


def check_limits(options: Mapping[str, Any]) -> None:
    """Raise NacreError for a setting that is larger than any use of it."""
    for option, most in LIMITS.items():
        value = options.get(option)
        if isinstance(value, int) and value > most:
            raise NacreError(f"{option}={value!r}: expected at most {most:,}; more costs memory, not error")


def make(method: str, options: Mapping[str, Any]) -> Any:
    """The method of that name with the given hyperparameters; unknown ones are refused with the known ones named."""
    if method not in METHODS:
        raise NacreError(f"method {method!r} is not known; choose one of {choices(method, METHODS, len(METHODS))}")
    kind = METHODS[method].load()
    known = [f.name for f in dataclasses.fields(kind)]
    for option in options:
        if option not in known:
            raise NacreError(f"method {method!r} has no option {option!r}; it has {choices(option, known, len(known))}")
    check_limits(options)
    return kind(**options)
