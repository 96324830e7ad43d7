"""What a run is asked for, and how it is carried out: decided by people before a row is read."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

from nacre.errors import NacreError
from nacre.owner import OwnerNotes
from nacre.privacy.budget import Budget, default_delta
from nacre.privacy.ledger.payment import Account
from nacre.privacy.transcript import Transcript
from nacre.progress import Progress, silent
from nacre.targets import Target, WeightColumn

if TYPE_CHECKING:
    from nacre.engines.cluster import Cluster

DOMAINS = ("buy", "declared", "from-data")
AskedShares: TypeAlias = Mapping[str, Mapping[Any, float]]  # {column: {value, values or Between: share}}


@dataclass(frozen=True)
class Terms:
    """The promise and the method. What each means stands at `nacre.fit`, whose keywords these are."""

    epsilon: float | None
    delta: float | None = None
    neighbours: str = "add_or_remove_one"
    large: bool = False
    method: str = "sketch"
    target: str | None = None
    domain: str = "buy"
    options: Mapping[str, Any] = field(default_factory=dict)
    target_shares: AskedShares | None = None
    weights: Target | str | None = None
    seed: int = 0
    noise_seed: int | None = None
    go_on: bool = False

    @property
    def reads(self) -> bool:
        """Whether what is not declared is read from the data."""
        return self.domain == "from-data" or self.epsilon is None

    @property
    def budget(self) -> Budget:
        delta = default_delta(None) if self.delta is None else self.delta
        return Budget(self.epsilon, delta, self.neighbours, self.large)

    def settled(self, rows: int | None) -> Terms:
        """With the default delta for so many declared rows, where none was asked for."""
        return dataclasses.replace(self, delta=default_delta(rows)) if self.delta is None else self

    @property
    def beside(self) -> tuple[str, ...]:
        """Columns of the table that are not modelled: those that hold weights."""
        if isinstance(self.weights, WeightColumn):
            return (self.weights.name,)
        return (self.weights,) if isinstance(self.weights, str) else ()


@dataclass(frozen=True)
class Access:
    """How the rows are reached, who pays for it, and who hears of it: nothing here changes what comes out."""

    account: Account = field(default_factory=Account)
    engine: str | Cluster | None = None
    transcript: Transcript | None = None
    progress: Progress = silent
    owner: OwnerNotes = field(default_factory=OwnerNotes)


def check_seed(seed: object) -> None:
    """Refuse here what a method would stumble over after it has opened doors."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= int(seed) < 1 << 63:
        raise NacreError(f"seed={seed!r}: expected a whole number of at least 0, below 2^63")
