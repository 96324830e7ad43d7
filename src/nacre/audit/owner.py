"""Attacks on a synthetic table as a part of the owner's report: two or three files, nothing else.

Everything here reads private rows; none of it is a guarantee. Distances to the nearest record are listed last and
say so.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from nacre.audit.attributes import NORMAL
from nacre.audit.density import density_ratio
from nacre.audit.disclosure import Disclosure, disclosure
from nacre.audit.rates import rate_of
from nacre.audit.records import Records, Scale, Space, nearest
from nacre.audit.recovery import recover
from nacre.engines import open_rows
from nacre.errors import DataError, OwnerWarning
from nacre.metrics.score import Score
from nacre.report.report import Attack, Report
from nacre.table import Schema

ROWS = 20_000  # of each table in the density ratio, which looks at all pairs
MEMBERS = 500  # attacked at least, where tables and holdout have them: fewer miss even a copy
QUERIES = 2_000  # rows whose nearest real row is looked for, among all of them
FAMILY = 0.05  # chance that any of the verdicts on members accuses a release that leaks nothing, fixed beforehand
VERDICTS = 3  # presence, density ratio, attributes
RESOLVED = 10  # false alarms that a reported rate must rest on (specs/expm_nf.md E12)
NO_POWER = (
    "this attack has no power at this size: it does not find a copy of the table either, and so says nothing of the "
    "release"
)
APART, SURE = 0.05, 3.0  # share of a holdout that may stand in the table beyond chance; standard errors of that
CANNOT = (
    "An attack that finds little cannot rule out that another finds more: differential privacy is a proof, this is not."
)
NO_EVIDENCE = (
    "Distances to the nearest record are shown because people ask for them. They are no evidence of privacy: a release "
    "can keep its distance and leak everything, and another can lie close and leak nothing."
)


def audit_tables(
    real: Any,
    synthetic: object,
    holdout: object = None,
    schema: Schema | str | os.PathLike | None = None,
    seed: int = 0,
    rows: int = ROWS,
) -> tuple[Attack, ...]:
    """Disclosure, density ratio, attributes, marginal recovery and nearest distances, for the owner of `real`.

    Without a `holdout` of real rows that were not used, membership and attributes cannot be told from what the
    population gives away, and only marginal recovery and distances remain. A missing schema is drafted from `real`. The
    density ratio is taken on a sample of tables of more than `rows` rows, distances for 2,000 rows to all real ones;
    verdicts state the sizes. Raises DataError for a holdout that shares rows with `real`. The intervals behind the
    three verdicts on members hold together with confidence 0.95 (Bonferroni).
    """
    schema = _schema(schema, real)
    space = Space.of(schema)
    tables = {"real": real, "synthetic": synthetic, **({} if holdout is None else {"holdout": holdout})}
    rng = np.random.default_rng([seed, 11])
    whole = {name: space.records(t, name) for name, t in tables.items()}
    attacks: list[Attack] = []
    if holdout is not None:
        _check_apart(whole["real"], whole["holdout"])
        told = disclosure(synthetic, real, holdout, schema, least=MEMBERS, seed=seed)
        found = {name: _sampled(records, rows, rng) for name, records in whole.items()}
        attacks += [_presence(told), _density(found, whole, space, seed)]
        attacks += [_attributes(told)] if told.attributes else []
    attacks += [_recovery(synthetic, real, schema), _distances(whole, space, rng)]
    return tuple(attacks)


def audit_report(report: Report | None, attacks: tuple[Attack, ...], facts: dict[str, str]) -> Report:
    """The owner's report with these attacks in it; a report of their own where there is none yet."""
    import dataclasses

    if report is None:
        return Report(scores=(), facts=facts, notes=(CANNOT,), attacks=attacks)
    return dataclasses.replace(report, attacks=attacks)


def _schema(schema: Any, real: object) -> Schema:
    return Schema.draft(open_rows(real)) if schema is None else Schema.given(schema)


def _sampled(records: Records, rows: int, rng: np.random.Generator) -> Records:
    if len(records) <= rows:
        return records
    return records.take(rng.choice(len(records), rows, replace=False))


def _check_apart(real: Records, holdout: Records) -> None:
    """Refuse a holdout that holds rows of the table, which would make members of strangers.

    Rows may be alike by chance: as many of the holdout are to be expected in the table as rows of the table have twins
    in it.
    """
    numbers, labels = (np.concatenate([getattr(r, of) for r in (real, holdout)]) for of in ("numbers", "labels"))
    missing = np.isnan(numbers)
    both = np.concatenate([np.where(missing, 0.0, numbers), missing, labels], axis=1)
    kinds = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    often = np.bincount(kinds[: len(real)], minlength=kinds.max() + 1)
    shared, twins = int((often[kinds[len(real) :]] > 0).sum()), float((often[kinds[: len(real)]] > 1).mean())
    share = shared / len(holdout)
    pooled = (shared + twins * len(real)) / (len(holdout) + len(real))
    error = np.sqrt(pooled * (1 - pooled) * (1 / len(holdout) + 1 / len(real)))
    if share - twins <= SURE * error:
        return
    said = (
        f"holdout: {shared:,} of {len(holdout):,} rows are in the real table too, where chance would give about "
        f"{round(twins * len(holdout)):,}; "
    )
    if share - twins > APART:
        raise DataError(said + "expected rows that were not used. Split the rows before the release is made")
    said += "members pass for strangers, and attacks find less. Leave these rows out"
    warnings.warn(said, OwnerWarning, stacklevel=3)


# ------------------------------------------------------------------------------------------------ single attacks


def _width() -> float:
    """Standard errors on each side of an estimate, so that all verdicts hold together."""
    from scipy.special import ndtri

    return float(ndtri(1 - FAMILY / (2 * VERDICTS)))


