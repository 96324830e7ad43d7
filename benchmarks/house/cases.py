"""What is frozen, by name: every case drives nacre through its command line or its public functions alone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from benchmarks.house import learning, mistakes
from benchmarks.house.harness import Room, numbered
from benchmarks.house.settings import LONG, NOTHING, SEEDED, SMALL, VARIANTS, budget, options

Case: TypeAlias = Callable[[Room], None]


def drawn(room: Room, release: str, ending: str = "csv") -> None:
    rows = release.replace("nacre", ending)
    room.nacre("sample", release, "-o", rows, "--rows", 60, "--seed", 3, "-q")


# ----------------------------------------------------------------------------------------------------------- methods


def method(name: str, room: Room) -> None:
    """Plan, fit with a target under a noise seed, draw in three ways; then without the seed, for its promise."""
    asked = ["--method", name, *budget(name), *options(name)]
    described = ["--schema", "few.json", "--target", "late"]
    room.nacre("plan", "few.json", *asked, "--target", "late", "--json")
    room.nacre("plan", "few.json", *asked)
    room.nacre("fit", "few.csv", "-o", "seeded.nacre", *asked, *described, *SEEDED, "--certificate", "seeded.txt")
    drawn(room, "seeded.nacre")
    room.nacre("sample", "seeded.nacre", "-o", "where.csv", "--rows", 20, "--seed", 4, "--where", "age=30..60",
               "--where", "sex=F")  # fmt: skip
    room.nacre("sample", "seeded.nacre", "-o", "even.csv", "--rows", 20, "--seed", 4, "--rebalance",
               "late=true:0.5,false:0.5", "--json")  # fmt: skip
    if name not in NOTHING:
        room.nacre("fit", "few.csv", "-o", "promised.nacre", *asked, *described, "--go-on", "--json")
        room.nacre("certificate", "promised.nacre")


def without_target(name: str, room: Room) -> None:
    """No target, the whole table."""
    asked = ["--method", name, *budget(name), *options(name), "--schema", "people.json"]
    room.nacre("plan", "people.json", *asked[:-2], "--json")
    room.nacre("fit", "people.csv", "-o", "whole.nacre", *asked, *SEEDED, "--certificate", "whole.json")
    drawn(room, "whole.nacre")


def no_epsilon(name: str, room: Room) -> None:
    asked = ["--method", name, "-e", "none", *options(name), "--schema", "few.json"]
    room.nacre("fit", "few.csv", "-o", "plain.nacre", *asked, "--certificate", "plain.txt", "--go-on")
    drawn(room, "plain.nacre")


# ------------------------------------------------------------------------------------------------------------ variants


def variant(arguments: tuple[object, ...], room: Room) -> None:
    """One seeded fit of a kind of its own, and rows of it."""
    room.nacre("fit", *arguments, "-o", "made.nacre", *SEEDED, "--certificate", "made.txt")
    drawn(room, "made.nacre", "parquet" if "images.parquet" in arguments else "csv")


DRAWS: tuple[tuple[str, ...], ...] = (
    ("--where", "age=30..40"), ("--where", "age=30|31|32"), ("--where", "edu=mid|hi", "--where", "late=true"),
    ("--where", "pay=null"), ("--where", "pay=..20000"), ("--where", "joined=2020-03-01..2020-04-30"),
    ("--where", "years=17"), ("--where", "smoker=null|true"), ("--rebalance", "sex=F:0.9,M:0.1"),
    ("--rebalance", "age=..40:0.5,41..:0.5", "--rebalance", "late=true:0.5,false:0.5"),
    ("--where", "edu=hi", "--rebalance", "sex=F:0.5,M:0.5"), ("--rebalance", "none"),
)  # fmt: skip


def conditions(room: Room) -> None:
    """Every kind of condition on one release, and the rows as Parquet."""
    room.nacre("fit", "people.csv", "-o", "r.nacre", "-e", 8, *options("sketch"), "--schema", "people.json",
               "--target", "late", *SEEDED)  # fmt: skip
    for number, asked in enumerate(DRAWS):
        room.nacre("sample", "r.nacre", "-o", f"draw{number:02}.csv", "--rows", 40, "--seed", number, *asked)
    room.nacre("sample", "r.nacre", "-o", "rows.parquet", "--seed", 1, "--rows", 50)
    room.nacre("sample", "r.nacre", "-o", "rows.tsv", "--seed", 1, "--rows", 5, "--spreadsheet")


# ------------------------------------------------------------------------------------------------------- other commands

COMMANDS = ("synth", "fit", "sample", "evaluate", "plan", "certificate", "methods", "audit", "sketch", "merge", "demo",
            "schema", "ledger")  # fmt: skip
SUB = {"schema": ("draft", "buy", "check", "attest", "show"),
       "ledger": ("init", "status", "history", "verify", "export", "refund", "upgrade", "grant")}  # fmt: skip


def help_texts(room: Room) -> None:
    room.nacre()
    room.nacre("--help")
    room.nacre("--version")
    for command in COMMANDS:
        room.nacre(command, "--help")
        for sub in SUB.get(command, ()):
            room.nacre(command, sub, "--help")


def methods(room: Room) -> None:
    room.nacre("methods")
    room.nacre("methods", "--json")


def plans(room: Room) -> None:
    """What is said of other methods and budgets, of bought schemas and of little data, in words and as JSON."""
    room.nacre("plan", "people.json", "-e", 1, "--target", "late")
    room.nacre("plan", "people.csv", "--rows", 20_000, "-e", 0.5, "--json")
    room.nacre("plan", "visits.json", "-e", 1, "--neighbours", "zero_out", "--engine", "ray:4")
    room.nacre(
        "plan", "people.json", "-e", 1, "--method", "independent", "--target-shares", "sex=F:0.5,M:0.5", "--json"
    )


def schemas(room: Room) -> None:
    room.nacre("schema", "draft", "people.csv", "-o", "draft.json")
    room.nacre("schema", "check", "draft.json", "held.csv", "--json")
    room.nacre("schema", "attest", "draft.json", "-o", "attested.json", "--by", "Ana", "--why", "in the code book")
    room.nacre("schema", "attest", "draft.json", "--column", "age", "--by", "Ana", "--why", "adults", "--json")
    for name in ("people.json", "visits.json", "images.json", "attested.json"):
        room.nacre("schema", "show", name)
    room.nacre("schema", "show", "people.json", "--json")
    room.nacre("schema", "check", "people.json", "people.csv")
    room.nacre("schema", "buy", "people.csv", "-o", "bought.json", "-e", 2, "--noise-seed", 4, "--id", "id",
               "--certificate", "bought.txt")  # fmt: skip
    room.nacre("schema", "buy", "visits.csv", "-o", "visits.bought.json", "-e", 2, "--unit", "person", "--cap", 2,
               "--certificate", "promised.json", "--json")  # fmt: skip


def sources(room: Room) -> None:
    """The same rows written in four ways, fitted alike."""
    asked = ("--method", "independent", "-e", 8, "--schema", "few.json", *SEEDED)
    ways = {"few.csv": (), "few.jsonl": (), "semicolon.csv": ("--delimiter", ";", "--encoding", "cp1252")}
    for number, (name, how) in enumerate(ways.items()):
        room.nacre("schema", "check", "few.json", name, *how)
        room.nacre("fit", name, "-o", f"of{number}.nacre", *asked, *how)


def sketches(room: Room) -> None:
    """Two sites under noise of their own; then one of them under a seed."""
    asked = ("--schema", "few.json", "-e", 4, "--delta", 1e-6, "--target", "late", "--frequencies", 40)
    room.nacre("sketch", "few.csv", "-o", "one.sketch", *asked, "--only-recipe")
    for name, file in (("one", "few.csv"), ("two", "few2.csv")):
        room.nacre("sketch", file, "-o", f"{name}.sketch", *asked)
    room.nacre("sketch", "few.csv", "-o", "seeded.sketch", *asked, "--noise-seed", 1, "--json")
    room.nacre("merge", "one.sketch", "two.sketch", "-o", "all.sketch", "--json")
    room.nacre("merge", "one.sketch", "one.sketch", "-o", "twice.sketch")
    room.nacre("certificate", "all.sketch")
    room.nacre("fit", "--from-sketch", "all.sketch", "-o", "all.nacre", "--option", "particles=32", "--option",
               "steps=5")  # fmt: skip
    room.nacre("sample", "one.sketch", "-o", "no.csv")
    drawn(room, "all.nacre")


def evaluation(room: Room) -> None:
    asked = ("--train", "people.csv", "--holdout", "held.csv", "--schema", "people.json", "--target", "late")
    quick = ("--suite", "quick", "--suite", "fidelity", "--suite", "joint", "--jobs", 1)
    room.nacre("fit", "people.csv", "-o", "r.nacre", "--method", "independent", "-e", 8, "--schema", "people.json",
               "--go-on", "-q")  # fmt: skip
    room.nacre("sample", "r.nacre", "-o", "fake.csv", "--rows", 300, "--seed", 1, "-q")
    room.nacre("evaluate", "fake.csv", *asked, *quick, "--html", "report.html", "--json", "report.json", "--markdown",
               "report.md", "--certificate", "r.nacre")  # fmt: skip
    room.nacre("evaluate", "fake.csv", "--train", "people.csv", "--suite", "fidelity", "--json", "-")


def synth(room: Room) -> None:
    """The main job in one line, with its pages."""
    room.nacre("synth", "people.csv", "-o", "fake.csv", "-e", 8, "--schema", "people.json", "--target", "late",
               "--method", "independent", "--sheet", "sheet.html", "--release", "r.nacre", "--save-schema",
               "kept.json", "--certificate", "c.txt", "--go-on")  # fmt: skip
    room.nacre("synth", "few.csv", "-o", "other.csv", "-e", 8, *options("sketch"), "--go-on", "--json",
               "--sample-rows", 50)  # fmt: skip


def synth_report(room: Room) -> None:
    """With rows held out and the owner's report; hiding, with its control."""
    room.nacre("synth", "few.csv", "-o", "fake.csv", "-e", 8, "--schema", "few.json", "--target", "late", "--method",
               "independent", "--report", "report.json", "--go-on")  # fmt: skip
    room.nacre("synth", "few.csv", "-o", "hid.csv", "-e", "none", "--method", "ppem", *options("ppem")[:-2], "--hide",
               "age", "--schema", "few.json", "--report", "hid.html", "--sheet", "sheet.html")  # fmt: skip


