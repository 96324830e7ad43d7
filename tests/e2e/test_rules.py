"""Declared dependencies and impossibilities hold in every synthetic row, also where the one meets the other."""

import numpy as np
import pandas as pd

import nacre


def test_no_row_breaks_a_rule():
    rng = np.random.default_rng(0)
    level = rng.choice(["low", "mid", "high"], 2_000)
    grade = {"low": 1, "mid": 2, "high": 3}
    sex, sick = rng.choice(["m", "f"], 2_000), rng.choice(["y", "n"], 2_000)
    frame = pd.DataFrame({"level": level, "grade": [grade[v] for v in level], "sex": sex, "sick": sick})
    schema = nacre.Schema(
        {
            "level": nacre.Categorical(categories=tuple(grade)),
            "grade": nacre.Numeric(bounds=(1, 3), integer=True),
            "sex": nacre.Categorical(categories=("m", "f")),
            "sick": nacre.Categorical(categories=("y", "n")),
        },
        dependencies=(nacre.Dependency("level", "grade", grade),),
        impossible=({"sex": "m", "sick": "y"}, {"grade": 3, "sick": "y"}),
    )
    release = nacre.fit(frame, schema=schema, epsilon=5.0, options={"particles": 32, "steps": 50})
    made = release.sample(3_000, seed=1)
    assert (made["grade"] == made["level"].map(grade)).all()
    sick = made[made["sick"] == "y"]
    assert len(sick) > 100 and (sick["sex"] == "f").all() and (sick["grade"] < 3).all()
    assert set(release.sample(200, where={"grade": [1, 2]}, seed=2)["level"]) == {"low", "mid"}
