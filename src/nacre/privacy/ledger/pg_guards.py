"""What a PostgreSQL ledger is made of besides its tables: functions, triggers and rights.

Ordinary users may read the tables and call two functions, which run with the rights of the ledger's owner: one takes
the lock of a population, one adds a row. The row is made here, not by the client: its number, sums, hash and time, and
who made it, by the login (`session_user`). A trigger asks the rules of everybody, the owner too. Every function has a
search_path of its own and names what is the ledger's in full, and no text in them holds a backslash, so that nothing a
session may set (search_path, temporary objects, standard_conforming_strings) changes what they do.
"""

from __future__ import annotations

from dataclasses import dataclass

from nacre.privacy.ledger import rules
from nacre.privacy.ledger.chain import COLUMNS

TABLES = ("nacre_rows", "nacre_anchors", "nacre_ledger")
# For users: the lock, and the only way to add a row. All others are for the triggers and these two.
LOCK, ADD = "nacre_lock(text)", "nacre_add(text, bigint, text, text, text, bigint, bigint, text)"
OPEN_TO_USERS = (LOCK, ADD)
_NUMBERS = ("sequence", "units", "failure", "spent", "spent_failure")
MOST_TEXT = 4_000_000  # characters of a body

# As Python's json writes a text in ASCII: 34 is the quote, 92 the backslash, beyond 65535 two halves.
_JSON = """DECLARE made text := ''; c text; n integer; b text := chr(92); BEGIN
    IF (told COLLATE "C") !~ '[^ -~]' THEN
        RETURN chr(34) || replace(replace(told, b, b || b), chr(34), b || chr(34)) || chr(34);
    END IF;
    FOR c IN SELECT x FROM regexp_split_to_table(told, '') WITH ORDINALITY AS s(x, place) ORDER BY place LOOP
        n := ascii(c);
        made := made || CASE
            WHEN n IN (34, 92) THEN b || c
            WHEN n = 8 THEN b || 'b' WHEN n = 9 THEN b || 't' WHEN n = 10 THEN b || 'n'
            WHEN n = 12 THEN b || 'f' WHEN n = 13 THEN b || 'r'
            WHEN n BETWEEN 32 AND 126 THEN c
            WHEN n < 65536 THEN b || 'u' || lpad(to_hex(n), 4, '0')
            ELSE b || 'u' || to_hex(55296 + ((n - 65536) >> 10)) || b || 'u' || to_hex(56320 + ((n - 65536) & 1023))
        END;
    END LOOP;
    RETURN chr(34) || made || chr(34); END"""


@dataclass(frozen=True)
class Function:
    """`head` is its name with types; `body` is compared with what the database holds."""

    head: str
    returns: str
    body: str
    definer: bool = False
    names: str = ""

    def create(self, schema: str) -> str:
        name, _, types = self.head.rstrip(")").partition("(")
        given = ", ".join(f"{n} {t}" for n, t in zip(self.names.split(), types.split(", "))) if self.names else types
        if types.startswith("nacre_rows"):
            given = f"{self.names} {schema}.nacre_rows"
        rights = "SECURITY DEFINER" if self.definer else "SECURITY INVOKER"
        return (
            f"CREATE OR REPLACE FUNCTION {schema}.{name}({given}) RETURNS {self.returns} LANGUAGE plpgsql {rights} "
            f"SET search_path = pg_catalog, pg_temp AS $nacre$ {self.body} $nacre$"
        )


def functions(s: str) -> tuple[Function, ...]:
    d = rules.postgresql(s)
    told = " || ',' || ".join(
        f"""'"{name}":' || """ + (f"r.{name}::text" if name in _NUMBERS else f"{s}.nacre_json(r.{name})")
        for name in sorted(COLUMNS) if name != "hash"
    )  # fmt: skip
    own = (
        ("NEW.made_by <> session_user::text", "made_by is who is logged in"),
        (f"length(NEW.body) > {MOST_TEXT} OR length(NEW.request) > {MOST_TEXT}", "its text is too long"),
        (f"NEW.hash <> {s}.nacre_hash(NEW)", "its hash is not that of what it says"),
    )
    return (
        Function("nacre_json(text)", "text", _JSON, names="told"),
        Function("nacre_hash(nacre_rows)", "text",
                 f"BEGIN RETURN encode(sha256(convert_to('{{' || {told} || '}}', 'UTF8')), 'hex'); END", names="r"),
        Function(LOCK, "void",
                 f"BEGIN PERFORM 1 FROM {d.anchors} a WHERE a.population = asked FOR UPDATE; END", True, "asked"),
        Function(ADD, f"SETOF {d.rows}", _add(s, d), True,
                 "of_population after kind reservation request units failure body"),
        Function("nacre_only_added()", "trigger", "BEGIN RAISE EXCEPTION 'a ledger is only added to'; END"),
        Function("nacre_rows_rules()", "trigger", _refusing((*rules.of_rows(d), *own))),
        Function("nacre_anchors_rules()", "trigger", _refusing(rules.of_anchors(d))),
        Function("nacre_ledger_rules()", "trigger", _refusing(rules.of_ledger(d))),
    )  # fmt: skip


