"""The list of methods, known without importing one. A further method is a package and a line here."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nacre.errors import NacreError
from nacre.synthesizers.auto import AUTO, RULES
from nacre.table.naming import choices

if TYPE_CHECKING:
    from nacre.synthesizers.base import Synthesizer
    from nacre.synthesizers.nested.method import NestedSketch

K = TypeVar("K", bound="Synthesizer | NestedSketch")


@dataclasses.dataclass(frozen=True)
class Method(Generic[K]):
    """One line of the list of methods, known without importing the method.

    `opens`, `needs` and `says` are what a certificate of it may state (`privacy.verification.Declared`): its entries
    by name and doors, of which one set in `needs` is never lacking and those in `chosen` come with a choice, and the
    extras that are its own. `compared`: its plans have a forecast and need no settings, so that `nacre plan` shows it
    beside others. `auto`: the rule by which method "auto" takes it, in words; None where it never does.
    """

    path: str  # module:class
    guarantee: str
    summary: str
    opens: Mapping[str, str] = dataclasses.field(default_factory=dict)
    needs: tuple[tuple[str, ...], ...] = ()
    chosen: Mapping[str, str] = dataclasses.field(default_factory=dict)
    says: Mapping[str, str | None] = dataclasses.field(default_factory=dict)
    rests: tuple[str, ...] = ()
    compared: bool = False
    auto: str | None = None

    @property
    def stated(self) -> dict[str, Any]:
        """The extras of its own that are the same in every certificate."""
        return {name: text for name, text in self.says.items() if text is not None}

    def load(self) -> type[K]:
        module, _, name = self.path.partition(":")
        return getattr(importlib.import_module(module), name)


METHODS: dict[str, Method[Synthesizer]] = {
    "sketch": Method(
        "nacre.synthesizers.sketch.method:Sketch",
        "proven",
        "all pairwise tables (with the target, if one is declared), particles fitted to them; the default",
        {"one-way": "counts", "pairs": "select", "with target": "counts", "tables": "counts"}
        | {f"tables of {order}": "counts" for order in (2, 3, 4)}
        | {f"choice {i}": "select" for i in range(1, 5)}
        | {f"cliques {i}": "counts" for i in range(1, 5)},
        (("one-way",),),
        {f"cliques {i}": f"choice {i}" for i in range(1, 5)},
        compared=True,
        auto=RULES["sketch"],
    ),
    "pearl": Method(
        "nacre.synthesizers.pearl.method:Pearl",
        "proven",
        "one characteristic-function sketch of low-order frequencies by class, particles fitted to it",
        {"one-way": "counts", "sketch": "total"},
        (("one-way", "sketch"),),
        compared=True,
        auto=RULES["pearl"],
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
        auto=RULES["support-points"],
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
        compared=True,
    ),
    "ppem": Method(
        "nacre.synthesizers.ppem.method:Ppem",
        "proven (real arithmetic)",
        "hides the distribution of columns (--hide); with epsilon zero_out or replace_one; needs a declared schema",
        {"one-way": "counts", "means": "total", "covariance": "total", "pairs": "descend"},
        (("one-way", "pairs"),),
        says={"hidden": None},
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


DATABASES: dict[str, Method[NestedSketch]] = {  # methods for several tables with keys
    "nested": Method(
        "nacre.synthesizers.nested.method:NestedSketch",
        "proven",
        "databases: weighted tables over units and the rows they own, nested particles fitted to them",
        {"units": "nested", "one-way": "nested", "tables": "nested"},
        (("one-way",),),
    ),
}


def make(method: str, options: Mapping[str, Any]) -> Synthesizer:
    """The method of that name with the given hyperparameters; unknown ones are refused with the known ones named."""
    if method in DATABASES:
        raise NacreError(f"method {method!r} makes databases, and this is one table; 'sketch' is the default there")
    return _made(method, METHODS, options)


def make_for_databases(method: str, options: Mapping[str, Any]) -> NestedSketch:
    """The same of the methods for databases, of which the default is called "sketch" as well."""
    if method in METHODS and method != "sketch":
        raise NacreError(f"method {method!r} makes single tables; for databases choose one of {', '.join(DATABASES)}")
    return _made("nested" if method == "sketch" else method, DATABASES, options)


def _made(method: str, methods: Mapping[str, Method[K]], options: Mapping[str, Any]) -> K:
    if method not in methods:
        known = [*([AUTO] if methods is METHODS else []), *methods]
        raise NacreError(f"method {method!r} is not known; choose one of {choices(method, known, len(known))}")
    kind = methods[method].load()
    known = ["target", *kind.options()]
    for option in options:
        if option not in known:
            raise NacreError(f"method {method!r} has no option {option!r}; it has {choices(option, known, len(known))}")
    return kind(**options)
