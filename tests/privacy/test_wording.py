"""Certificates in words: every printed figure is on the side that flatters least, every fact is listed, and no two
sentences contradict each other, over random plans, relations, units and provenance."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.budget import NEIGHBOURS, Budget
from nacre.privacy.certificate.statement import certify
from nacre.privacy.certificate.wording import SOURCES, describe, facts_of
from nacre.privacy.noise import ENTROPY
from nacre.privacy.plan import Bounds, Categories, Counts, Descend, Part, Plan, Sample, Scope, Select, Teach, Total
from nacre.table import Boolean, Categorical, Identifier, Numeric, Schema, Unit

NUMBER = r"((?:\d[\d,]*)(?:\.\d+)?(?:e[+-]?\d+)?)"
scales = st.floats(2.0, 5e3)


def number(text: str) -> float:
    return float(text.replace(",", ""))


@st.composite
def gaussian_entries(draw):
    """Entries that compose in closed form, with names that hold no digits."""
    sigmas = st.lists(scales, min_size=1, max_size=4).map(tuple)
    kinds = {
        "a": st.builds(lambda s: Counts("a", sigmas=s), sigmas),
        "b": st.builds(lambda s: Bounds("b", sigmas=s), sigmas),
        "c": st.builds(
            lambda s, t: Categories("c", sigmas=s, threshold=int(max(s) * t) + 5), sigmas, st.integers(7, 9)
        ),
        "t": st.builds(lambda n, b, s, e, p: Total("t", size=n, bound=b, sigma=b * s, exact=e, parts=p),
                       st.integers(1, 4000), st.floats(1e-3, 1e3), scales, st.booleans(), st.integers(1, 3)),
        "d": st.builds(lambda n, c, s: Descend("d", q=1.0, steps=n, parts=(Part("p", c, s), Part("r", 2 * c, s))),
                       st.integers(1, 5), st.floats(1e-3, 1e3), st.floats(10, 200)),
        "e": st.builds(lambda n, c, s: Teach("e", parts=n, q=1.0, steps=2, size=3, clip=c, sigma=s),
                       st.integers(1, 2000), st.floats(1e-3, 1e3), st.floats(10, 200)),
    }  # fmt: skip
    names = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=4, unique=True))
    return tuple(draw(kinds[n]) for n in names)


sources = st.sampled_from(["public", "bought"])


@st.composite
def schemas(draw):
    columns = {"age": Numeric((0, 99.5)), "sex": Categorical(("f", "m"), other="x", nullable=True), "ok": Boolean()}
    found = {}
    for name, column in columns.items():
        marks = {fact: draw(sources) for fact in column.facts}
        found[name] = type(column)(**{**vars(column), "provenance": marks})
    unit = Unit("who", draw(st.integers(1, 4))) if draw(st.booleans()) else None
    rows = draw(st.none() | st.integers(1, 10**6))
    told = {} if rows is None else {"rows": draw(sources)}
    return Schema({**found, "who": Identifier()}, rows=rows, unit=unit, provenance=told)


@st.composite
def certificates(draw):
    schema, relation, listed = draw(schemas()), draw(st.sampled_from(sorted(NEIGHBOURS))), draw(gaussian_entries())
    cap = schema.unit.cap if schema.unit else 1
    delta = draw(st.sampled_from([1e-5, 3.3e-6, 1e-9]))
    events = [event for e in listed for event in e.events(Scope(relation, cap))]
    epsilon = accounting.epsilon_at(events, delta) * draw(st.floats(1.0001, 1.5))
    assume(0 < epsilon < 15)
    plan = Plan("m", listed, Budget(epsilon, delta, relation, large=True), cap)
    return plan, schema, certify(plan, schema, seeded=False, noise=ENTROPY, assumptions=("it holds",))


def check_entry(entry, told: str) -> str:
    """Every figure of an entry's words beside the entry; what is left holds none."""

    def least(pattern, value):
        """Printed, it is at most the true value."""
        nonlocal told
        found = re.search(pattern, told)
        assert found, (pattern, told)
        assert 0.995 * value <= number(found.group(1)) <= value
        told = told.replace(found.group(0), "", 1)

    def most(pattern, value):
        nonlocal told
        found = re.search(pattern, told)
        assert found, (pattern, told)
        assert value <= number(found.group(1)) <= 1.005 * value
        told = told.replace(found.group(0), "", 1)

    def same(pattern, value):
        least(pattern, value)

    if isinstance(entry, Counts | Categories):
        same(rf"{NUMBER} tables?", len(entry.sigmas))
        least(rf"noise {NUMBER}", min(entry.sigmas))
        if " to " in told:
            least(rf" to {NUMBER}", max(entry.sigmas))
        if isinstance(entry, Categories):
            same(rf"shown from {NUMBER} on", entry.threshold)
    elif isinstance(entry, Total):
        same(rf"sum of {NUMBER} numbers", entry.size)
        if entry.parts > 1:
            same(rf"each of {NUMBER} groups", entry.parts)
        most(rf"norm {NUMBER}", entry.bound)
        least(rf"noise {NUMBER}", entry.sigma)
    elif isinstance(entry, Select | Sample):
        same(rf"{NUMBER} (?:choices?|draws?)", entry.picks if isinstance(entry, Select) else entry.draws)
        most(rf"range {NUMBER} each", entry.epsilon)
        if getattr(entry, "moves", 0):
            same(rf"chains of {NUMBER} moves", entry.moves)
    else:
        same(rf"{NUMBER} steps", entry.steps)
        most(rf"share {NUMBER}", entry.q)
        if isinstance(entry, Teach):
            same(rf"{NUMBER} disjoint parts", entry.parts)
        for part in (entry.answer,) if isinstance(entry, Teach) else entry.parts:
            most(rf"clip {NUMBER}", part.clip)
            least(rf"noise {NUMBER} times", part.sigma)
    return told


