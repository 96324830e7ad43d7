"""Table definitions in PostgreSQL's SQL, by hand or from `pg_dump --schema-only`: parsed by sqlglot, never run.

Only definitions of tables, types and domains are parsed; statements that carry rows (INSERT, COPY) are passed over.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nacre.errors import SchemaError
from nacre.table.imports.base import DAY, INTEGER, MOMENT, TEXT, Described, Document, Relation, Told
from nacre.table.imports.checks import Checks
from nacre.table.imports.types import of_sql

if TYPE_CHECKING:
    from sqlglot import exp

DIALECT = "postgres"
MAX_CHARACTERS = 2**19
MAX_STATEMENTS = 20_000
LEAST_CALLS, CALLS = 1_000_000, 150  # of functions in all, and for each character: plain definitions need 30 to 70
_COPIED = re.compile(r"COPY [^;]* FROM stdin;\s*", re.IGNORECASE)
_READ = re.compile(r"(CREATE\s+(?:\w+\s+)?(?:UNLOGGED\s+)?TABLE|CREATE\s+TYPE|CREATE\s+DOMAIN|ALTER\s+TABLE)\b", re.I)
_DOMAIN = re.compile(r'CREATE\s+DOMAIN\s+(?:\w+\.)?("?)([\w ]+?)\1\s+(?:AS\s+)?(.*)', re.I | re.DOTALL)
_ALTERED = re.compile(r'ALTER\s+TABLE\s+(?:ONLY\s+)?(?:\w+\.)?("?)(\w+)\1\s', re.I)
_SERIAL = re.compile("(small|big)?serial[248]?", re.I)


def claims(raw: object) -> bool:
    return isinstance(raw, str)


def describe(raw: str, name: str) -> Document:
    try:
        import sqlglot.errors
    except ImportError:
        raise SchemaError("SQL is parsed by sqlglot, which is not installed: pip install 'nacre[sql]'") from None
    if len(raw) > MAX_CHARACTERS:
        raise SchemaError(f"SQL of {len(raw):,} characters; at most {MAX_CHARACTERS:,}: give definitions without rows")
    reader, log = _Reader(), logging.getLogger("sqlglot")
    level = log.level
    log.setLevel(logging.ERROR)  # what it does not know is listed here
    try:
        with _few_calls(LEAST_CALLS + CALLS * len(raw)):
            for statement in _statements(raw):
                reader.read(statement)
    except sqlglot.errors.SqlglotError as error:
        if isinstance(ours := error.__context__, SchemaError):  # its words are split under an error of its own
            raise ours from None
        raise SchemaError(f"not SQL as PostgreSQL has it: {_told(error)}") from None
    finally:
        log.setLevel(level)
    return reader.document()


@contextlib.contextmanager
def _few_calls(left: int) -> Iterator[None]:
    """SchemaError after so many calls of functions: a parser that goes back and tries again may take for ever."""
    before = sys.getprofile()

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise SchemaError("SQL that takes too long to parse; give simpler definitions")

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)


def _told(error: Exception) -> str:
    """What is wrong, without the words around it: a dump may hold rows."""
    from sqlglot.errors import ParseError

    if not isinstance(error, ParseError) or not error.errors:
        return "a quote or a comment in it does not end"
    first = error.errors[0]
    what = str(first.get("description")).partition(" but got ")[0]
    return f"{what}, line {first.get('line')} of a definition"


def _statements(raw: str) -> list[str]:
    """The texts between semicolons that define something."""
    from sqlglot import TokenType, tokenize

    text = _without_rows(raw)
    found, start = [], 0
    for token in tokenize(text, read=DIALECT):
        if token.token_type == TokenType.SEMICOLON:
            found.append(text[start : token.start])
            start = token.end + 1
    bare = [_uncommented(s) for s in (*found, text[start:])]
    kept = [s for s in bare if _READ.match(s)]
    if len(kept) > MAX_STATEMENTS:
        raise SchemaError(f"{len(kept):,} definitions; at most {MAX_STATEMENTS:,}")
    return kept


def _without_rows(raw: str) -> str:
    """Without the rows of COPY, which are no SQL and end in a line of their own, and without commands of psql."""
    kept, copying = [], False
    for line in raw.splitlines():
        if copying:
            copying = line != "\\."
        elif _COPIED.fullmatch(line):
            copying = True
        elif not line.startswith("\\"):
            kept.append(line)
    return "\n".join(kept)


def _uncommented(statement: str) -> str:
    """Without the comments in front."""
    while True:
        statement = statement.lstrip()
        if statement.startswith("--"):
            statement = statement.partition("\n")[2]
        elif statement.startswith("/*"):
            statement = statement.partition("*/")[2]
        else:
            return statement


class _Table:
    """A table while its definitions are read: ALTER TABLE may add to it."""

    def __init__(self, name: str):
        self.found = Described(name)
        self.told: dict[str, Told] = {}
        self.keys: list[tuple[str, tuple[str, ...]]] = []
        self.lengths: dict[str, str] = {}
        self.checks = Checks(self.told, self.found)

    def described(self) -> Described:
        for column, told in self.told.items():
            self.found.add(column, told)
            if column in self.lengths and told.values is None:
                self.found.leave(f"the length of {self.lengths[column]}", column)
        for what, names in self.keys:
            if len(names) > 1:
                self.found.key(names, what)
        return self.found


class _Reader:
    """What the definitions of a document say together."""

    def __init__(self) -> None:
        self.tables: dict[str, _Table] = {}
        self.enums: dict[str, list[str]] = {}
        self.domains: dict[str, Told] = {}
        self.relations: list[Relation] = []
        self.unread: list[tuple[str, str]] = []  # (table or nothing, statement)

    def document(self) -> Document:
        for table, statement in self.unread:
            for one in [self.tables[table]] if table in self.tables else self.tables.values():
                one.found.leave(f"the statement {statement}")
        return Document({n: t.described() for n, t in self.tables.items()}, tuple(self.relations))

    def read(self, statement: str) -> None:
        from sqlglot import exp, parse_one

        if domain := _DOMAIN.match(statement):  # sqlglot has no word for it: a table of one column has its parts
            name, rest = domain.group(2), domain.group(3)
            own = _Table(name)
            self._table(parse_one(f"CREATE TABLE d (VALUE {rest})", read=DIALECT), own)
            self.domains[name.lower()] = own.told["value"]
            return
        parsed = parse_one(statement, read=DIALECT)
        if isinstance(parsed, exp.Create) and parsed.kind == "TYPE":
            self._type(parsed)
        elif isinstance(parsed, exp.Create) and isinstance(parsed.this, exp.Schema):
            name = _name(parsed.this.this.this)
            if name in self.tables:
                raise SchemaError(f"table {name!r} is defined twice; keep one of the two")
            self.tables[name] = _Table(name)
            self._table(parsed, self.tables[name])
        elif isinstance(parsed, exp.Alter):
            self._altered(parsed)
        else:
            altered = _ALTERED.match(statement)
            self.unread.append((altered.group(2) if altered else "", " ".join(statement.split())))

    def _type(self, parsed: exp.Create) -> None:
        from sqlglot import exp

        labels = [e.name for e in parsed.expression.find_all(exp.Literal)] if parsed.expression else []
        self.enums[_name(parsed.this.this)] = labels

    def _table(self, parsed: exp.Expr, table: _Table) -> None:
        from sqlglot import exp

        for part in parsed.this.expressions:
            if isinstance(part, exp.ColumnDef):
                self._column(part, table)
            else:
                self._constraint(part, table)

    def _altered(self, parsed: exp.Alter) -> None:
        from sqlglot import exp

        table = self.tables.get(_name(parsed.this.this))
        if table is None:
            return
        for action in parsed.args.get("actions") or ():
            if isinstance(action, exp.AddConstraint):
                for part in action.expressions:
                    self._constraint(part, table)
            elif isinstance(action, exp.AlterColumn):
                if action.args.get("default") is None:
                    table.found.leave(action.sql(DIALECT))
            elif isinstance(action, exp.ColumnDef):
                self._column(action, table)
            else:
                table.found.leave(action.sql(DIALECT))

    # -- columns and constraints ------------------------------------------------------------------------------

    def _column(self, part: exp.ColumnDef, table: _Table) -> None:
        name = _name(part.this)
        if name in table.told:
            raise SchemaError(f"column {name!r} of table {table.found.name!r} is defined twice; keep one")
        table.told[name] = self._of_type(part, name, table)
        for constraint in part.constraints:
            self._constraint(constraint, table, name)

    def _of_type(self, part: exp.ColumnDef, name: str, table: _Table) -> Told:
        from sqlglot import exp

        kind = part.args.get("kind")
        if kind is None:
            return Told(TEXT)
        if kind.this == exp.DataType.Type.USERDEFINED:
            own = str(kind.args.get("kind") or "").strip('"').rpartition(".")[2].strip('"')
            if own in self.enums:
                return Told(TEXT, values=self.enums[own], ordered=True)
            if own.lower() in self.domains:
                return dataclasses.replace(self.domains[own.lower()])
        text = kind.sql(DIALECT)
        told = of_sql(text)
        if _SERIAL.fullmatch(text):
            return Told(INTEGER, nullable=False, unique=True)
        if told.kind == TEXT and "(" in text:
            table.lengths[name] = text
        return told

    def _constraint(self, part: exp.Expr, table: _Table, column: str | None = None) -> None:
        """A constraint of a column, or of the table where none is given."""
        from sqlglot import exp

        if isinstance(part, exp.Constraint):
            for own in part.expressions:
                self._constraint(own, table, column)
            return
        kind = part.kind if isinstance(part, exp.ColumnConstraint) else part
        told = table.told.get(column) if column is not None else None
        if isinstance(kind, exp.CheckColumnConstraint):
            table.checks.read(kind.this)
        elif isinstance(kind, exp.NotNullColumnConstraint) and told is not None:
            told.nullable = bool(kind.args.get("allow_null"))
        elif isinstance(kind, exp.PrimaryKeyColumnConstraint | exp.UniqueColumnConstraint | exp.PrimaryKey):
            primary = not isinstance(kind, exp.UniqueColumnConstraint)
            self._key(table, (column,) if column else _names(kind), primary)
        elif isinstance(kind, exp.GeneratedAsIdentityColumnConstraint) and told is not None:
            told.unique = True
        elif isinstance(kind, exp.Reference):
            self._relation(table, (column,) if column else (), kind)
        elif isinstance(kind, exp.ForeignKey):
            self._relation(table, _names(kind), kind.args["reference"])
        elif isinstance(kind, exp.DefaultColumnConstraint):
            table.found.leave("its default value", column)
        else:
            table.found.leave(kind.sql(DIALECT), column)

    def _key(self, table: _Table, names: tuple[str, ...], primary: bool) -> None:
        table.keys.append(("primary key" if primary else "unique", names))
        for name in names:
            if name in table.told and primary:
                table.told[name].nullable = False
        if len(names) == 1 and names[0] in table.told:
            table.told[names[0]].unique = True

    def _relation(self, table: _Table, names: tuple[str, ...], reference: exp.Expr) -> None:
        """A column that points into another table is a name there, and made anew here."""
        from sqlglot import exp

        there = reference.this
        parent = there.this if isinstance(there, exp.Schema) else there
        columns = tuple(_name(e) for e in there.expressions) if isinstance(there, exp.Schema) else ()
        self.relations.append(Relation(table.found.name, names, _name(parent.this), columns))
        for name in names:
            told = table.told.get(name)
            if told is not None and told.kind not in (DAY, MOMENT) and told.values is None:
                told.unique = True


def _names(part: exp.Expr) -> tuple[str, ...]:
    """The columns that a constraint of the table names."""
    from sqlglot import exp

    within = part.this if isinstance(part.this, exp.Schema) else part
    return tuple(_name(e.find(exp.Identifier) or e) for e in within.expressions)


def _name(identifier: exp.Expr) -> str:
    """As PostgreSQL has it: small letters, unless it stands in quotes."""
    return identifier.name if identifier.args.get("quoted") else identifier.name.lower()
