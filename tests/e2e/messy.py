"""A table as people export it: ten columns in ten writings."""

import csv
import datetime as dt

import numpy as np

N = 20_000


def messy(n=N, seed=0):
    rng = np.random.default_rng(seed)
    start = dt.datetime(2018, 1, 1)
    seen = [start + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 60 * 24 * 365 * 4, n)]
    born = [dt.date(1960, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 18_000, n)]
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 700, n)]
    hole = rng.integers(0, 20, n)
    return {
        "ratio": [f"{x:.2f}".replace(".", ",") for x in rng.gamma(3, 1, n)],
        "price": [f"${x:,.2f}" for x in rng.lognormal(6, 1.2, n)],
        "share": [f"{x:.1f}%" for x in rng.beta(2, 3, n) * 100],
        "seen": [m.strftime("%m/%d/%Y %I:%M %p") for m in seen],
        "born": [d.strftime("%d.%m.%Y") for d in born],
        "zip": rng.choice(["01001", "02139", "10115", "94110", "60601"], n, p=[0.3, 0.3, 0.2, 0.1, 0.1]).tolist(),
        "smokes": rng.choice(["Y", "N"], n, p=[0.2, 0.8]).tolist(),
        "visits": [["NA", "-", "?"][h] if h < 3 else str(v) for h, v in zip(hole, rng.integers(0, 120, n))],
        "day": [f"{d} 00:00:00" for d in days],
        "city": rng.choice(["Köln", "Zürich", "Málaga", "Other"], n, p=[0.4, 0.3, 0.2, 0.1]).tolist(),
    }


def write(path, table, encoding="cp1252"):
    with open(path, "w", encoding=encoding, newline="") as file:
        out = csv.writer(file)
        out.writerow(table)
        out.writerows(zip(*table.values()))


SHAPES = {
    "ratio": r"\d+,\d\d",
    "price": r"\$(\d{1,3})(,\d{3})*\.\d\d",
    "share": r"\d{1,3}\.\d%",
    "seen": r"(0[1-9]|1[0-2])/[0-3]\d/20\d\d (0[1-9]|1[0-2]):[0-5]\d [AP]M",
    "born": r"[0-3]\d\.[01]\d\.(19|20)\d\d",
    "zip": r"\d{5}",
    "smokes": r"Y|N",
    "visits": r"\d{1,3}|NA|-|\?",
    "day": r"202[01]-[01]\d-[0-3]\d 00:00:00",
    "city": "Köln|Zürich|Málaga|Other",
}