def audit_tables(room: Room) -> None:
    asked = ("--holdout", "held.csv", "--schema", "people.json")
    room.nacre("fit", "people.csv", "-o", "r.nacre", "--method", "independent", "-e", 8, "--schema", "people.json",
               *SEEDED)  # fmt: skip
    room.nacre("sample", "r.nacre", "-o", "fake.csv", "--rows", 300, "--seed", 1, "-q")
    room.nacre("audit", "people.csv", "fake.csv", *asked, "--html", "attacks.html", "--json", "attacks.json",
               "--markdown", "attacks.md")  # fmt: skip


def audit_method(name: str, room: Room) -> None:
    asked = ("audit", "--method", name, "-e", 2, "--schema", "few.json", *options(name))
    room.nacre(*asked, "--runs", 100, "--canaries", 100, "--json", "found.json")
    if name == "independent":
        room.nacre("fit", "few.csv", "-o", "r.nacre", "--method", name, "-e", 2, "--schema", "few.json", "--go-on")
        room.nacre(*asked, "--runs", 100, "--canaries", 0, "--certificate", "r.nacre", "-o", "audited.nacre", "-q")
        room.nacre("certificate", "audited.nacre")


def ledger(room: Room) -> None:
    """A scripted year of a population: two releases, one that is too dear, one asked for twice, a site's sketch."""
    fit = ("fit", "few.csv", "--method", "independent", "--schema", "few.json", "--delta", 1e-6, "--go-on", "-q",
           "--ledger", "books.sqlite", "--population", "people")  # fmt: skip
    room.nacre("ledger", "init", "books.sqlite", "-p", "people", "-e", 3, "--per-release", 2, "--who", "ana")
    room.nacre("ledger", "init", "books.sqlite", "-p", "others", "-e", 3, "--per-release", 2, "--json")
    fit = (*fit[:-1], "others")
    room.nacre(*fit, "-o", "a.nacre", "-e", 1, "--request", "monday")
    room.nacre(*fit, "-o", "a2.nacre", "-e", 1, "--request", "monday")
    room.nacre(*fit, "-o", "b.nacre", "-e", 2.5)
    room.nacre(*fit, "-o", "c.nacre", "-e", 2)
    room.nacre(*fit, "-o", "d.nacre", "-e", 2)
    room.nacre(*fit, "-o", "e.nacre", "-e", "none")
    for words in (("status",), ("status", "--all"), ("status", "--json"), ("history",)):
        room.nacre("ledger", words[0], "books.sqlite", *words[1:])
    room.nacre("ledger", "verify", "books.sqlite", "--release", "a.nacre", "--release", "c.nacre")
    room.nacre("ledger", "refund", "books.sqlite", "-p", "others", "--reservation", "0123", "--reason", "no")
    room.nacre("ledger", "export", "books.sqlite", "-o", "books.json")
    room.nacre("ledger", "upgrade", "books.sqlite")
    room.harvest()
    numbered(room.kept)


