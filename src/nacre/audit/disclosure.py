"""Presence and attribute disclosure of a synthetic table, beside four controls that say what the figures mean.

Everything here reads private rows and stays with their owner. No result of it is a privacy guarantee: an attack that
finds nothing has failed to find something.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacre.audit.attributes import Attack, Attributes, attributes
from nacre.audit.presence import Presence, presence
from nacre.audit.rates import Rate
from nacre.audit.records import Records, Scale, Space
from nacre.errors import DataError
from nacre.table import Schema

STAMP = "contains unprotected statistics: for the owner of the data only"
SENTENCE = "no differential privacy; empirical attack scores only"
NOISE = 0.05  # of a standard deviation, on the noisy copy
LEAST = 20  # members below which nothing is attacked
CONTROLS = ("copy", "fresh rows", "noisy copy", "independent columns")


@dataclass(frozen=True)
class Disclosure:
    """Results by table: "synthetic" and the controls; no attributes for tables of one column. `stamp` and `sentence` go
    with every output."""

    presence: Mapping[str, Presence]
    attributes: Mapping[str, Attributes]
    stamp: str = STAMP
    sentence: str = SENTENCE

    def __str__(self) -> str:
        return "\n".join([self.stamp, self.sentence, *_lines(self)])


def disclosure(
    synthetic: object,
    train: object,
    holdout: object,
    schema: Schema,
    *,
    share: float = 0.05,
    least: int = LEAST,
    seed: int = 0,
    repeats: int = 20,
    only: Callable[[Any], Any] | None = None,
    paper_exact: bool = False,
) -> Disclosure:
    """Both attacks on `synthetic` and on the controls made from `train` and `holdout`.

    A random `share` of the training rows, `least` of them or more where there are as many, is compromised; as many
    held-out rows are the non-members, and the rest of the holdout, disjoint from these, serves as fresh rows and as the
    real strangers. `holdout` must be unseen by everything that made `synthetic`, checkpoint choice included. `only`
    takes a table and tells which of its rows are attacked, as truth values: a group that a target weighs up is exposed
    more than the rest, and the mean over all would hide it. `paper_exact`: a guessed number is right within 5 % of the
    true one, in place of 5 % of its column's public range. Raises DataError when too few rows can be attacked.
    """
    space = Space.of(schema)
    rows = {
        name: space.records(t, name) for name, t in (("synthetic", synthetic), ("train", train), ("holdout", holdout))
    }
    rng = np.random.default_rng([seed, 1])
    inside, outside = (_chosen(only, t, rows[name]) for name, t in (("train", train), ("holdout", holdout)))
    size = int(min(max(share * len(inside), least), len(inside), len(outside), len(rows["holdout"]) // 2))
    if size < LEAST:
        raise DataError(
            f"{len(inside)} training rows and {len(outside)} of {len(rows['holdout'])} held-out rows can be attacked; "
            f"expected at least {LEAST} of each, and a holdout of at least {2 * LEAST}, half of it to compare"
        )
    places = inside[rng.choice(len(inside), size, replace=False)]
    members = rows["train"].take(places)
    order = rng.permutation(len(rows["holdout"]))
    first = order[np.isin(order, outside)][:size]
    others, fresh = rows["holdout"].take(first), rows["holdout"].take(order[~np.isin(order, first)])
    pools = {"synthetic": rows["synthetic"], **controls(rows["train"], fresh, space, seed)}
    attack = Attack(space, seed, repeats, paper_exact)
    linked = pools if members.columns > 1 else {}  # one column: nothing to guess from another
    return Disclosure(
        {name: presence(pool, rows["train"], places, others, space) for name, pool in pools.items()},
        {name: attributes(pool, members, others, fresh, attack) for name, pool in linked.items()},
    )


def _chosen(only: Callable[[Any], Any] | None, table: object, records: Records) -> np.ndarray:
    """Places of the rows that are attacked."""
    if only is None:
        return np.arange(len(records))
    mask = np.asarray(only(table))
    if mask.shape != (len(records),) or mask.dtype != bool:
        raise DataError(f"only: expected {len(records)} truth values, one for each row, got {mask.dtype} {mask.shape}")
    return np.flatnonzero(mask)


def controls(train: Records, fresh: Records, space: Space, seed: int = 0) -> dict[str, Records]:
    """What a release could have been: the table itself (must be found out), rows of other people (must not be), the
    table with a little noise, and its columns shuffled independently (marginals without links)."""
    rng = np.random.default_rng([seed, 2])
    noise = NOISE * Scale.of(train, space).spread * rng.standard_normal(train.numbers.shape)
    shuffled = Records(
        np.stack([rng.permutation(c) for c in train.numbers.T], axis=1) if train.numbers.shape[1] else train.numbers,
        np.stack([rng.permutation(c) for c in train.labels.T], axis=1) if train.labels.shape[1] else train.labels,
    )
    return dict(zip(CONTROLS, (train, fresh, Records(train.numbers + noise, train.labels), shuffled)))


def _lines(found: Disclosure) -> list[str]:
    lines = ["Presence: who was in the table?"]
    for name, p in found.presence.items():
        few = f"at 1 % false alarms {_rate(p.at[0.01])}; " if 0.01 * p.others >= 10 else ""  # else they cannot be told
        precision = "fewer than 20 accused" if p.precision is None else f"precision {_rate(p.precision)}"
        lines.append(
            f"  {name:20} AUC {p.auc:.3f} ± {1.96 * p.auc_error:.3f}; {few}"
            f"largest radius: {p.found.hits} members, {p.alarms.hits} others, {precision}"
        )
    lines += ["Attributes: half of the columns known"] if found.attributes else []
    for name, a in found.attributes.items():
        lines.append(
            f"  {name:20} sensitivity {_rate(a.members.sensitivity)}, precision {_rate(a.members.precision)}; "
            f"excess over non-members {a.excess.value:+.3f} [{a.excess.low:+.3f}, {a.excess.high:+.3f}]; "
            f"beyond real strangers {a.beyond_strangers.value:+.3f}"
        )
    return lines


def _rate(rate: Rate) -> str:
    return f"{rate.value:.3f} ({rate.hits}/{rate.of}, {rate.low:.3f} to {rate.high:.3f})"
