"""Sketches as objects: made where the rows are, saved, added, and turned into one release of all sites' rows.

Every site adds its own noise and has its own certificate; the rows of a unit are at one site, so that adding sketches,
like all that follows, is post-processing of what each site released under its own promise (docs/proofs/sites.md).
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import re
import secrets
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacre.engines import finished, open_rows
from nacre.errors import DomainNotDeclared, NacreError, ReleaseFileError, SketchError
from nacre.fitting import assumptions, check_columns, check_persons, tell_rows, warn_weak_delta
from nacre.privacy.budget import Budget, Level, default_delta
from nacre.privacy.certificate import Certificate, certify
from nacre.privacy.curator import Curator
from nacre.privacy.ledger.payment import Account, paid, stamped
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Counts, Plan, Total
from nacre.privacy.transcript import Transcript
from nacre.release import SKETCH, Release
from nacre.synthesizers.base import Progress, silent
from nacre.synthesizers.pearl import common
from nacre.synthesizers.pearl.common import Recipe, Sums
from nacre.table import Schema

METHOD = "pearl"
_LEVELS = {level.label: level for level in Level}


@dataclass(frozen=True)
class SharedSketch:
    """The recipe, the noisy sums, and the certificate and id of every site's sketch in them. Public, all of it.

    An id is drawn by the operating system when a site sketches and says nothing of its rows; it tells whether two sums
    hold the same sketch.
    """

    recipe: Recipe
    sums: Sums
    certificates: tuple[Certificate, ...]
    ids: tuple[str, ...]

    def save(self, path: str | os.PathLike, force: bool = False) -> None:
        """Write the sketch file; an existing file is kept unless `force`."""
        from nacre.release_file import pack

        scales = {"table_sigma": self.sums.table_sigma, "sum_sigma": self.sums.sum_sigma}
        facts = {**self.recipe.facts(), **scales, "ids": list(self.ids)}
        sites = {"sites": [c.to_json() for c in self.certificates]}
        documents = {
            "schema.json": self.recipe.schema.to_json(),
            "certificate.json": json.dumps(sites, indent=1, sort_keys=True),
            "model.json": json.dumps({"method": SKETCH, "facts": facts}, indent=1, sort_keys=True),
        }
        arrays = {f"table.{j}": t for j, t in enumerate(self.sums.tables)} | {"sums": self.sums.sums}
        pack(path, documents, arrays, force)

    def release(self, particles: int = 1024, steps: int = 300, progress: Progress = silent) -> Release:
        """One model of all rows, with the joint certificate. Warns where these are few for the noise."""
        _warn_if_little(self)
        model = common.fit(self.recipe, self.sums, particles, steps, progress=progress)
        return Release(METHOD, self.recipe.schema, model, self.certificate)

    @property
    def certificate(self) -> Certificate:
        """The weakest of the sites' promises, and how many sites there were; it holds for units at one site."""
        return _joint(self.certificates)


def sketch(
    table: Any,
    *,
    schema: Schema,
    epsilon: float | None,
    delta: float | None = None,
    target: str | None = None,
    neighbours: str = "add_or_remove_one",
    frequencies: int = 1000,
    seed: int = 0,
    noise_seed: int | None = None,
    progress: Progress = silent,
    transcript: Transcript | None = None,
    ledger: Any = None,
    population: str | None = None,
    request: str | None = None,
    engine: Any = None,
) -> SharedSketch:
    """One site's sketch. The schema must be declared: what a site bought on its own rows would differ between sites.

    Sites that want to add their sketches use the same schema, target, frequencies, seed and budget. The default delta
    follows the rows that the schema declares, so sites that declare different numbers agree on a delta. A schema with
    facts read from the data, a seeded noise or `epsilon=None` leave this sketch, and all it is added to, without a
    guarantee.
    `ledger`, `population`, `request` and `engine` are those of `nacre.fit`.
    """
    account = Account(ledger, population, request)
    account.check(reads=epsilon is None or schema.weakest()[0] == "read", seeded=noise_seed is not None)
    for name, fact in schema.undeclared():
        raise DomainNotDeclared(f"column {name!r}: {fact} not declared; all sites must share one declared schema")
    budget = Budget(epsilon, default_delta(schema.rows) if delta is None else delta, neighbours)
    warn_weak_delta(budget, schema.rows)
    # The recipe is for all sites, whatever their sizes. Nothing below needs the number of rows: none is bought.
    provenance = {fact: source for fact, source in schema.provenance.items() if fact != "rows"}
    schema = dataclasses.replace(schema, rows=None, provenance=provenance)
    recipe = Recipe(schema, target, frequencies, seed=seed)
    plan = recipe.method.plan(schema, None, budget)
    rows = open_rows(table, engine=engine)
    check_columns(rows, schema)
    _warn_shortened(recipe)
    noise = NoiseSource(noise_seed)
    with finished(rows), paid(account, plan, schema.unit.column if schema.unit else None) as held:
        check_persons(rows, schema)
        reading = functools.partial(tell_rows, progress)
        sums = common.measure(Curator(rows, plan, schema, noise, transcript, reading, held), plan, recipe)
        stated = certify(plan, schema, seeded=noise.seeded, noise=noise.description, assumptions=assumptions(schema))
        stated = stamped(stated, held)
    made = SharedSketch(recipe, sums, (stated,), (_new_id(),))
    _warn_if_little(made)
    return made


