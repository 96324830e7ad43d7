"""Every method in seconds, and the kinds of fit that options, schemas and tables make of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Settings: TypeAlias = Mapping[str, object]

HFLOW = {"hidden": 4, "depth": 1, "bins": 2, "steps": 2}
FREE = {"steps": 3, "batch": 16, "width": 8}
SMALL: Mapping[str, Settings] = {
    "sketch": {"particles": 32, "steps": 10},
    "pearl": {"frequencies": 40, "particles": 32, "steps": 5},
    "pearl-paper": {"frequencies": 8, "steps": 4, "batch": 12},
    "merf": {"frequencies": 8, "steps": 4, "batch": 12, "scale": "bought"},
    "support-points": {"frequencies": 12, "points": 4},
    "kme": {"features": 20, "points": 3},
    "hflow": {**HFLOW, "lessons": 2},
    "hflow-paper": {**HFLOW, "blocks": 2},
    "independent": {},
    "ppem": {"steps": 3, "batch": 16, "width": 8, "hide": '["age"]'},
    "dpgan": {"steps": 2, "width": 8, "turns": 1},
    "dpcgan": {"steps": 2, "width": 8, "turns": 1},
    "gswgan": {"steps": 2, "batch": 3, "width": 8, "parts": 4, "rows": 2},
    "pategan": {"steps": 2, "width": 8, "parts": 4, "rows": 2},
    "wgan": FREE,
    "ebgan": FREE,
    "steingan": FREE,
    "medgan": FREE,
    "weighted": FREE,
    "mmdgan": FREE,
}
NOTHING = ("wgan", "ebgan", "steingan", "medgan", "weighted", "mmdgan")  # promise nothing
ZERO_OUT = ("ppem",)  # promises something to tables of equal length alone
LONG = ("sketch", "pearl", "hflow", "independent")  # also on the whole table
SEEDED = ("--noise-seed", 5, "--go-on", "-q")


def options(method: str, **more: object) -> list[str]:
    return [w for name, value in {**SMALL[method], **more}.items() for w in ("--option", f"{name}={value}")]


def budget(method: str) -> list[object]:
    if method in NOTHING:
        return ["-e", "none"]
    return ["-e", 8, *(["--neighbours", "zero_out"] if method in ZERO_OUT else [])]


def few(name: str, *more: object, **settings: object) -> tuple[object, ...]:
    return "few.csv", "--method", name, *budget(name), *options(name, **settings), "--schema", "few.json", *more


def weighed(name: str) -> tuple[object, ...]:
    return "weighed.csv", "--method", name, "-e", "none", *options(name), "--weights", "w", "--schema", "few.json"


def visits(name: str, *more: object) -> tuple[object, ...]:
    return "visits.csv", "--method", name, "-e", 4, *options(name), "--schema", "visits.json", *more


def images(name: str) -> tuple[object, ...]:
    return "images.parquet", "--method", name, "-e", 8, *options(name), "--schema", "images.json", "--target", "kind"


SHARES = ("--target-shares", "late=true:0.5,false:0.5")
VARIANTS: Mapping[str, tuple[object, ...]] = {
    "bought-sketch": ("people.csv", "-e", 8, *options("sketch"), "--target", "late", "--id", "id"),
    "bought-pearl": ("few.csv", "-e", 8, "--method", "pearl", *options("pearl")),
    "bought-rows": ("few.csv", "-e", 8, "--method", "independent", "--schema", "bare.json"),
    "read-sketch": ("people.csv", "-e", 1, *options("sketch"), "--domain", "from-data"),
    "unit-sketch": visits("sketch"),
    "unit-independent": visits("independent", "--neighbours", "zero_out"),
    "unit-dpgan": visits("dpgan"),
    "unit-option": ("visits.csv", "-e", 8, *options("sketch"), "--unit", "person", "--cap", 2, "--rows", 300),
    "zero-out-sketch": few("sketch", "--neighbours", "zero_out"),
    "replace-one-pearl": few("pearl", "--neighbours", "replace_one", "--target", "sex"),
    "replace-one-hflow": few("hflow", "--neighbours", "replace_one", batch=40),
    "shares-sketch": few("sketch", *SHARES),
    "shares-ages": few("sketch", "--target-shares", "age=..40:0.3,41..:0.7"),
    "shares-dpcgan": few("dpcgan", *SHARES),
    "shares-weighted": few("weighted", *SHARES),
    "weights-weighted": weighed("weighted"),
    "weights-mmdgan": weighed("mmdgan"),
    "images-pearl-paper": images("pearl-paper"),
    "images-merf": images("merf"),
    "wide-sketch": few("sketch", wide=3),
    "thinned-sketch": few("sketch", "--target", "late", thinning="true"),
    "network-pearl": few("pearl", network="true", critic="true"),
    "bought-points": few("support-points", bandwidth="bought"),
    "list-points": few("support-points", mode="list", candidates=16, frequencies=300),
    "chain-points": few("support-points", mode="data", moves=1000, chains=2, frequencies=300),
    "sparse-hflow": few("hflow", "--target", "late", clipping="sparse", encoding="one-hot"),
    "cold-hflow": few("hflow", warm=0.0, lessons=2000, linear="low-rank"),
    "conditional-weighted": few("weighted", *SHARES, "--target", "late", loss="ce", scheme="conditional"),
    "two-sets-ppem": ("few.csv", "--method", "ppem", "-e", "none", "--option", "steps=3", "--option", "batch=16",
                      "--option", "width=8", "--option", 'hide=[["age"],["sex","pay"]]', "--alpha", 0.1,
                      "--schema", "few.json"),
}  # fmt: skip
