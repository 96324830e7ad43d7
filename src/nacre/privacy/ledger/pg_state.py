"""What a PostgreSQL ledger holds besides its rows, read from the catalogs: rules that stand, rights that were given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nacre.privacy.ledger import pg_guards
from nacre.privacy.ledger.sql import KEYS, Lacking

Ask = Callable[[str], Sequence[Sequence[Any]]]
_TABLES = ", ".join(f"'{name}'" for name in pg_guards.TABLES)


def _tables(schema: str) -> str:
    """The ledger's tables, as a table `c` of the catalog."""
    return f"pg_class c WHERE c.relnamespace = '{_text(schema)}'::regnamespace AND c.relname IN ({_TABLES})"


def _joined(schema: str, oid: str) -> str:
    return _tables(schema).replace(" WHERE ", f" ON c.oid = {oid} WHERE ", 1)


def _text(schema: str) -> str:
    return schema.replace("'", "''")


def lacking(ask: Ask, schema: str) -> Lacking | None:
    """What is not as `nacre ledger init` or `upgrade` made it."""
    found = Lacking.told(_wanted(schema), _found(ask, schema))
    told = [*([found.words] if found else []), *_rights(ask, schema)]
    told += [why] if (why := unsafe(ask, schema)) else []
    return Lacking("; ".join(told)) if told else None


def _wanted(schema: str) -> dict[str, str]:
    wanted = {}
    for f in pg_guards.functions(schema):
        given = 0 if f.head.endswith("()") else f.head.count(",") + 1
        name = f.head.partition("(")[0]
        path = "search_path=pg_catalog, pg_temp"
        wanted[f"function {name}({given})"] = f"{f.definer} {path} True plpgsql {f.body.strip()}"
    for name, (table, function, when) in pg_guards.triggers().items():
        wanted[f"trigger {name} on {table}"] = f"A {function} {_TYPES[when]}"
    return wanted | {f"index {name}": "True" for name in KEYS}


# Bits of pg_trigger.tgtype: 1 each row, 2 before, 4 insert, 8 delete, 16 update, 32 truncate.
_TYPES = {when: 7 if "INSERT" in when else 58 for _, _, when in pg_guards.triggers().values()}


def _found(ask: Ask, schema: str) -> dict[str, str]:
    space = f"'{_text(schema)}'::regnamespace"
    owner = f"(SELECT relowner FROM pg_class WHERE relnamespace = {space} AND relname = 'nacre_rows')"
    functions = ask(
        "SELECT p.proname, p.pronargs, p.prosecdef, array_to_string(p.proconfig, ','), p.proowner = "
        f"{owner}, l.lanname, p.prosrc FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang "
        f"WHERE p.pronamespace = {space} AND p.proname LIKE 'nacre!_%' ESCAPE '!'"
    )
    triggers = ask(
        "SELECT t.tgname, c.relname, t.tgenabled, p.proname, t.tgtype, t.tgqual IS NULL FROM pg_trigger t "
        f"JOIN pg_proc p ON p.oid = t.tgfoid JOIN {_joined(schema, 't.tgrelid')} AND NOT t.tgisinternal"
    )
    indexes = ask(
        "SELECT i.relname, x.indisunique AND x.indisvalid FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid "
        f"WHERE i.relnamespace = {space} AND i.relname LIKE 'nacre!_one!_%' ESCAPE '!'"
    )
    rules = ask(f"SELECT r.rulename FROM pg_rewrite r JOIN {_joined(schema, 'r.ev_class')}")
    heirs = ask(f"SELECT h.inhrelid::regclass::text FROM pg_inherits h WHERE h.inhparent IN "
                f"(SELECT c.oid FROM {_tables(schema)})")  # fmt: skip
    hidden = ask(f"SELECT c.relname FROM {_tables(schema)} AND (c.relrowsecurity OR c.relkind <> 'r')")
    found: dict[str, str] = {}
    for name, given, definer, path, owned, language, body in functions:
        key = f"function {name}({given})"
        key = f"another {key}" if key in found else key
        found[key] = f"{definer} {path} {owned} {language} {body.strip()}"
    for name, table, enabled, function, kind, whole in triggers:
        found[f"trigger {name} on {table}"] = f"{enabled} {function} {kind}" + ("" if whole else " in part")
    return (
        found
        | {f"index {name}": str(good) for name, good in indexes}
        | {f"rule {name}": "" for (name,) in rules}
        | {f"table {name}, whose rows are shown as the ledger's": "" for (name,) in heirs}
        | {f"row security or another kind of table in place of {name}": "" for (name,) in hidden}
    )