def _warn_if_little(made: SharedSketch) -> None:
    """What `nacre plan` says of a plan, by the noisy count of the rows of all sites and the noise that these added."""
    from nacre.synthesizers.forecast import forecast

    stated, recipe = made.certificates[0], made.recipe
    if stated.epsilon is None or stated.delta is None:
        return
    plan = recipe.method.plan(recipe.schema, None, Budget(stated.epsilon, stated.delta, stated.neighbours, large=True))
    louder = dataclasses.replace(plan["sketch"], sigma=made.sums.sum_sigma * made.sums.sites**0.5)
    plan = dataclasses.replace(plan, entries=(plan["one-way"], louder))
    rows = round(made.sums.rows)
    seen = forecast(plan, recipe.schema, rows, recipe.method)
    if seen.verdict in ("little", "too little"):
        more = "; other sites add to them" if made.sums.sites == 1 else f" at {made.sums.sites} sites"
        warnings.warn(f"{seen.advice} (by the noisy count of about {rows:,} rows{more})", stacklevel=3)


def _warn_shortened(recipe: Recipe) -> None:
    for name, kept, whole in recipe.shortened():
        warnings.warn(
            f"column {name!r}: {kept} of the {whole} harmonics that tell all its categories apart fit into frequencies="
            f"{recipe.frequencies}; how categories differ by class will be blurred: raise frequencies at all sites, or "
            "join rare categories in the schema",
            stacklevel=3,
        )


def _new_id() -> str:
    return secrets.token_hex(16)


def merge(sketches: Sequence[SharedSketch]) -> SharedSketch:
    """The sketch of the rows of all sites. SketchError, naming what, when recipes or noise differ or a sketch would be
    counted twice, on its own or within a merged one."""
    if not sketches:
        raise SketchError("there is no sketch to merge; name at least one")
    first = sketches[0]
    sums = first.sums
    for number, other in enumerate(sketches[1:], 2):
        for fact, mine, theirs in (
            ("schema", first.recipe.schema.digest()[:12], other.recipe.schema.digest()[:12]),
            *((f, a, b) for (f, a), b in zip(first.recipe.facts().items(), other.recipe.facts().values())),
            ("neighbours", first.certificates[0].neighbours, other.certificates[0].neighbours),
        ):
            if mine != theirs:
                raise SketchError(
                    f"sketch 1 and sketch {number} differ in {fact}: {mine!r} and {theirs!r}; sketches add only if all "
                    "sites use the same schema, target, frequencies, seed and budget"
                )
        _refuse_overlap(sketches, number)
        sums = sums.plus(other.sums)
    certificates = tuple(c for s in sketches for c in s.certificates)
    made = SharedSketch(first.recipe, sums, certificates, tuple(i for s in sketches for i in s.ids))
    _warn_if_little(made)
    return made


def _refuse_overlap(sketches: Sequence[SharedSketch], number: int) -> None:
    for place, before in enumerate(sketches[: number - 1], 1):
        if both := set(before.ids) & set(sketches[number - 1].ids):
            raise SketchError(
                f"sketch {place} and sketch {number} both hold the sketch of {len(both)} "
                f"site{'s' if len(both) > 1 else ''} (id {min(both)[:8]}): those rows would be counted twice; name "
                "each sketch once, and none beside a merged one that it is in"
            )