def _add(s: str, d: rules.Dialect) -> str:
    """`after` is the last row that the client has seen: what it decided on must still be the last under the lock."""
    values = {
        "population": "of_population", "sequence": "last.sequence + 1", "spent": "last.spent + units",
        "spent_failure": "last.spent_failure + failure", "previous": "last.hash", "hash": "''",
        "made_at": """to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"')""",
        "made_by": "session_user::text",
    }  # fmt: skip
    made = " ".join(f"made.{name} := {values.get(name, name)};" for name in COLUMNS)
    columns = ", ".join(COLUMNS)
    fields = ", ".join(f"made.{name}" for name in COLUMNS)
    return f"""#variable_conflict use_variable
    DECLARE last {d.rows}; made {d.rows}; BEGIN
    IF kind = 'policy' THEN RAISE EXCEPTION 'only the owner of the ledger makes populations'; END IF;
    PERFORM {s}.nacre_lock(of_population);
    SELECT * INTO last FROM {d.rows} r WHERE r.population = of_population ORDER BY r.sequence DESC LIMIT 1;
    IF last.sequence IS NULL THEN RAISE EXCEPTION 'there is no such population'; END IF;
    IF last.sequence IS DISTINCT FROM after THEN
        RAISE EXCEPTION 'another row was added meanwhile; nothing was added'; END IF;
    {made}
    made.hash := {s}.nacre_hash(made);
    INSERT INTO {d.rows} ({columns}) VALUES ({fields});
    RETURN NEXT made; END"""


def _refusing(asked: tuple[tuple[str, str], ...]) -> str:
    """What is neither true nor false (NULL) is refused as well."""
    tests = " ".join(f"IF ({wrong}) IS NOT FALSE THEN RAISE EXCEPTION '{why}'; END IF;" for wrong, why in asked)
    return f"BEGIN {tests} RETURN NEW; END"


def triggers() -> dict[str, tuple[str, str, str]]:
    """name -> (table, function, when)."""
    rows = {f"{t}_rules": (t, f"{t}_rules", "BEFORE INSERT ON {} FOR EACH ROW") for t in TABLES}
    changes = "BEFORE UPDATE OR DELETE OR TRUNCATE ON {} FOR EACH STATEMENT"
    return rows | {f"{t}_only_added": (t, "nacre_only_added", changes) for t in TABLES}


def statements(s: str) -> list[str]:
    """All that makes the rules stand, in order; the old triggers were dropped before."""
    made = [f.create(s) for f in functions(s)]
    made += [f"REVOKE ALL ON FUNCTION {_in(s, f.head)} FROM PUBLIC" for f in functions(s)]
    for name, (table, function, when) in triggers().items():
        made.append(f"CREATE TRIGGER {name} {when.format(f'{s}.{table}')} EXECUTE FUNCTION {s}.{function}()")
        made.append(f"ALTER TABLE {s}.{table} ENABLE ALWAYS TRIGGER {name}")
    return made


def grants(s: str, role: str) -> list[str]:
    """What a user needs, and no more. `role` is quoted, or PUBLIC."""
    tables = ", ".join(f"{s}.{t}" for t in TABLES)
    return [
        f"GRANT USAGE ON SCHEMA {s} TO {role}",
        f"GRANT SELECT ON {tables} TO {role}",
        *(f"GRANT EXECUTE ON FUNCTION {_in(s, head)} TO {role}" for head in OPEN_TO_USERS),
    ]


def _in(s: str, head: str) -> str:
    return f"{s}." + head.replace("(nacre_rows)", f"({s}.nacre_rows)")