def python(room: Room) -> None:
    """The functions of `nacre` itself."""
    import nacre

    schema = nacre.Schema.load("few.json")
    asked = {"schema": schema, "epsilon": 8.0, "method": "independent", "noise_seed": 1}
    made = nacre.fit("few.csv", **asked)  # type: ignore[arg-type]
    made.save("api.nacre")
    again = nacre.load("api.nacre")
    for form in ("pandas", "polars", "pyarrow"):
        room.say(form, lambda f=form: (t := again.sample(30, seed=2, as_=f), getattr(t, "dtypes", t)))
    where = {"age": nacre.Between(30, 40), "sex": ["F"], "pay": None}
    room.say("where", lambda: again.sample(10, seed=2, where=where).to_csv())
    shares = {"age": {nacre.Between(18, 40): 0.5, nacre.Between(41, 90): 0.5}}
    room.say("rebalance", lambda: again.sample(20, seed=2, rebalance=shares).to_csv())
    room.say("certificate", lambda: made.certificate)
    room.say("bought", lambda: nacre.buy_schema("few.csv", epsilon=1.0, noise_seed=2).schema.to_json())
    sites = [nacre.sketch(f, schema=schema, epsilon=4.0, frequencies=20) for f in ("few.csv", "few2.csv")]
    room.say("merged", lambda: nacre.merge(sites).certificate)
    report = nacre.evaluate(
        again.sample(200, seed=1),
        train="few.csv",
        schema=schema,
        suites=["fidelity"],
        n_jobs=1,  # type: ignore[arg-type]
    )
    room.say("scores", lambda: "\n".join(map(str, report.scores)))
    room.say("names", lambda: " ".join(nacre.__all__))
    wrong: tuple[dict[str, object], ...] = (
        {"epsilon": -1}, {"method": "sketc"}, {"domain": "guess"}, {"seed": -1}, {"options": {"speed": 1}},
        {"neighbours": "nobody"}, {"target": "wealth"}, {"delta": 2.0}, {"hide": ["age"]}, {"schema": None},
    )  # fmt: skip
    for change in wrong:
        room.say(f"fit {change}", lambda c=change: nacre.fit("few.csv", **{**asked, **c}).certificate.guarantee)


