"""What a database refuses, whoever adds a row: the rules of docs/decisions/ledger.md as conditions in SQL.

`checking` says the same of rows that are there already; neither is made from the other. A rule must not lean on a
constraint of the tables: SQLite's INSERT OR REPLACE removes the rows that a constraint protects, and asks no trigger.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """What the two databases write differently: names of tables, and facts of a body of JSON."""

    rows: str
    anchors: str
    ledger: str
    plan: str  # of {body}
    may_spend: str  # {policy}, {by}
    owner: str  # of {body}
    whole_types: str
    sound_request: str  # of {body}


SQLITE = Dialect(
    rows="nacre_rows",
    anchors="nacre_anchors",
    ledger="nacre_ledger",
    plan="json_extract({body}, '$.plan')",
    may_spend="(json_array_length({policy}, '$.who') = 0 OR json_extract({policy}, '$.owner') = {by} OR EXISTS "
    "(SELECT 1 FROM json_each({policy}, '$.who') w WHERE w.value = {by}))",
    owner="json_extract({body}, '$.owner')",
    whole_types=" OR ".join(
        [f"typeof(NEW.{name}) <> 'integer'" for name in ("sequence", "units", "failure", "spent", "spent_failure")]
        + [f"typeof(NEW.{name}) <> 'text'" for name in ("kind", "reservation", "request", "body", "made_at", "made_by",
                                                        "previous", "hash", "population")]
    ),
    sound_request="(json_type({body}, '$.plan') = 'text' AND json_type({body}, '$.events') = 'array' "
    "AND json_type({body}, '$.guarantee') = 'text' AND json_type({body}, '$.budget.epsilon') IN ('real', 'integer'))",
)  # fmt: skip


def postgresql(schema: str) -> Dialect:
    """`schema` is quoted. Everything is named in full: what a user's search_path shows first is not asked."""
    return Dialect(
        rows=f"{schema}.nacre_rows",
        anchors=f"{schema}.nacre_anchors",
        ledger=f"{schema}.nacre_ledger",
        plan="({body}::jsonb ->> 'plan')",
        may_spend="(jsonb_array_length({policy}::jsonb -> 'who') = 0 OR {policy}::jsonb ->> 'owner' = {by} "
        "OR jsonb_exists({policy}::jsonb -> 'who', {by}))",
        owner="({body}::jsonb ->> 'owner')",
        whole_types="FALSE",
        sound_request="(jsonb_typeof({body}::jsonb -> 'plan') = 'string' "
        "AND jsonb_typeof({body}::jsonb -> 'events') = 'array' "
        "AND jsonb_typeof({body}::jsonb -> 'guarantee') = 'string' "
        "AND jsonb_typeof({body}::jsonb -> 'budget' -> 'epsilon') = 'number')",
    )