def check_figures(plan, made) -> None:
    """Every number in the text, beside what it stands for."""
    lines = describe(made).splitlines()
    events, left = plan.events(), []
    spent = {f"  {e.name}, through `{e.door}`: ": e for e in plan.entries}
    for line in lines:
        entry = next((e for start, e in spent.items() if line.startswith(start)), None)
        if entry is not None:
            left.append(check_entry(entry, line))
        elif found := re.match(rf"Promise: \({NUMBER}, {NUMBER}\)-differential privacy", line):
            epsilon, delta = map(number, found.groups())
            assert (epsilon, delta) == (plan.budget.epsilon, plan.budget.delta)
            assert accounting.delta_at(events, epsilon) <= delta
            left.append(line[found.end() :].replace(f"at most {plan.cap}", ""))
        elif line.startswith("The same promise"):
            points = re.findall(rf"epsilon {NUMBER} at {NUMBER}", line)
            assert len(points) == len(made.curve)
            for epsilon, delta in points:
                true = accounting.epsilon_at(events, number(delta))
                assert true <= number(epsilon) <= true * 1.01 + 1e-12
            left.append(re.sub(rf"epsilon {NUMBER} at {NUMBER}", "", line))
        elif not line.startswith("Made with"):
            left.append(line)
    assert not re.search(r"\d", "\n".join(left)), [line for line in left if re.search(r"\d", line)]


@settings(max_examples=60, deadline=None)
@given(certificates())
def test_no_figure_reads_safer_than_it_is(made):
    plan, _, stated = made
    check_figures(plan, stated)


MANY_STEPS = (
    (Counts("a", sigmas=(40.0,)), Select("s", picks=3, epsilon=0.0123456)),
    (Sample("s", epsilon=0.234567, draws=2, moves=12_345),),
    (Sample("s", epsilon=0.234567, draws=1),),
    (Descend("d", q=0.0123456, steps=50, parts=(Part("p", 0.987654, 2.34567), Part("r", 1.23456, 3.45678))),),
    (Teach("e", parts=77, q=0.0654321, steps=20, size=3, clip=0.987654, sigma=4.56789),),
)


