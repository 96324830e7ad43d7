"""A release: a fitted model, the schema of what it makes, and the certificate of how it was made. All of it public."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nacre import notebook
from nacre.errors import CertificateError, NacreError, ReleaseFileError
from nacre.privacy.certificate.statement import Certificate
from nacre.privacy.certificate.verification import verify
from nacre.release.conditions import on_determinants
from nacre.release.drawing import CHUNK, RowSource
from nacre.release.rebalance import Draw, TellWeights, balanced
from nacre.synthesizers.base import Model
from nacre.synthesizers.registry import DATABASES, METHODS
from nacre.table import Schema
from nacre.table.conditions import Condition, parsed
from nacre.table.documents import UNFIT
from nacre.table.encoding import Encoded
from nacre.table.formulas import some_risky
from nacre.table.sources.frames import from_arrow
from nacre.table.values.decoding import arrow_schema, decode
from nacre.table.writing import TableWriter
from nacre.targets import Target
from nacre.targets.raking import checked, from_json, to_json

CHUNK_NUMBERS = 10_000_000  # of arrays in such a chunk
if TYPE_CHECKING:
    from nacre.release.databases import DatabaseRelease

SKETCH = "shared sketch"  # stands for the method in the file of a sketch (nacre.sites.shared)


class Chunk(NamedTuple):
    """Some rows of all that are asked for: which of the chunks, after how many rows, and the entropy of the whole."""

    number: int
    start: int
    rows: int
    entropy: Any

    def rng(self) -> np.random.Generator:
        own = () if self.number == 0 else (self.number,)
        return np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=own))


@dataclass(frozen=True, repr=False)
class Release:
    """`sample` draws rows, `write` streams them to a file, `save` keeps the release, `certificate` its promise.

    Drawing never touches data. It is post-processing as long as its arguments were chosen without the table.
    """

    method: str
    schema: Schema
    model: Model
    certificate: Certificate
    shares: Mapping[str, Mapping[Any, float]] | None = None  # of a target: what `sample` rebalances to by itself

    def __post_init__(self) -> None:
        if self.shares is not None:
            object.__setattr__(self, "shares", checked(self.shares, self.schema, "target shares"))

    def __repr__(self) -> str:
        return f"<Release by {self.method} of {len(self.schema.columns):,} columns: {self.certificate.headline}>"

    def _repr_html_(self) -> str:
        size = f"{self.rows:,} rows, {len(self.schema.columns):,} columns"
        facts = {"Guarantee": self.certificate.headline, "Size of a sample": size}
        lines = [(name, column.kind) for name, column in self.schema.columns.items()]
        return notebook.panel(f"Release by {self.method}", facts, ("column", "kind"), lines)

    @property
    def rows(self) -> int:
        """The number of rows of the table, as declared or as bought: the default size of a sample."""
        return self.model.rows

    def sample(
        self,
        rows: int | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        rebalance: Mapping[str, Mapping[Any, float]] | Target | None = None,
        as_: str = "pandas",
        seed: int | None = None,
        tell_weights: TellWeights | None = None,
        independent: bool = False,
    ) -> Any:
        """`rows` synthetic rows as a pandas, polars or pyarrow table.

        `where` conditions exactly on columns: a value, a list of values (None for null), or `nacre.Between(low, high)`.
        `rebalance={column: {value: share}}` draws that column from the given shares and the rest given it. Several
        columns are raked, and any other target (`nacre.targets`) is met too, by drawing from a larger pool of rows;
        DataError when that pool is worth too few. None is the target that was fitted for, if one was; {} is none.
        `tell_weights` gets the largest weight and the effective number of rows of every such pool; where a column is
        drawn exactly there are no weights, and it gets nothing.
        `seed` makes the drawing repeatable; it has nothing to do with privacy.
        Mixtures (sketch, independent, pearl) spread their rows evenly, so that counts vary much less than by chance;
        with `independent` every row is drawn for itself, and counts vary as those of a sample do.
        """
        import pyarrow as pa

        how: dict[str, Any] = {"rebalance": rebalance, "seed": seed, "tell_weights": tell_weights}
        return from_arrow(pa.concat_tables(self.chunks(rows, where=where, independent=independent, **how)), as_)

    def write(
        self,
        path: str | os.PathLike,
        rows: int | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        rebalance: Mapping[str, Mapping[Any, float]] | Target | None = None,
        seed: int | None = None,
        force: bool = False,
        progress: Callable[[int], None] = lambda done: None,
        engine: object = None,
        tell_weights: TellWeights | None = None,
        spreadsheet: bool = False,
        independent: bool = False,
    ) -> int:
        """Stream `rows` rows to a CSV, Parquet or Arrow file in bounded memory; returns how many were written.

        A CSV file that people open in a spreadsheet: with `spreadsheet`, labels and names that it would run as formulas
        get an apostrophe in front; without, a warning says so where the schema has any.

        With an `engine` ("ray", see docs/engines.md) workers draw the chunks: the same rows for the same seed.
        """
        done = 0
        with TableWriter(path, arrow_schema(self.schema), force=force, spreadsheet=spreadsheet) as out:
            if out.format == "csv" and not spreadsheet and (found := some_risky(self.schema)):
                warnings.warn(
                    f"{path}: a spreadsheet would run {found[0]!r} as a formula (labels and names like that: "
                    f"{len(found):,}); write it with spreadsheet=True (--spreadsheet), or as Parquet",
                    stacklevel=2,
                )
            how: dict[str, Any] = {"rebalance": rebalance, "seed": seed, "engine": engine, "tell_weights": tell_weights}
            for table in self.chunks(rows, where=where, independent=independent, **how):
                out.write(table)
                done += table.num_rows
                progress(done)
        return done

    def chunks(
        self,
        rows: int | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        rebalance: Mapping[str, Mapping[Any, float]] | Target | None = None,
        seed: int | None = None,
        engine: object = None,
        tell_weights: TellWeights | None = None,
        independent: bool = False,
    ) -> Iterator[Any]:
        """The same rows as Arrow tables of at most 250,000 rows, fewer where they hold arrays; identifiers count on.

        Every chunk has random numbers of its own, made from the seed and its number, whoever draws it.
        """
        if independent:
            how: dict[str, Any] = {"rebalance": rebalance, "seed": seed, "engine": engine, "tell_weights": tell_weights}
            yield from replace(self, model=self.model.independent()).chunks(rows, where=where, **how)
            return
        if engine is not None and tell_weights is not None:
            raise NacreError("tell_weights: the workers of an engine draw from pools of their own; use one of the two")
        wanted = self.rows if rows is None else rows
        if isinstance(wanted, bool) or not isinstance(wanted, int | np.integer) or wanted < 0:
            raise NacreError(f"rows={rows!r}: expected a whole number of rows, zero or more")
        entropy = np.random.SeedSequence(seed).entropy
        where = on_determinants(self.schema, parsed(where or {}, self.schema.columns, "where"))
        shares = self.shares if rebalance is None else rebalance
        draw = balanced(
            RowSource(self.schema, self.model), shares, where, tell_weights
        )  # refuses what cannot be drawn before anything is
        if wanted == 0:
            yield arrow_schema(self.schema).empty_table()
        chunk = self._chunk()
        starts = range(0, int(wanted), chunk)
        given = [
            (Chunk(k, start, min(chunk, int(wanted) - start), entropy), where, shares) for k, start in enumerate(starts)
        ]
        if engine is None or len(given) < 2:
            yield from (self._chunk_table(*one, draw) for one in given)
            return
        from nacre.engines.cluster import in_order, running

        with running(engine) as cluster:
            yield from in_order(cluster.each(self._chunk_table, given))

    def _chunk_table(
        self, chunk: Chunk, where: Mapping[str, Condition], shares: object, draw: Draw[Encoded] | None = None
    ) -> Any:
        """One chunk, its random numbers included: a function of its arguments. `draw` saves making it again."""
        rng = chunk.rng()
        drawn = (draw or balanced(RowSource(self.schema, self.model), shares, where))(chunk.rows, rng)
        return decode(drawn, self.schema, chunk.start + 1, rng)

    def _chunk(self) -> int:
        """Rows at a time: fewer where they hold arrays."""
        numbers = sum(math.prod(c.shape) for c in self.schema.columns.values() if c.shape)
        return max(1, min(CHUNK, CHUNK_NUMBERS // max(1, numbers)))

    def expected(
        self, columns: str | Sequence[str], *, edges: Mapping[str, Sequence[Any]] | None = None, as_: str = "pandas"
    ) -> Any:
        """Shares and counts that the model expects of one to three columns, such as "age by region", exactly and
        without drawing rows: a row for each combination of cells. Numbers and moments are cut at `edges`, or stand in
        the groups that the model keeps together.

        `low` and `high` are a 95 % interval of the count among the rows of the table, from the noisy counts and the
        law of their noise, where these cells were counted (one or two columns, whole groups), null elsewhere;
        `below_noise`: the noisy count is less than two standard errors. What the model expects is smoothed and may lie
        outside. Rules and impossible combinations are met by rows when they are drawn, and play no part here.
        """
        import pyarrow as pa

        from nacre.release.tables import named, tabulated

        names = named(columns, self.schema)
        found = tabulated(self.model, names, edges or {})
        typed = {name: pa.array(values, from_pandas=True) for name, values in found.items()}
        return from_arrow(pa.table(typed), as_)

    def log_prob(self, table: object, *, samples: int = 64, seed: int = 0) -> np.ndarray:
        """The log-probability of each row of a table, in nats, for models that have one: exactly for mixtures (sketch,
        independent, pearl), a lower bound for hflow, which more `samples` tighten.

        Labels, whole numbers, nulls and atoms count by their mass, other numbers by their density per unit; values
        outside the declared domain are moved into it or summed over, as when fitting: a row that the schema rules out
        has the probability of what stands in its place, and where rules map rows, a row has that of what it is mapped
        to. Shares asked for by `with_target` play no part. A mixture is smoothed so that no valid row is impossible,
        and leaves out how numbers depend on one another inside the groups that the model keeps together.
        It says nothing about privacy, but on private rows it is a fact about them: for their owner alone.
        """
        from nacre.engines import open_rows
        from nacre.table.encoding import encode

        if not self.model.likelihood:
            raise NacreError(f"method {self.method!r} has no log-probability; 'sketch' and 'hflow' have")
        if isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
            raise NacreError(f"samples={samples!r}: expected a whole number, at least 1")
        parts = [encode(batch, self.schema.inner).columns for batch in open_rows(table).batches()]
        return np.concatenate([np.zeros(0), *(self.model.log_prob(part, samples, seed) for part in parts)])

    def save(self, path: str | os.PathLike, force: bool = False) -> None:
        """Write the release file (zip of JSON and safetensors); an existing file is kept unless `force`."""
        from nacre.release.file import pack

        facts, arrays = self.model.parts()
        target = {} if self.shares is None else {"shares": to_json(self.shares)}
        documents = {
            "schema.json": self.schema.to_json(),
            "certificate.json": json.dumps(self.certificate.to_json(), indent=1, sort_keys=True),
            "model.json": json.dumps({"method": self.method, "facts": facts, **target}, indent=1, sort_keys=True),
        }
        pack(path, documents, arrays, force)


def load(path: str | os.PathLike) -> Release | DatabaseRelease:
    """Read a release file, of a table or of a database. Runs no code from it; anything unexpected is a
    ReleaseFileError.

    What its certificate promises is composed once more from what it lists (CertificateError where they differ). Who
    made the file, and that the doors were opened as listed, only a signature of theirs could prove.
    """
    from nacre.release.file import unpack

    documents, arrays = unpack(path)
    if documents["model.json"].get("method") in DATABASES:
        from nacre.release import databases

        return databases.made_of(path, documents, arrays)
    return made_of(path, documents, arrays)


def load_table(path: str | os.PathLike) -> Release:
    """The release of one table in a file."""
    made = load(path)
    if not isinstance(made, Release):
        raise ReleaseFileError(
            f"{path}: a release of a database of {len(made.schema.tables)} tables, and this takes single tables; draw "
            "from it with `nacre sample`"
        )
    return made


def made_of(path: str | os.PathLike, documents: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Release:
    """The release in the parts of a file."""
    if documents["model.json"].get("method") == SKETCH:
        raise ReleaseFileError(
            f"{path}: a sketch, not a release; fit a model to it first: nacre fit --from-sketch {path} -o FILE.nacre "
            "(in Python nacre.load_sketch, then release())"
        )
    try:
        schema = Schema.from_json(documents["schema.json"])
        certificate = Certificate.from_json(documents["certificate.json"])
        method, facts = documents["model.json"]["method"], documents["model.json"]["facts"]
        if certificate.method != method:
            raise CertificateError(f"its certificate is that of method {certificate.method!r}, its model of {method!r}")
        certificate = verify(certificate, METHODS.get(method), schema)
        kind = METHODS[method].load()
        asked = documents["model.json"].get("shares")
        shares = None if asked is None else checked(from_json(asked), schema, "target shares")
        model = kind.model.from_parts(schema.inner, facts, arrays)
    except CertificateError as error:
        raise CertificateError(f"{path}: do not rely on this release: {error}") from None
    except (*UNFIT, NacreError) as error:
        raise ReleaseFileError(f"{path}: the release does not hold what it should ({error})") from None
    return Release(method, schema, model, certificate, shares)
