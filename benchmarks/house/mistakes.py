"""Wrong calls: what they say, and how they end."""

from __future__ import annotations

from benchmarks.house.harness import Room

_SYNTH = ("synth", "people.csv", "-o", "out.csv", "-e", "1", "--method", "independent")
_FIT = ("fit", "few.csv", "-o", "out.nacre", "-e", "1", "--schema", "few.json")
_SAMPLE = ("sample", "good.nacre", "-o", "out.csv", "--rows", "5", "--seed", "1")
WRONG: tuple[tuple[str, ...], ...] = (
    ("fly",), ("synth",), ("synth", "people.csv", "-o", "out.csv"),
    (*_SYNTH[:4], "-e", "0"), (*_SYNTH[:4], "-e", "1e9"), (*_SYNTH[:4], "-e", "one", "--json"),
    (*_SYNTH, "--delta", "2"), (*_SYNTH, "--neighbours", "nobody"), (*_SYNTH[:6], "--method", "skecth"),
    (*_SYNTH, "--target", "lat"), (*_SYNTH, "--domain", "guess"), (*_SYNTH, "--domain", "declared"),
    (*_SYNTH[:6], "--option", "speed=9"), (*_SYNTH[:6], "--option", "steps=many"), (*_SYNTH[:6], "--option", "steps=0"),
    (*_SYNTH[:6], "--option", "wide"), (*_SYNTH[:6], "--option", "thinning=3"), (*_SYNTH, "--rows", "0"),
    (*_SYNTH, "--schema", "people.json", "--rows", "9"), (*_SYNTH, "--unit", "id"), (*_SYNTH, "--cap", "3"),
    (*_SYNTH, "--id", "nr"), ("synth", "none.csv", *_SYNTH[2:]), ("synth", "people.xls", *_SYNTH[2:]),
    ("synth", "people.csv", "-o", "people.json", "-e", "1"), ("synth", "people.csv", "-o", "people.csv", "-e", "1"),
    ("synth", "people.csv", "-o", "deep/out.csv", "-e", "1"), (*_SYNTH, "--holdout", "0.5"),
    (*_SYNTH, "--report", "report.txt"), (*_SYNTH, "--seed", "-1"), (*_SYNTH, "--population", "people"),
    (*_SYNTH, "--schema", "visits.json"), (*_SYNTH, "--hide", "age"), (*_SYNTH, "--engine", "spark"),
    (*_SYNTH, "--delimiter", ";;"), (*_SYNTH, "--encoding", "klingon"), (*_SYNTH, "--weights", "age"),
    (*_SYNTH, "--schema", "broken.json"), (*_SYNTH, "--schema", "odd.json"),
    (*_FIT, "--from-sketch", "good.nacre"), (*_FIT, "--method", "ppem", "--hide", "ag"),
    (*_FIT, "--method", "ppem", "--hide", "age"), (*_FIT, "--target-shares", "sex=F:0.5,X:0.5"),
    (*_FIT, "--target-shares", "sex=F:0,M:0"), (*_FIT, "--method", "wgan"),
    (*_FIT, "--method", "hflow", "--option", "bins=0"), (*_FIT, "--method", "pearl", "--option", "orders=[1,2]"),
    (*_FIT, "--method", "support-points", "--option", "mode=guess"), _FIT,
    ("fit", "few.csv", "-o", "out.nacre", "-e", "0.01", "--method", "kme"),
    (*_SAMPLE, "--where", "age"), (*_SAMPLE, "--where", "ag=3"), (*_SAMPLE, "--where", "age=x"),
    (*_SAMPLE, "--where", "age=.."), (*_SAMPLE, "--where", "age=40..30"), (*_SAMPLE, "--where", "age=200"),
    (*_SAMPLE, "--where", "sex=X"), (*_SAMPLE, "--where", "sex=null"), (*_SAMPLE, "--where", "smoker=perhaps"),
    (*_SAMPLE, "--where", "age=30", "--where", "age=31"), (*_SAMPLE, "--rebalance", "sex=F"),
    (*_SAMPLE, "--rebalance", "sex=F:-1,M:1"), (*_SAMPLE, "--rebalance", "sex=F:1,F:1"),
    ("sample", "people.csv", "-o", "out.csv"), ("sample", "none.nacre", "-o", "out.csv"), (*_SAMPLE[:3], "out.doc"),
    ("evaluate", "few.csv", "--train", "few.csv", "--suite", "all"),
    ("audit",), ("audit", "people.csv"), ("audit", "people.csv", "few.csv", "--runs", "3"),
    ("audit", "--method", "sketch", "-e", "1"),
    ("sketch", "few.csv", "-o", "s.sketch", "-e", "1", "--schema", "x.json"),
    ("merge", "good.nacre", "-o", "m.sketch"), ("certificate", "people.json"),
    ("schema", "check", "few.json", "people.csv"),
    ("schema", "attest", "few.json", "--by", "Ana", "--why", ""), ("ledger", "status"),
    ("ledger", "status", "no.sqlite"),
    ("plan",), ("plan", "few.json", "-e", "1", "--target", "lat"), ("plan", "few.json", "--method", "wgan", "--json"),
)  # fmt: skip


def mistakes(room: Room) -> None:
    room.nacre("fit", "few.csv", "-o", "good.nacre", "-e", "1", "--method", "independent", "--schema", "few.json",
               "--noise-seed", "1", "-q", "--go-on")  # fmt: skip
    (room.work / "broken.json").write_text('{"format": 1, "columns": {"age": {"kind": "numeric"')
    (room.work / "odd.json").write_text('{"format": 1, "columns": {"age": {"kind": "number", "size": 3}}}')
    for words in WRONG:
        room.nacre(*words)
        for left in room.work.glob("out.*"):
            left.unlink()