def of_rows(d: Dialect) -> tuple[tuple[str, str], ...]:
    """(what is refused, in SQL; why, in words) for a row NEW of `nacre_rows`, in the order in which they are asked."""
    here = f"FROM {d.rows} t WHERE t.population = NEW.population AND t.kind <> 'policy'"  # the index needs the last
    same = f"{here} AND t.reservation = NEW.reservation"
    taken = f"{same} AND t.kind = 'reserved'"
    policy = f"FROM {d.rows} p WHERE p.population = NEW.population AND p.sequence = 0"
    step = "NEW.kind IN ('opened', 'settled', 'refunded')"
    plan_of_taken, plan_told = d.plan.format(body="t.body"), d.plan.format(body="NEW.body")
    by_owner = f"{d.owner.format(body='p.body')} = NEW.made_by"
    return (
        (d.whole_types, "numbers of a row are whole numbers, and its texts are texts"),
        ("(NEW.kind = 'policy') <> (NEW.sequence = 0)", "a population begins with its policy, and has one"),
        ("NEW.kind = 'policy' AND (NEW.reservation <> '' OR NEW.request <> '' OR NEW.units <> 0 OR NEW.failure <> 0 "
         "OR NEW.spent <> 0 OR NEW.spent_failure <> 0)", "a policy spends nothing"),
        ("NEW.kind <> 'policy' AND (NEW.reservation = '' OR NEW.request = '')",
         "a row names its reservation and its request"),
        (f"EXISTS (SELECT 1 FROM {d.rows} o WHERE o.population = NEW.population AND o.sequence = NEW.sequence) "
         f"OR EXISTS (SELECT 1 FROM {d.rows} o WHERE o.hash = NEW.hash)", "there is such a row already"),
        (f"NEW.sequence <> 0 AND NOT EXISTS (SELECT 1 FROM {d.rows} o WHERE o.population = NEW.population "
         "AND o.sequence = NEW.sequence - 1 AND o.hash = NEW.previous AND o.spent + NEW.units = NEW.spent "
         "AND o.spent_failure + NEW.failure = NEW.spent_failure)",
         "a row follows the last one: in its number, the hash it names, and its sums"),
        (f"NOT EXISTS (SELECT 1 FROM {d.anchors} a WHERE a.population = NEW.population)",
         "there is no such population"),
        (f"EXISTS (SELECT 1 FROM {d.anchors} a WHERE a.population = NEW.population "
         "AND (NEW.spent > a.unit_cap OR NEW.spent_failure > a.failure_cap))", "above the cap of the population"),
        ("NEW.kind = 'reserved' AND (NEW.units <= 0 OR NEW.failure <= 0)", "a reservation costs something"),
        ("NEW.kind IN ('opened', 'settled') AND (NEW.units <> 0 OR NEW.failure <> 0)",
         "only reservations and refunds change what is spent"),
        (f"NEW.kind = 'reserved' AND EXISTS (SELECT 1 {same})", "that reservation is there already"),
        (f"NEW.kind = 'reserved' AND EXISTS (SELECT 1 {here} AND t.kind = 'reserved' AND t.request = NEW.request)",
         "that request is there already"),
        (f"NEW.kind = 'reserved' AND NOT {d.sound_request.format(body='NEW.body')}",
         "a reservation names its plan, its events, its guarantee and its budget"),
        (f"NEW.kind = 'reserved' AND NOT EXISTS (SELECT 1 {policy} "
         f"AND {d.may_spend.format(policy='p.body', by='NEW.made_by')})",
         "who adds it may not spend on the population"),
        (f"{step} AND NOT EXISTS (SELECT 1 {taken})", "nothing of that name was reserved for this population"),
        (f"{step} AND NOT EXISTS (SELECT 1 {taken} AND t.request = NEW.request AND {plan_of_taken} = {plan_told})",
         "request or plan is another than was reserved"),
        (f"{step} AND EXISTS (SELECT 1 {same} AND t.kind = 'refunded')", "it was refunded before"),
        (f"NEW.kind = 'opened' AND EXISTS (SELECT 1 {same} AND t.kind IN ('opened', 'settled'))",
         "it was opened before"),
        (f"NEW.kind = 'settled' AND NOT EXISTS (SELECT 1 {same} AND t.kind = 'opened')", "it was not opened"),
        (f"NEW.kind = 'settled' AND EXISTS (SELECT 1 {same} AND t.kind = 'settled')", "it was settled before"),
        (f"NEW.kind IN ('opened', 'settled') AND NOT EXISTS (SELECT 1 {taken} AND t.made_by = NEW.made_by)",
         "only who reserved it opens and settles it"),
        (f"NEW.kind = 'refunded' AND EXISTS (SELECT 1 {same} AND t.kind IN ('opened', 'settled'))",
         "answers were given for it, so it stays spent"),
        (f"NEW.kind = 'refunded' AND NOT EXISTS (SELECT 1 {taken} AND t.units = -NEW.units "
         "AND t.failure = -NEW.failure)", "a refund gives back what was reserved, no more and no less"),
        (f"NEW.kind = 'refunded' AND NOT EXISTS (SELECT 1 {taken} AND t.made_by = NEW.made_by) "
         f"AND NOT EXISTS (SELECT 1 {policy} AND {by_owner})", "only the owner and who reserved it refund it"),
    )  # fmt: skip


def of_anchors(d: Dialect) -> tuple[tuple[str, str], ...]:
    return (
        (f"EXISTS (SELECT 1 FROM {d.anchors} a WHERE a.population = NEW.population) "
         f"OR EXISTS (SELECT 1 FROM {d.rows} r WHERE r.population = NEW.population)",
         "the cap of a population cannot be changed"),
    )  # fmt: skip


def of_ledger(d: Dialect) -> tuple[tuple[str, str], ...]:
    return ((f"EXISTS (SELECT 1 FROM {d.ledger})", "a ledger has one name"),)