def load_sketch(path: str | os.PathLike) -> SharedSketch:
    """Read a sketch file. Runs no code from it; a damaged, altered or unfitting one is refused with a typed error."""
    from nacre.release_file import unpack

    documents, arrays = unpack(path)
    if documents["model.json"].get("method") != SKETCH:
        raise SketchError(f"{path}: a release, not a sketch; make sketches with `nacre sketch`")
    try:
        facts = documents["model.json"]["facts"]
        if "ids" not in facts:
            raise SketchError("written by an early version, without the ids of its sites; make it again")
        schema = Schema.from_json(documents["schema.json"])
        recipe = Recipe(schema, facts["target"], facts["frequencies"], tuple(facts["orders"]), facts["seed"])
        certificates = tuple(Certificate.from_json(c) for c in documents["certificate.json"]["sites"])
        tables = [arrays[f"table.{j}"] for j in range(len(schema.modelled))]
        scales = float(facts["table_sigma"]), float(facts["sum_sigma"])
        sums = Sums(tables, arrays["sums"], *scales, len(certificates))
        ids = _checked_ids(facts["ids"], len(certificates))
        good, covered = _sound(recipe, sums, len(arrays)), all(_covered(c, recipe, sums) for c in certificates)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, NacreError) as error:
        raise ReleaseFileError(f"{path}: the sketch does not hold what it should ({error})") from None
    if not good:
        raise ReleaseFileError(f"{path}: the arrays of the sketch do not fit its schema")
    if not covered:
        raise ReleaseFileError(f"{path}: a certificate in it promises what the noise of the sketch does not give")
    return SharedSketch(recipe, sums, certificates, ids)


def _checked_ids(ids: Any, sites: int) -> tuple[str, ...]:
    good = isinstance(ids, list) and all(isinstance(i, str) and re.fullmatch("[0-9a-f]{32}", i) for i in ids)
    if not good or len(set(ids)) != len(ids) or len(ids) != sites:
        raise SketchError(f"expected one id for each of {sites} sites, all different")
    return tuple(ids)


def _sound(recipe: Recipe, sums: Sums, arrays: int) -> bool:
    parts = 1 if recipe.place is None else recipe.grids[recipe.place].cells
    fits = all(t.shape == (g.cells,) for t, g in zip(sums.tables, recipe.grids))
    whole = all(a.dtype == np.int64 for a in (*sums.tables, sums.sums))
    scales = all(0 < s < float("inf") for s in (sums.table_sigma, sums.sum_sigma))
    size = sums.sums.shape == (parts, 2 * recipe.frequencies)
    return fits and whole and scales and size and sums.sites > 0 and arrays == len(sums.tables) + 1


def _covered(stated: Certificate, recipe: Recipe, sums: Sums) -> bool:
    """Whether the noise of the sketch pays for a site's promise, by this machine's own accountant.

    That the site drew that noise is the site's word, as the whole certificate is.
    """
    schema = recipe.schema
    unit = {"column": schema.unit.column, "cap": schema.unit.cap} if schema.unit else {"column": None, "cap": 1}
    if stated.schema["digest"] != schema.digest() or dict(stated.unit) != unit or stated.guarantee not in _LEVELS:
        return False
    if stated.guarantee == Level.NONE.label or stated.epsilon is None:
        return stated.guarantee == Level.NONE.label and stated.epsilon is None
    budget = {"epsilon": stated.epsilon, "delta": stated.delta, "neighbours": stated.neighbours, "large": True}
    told = {"method": METHOD, "entries": stated.entries, "budget": budget, "cap": unit["cap"], "rows": None}
    plan = Plan.from_json(told)  # BudgetError if the entries cost more than the promise
    columns, classes = len(schema.modelled), len(np.atleast_2d(sums.sums))
    noise = (
        Counts("one-way", sigmas=(sums.table_sigma,) * columns),
        Total("sketch", size=2 * recipe.frequencies, sigma=sums.sum_sigma, parts=classes),
    )
    return plan.entries == noise and plan.level.label == stated.guarantee and schema.weakest()[0] != "read"


def _joint(sites: tuple[Certificate, ...]) -> Certificate:
    """The promise to anybody whose rows are at one site: the weakest of the sites' promises (docs/proofs/sites.md)."""
    weakest = min(sites, key=lambda c: (_LEVELS[c.guarantee], -(c.epsilon or 0.0), -(c.delta or 0.0)))
    if len(sites) == 1:
        return weakest
    stated = (
        f"made of the sketches of {len(sites)} sites; each added its own noise to its own rows before they were added",
        "the rows of one unit are at one site only; whoever has rows at several pays at each of them",
    )
    private = weakest.epsilon is not None
    extras = {**weakest.extras, "sites": len(sites)}
    assumed = (*weakest.assumptions, *stated) if private else ()
    delta = max(c.delta or 0.0 for c in sites) if private else None  # not only that of the largest epsilon
    return dataclasses.replace(weakest, delta=delta, assumptions=assumed, extras=extras)
