"""Sketches as objects: made where the rows are, saved, added, and turned into one release of all sites' rows.

Every site adds its own noise and has its own certificate; the rows of a unit are at one site, so that adding sketches,
like all that follows, is post-processing of what each site released under its own promise (docs/proofs/sites.md).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import secrets
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from nacre.engines import open_rows
from nacre.errors import CertificateError, DomainNotDeclared, NacreError, ReleaseFileError, SketchError
from nacre.owner import OwnerNotes
from nacre.privacy.budget import Budget, warn_weak_delta
from nacre.privacy.certificate.assumed import of_sites
from nacre.privacy.certificate.statement import Certificate
from nacre.privacy.certificate.verification import verify
from nacre.privacy.ledger.books import Ledger
from nacre.privacy.ledger.payment import Account
from nacre.privacy.plan import Plan
from nacre.privacy.transcript import Transcript
from nacre.progress import Progress, silent
from nacre.release.release import SKETCH, Release
from nacre.run.checks import check_columns
from nacre.run.former import Former, account_of, tell_as_before
from nacre.run.session import session
from nacre.run.subjects import OneTable
from nacre.run.terms import Access, Terms
from nacre.sites.checks import LEVELS, METHOD, checked_ids, covered, possible, sound
from nacre.synthesizers.pearl import common
from nacre.synthesizers.pearl.common import Recipe, Sums
from nacre.synthesizers.registry import METHODS
from nacre.table import Schema
from nacre.table.documents import UNFIT
from nacre.table.sources import Options

if TYPE_CHECKING:
    from nacre.engines.cluster import Cluster


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
        from nacre.release.file import pack

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
    def digest(self) -> str:
        """`recipe_digest` of this sketch: sketches add if theirs are equal."""
        return _digest(self.recipe, self.sums.table_sigma, self.sums.sum_sigma, self.certificates[0].neighbours)

    @property
    def certificate(self) -> Certificate:
        """The weakest of the sites' promises, and how many sites there were; it holds for units at one site."""
        return _joint(self.certificates)


def sketch(
    table: object,
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
    owner: OwnerNotes | None = None,
    ledger: Account | Ledger | str | None = None,
    engine: str | Cluster | None = None,
    large: bool = False,
    **former: Unpack[Former],
) -> SharedSketch:
    """One site's sketch. The schema must be declared: what a site bought on its own rows would differ between sites.

    Sites that want to add their sketches use the same schema, target, frequencies, seed and budget. The default delta
    follows the rows that the schema declares, so sites that declare different numbers agree on a delta. A schema with
    facts read from the data, a seeded noise or `epsilon=None` leave this sketch, and all it is added to, without a
    guarantee.
    `owner`, `ledger`, `engine` and `large` are those of `nacre.fit`. What sites must agree on has a digest,
    `recipe_digest` with the same arguments: compare it before any of them pays.
    """
    notes = OwnerNotes() if owner is None else owner
    terms = Terms(epsilon, delta, neighbours, large, METHOD, target, seed=seed, noise_seed=noise_seed)
    access = Access(account_of(ledger, former), engine, transcript, progress, notes)
    made = sketched(table, schema, terms, frequencies, access)
    tell_as_before(notes, former)
    return made


def sketched(table: object, schema: Schema, terms: Terms, frequencies: int, access: Access) -> SharedSketch:
    """One site's sketch on these terms."""
    read = terms.epsilon is None or bool(schema.unprotected)
    access.account.check(reads=read, seeded=terms.noise_seed is not None)
    recipe, plan = planned(schema, terms, frequencies)
    warn_weak_delta(plan.budget, schema.rows)
    schema = recipe.schema
    rows = open_rows(table, options=Options().named(schema.names), engine=access.engine)
    check_columns(rows, schema)
    _warn_shortened(recipe)
    with session(OneTable(rows, schema), plan, terms, access) as run:
        run.curator.adopt(schema.inner)
        sums = common.measure(run.curator, plan, recipe)
        stated = run.certificate(schema)
    made = SharedSketch(recipe, sums, (stated,), (_new_id(),))
    _warn_if_little(made)
    return made


def planned(schema: Schema, terms: Terms, frequencies: int) -> tuple[Recipe, Plan]:
    """What is agreed on before rows are read."""
    for name, fact in schema.undeclared():
        raise DomainNotDeclared(f"column {name!r}: {fact} not declared; all sites must share one declared schema")
    budget = terms.settled(schema.rows).budget
    # The recipe is for all sites, whatever their sizes. Nothing below needs the number of rows: none is bought.
    provenance = {fact: source for fact, source in schema.provenance.items() if fact != "rows"}
    shared = dataclasses.replace(schema, rows=None, provenance=provenance)
    recipe = Recipe(shared, terms.target, frequencies, seed=terms.seed)
    return recipe, recipe.method.plan(recipe.schema.inner, None, budget)


def recipe_digest(
    schema: Schema,
    *,
    epsilon: float | None,
    delta: float | None = None,
    target: str | None = None,
    neighbours: str = "add_or_remove_one",
    frequencies: int = 1000,
    seed: int = 0,
    large: bool = False,
) -> str:
    """Twelve hexadecimal digits of all that must be equal for sketches to add: reads no rows and spends nothing."""
    return digest_of(schema, Terms(epsilon, delta, neighbours, large, METHOD, target, seed=seed), frequencies)


