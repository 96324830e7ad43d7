"""Schemas with rules of every kind, and tables in which they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from nacre.privacy.passes.feature_sums import made_up_records
from nacre.table import Boolean, Categorical, Datetime, Identifier, Numeric, Schema
from nacre.table.encoding import Encoded, encode
from nacre.table.rules import (
    AllOrNone,
    Amid,
    Calendar,
    Combinations,
    Geo,
    IfThen,
    NullIff,
    OneHot,
    Ordered,
    RowRule,
    Total,
    Unique,
)
from nacre.table.values.decoding import decode
from nacre.table.values.stored import Values

LEVELS = (("primary", 6), ("secondary", 12), ("bachelor", 16), ("master", 18))
_DAY = 86_400

COLUMNS = {
    "stay": Identifier(),
    "beds": Numeric((0, 60), integer=True),
    "rooms": Numeric((0, 100), integer=True),
    "places": Numeric((0, 5_000), integer=True),
    "base": Numeric((0, 100), decimals=2),
    "fee": Numeric((0, 10), decimals=2, nullable=True),
    "paid": Numeric((0, 110), decimals=2, nullable=True),
    "least": Numeric((0.0, 1.0)),
    "usual": Numeric((0.0, 2.0)),
    "most": Numeric((0.0, 3.0)),
    "admitted": Datetime(("2020-01-01", "2020-12-31T00:00:00")),
    "days": Numeric((0, 60), decimals=4),
    "discharged": Datetime(("2020-01-01", "2021-12-31T00:00:00")),
    "came": Datetime(("2019-12-01", "2020-12-31T00:00:00"), nullable=True),
    "left": Datetime(("2019-12-01", "2021-01-31T00:00:00"), nullable=True),
    "red": Boolean(),
    "green": Boolean(),
    "blue": Numeric((0, 1), integer=True),
    "sex": Categorical(("f", "m")),
    "pregnant": Categorical(("yes", "no"), nullable=True),
    "relation": Categorical(("husband", "wife", "single")),
    "school": Categorical(tuple(word for word, _ in LEVELS)),
    "years": Numeric((0, 20), integer=True),
    "seen": Datetime(("2018-03-01", "2021-06-30T23:59:59"), tz="Europe/Oslo", nullable=True),
    "lat": Numeric((58, 71.5), decimals=3, nullable=True),
    "lon": Numeric((4, 31.5), decimals=3, nullable=True),
    "north": Numeric((0.0, 10.0)),
    "east": Numeric((0.0, 20.0)),
}
LAND = {"type": "Polygon", "coordinates": [[[5, 58.1], [12, 59], [31, 70], [26, 71.2], [12, 66], [5, 62], [5, 58.1]],
                                           [[9, 60], [11, 60], [10, 61], [9, 60]]]}  # fmt: skip

RULES: dict[str, tuple[RowRule, ...]] = {
    "chain": (Ordered(("beds", "rooms", "places")),),
    "strict": (Ordered(("beds", "rooms"), strict=True),),
    "two below": (Ordered(("beds", "places")), Ordered(("rooms", "places"), strict=True)),
    "dates": (Ordered(("admitted", "discharged")),),
    "dates, one null": (Ordered(("came", "left")),),
    "between": (Amid("usual", "least", "most"),),
    "strictly between": (Amid("usual", "least", "most", strict=True),),
    "decimals and floats": (Ordered(("least", "base", "paid")),),
    "sum": (Total("paid", ("base", "fee")),),
    "sum of dates": (Total("discharged", ("admitted", "days"), unit="day"), Ordered(("admitted", "discharged"))),
    "difference of dates": (Ordered(("came", "left")), Total("hours", ("left",), ("came",), unit="hour")),
    "all or none": (AllOrNone(("came", "left")), Ordered(("came", "left"))),
    "null where": (NullIff("pregnant", when={"sex": "m"}),),
    "null where another has a value": (NullIff("fee", unless={"came": None}),),
    "if": (IfThen({"relation": "husband"}, {"sex": "m"}),),
    "combinations": (Combinations(("school", "years"), LEVELS),),
    "one hot": (OneHot(("red", "green", "blue")),),
    "unique": (Unique("stay"),),
    "calendar": (Calendar("seen"), Calendar("admitted")),
    "calendar below": (Calendar("admitted"), Ordered(("admitted", "discharged"))),
    "calendar, null together": (Calendar("came"), AllOrNone(("left", "came"))),
    "place": (Geo(("lat", "lon"), LAND), Geo(("north", "east"))),
    "place of floats": (Geo(("north", "east"), [[1, 1, 9, 3], [7.5, 5, 19, 9]]),),
    "calendar, null where": (Calendar("came"), NullIff("came", unless={"fee": None})),
}
TOGETHER = (
    *RULES["chain"], *RULES["sum"], *RULES["between"], *RULES["sum of dates"], *RULES["all or none"],
    *RULES["null where"], *RULES["if"], *RULES["combinations"], *RULES["one hot"], *RULES["unique"],
    *RULES["calendar"], *RULES["place"],
)  # fmt: skip
RULES["together"] = TOGETHER


def schema(rules: tuple[RowRule, ...] = TOGETHER, rows: int | None = None, **more: Any) -> Schema:
    """Without two strict ends that leave no room, and with the column that only one rule is about."""
    columns = dict(COLUMNS)
    if any("hours" in rule.names for rule in rules):
        columns["hours"] = Numeric((0, 11_000), nullable=True)
    return Schema(columns, rows=rows, rules=rules, **more)


def stays(rows: int, seed: int = 0) -> pd.DataFrame:
    """Stays in a hospital that keep all the rules."""
    rng = np.random.default_rng(seed)
    start = pd.Timestamp("2020-01-01")
    beds = rng.integers(0, 50, rows)
    rooms = beds + 1 + rng.poisson(5, rows) * (rng.random(rows) < 0.7)
    base = np.round(rng.gamma(2, 10, rows), 2).clip(1, 99)
    here = rng.random(rows) < 0.4
    fee = np.where(here, np.nan, np.round(base * 0.1, 2))
    least = rng.random(rows) * 0.9
    usual = least + 0.01 + 0.5 * rng.random(rows)
    admitted = start + pd.to_timedelta(rng.integers(_DAY, 300 * _DAY, rows), unit="s")
    days = np.round(rng.exponential(3, rows).clip(0, 60), 4)
    came = admitted - pd.to_timedelta(rng.integers(0, _DAY, rows), unit="s")
    left = came + pd.to_timedelta(rng.integers(0, 5 * 3_600, rows), unit="s")
    colour = rng.integers(0, 3, rows)
    sex = rng.choice(["f", "m"], rows)
    level = rng.integers(0, 4, rows)
    wed = np.where(sex == "m", "husband", "wife")
    rng_of_more = np.random.default_rng([seed, 1])
    seen = pd.to_timedelta(rng_of_more.integers(-600 * _DAY, 500 * _DAY, rows), unit="s")
    seen = pd.Series((start.tz_localize("UTC") + seen).tz_convert("Europe/Oslo")).where(rng_of_more.random(rows) < 0.9)
    lat, lon = _on_land(rows, rng_of_more)
    nowhere = rng_of_more.random(rows) < 0.1
    return pd.DataFrame(
        {
            "stay": np.arange(1, rows + 1), "beds": beds, "rooms": rooms,
            "places": rooms + 1 + rng.integers(0, 40, rows) ** 2, "base": base, "fee": fee,
            "paid": np.round(base + fee, 2), "least": least, "usual": usual, "most": usual + 0.01 + rng.random(rows),
            "admitted": admitted, "days": days,
            "discharged": admitted + pd.to_timedelta(np.rint(days * _DAY), unit="s"),
            "came": came.where(here), "left": left.where(here),
            "red": colour == 0, "green": colour == 1, "blue": (colour == 2).astype(int),
            "sex": sex, "pregnant": np.where(sex == "m", None, rng.choice(["yes", "no"], rows)),
            "relation": np.where(rng.random(rows) < 0.3, wed, "single"),
            "school": np.array([word for word, _ in LEVELS])[level],
            "years": np.array([years for _, years in LEVELS])[level],
            "seen": seen, "lat": np.where(nowhere, np.nan, lat), "lon": np.where(nowhere, np.nan, lon),
            "north": rng_of_more.uniform(1.0, 3.0, rows), "east": 1 + 8 * rng_of_more.random(rows) ** 2,
        }
    )  # fmt: skip


def _on_land(rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Most near two towns, the others anywhere between four corners."""
    town = rng.integers(0, 4, rows)
    lat = np.select([town == 0, town == 1], [rng.normal(59.95, 0.1, rows), rng.normal(69.65, 0.05, rows)],
                    rng.uniform(62.1, 62.9, rows))  # fmt: skip
    lon = np.select([town == 0, town == 1], [rng.normal(8.3, 0.2, rows), rng.normal(26.5, 0.1, rows)],
                    rng.uniform(8, 14, rows))  # fmt: skip
    return np.round(lat, 3), np.round(lon, 3)