def all_cases() -> dict[str, Case]:
    """Those that say most in little time come first."""
    found: dict[str, Case] = {
        "help": help_texts, "methods": methods, "mistakes": mistakes.mistakes, "plans": plans, "schemas": schemas,
        "sources": sources, "ledger": ledger, "python": python, "sketches": sketches, "conditions": conditions,
        "synth": synth, "synth-report": synth_report, "evaluation": evaluation, "audit-tables": audit_tables,
    }  # fmt: skip
    found |= {f"audit-{n}": functools.partial(audit_method, n) for n in ("independent", "sketch")}
    found |= {f"method-{n}": functools.partial(method, n) for n in SMALL}
    found |= {f"whole-{n}": functools.partial(without_target, n) for n in LONG}
    found |= {f"none-{n}": functools.partial(no_epsilon, n) for n in ("sketch", "dpgan", "pategan", "hflow")}
    found |= {f"variant-{n}": functools.partial(variant, a) for n, a in VARIANTS.items()}
    found |= {f"learner-{n}": functools.partial(learning.learner, n) for n in learning.TRAININGS}
    return found


def unknown_methods(listed: Path) -> set[str]:
    """Methods that are listed and that no case is about, or the other way round."""
    import json

    text = listed.read_text().split("--- out\n", 1)[1].split("\n--- err", 1)[0]
    return {*json.loads(text)["methods"]} ^ {*SMALL}