def _grants(schema: str) -> str:
    """(role, table, right, column or ''), of everybody but owners, beyond reading."""
    return (
        "SELECT COALESCE(r.rolname, 'PUBLIC') AS role, g.relname AS name, g.privilege_type AS what, g.attname AS part "
        "FROM (SELECT c.relname, c.relowner, (aclexplode(c.relacl)).*, '' AS attname FROM "
        f"{_tables(schema)} UNION ALL SELECT c.relname, c.relowner, (aclexplode(a.attacl)).*, a.attname FROM "
        f"pg_attribute a JOIN {_joined(schema, 'a.attrelid')}) g "
        "LEFT JOIN pg_roles r ON r.oid = g.grantee WHERE g.grantee <> g.relowner AND g.privilege_type <> 'SELECT'"
    )


def _rights(ask: Ask, schema: str) -> list[str]:
    return [
        f"{role} may {what.lower()} {name}{f' ({part})' if part else ''}"
        for role, name, what, part in sorted(tuple(r) for r in ask(_grants(schema)))
    ]


def unsafe(ask: Ask, schema: str) -> str | None:
    """Why objects of strangers could stand beside those of the ledger, or the texts of rows be read differently."""
    if ask("SHOW server_encoding")[0][0] != "UTF8":
        return "the database is not encoded in UTF8, so hashes of rows would differ; make one that is"
    found = ask(
        "SELECT COALESCE(r.rolname, 'PUBLIC') FROM (SELECT n.nspowner, (aclexplode(n.nspacl)).* FROM pg_namespace n "
        f"WHERE n.oid = '{_text(schema)}'::regnamespace) g LEFT JOIN pg_roles r ON r.oid = g.grantee WHERE "
        "g.privilege_type = 'CREATE' AND g.grantee <> g.nspowner AND g.grantee <> COALESCE((SELECT relowner FROM "
        f"pg_class WHERE relnamespace = '{_text(schema)}'::regnamespace AND relname = 'nacre_rows'), 0)"
    )
    if not found:
        return None
    names = ", ".join(sorted(name for (name,) in found))
    return (
        f"{names} may create objects in the schema {schema}, beside those of the ledger: REVOKE CREATE ON SCHEMA "
        f"{schema} FROM {names}, or give the ledger a schema of its own (?options=-csearch_path%3DSCHEMA in its URL)"
    )


def writers(ask: Ask, schema: str) -> list[str]:
    """Roles, quoted, that could add rows by themselves, or could through the functions."""
    found = ask(
        f"SELECT DISTINCT CASE role WHEN 'PUBLIC' THEN role ELSE quote_ident(role) END FROM ({_grants(schema)}) g "
        "WHERE what = 'INSERT' AND name = 'nacre_rows'"
    )
    allowed = ask(
        "SELECT DISTINCT COALESCE(quote_ident(r.rolname), 'PUBLIC') FROM (SELECT p.proowner, "
        f"(aclexplode(p.proacl)).* FROM pg_proc p WHERE p.pronamespace = '{_text(schema)}'::regnamespace "
        "AND p.proname = 'nacre_add') g LEFT JOIN pg_roles r ON r.oid = g.grantee WHERE g.grantee <> g.proowner"
    )
    return sorted({name for (name,) in (*found, *allowed)})


def revoking(ask: Ask, schema: str) -> list[str]:
    told = f"SELECT DISTINCT CASE role WHEN 'PUBLIC' THEN role ELSE quote_ident(role) END FROM ({_grants(schema)}) g"
    return [
        f"REVOKE INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER ON {schema}.{table} FROM {role} CASCADE"
        for (role,) in ask(told)
        for table in pg_guards.TABLES
    ]


def dropping_triggers(ask: Ask, schema: str) -> list[str]:
    """All triggers of the tables, and functions that are not of this version."""
    found = ask(
        "SELECT quote_ident(t.tgname), c.relname FROM pg_trigger t JOIN "
        f"{_joined(schema, 't.tgrelid')} AND NOT t.tgisinternal"
    )
    functions = ask(
        f"SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace = '{_text(schema)}'::regnamespace "
        "AND p.proname LIKE 'nacre!_%' ESCAPE '!'"
    )
    return [
        *(f"DROP TRIGGER {name} ON {schema}.{table}" for name, table in found),
        *(f"DROP FUNCTION {name}" for (name,) in functions),
    ]
