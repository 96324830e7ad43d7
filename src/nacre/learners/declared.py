"""What the ways of training may say in a certificate, known without importing them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nacre.privacy.certificate.assumed import LEARNED

FLOW_LABEL = "none (empirical only)"


@dataclass(frozen=True)
class Declared:
    """`privacy.verification.Declared`: the best level, entries by name and door, those never lacking and those chosen,
    own extras, and what promises rest on."""

    guarantee: str
    opens: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[tuple[str, ...], ...] = ()
    chosen: Mapping[str, str] = field(default_factory=dict)
    says: Mapping[str, str | None] = field(default_factory=dict)
    auto: str | None = None
    rests: tuple[str, ...] = LEARNED


_DESCENT = Declared("proven (real arithmetic)", {"train": "descend"}, (("train",),))
TRAININGS: dict[str, Declared] = {
    "sgd": Declared("none"),
    "dpsgd": _DESCENT,
    "noisy-gd": _DESCENT,
    "expm-exact": Declared("proven", {"draw": "sample"}, (("draw",),)),
    **dict.fromkeys(("expm-walk", "expm-mh", "expm-hmc"), Declared("conditional", {"draw": "sample"}, (("draw",),))),
    "expm-nf": Declared("none", says={"label": FLOW_LABEL, "epsilon_tilde": None, "releases": None}),
}