def digest_of(schema: Schema, terms: Terms, frequencies: int) -> str:
    """`recipe_digest` of these terms."""
    recipe, plan = planned(schema, terms, frequencies)
    return _digest(recipe, plan["one-way"].sigmas[0], plan["sketch"].sigma, terms.neighbours)


def _digest(recipe: Recipe, table_sigma: float, sum_sigma: float, neighbours: str) -> str:
    agreed = {"schema": recipe.schema.digest(), **recipe.facts(), "noise": [table_sigma, sum_sigma]}
    text = json.dumps({**agreed, "neighbours": neighbours}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _warn_if_little(made: SharedSketch) -> None:
    """What `nacre plan` says of a plan, by the noisy count of the rows of all sites and the noise that these added."""
    from nacre.planning.forecast import forecast

    stated, recipe = made.certificates[0], made.recipe
    if stated.epsilon is None or stated.delta is None:
        return
    budget = Budget(stated.epsilon, stated.delta, stated.neighbours, large=True)
    plan = recipe.method.plan(recipe.schema.inner, None, budget)
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
    """Read a sketch file. Runs no code from it; a damaged or unfitting one, or one whose numbers no
    rows can give, is refused with a typed error. Who wrote it, a file cannot prove: take it from the site itself."""
    from nacre.release.file import unpack

    return made_of(path, *unpack(path))


def made_of(path: str | os.PathLike, documents: Any, arrays: Any) -> SharedSketch:
    """The sketch in the parts of a file."""
    if documents["model.json"].get("method") != SKETCH:
        raise SketchError(f"{path}: a release, not a sketch; make sketches with `nacre sketch`")
    try:
        facts = documents["model.json"]["facts"]
        if not {"ids", "drawn"} <= set(facts):
            raise SketchError("written by an early version, without ids or its frequencies; make it again")
        schema = Schema.from_json(documents["schema.json"])
        recipe = Recipe(schema, facts["target"], facts["frequencies"], tuple(facts["orders"]), facts["seed"])
        if facts["drawn"] != recipe.facts()["drawn"]:
            raise SketchError("its seed gives other frequencies here; make and add sketches with one version of nacre")
        certificates = tuple(Certificate.from_json(c) for c in documents["certificate.json"]["sites"])
        if others := {c.method for c in certificates} - {METHOD}:
            raise CertificateError(f"its certificate is that of method {min(others)!r}; sketches are of {METHOD!r}")
        certificates = tuple(verify(c, METHODS[METHOD], schema) for c in certificates)
        tables = [arrays[f"table.{j}"] for j in range(len(schema.inner.modelled))]
        scales = float(facts["table_sigma"]), float(facts["sum_sigma"])
        sums = Sums(tables, arrays["sums"], *scales, len(certificates))
        ids = checked_ids(facts["ids"], len(certificates))
        good = sound(recipe, sums, len(arrays))
        given, paid_for = good and possible(recipe, sums), all(covered(c, recipe, sums) for c in certificates)
    except CertificateError as error:
        raise CertificateError(f"{path}: do not rely on this sketch: {error}") from None
    except (*UNFIT, NacreError) as error:
        raise ReleaseFileError(f"{path}: the sketch does not hold what it should ({error})") from None
    if not good:
        raise ReleaseFileError(f"{path}: the arrays of the sketch do not fit its schema")
    if not given:
        raise ReleaseFileError(
            f"{path}: the sketch holds numbers that no rows give, whatever the noise; it was altered"
        )
    if not paid_for:
        raise ReleaseFileError(f"{path}: a certificate in it promises what the noise of the sketch does not give")
    return SharedSketch(recipe, sums, certificates, ids)


def _joint(sites: tuple[Certificate, ...]) -> Certificate:
    """The promise to anybody whose rows are at one site: the weakest of the sites' promises (docs/proofs/sites.md)."""
    weakest = min(sites, key=lambda c: (LEVELS[c.guarantee], -(c.epsilon or 0.0), -(c.delta or 0.0)))
    if len(sites) == 1:
        return weakest
    private = weakest.epsilon is not None
    extras = {name: value for name, value in weakest.extras.items() if name != "ledger"} | {"sites": len(sites)}
    if books := [c.extras["ledger"] for c in sites if "ledger" in c.extras]:  # every site's own, not that of one
        extras["ledgers"] = books
    assumed = (*weakest.assumptions, *of_sites(len(sites))) if private else ()
    delta = max(c.delta or 0.0 for c in sites) if private else None  # not only that of the largest epsilon
    # At every delta the largest epsilon of all sites; where one has none, there is no point of the curve.
    points = [dict(c.curve) for c in sites] if private else []
    curve = tuple((d, max(p[d] for p in points)) for d, _ in weakest.curve if all(d in p for p in points))
    return dataclasses.replace(weakest, delta=delta, curve=curve, assumptions=assumed, extras=extras)