def table(described: Schema, rows: int, seed: int = 0) -> pa.Table:
    frame = stays(rows, seed)
    if "hours" in described.columns:
        frame["hours"] = (frame["left"] - frame["came"]).dt.total_seconds() / 3_600
    return pa.Table.from_pandas(frame, preserve_index=False)


def anything(described: Schema, rows: int, seed: int = 0) -> pa.Table:
    """A table whose rows are of the declared domain and keep no rule."""
    plain = Schema(described.columns)
    return decode(Encoded(made_up_records(plain, rows, np.random.default_rng(seed)), rows), plain)


def modelled(described: Schema, rows: int, seed: int = 0) -> Encoded:
    """Rows of what is modelled, every cell of every column equally likely: no method could draw others."""
    rng = np.random.default_rng(seed)
    found = dict(made_up_records(described.inner, rows, rng))
    for name, values in found.items():
        column = described.inner.columns[name]
        if column.decimals is not None:  # networks draw numbers between the steps
            off = values.values + rng.uniform(-0.5, 0.5, rows) * 10.0**-column.decimals
            found[name] = Values.of(np.clip(off, *column.limits), values.null)
    return Encoded(found, rows)


def broken(found: Any, described: Schema) -> dict[str, int]:
    """How many rows of a table break each rule, by columns of pandas or Arrow."""
    arrow = found if isinstance(found, pa.Table) else pa.Table.from_pandas(found, preserve_index=False)
    encoded = encode(arrow, Schema(described.columns))
    counts = {str(rule): int(rule.misses(encoded.columns, described.columns).sum()) for rule in described.rules}
    return {rule: count for rule, count in counts.items() if count}