@pytest.mark.parametrize("entries", MANY_STEPS, ids=lambda e: e[-1].door)
@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one"])
def test_no_figure_of_sampled_entries_reads_safer_than_it_is(entries, relation):
    events = [event for e in entries for event in e.events(Scope(relation))]
    budget = Budget(accounting.epsilon_at(events, 1e-6) * 1.0001, 1e-6, relation)
    plan, schema = Plan("m", entries, budget), Schema({"ok": Boolean()})
    made = certify(plan, schema, seeded=False, noise=ENTROPY, assumptions=("it holds",))
    check_figures(plan, dataclasses.replace(made, reasons=()))  # the length of a chain stands in a reason too


# --------------------------------------------------------------------------------------------- facts, contradictions


def unwrapped(text: str) -> str:
    return re.sub(r"\n    ", " ", text)


@settings(max_examples=60, deadline=None)
@given(certificates())
def test_every_fact_is_listed_under_its_source(made):
    """Read back from the text: the fact of every column, and of the table, stands in the part of its source."""
    _, schema, stated = made
    text = unwrapped(describe(stated))
    parts = {source: text[text.index(title) :].split("\n", 1)[1] for source, title in SOURCES.items() if title in text}
    words = {"nullable": "whether a value may be missing", "other": "the label for the rest",
             "rows": "the number of rows", "unit": "who is protected"}  # fmt: skip
    for (column, fact), source in schema.facts().items():
        lines = re.match(r"(?:  - .*\n)+", parts[source]).group(0).splitlines()
        said = words.get(fact, fact)
        facts = [line.removeprefix("  - ").partition(": ") for line in lines]
        if column is None:
            assert any(start == "of the table" and said in rest.split(", ") for start, _, rest in facts), (fact, text)
        else:
            assert any(said in start.split(", ") and column in re.split(", |: ", rest) for start, _, rest in facts)
    assert "the names and the order of its columns, and as what type each is stored" in parts["public"]


@settings(max_examples=120, deadline=None)
@given(certificates())
def test_no_two_sentences_contradict_each_other(made):
    _, schema, stated = made
    text = unwrapped(describe(stated))
    hidden = "the number of rows is protected" in text or "is not protected, the number of rows is" in text
    told = "the number of rows" in "".join(
        line for title in (SOURCES["public"], SOURCES["read"]) if title in text
        for line in re.match(r"[^\n]*\n((?:  - .*\n)+)", text[text.index(title) :]).group(1).splitlines(True)
        if line.startswith("  - of the table: the number") or ", the number of rows" in line
    )  # fmt: skip
    assert told == (schema.facts().get((None, "rows")) == "public")
    assert not (hidden and told), text
    open_rows = (
        "number of rows was declared public" in text or "is the same in both tables and is not protected" in text
    )
    assert not (hidden and open_rows), text
    whose = "all rows of one who" if schema.unit else "one row"
    assert f"-differential privacy for {whose}" in text
    if stated.neighbours == "add_or_remove_one" and not told:
        assert hidden
    assert text.count("Guarantee:") == 1 and ("No privacy promise" in text) == (stated.epsilon is None)


def test_a_schema_of_hundreds_of_columns_stays_readable():
    columns = {f"measurement number {i}": Numeric((0, 1)) for i in range(280)}
    columns |= {f"code {i}": Categorical(("a", "b")) for i in range(20)} | {"odd, name": Boolean(), "c: d": Boolean()}
    schema = Schema(columns, rows=5_000)
    entries = (Counts("one-way", sigmas=(200.0,) * 302),)
    made = certify(Plan("independent", entries, Budget(5.0)), schema, seeded=False, noise=ENTROPY, assumptions=("x",))
    lines = describe(made).splitlines()
    assert max(map(len, lines)) < 330 and len(lines) < 100
    text = unwrapped("\n".join(lines))
    facts = facts_of(made.schema["provenance"], "public")
    assert [len(names) for _, names in facts] == [0, 280, 20, 2]
    assert '"odd, name", "c: d"' in text and all(f"measurement number {i}" in text for i in range(280))
