"""A made-up export of a warehouse: ten columns in ten writings, and a schema that declares them."""

from __future__ import annotations

import csv
import datetime as dt
from pathlib import Path

import numpy as np

from nacre.table import Schema

ENCODING = "cp1252"
_TOWNS = ("Orl\u00e9ans", "Besan\u00e7on", "N\u00eemes", "\u0152ting", "other")
_POSTCODES = ("01001", "02139", "00501", "13001", "75011", "69002")


def table(rows: int, seed: int) -> dict[str, list[str]]:
    """Texts as they stand in the file, by column."""
    rng = np.random.default_rng([seed, 130])

    def pick(words: tuple[str, ...], *shares: float) -> list[str]:
        return rng.choice(words, rows, p=shares).tolist()

    start = dt.datetime(2019, 3, 1)
    moments = [start + dt.timedelta(minutes=int(m)) for m in rng.triangular(0, 900_000, 1_000_000, rows)]
    days = [start + dt.timedelta(days=int(d)) for d in rng.integers(0, 1_500, rows)]
    due = [start + dt.timedelta(days=int(d)) for d in rng.beta(2, 3, rows) * 800]
    parcels = [str(n) for n in rng.poisson(11, rows)]
    for word, share in (("NA", 0.06), ("-", 0.04), ("?", 0.03)):
        parcels = [word if gone else n for n, gone in zip(parcels, rng.random(rows) < share)]
    return {
        "weight": [f"{x:.3f}".replace(".", ",") for x in rng.gamma(4, 2, rows)],
        "value": [f"${x:,.2f}" for x in rng.lognormal(7, 1, rows)],
        "filled": [f"{x:.1f}%" for x in rng.beta(5, 2, rows) * 100],
        "scanned": [m.strftime("%m/%d/%Y %I:%M %p") for m in moments],
        "sent": [d.strftime("%d.%m.%Y") for d in days],
        "postcode": pick(_POSTCODES, 0.3, 0.2, 0.2, 0.1, 0.1, 0.1),
        "fragile": pick(("Y", "N"), 0.12, 0.88),
        "parcels": parcels,
        "due": [d.strftime("%Y-%m-%d 00:00:00") for d in due],
        "town": pick(_TOWNS, 0.3, 0.25, 0.2, 0.15, 0.1),
    }


def write(path: Path, made: dict[str, list[str]]) -> None:
    with path.open("w", encoding=ENCODING, newline="") as file:
        out = csv.writer(file)
        out.writerow(made)
        out.writerows(zip(*made.values()))


DECLARED = Schema.from_json({
    "format": 1,
    "columns": {
        "weight": {"kind": "numeric", "bounds": [0, 40], "format": {"decimal": ",", "decimals": 3}},
        "value": {
            "kind": "numeric", "bounds": [0, 50_000], "format": {"prefix": "$", "thousands": ",", "decimals": 2}
        },
        "filled": {"kind": "numeric", "bounds": [0, 100], "format": {"suffix": "%", "decimals": 1}},
        "scanned": {
            "kind": "datetime", "bounds": ["2019-01-01", "2021-12-31T23:59"], "format": "%m/%d/%Y %I:%M %p"
        },
        "sent": {"kind": "datetime", "bounds": ["2019-01-01", "2023-12-31"], "format": "%d.%m.%Y"},
        "postcode": {"kind": "categorical", "categories": [*_POSTCODES]},
        "fragile": {"kind": "boolean", "format": {"true": "Y", "false": "N"}},
        "parcels": {
            "kind": "numeric", "bounds": [0, 40], "integer": True, "nullable": True, "null_words": ["NA", "-", "?"]
        },
        "due": {"kind": "datetime", "bounds": ["2019-01-01", "2022-12-31"], "format": "%Y-%m-%d 00:00:00"},
        "town": {"kind": "categorical", "categories": [*_TOWNS]},
    },
})  # fmt: skip
# What every value of a column looks like; a missing one is written as one of the words for it.
SHAPES = {
    "weight": r"\d+,\d{3}",
    "value": r"\$\d{1,3}(,\d{3})*\.\d\d",
    "filled": r"\d{1,3}\.\d%",
    "scanned": r"(0[1-9]|1[0-2])/([0-2]\d|3[01])/\d{4} (0[1-9]|1[0-2]):[0-5]\d [AP]M",
    "sent": r"([0-2]\d|3[01])\.(0[1-9]|1[0-2])\.\d{4}",
    "postcode": "|".join(_POSTCODES),
    "fragile": "Y|N",
    "parcels": r"\d{1,2}|NA|-|\?",
    "due": r"\d{4}-(0[1-9]|1[0-2])-([0-2]\d|3[01]) 00:00:00",
    "town": "|".join(_TOWNS),
}
