"""Attacks on a synthetic table as a part of the owner's report: two or three files, nothing else.

Everything here reads private rows; none of it is a guarantee. Distances to the nearest record are listed last and
say so.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from nacre.audit.density import density_ratio
from nacre.audit.disclosure import Disclosure, disclosure
from nacre.audit.presence import nearest
from nacre.audit.records import Records, Scale, Space
from nacre.audit.recovery import recover
from nacre.engines import open_rows
from nacre.errors import DataError
from nacre.report.findings import Attack, Report, Score
from nacre.table import Schema

ROWS = 20_000  # of each table: attacks look at all pairs
CANNOT = (
    "An attack that finds little cannot rule out that another finds more: differential privacy is a proof, this is not."
)
NO_EVIDENCE = (
    "Distances to the nearest record are shown because people ask for them. They are no evidence of privacy: a release "
    "can keep its distance and leak everything, and another can lie close and leak nothing."
)


def audit_tables(
    real: Any,
    synthetic: Any,
    holdout: Any = None,
    schema: Schema | str | os.PathLike | None = None,
    seed: int = 0,
    rows: int = ROWS,
) -> tuple[Attack, ...]:
    """Disclosure, density ratio, attributes, marginal recovery and nearest distances, for the owner of `real`.

    Without a `holdout` of real rows that were not used, membership and attributes cannot be told from what the
    population gives away, and only marginal recovery and distances remain. A missing schema is drafted from `real`.
    Tables of more than `rows` rows are sampled.
    """
    schema = _schema(schema, real)
    space = Space.of(schema)
    tables = {"real": real, "synthetic": synthetic, **({} if holdout is None else {"holdout": holdout})}
    rng = np.random.default_rng([seed, 11])
    found = {name: _sampled(space.records(t, name), rows, rng) for name, t in tables.items()}
    attacks: list[Attack] = []
    if holdout is not None:
        told = disclosure(synthetic, real, holdout, schema, seed=seed, repeats=5)
        attacks += [_presence(told), _density(found, space, seed), _attributes(told)]
    attacks += [_recovery(synthetic, real, schema), _distances(found, space)]
    return tuple(attacks)


def audit_report(report: Report | None, attacks: tuple[Attack, ...], facts: dict[str, str]) -> Report:
    """The owner's report with these attacks in it; a report of their own where there is none yet."""
    import dataclasses

    if report is None:
        return Report(scores=(), facts=facts, notes=(CANNOT,), attacks=attacks)
    return dataclasses.replace(report, attacks=attacks)


def _schema(schema: Any, real: Any) -> Schema:
    return Schema.draft(open_rows(real)) if schema is None else Schema.given(schema)


def _sampled(records: Records, rows: int, rng: np.random.Generator) -> Records:
    if len(records) <= rows:
        return records
    return records.take(rng.choice(len(records), rows, replace=False))


# ------------------------------------------------------------------------------------------------ single attacks


def _presence(found: Disclosure) -> Attack:
    scores = []
    for of, p in found.presence.items():
        low, high = p.auc - 1.96 * p.auc_error, p.auc + 1.96 * p.auc_error
        scores.append(Score("presence_auc", p.auc, of, low=low, high=high, rows=p.members))
        rate = p.at[0.01]
        scores.append(Score("presence_tpr1", rate.value, of, low=rate.low, high=rate.high, rows=p.members))
    return Attack("Presence: who was in the table?", _said("presence_auc", scores), tuple(scores))


def _density(found: dict[str, Records], space: Space, seed: int) -> Attack:
    rng = np.random.default_rng([seed, 12])
    order = rng.permutation(len(found["holdout"]))
    size = min(len(order) // 2, len(found["real"]))
    if size < 20:
        raise DataError(f"holdout: {len(order)} rows; expected at least 40, half to attack and half as a reference")
    others, reference = found["holdout"].take(order[:size]), found["holdout"].take(order[size:])
    members = found["real"].take(rng.choice(len(found["real"]), size, replace=False))
    scores = []
    for of, pool in (("synthetic", found["synthetic"]), ("copy", found["real"])):
        told = density_ratio(pool, members, others, reference, space)
        low, high = told.auc - 1.96 * told.auc_error, told.auc + 1.96 * told.auc_error
        rate = told.at[0.01]
        scores.append(Score("density_auc", told.auc, of, low=low, high=high, rows=size))
        scores.append(Score("density_tpr1", rate.value, of, low=rate.low, high=rate.high, rows=size))
    return Attack("Density ratio: is the release denser at members?", _said("density_auc", scores), tuple(scores))


def _attributes(found: Disclosure) -> Attack:
    scores = []
    for of, a in found.attributes.items():
        scores.append(Score("attribute_excess", a.excess.value, of, low=a.excess.low, high=a.excess.high))
        beyond = a.beyond_strangers
        scores.append(Score("attribute_beyond", beyond.value, of, low=beyond.low, high=beyond.high))
    ours = next(s for s in scores if s.of == "synthetic")
    more = ours.low is not None and ours.low > 0
    said = (
        "members lose more than strangers do: the release tells values of people that it was made from"
        if more
        else "no excess of members over strangers was found; the attack cannot rule out one that it does not see"
    )
    return Attack("Attributes: half of the columns known, the rest guessed", said, tuple(scores))


def _recovery(synthetic: Any, real: Any, schema: Schema) -> Attack:
    """What the release says of the population: useful, and not what differential privacy hides."""
    columns = [n for n in schema.modelled if schema.columns[n].kind != "tensor"]
    scores = []
    for name in columns:
        found = [r for r in recover(synthetic, real, schema, [name]) if r.what != "share of null"]
        if not found:
            continue
        caught = float(np.mean([r.caught for r in found]))
        error = float(np.max(np.abs([r.error for r in found])))
        scores.append(Score("recovered_share", caught, "synthetic", (name,), rows=len(found)))
        scores.append(Score("recovered_error", error, "synthetic", (name,), rows=len(found)))
    said = "means, deciles and shares that anybody reads off the release; for columns that were to be hidden, a leak"
    return Attack("Marginal recovery", said, tuple(scores))


def _distances(found: dict[str, Records], space: Space) -> Attack:
    scale = Scale.of(found["synthetic"], space)
    points = {name: scale.points(r.take(np.arange(min(len(r), 2000)))) for name, r in found.items()}
    scores = []
    for of, name in (("synthetic", "synthetic"), ("real", "holdout")):
        if name in points:
            gaps = nearest(points[name], points["real"])
            scores.append(Score("nearest_distance", float(np.median(gaps)), of, rows=len(gaps)))
            scores.append(Score("nearest_copies", float((gaps == 0).mean()), of, rows=len(gaps)))
    return Attack("Nearest records: no evidence of privacy", NO_EVIDENCE, tuple(scores))


def _said(name: str, scores: list[Score]) -> str:
    """The verdict on the release by the attack's own interval. Never that it is safe."""
    ours = next(s for s in scores if s.metric == name and s.of == "synthetic")
    if ours.low is not None and ours.low > 0.5:
        return f"members are told from others: the area under the curve is {ours.value:.3f}, at least {ours.low:.3f}"
    return f"members were not told from others (area {ours.value:.3f}); this cannot rule out a better attack"
