"""The schema: the public description of a table, with the source of every fact in it."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from nacre import notebook
from nacre.errors import SchemaError
from nacre.table.checking import HIDDEN, keyed, short
from nacre.table.columns import PROVENANCES, UNPROTECTED, Column
from nacre.table.naming import choices
from nacre.table.rules import MOST_CAP, Combinations, Dependency, Impossible, RowRule, Unit, check_dependencies
from nacre.table.written import Written
from nacre.typed import Json

if TYPE_CHECKING:
    from nacre.table.rules.inner import RowMap

MAX_COLUMNS = 2_000  # modelled columns: beyond this, tables of pairs do not fit any budget or machine
SCHEMA_FACTS = ("rows", "unit", "dependencies", "impossible", "rules")
RELATIONS = ("add_or_remove_one", "zero_out", "replace_one")  # what a promise hides; `nacre.privacy.budget` says more
_MOST_PAID = 1e6  # of epsilon: no budget comes near


@dataclasses.dataclass(frozen=True)
class Attestation:
    """Who took responsibility for facts that had been read from the data or from a document, and why they are
    public."""

    by: str
    why: str
    facts: tuple[tuple[str | None, str], ...]  # (column, or None for the table, fact)

    def to_json(self) -> dict[str, Json]:
        return {"by": self.by, "why": self.why, "facts": [list(fact) for fact in self.facts]}

    @classmethod
    def from_json(cls, raw: object, where: str) -> Attestation:
        by, why, facts = keyed(raw, where, ("by", "why", "facts"))
        good = isinstance(facts, list) and all(
            isinstance(f, list) and len(f) == 2 and isinstance(f[0], (str, type(None))) and isinstance(f[1], str)
            for f in facts
        )
        if not good:
            raise SchemaError(f"{where}: facts is {short(facts)}; write pairs [column or null, fact]")
        return cls(by, why, tuple((f[0], f[1]) for f in facts))


@dataclasses.dataclass(frozen=True)
class Purchase:
    """What a run has paid for facts of a schema: a promise of its own, which adds to that of every later run on rows of
    the same people."""

    epsilon: float
    delta: float
    neighbours: str
    cap: int = 1

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta)):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MOST_PAID:
                raise SchemaError(f"purchases: {name} is {value!r}; expected what was paid, a number of at least 0")
        whole = isinstance(self.cap, int) and not isinstance(self.cap, bool) and 1 <= self.cap <= MOST_CAP
        if self.neighbours not in RELATIONS or not whole:
            raise SchemaError(
                f"purchases: found {short(self)}; expected the neighbours ({', '.join(RELATIONS)}) and the cap of the "
                "promise"
            )

    def to_json(self) -> dict[str, Json]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, raw: object, where: str) -> Purchase:
        return cls(*keyed(raw, where, ("epsilon", "delta", "neighbours", "cap")))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Schema(Written):
    """Columns by name, in the order of the table, and what is known across them.

    `rows` is the declared public number of rows, None when it is not public. `impossible` holds combinations
    that never occur: {column: value, list of values, or Between}, read into `Impossible`; `rules` what every row keeps
    (`nacre.table.rules`). `purchases` are what bought facts have cost. Equality includes the order of the columns.
    """

    columns: Mapping[str, Column]
    rows: int | None = None
    unit: Unit | None = None
    dependencies: tuple[Dependency, ...] = ()
    impossible: tuple[Mapping[str, Any] | Impossible, ...] = ()
    rules: tuple[RowRule, ...] = ()
    provenance: Mapping[str, str] = dataclasses.field(default_factory=dict)
    attestations: tuple[Attestation, ...] = ()
    purchases: tuple[Purchase, ...] = ()

    def __post_init__(self) -> None:
        self._set(columns=_checked_columns(self.columns))
        if self.rows is not None and (
            not isinstance(self.rows, int) or isinstance(self.rows, bool) or not 1 <= self.rows <= 10**15
        ):
            raise SchemaError(f"rows is {self.rows!r}; write the public number of rows, at least 1, or leave it out")
        if self.unit is not None:
            if not isinstance(self.unit, Unit):
                raise SchemaError(f"unit is {self.unit!r}; write a Unit(column, cap)")
            self.unit.check(self.columns)
        self._set(dependencies=tuple(self.dependencies))
        check_dependencies(self.dependencies, self.columns)
        never = [Impossible.of(r, self.columns, f"impossible[{i}]") for i, r in enumerate(self.impossible)]
        self._set(impossible=tuple(never), attestations=tuple(self.attestations), purchases=tuple(self.purchases))
        self._set(rules=self._checked_rules())
        self._set(provenance=self._checked_provenance())
        self._check_attestations()
        if len(self.modelled) > MAX_COLUMNS:
            raise SchemaError(
                f"the schema models {len(self.modelled):,} columns; at most {MAX_COLUMNS:,}: "
                "leave columns out, or declare those that are only names as identifiers"
            )
        if self.rules and not any(n in self.modelled and self.columns[n].missing for r in self.rules for n in r.names):
            _ = self.inner  # what cannot be mapped is said here

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _checked_provenance(self) -> dict[str, str]:
        if not isinstance(self.provenance, Mapping):
            raise SchemaError(f"provenance is {self.provenance!r}; write fact: source pairs")
        stated = [f for f in SCHEMA_FACTS if getattr(self, f) not in (None, ())]
        for fact, source in self.provenance.items():
            if fact not in stated:
                raise SchemaError(f"provenance names {fact!r}, which the schema does not state; remove it")
            known = [p for p in PROVENANCES if p != "counted" or fact == "rows"]
            if source not in known:
                raise SchemaError(f"provenance of {fact} is {source!r}; choose one of {', '.join(known)}")
        return {fact: self.provenance.get(fact, "public") for fact in stated}

    def _checked_rules(self) -> tuple[RowRule, ...]:
        """Each read for these columns; all together, as soon as their domains are known, in `inner`."""
        for rule in self.rules:
            if not isinstance(rule, RowRule):
                raise SchemaError(f"rules has {rule!r}; write one of nacre.table.rules, such as Ordered(('a', 'b'))")
        return tuple(rule.check(self.columns) for rule in self.rules)

    def _check_attestations(self) -> None:
        for a in self.attestations:
            if not isinstance(a, Attestation):
                raise SchemaError(f"attestations has {a!r}; use schema.attest(by=..., why=...)")
            check_words(a.by, a.why)

    # -- what is known, and how -----------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """All columns, in order."""
        return tuple(self.columns)

    @property
    def protected(self) -> dict[str, Json]:
        """Who is, as certificates state it."""
        return self.unit.to_json() if self.unit else {"column": None, "cap": 1}

    @property
    def modelled(self) -> tuple[str, ...]:
        """The columns a method learns: neither identifiers nor dependents."""
        dependents = {rule.dependent for rule in self.dependencies}
        return tuple(name for name, c in self.columns.items() if c.learnt and name not in dependents)

    @property
    def never(self) -> tuple[Impossible, ...]:
        """`impossible`, as it was read."""
        return tuple(rule for rule in self.impossible if isinstance(rule, Impossible))

    @functools.cached_property
    def inner(self) -> Schema:
        """The schema of what methods model: this one, but where it has `rules`. Curators adopt it, plans are made for
        it, models draw its columns; `encode` and `decode` go between it and the rows of the table."""
        from nacre.table.rules.inner import inner_of

        return inner_of(self) if self.rules else self

    @property
    def row_map(self) -> RowMap | None:
        """How rows of the table become rows of this schema, where they are not the same."""
        return None

    @property
    def read(self) -> tuple[str, ...]:
        """The columns of the table that a method reads."""
        return self.modelled if self.row_map is None else self.row_map.source.modelled

    def facts(self) -> dict[tuple[str | None, str], str]:
        """(column, fact) -> provenance, for every stated fact; the column is None for facts about the
        table."""
        found: dict[tuple[str | None, str], str] = {(None, fact): s for fact, s in self.provenance.items()}
        for name, column in self.columns.items():
            found.update({(name, fact): source for fact, source in column.provenance.items()})
        return found

    def undeclared(self) -> list[tuple[str, str]]:
        """(column, fact) that a private method needs and the schema does not state."""
        found = [(name, fact) for name in self.modelled for fact in self.columns[name].missing]
        return found + [(rule.clique[-1], rule.lacks) for rule in self.open_rules]

    @property
    def open_rules(self) -> list[Dependency | Combinations]:
        """The rules that are still to be bought."""
        lists = [rule for rule in self.rules if isinstance(rule, Combinations)]
        return [rule for rule in (*self.dependencies, *lists) if rule.bought]

    def weakest(self) -> tuple[str, list[tuple[str | None, str]]]:
        """The weakest provenance in the schema and the facts that have it."""
        facts = self.facts()
        level = max(facts.values(), key=PROVENANCES.index, default="public")
        return level, [where for where, source in facts.items() if source == level]

    def facts_from(self, *sources: str) -> list[tuple[str | None, str]]:
        """The facts of these provenances."""
        return [where for where, source in self.facts().items() if source in sources]

    @property
    def unprotected(self) -> list[tuple[str | None, str]]:
        """The facts with which no promise holds until somebody attests them."""
        return self.facts_from(*UNPROTECTED)

    def attest(
        self, column: str | Collection[str] | None = None, fact: str | None = None, *, by: str, why: str
    ) -> Schema:
        """The same schema with `read` and `unattested` facts turned `public`, and a record of who said so and why.

        Without `column` (a name or several), facts of every column and of the table; without `fact`, every fact. Bought
        facts stay bought. Raises SchemaError when no such fact matches: an attestation of nothing is a mistake.
        """
        check_words(by, why)
        wanted = None if column is None else {column} if isinstance(column, str) else set(column)
        for name in sorted((wanted or set()) - set(self.columns)):
            raise SchemaError(f"attest: there is no column {name!r}; choose among {choices(name, self.names)}")
        facts = tuple(
            (name, f) for name, f in self.unprotected if (wanted is None or name in wanted) and fact in (None, f)
        )
        if not facts:
            raise SchemaError(
                f"attest: nothing to attest for column={column!r}, fact={fact!r}: no such fact was read from "
                "the data or from another document"
            )
        attestations = (*self.attestations, Attestation(by, why, facts))
        return dataclasses.replace(self.with_provenance(dict.fromkeys(facts, "public")), attestations=attestations)

    def with_provenance(self, sources: Mapping[tuple[str | None, str], str]) -> Schema:
        """The same schema with another provenance of these (column, fact) pairs; the column is None for the table's."""
        columns = {
            name: dataclasses.replace(c, provenance={f: sources.get((name, f), s) for f, s in c.provenance.items()})
            for name, c in self.columns.items()
        }
        table = {f: sources.get((None, f), s) for f, s in self.provenance.items()}
        return dataclasses.replace(self, columns=columns, provenance=table)

    # -- in and out -----------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<Schema of {self._size}>"

    def _repr_html_(self) -> str:
        lines = [(name, column.kind, ", ".join(sorted({*column.provenance.values()})))
                 for name, column in self.columns.items()]  # fmt: skip
        return notebook.panel(f"Schema of {self._size}", {}, ("column", "kind", "source"), lines)

    @property
    def _size(self) -> str:
        return f"{len(self.columns):,} columns" + (f", {self.rows:,} rows" if self.rows is not None else "")

    def to_json(self) -> str:
        """Readable JSON; `from_json` gives an equal schema back, and the same text from it."""
        from nacre.table.schema_json import dump

        return dump(self)

    @classmethod
    def from_json(cls, source: str | bytes | Mapping[str, Any]) -> Schema:
        """The schema in a JSON text or in its parsed form. Anything unexpected in it is a SchemaError."""
        from nacre.table.schema_json import parse

        return parse(source)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Schema:
        """The schema in a JSON file."""
        from nacre.table.schema_json import load

        return load(path)

    @classmethod
    def given(cls, schema: Any) -> Schema:
        """A schema as it is, or the one in the file of this name."""
        if isinstance(schema, str | os.PathLike):
            return cls.load(schema)
        if not isinstance(schema, Schema):
            raise SchemaError(f"schema is {type(schema).__name__}; give a nacre.Schema, or the path of a schema file")
        return schema

    @classmethod
    def draft(cls, table: object, exclude: tuple[str, ...] = ()) -> Schema:
        """A guess from the data itself: every fact in it is `read`, to be reviewed and attested or
        replaced."""
        from nacre.table.draft import draft

        return draft(table, exclude)


def _checked_columns(columns: object) -> dict[str, Column]:
    if not isinstance(columns, Mapping) or not columns:
        raise SchemaError(f"columns is {columns!r}; name at least one column")
    for name, column in columns.items():
        if not isinstance(name, str) or not name or HIDDEN.search(name):
            raise SchemaError(
                f"column name {name!r}: a name is printed in certificates: text, not empty, without line breaks, "
                "controls and characters that turn the direction of writing; rename the column"
            )
        if not isinstance(column, Column):
            raise SchemaError(f"column {name!r} is {column!r}; write a column such as Numeric(bounds=(0, 100))")
    return dict(columns)


def check_words(by: object, why: object) -> None:
    for word, value in (("by", by), ("why", why)):
        if not isinstance(value, str) or not value.strip() or HIDDEN.search(value):
            raise SchemaError(
                f"attest: {word} is {value!r}; say in words who attests and why the fact is public, on one line"
            )
