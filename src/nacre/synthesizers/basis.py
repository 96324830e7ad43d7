"""What a method knows of a plan before it is paid for, in numbers; `planning.forecast` makes errors, seconds and words
of it. Functions of public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from nacre.privacy.plan import Plan, Total


@dataclass(frozen=True)
class FromRows:
    """A network learns from rows, with noise or without: what it will have learnt nobody can say beforehand.
    `pretraining`: how many rows of bought tables it learns from before; `raw`: how many raw rows without epsilon."""

    pretraining: int = 0
    raw: int = 0


@dataclass(frozen=True)
class FromSum:
    """One sum of waves is bought and fitted. `waves`: generated rows times frequencies that a network is trained on;
    `particles`: particles times steps."""

    entry: Total
    waves: float = 0.0
    particles: float = 0.0


@dataclass(frozen=True)
class Judged:
    """A method that judges its own plan, where rows and budget are known. `moves`: of all chains."""

    verdict: str = "unknown"
    advice: str = ""
    moves: int = 0


@dataclass(frozen=True)
class FromTables:
    """Noisy one-way tables, and tables of pairs where there is a `deep` noise."""

    limits: tuple[int, ...]  # most groups of each column
    least: float  # smallest mass of a group, in counts
    first: float  # noise of one-way tables
    deep: float | None = None  # of tables of pairs
    target: int | None = None  # its place among the columns
    classes: int = 1  # of the target
    pairs: int = 0
    with_target: bool = False  # the tables of pairs hold the target too
    apart: bool = False  # they leave the target out, and every column is measured with it
    work: float = 0.0  # steps times particles
    measured: tuple[float, ...] | None = None  # noise of every pair's table; None where the data chooses the pairs


Basis: TypeAlias = FromRows | FromSum | Judged | FromTables


def bought_sum(plan: Plan) -> Total:
    """The last sum of a plan: the one that is fitted."""
    return [e for e in plan.entries if isinstance(e, Total)][-1]