def _rates(metric: str, auc: Any, of: str, others: int, rows: int) -> list[Score]:
    """The area with its interval, and members found at 1 % false alarms where so few can be counted."""
    error = _width() * auc.auc_error
    scores = [Score(f"{metric}_auc", auc.auc, of, low=auc.auc - error, high=auc.auc + error, rows=rows)]
    if 0.01 * others >= RESOLVED:
        rate = rate_of(auc.at[0.01].hits, auc.at[0.01].of, 1 - FAMILY / VERDICTS)
        scores.append(Score(f"{metric}_tpr1", rate.value, of, low=rate.low, high=rate.high, rows=rows))
    return scores


def _attacked(members: int, others: int) -> str:
    return f". {members:,} members and {others:,} others were attacked"


def _resolved(members: int, others: int) -> str:
    """What the attack rests on, and whether rates at few false alarms could be counted."""
    few = "" if 0.01 * others >= RESOLVED else f"; rates at 1 % false alarms need {100 * RESOLVED:,} others"
    return _attacked(members, others) + few


def _presence(found: Disclosure) -> Attack:
    scores = [s for of, p in found.presence.items() for s in _rates("presence", p, of, p.others, p.members)]
    ours = found.presence["synthetic"]
    said = _said("presence_auc", scores) + _resolved(ours.members, ours.others)
    return Attack("Presence: who was in the table?", said, tuple(scores))


def _density(found: dict[str, Records], whole: dict[str, Records], space: Space, seed: int) -> Attack:
    rng = np.random.default_rng([seed, 12])
    order = rng.permutation(len(found["holdout"]))
    size = min(len(order) // 2, len(found["real"]))
    if size < 20:
        raise DataError(f"holdout: {len(order)} rows; expected at least 40, half to attack and half as a reference")
    others, reference = found["holdout"].take(order[:size]), found["holdout"].take(order[size:])
    members = found["real"].take(rng.choice(len(found["real"]), size, replace=False))
    scores = []
    for of, pool in (("synthetic", found["synthetic"]), ("copy", found["real"])):
        scores += _rates("density", density_ratio(pool, members, others, reference, space), of, size, size)
    cut = [f"{len(found[n]):,} of {len(whole[n]):,} {n} rows" for n in found if len(found[n]) < len(whole[n])]
    sampled = f"; sampled: {', '.join(cut)}" if cut else ""
    said = _said("density_auc", scores) + _resolved(size, size) + sampled
    return Attack("Density ratio: is the release denser at members?", said, tuple(scores))


def _attributes(found: Disclosure) -> Attack:
    scores = []
    for of, a in found.attributes.items():
        gap, error = a.excess.value, (a.excess.high - a.excess.value) * _width() / NORMAL
        scores.append(Score("attribute_excess", gap, of, low=gap - error, high=gap + error))
        # No interval: that of the paired gaps is one over members, and the two pools are of one draw each.
        scores.append(Score("attribute_beyond", a.beyond_strangers.value, of))
    ours = found.presence["synthetic"]
    said = _excess(scores) + _attacked(ours.members, ours.others)
    return Attack("Attributes: half of the columns known, the rest guessed", said, tuple(scores))


def _excess(scores: list[Score]) -> str:
    """The verdict on attributes; where a copy of the table is not found either, that there is none."""
    seen = {s.of: s.low is not None and s.low > 0 for s in scores if s.metric == "attribute_excess"}
    if seen["synthetic"]:
        return "members lose more than strangers do: the release tells values of people that it was made from"
    if not seen["copy"]:
        return f"{NO_POWER}; give more rows and a larger holdout"
    return "no excess of members over strangers was found; the attack cannot rule out one that it does not see"


def _recovery(synthetic: object, real: object, schema: Schema) -> Attack:
    """What the release says of the population: useful, and not what differential privacy hides."""
    columns = [n for n in schema.modelled if schema.columns[n].counted]
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


def _distances(whole: dict[str, Records], space: Space, rng: np.random.Generator) -> Attack:
    """Of a sample of rows, to all real rows: a copy would be missed in a part of them."""
    scale = Scale.of(whole["synthetic"], space)
    pool = scale.points(whole["real"])
    scores, sizes = [], []
    for of, name in (("synthetic", "synthetic"), ("real", "holdout")):
        if name in whole:
            asked = _sampled(whole[name], QUERIES, rng)
            gaps = nearest(scale.points(asked), pool)
            sizes.append(f"{len(asked):,} of {len(whole[name]):,} {name} rows")
            scores.append(Score("nearest_distance", float(np.median(gaps)), of, rows=len(gaps)))
            scores.append(Score("nearest_copies", float((gaps == 0).mean()), of, rows=len(gaps)))
    said = f"{NO_EVIDENCE} {' and '.join(sizes)} were looked up among all {len(pool):,} real rows."
    return Attack("Nearest records: no evidence of privacy", said, tuple(scores))


def _said(name: str, scores: list[Score]) -> str:
    """The verdict on the release by the attack's own interval. Never that it is safe."""
    ours = next(s for s in scores if s.metric == name and s.of == "synthetic")
    sure = f"{VERDICTS} verdicts at a family error of {FAMILY:g}"
    if ours.low is not None and ours.low > 0.5:
        return (
            f"members are told from others: the area under the curve is {ours.value:.3f}, at least {ours.low:.3f} "
            f"({sure})"
        )
    copy = next((s for s in scores if s.metric == name and s.of == "copy"), None)
    if copy is not None and copy.low is not None and copy.low <= 0.5:
        return f"{NO_POWER} (area {ours.value:.3f}, of the copy {copy.value:.3f}; {sure})"
    return f"members were not told from others (area {ours.value:.3f}; {sure}); this cannot rule out a better attack"
