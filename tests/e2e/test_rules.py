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


def _married_children(schema, rows=1_500, seed=0):
    """A table in which the impossible does not occur, fitted at a budget where noise would put it there; the share of
    it in what the model draws before any row is drawn again."""
    rng = np.random.default_rng(0)
    age = rng.choice(["child", "adult", "old"], rows)
    state = np.where(age == "child", "single", rng.choice(["single", "married", "widowed"], rows))
    frame = pd.DataFrame({"age": age, "state": state, "x": rng.choice(["a", "b"], rows)})
    release = nacre.fit(frame, schema=schema, epsilon=0.3, noise_seed=seed, options={"particles": 64, "steps": 200})
    drawn = release.model.draw(20_000, np.random.default_rng(1), {})
    broken = (drawn["age"].values == 0) & (drawn["state"].values > 0)
    return float(broken.mean()), release


def test_what_is_impossible_is_kept_out_of_the_fit():
    columns = {
        "age": nacre.Categorical(categories=("child", "adult", "old")),
        "state": nacre.Categorical(categories=("single", "married", "widowed")),
        "x": nacre.Categorical(categories=("a", "b")),
    }
    rule = {"age": "child", "state": ["married", "widowed"]}
    without = [_married_children(nacre.Schema(columns, rows=1_500), seed=s)[0] for s in range(3)]
    with_ = [_married_children(nacre.Schema(columns, rows=1_500, impossible=(rule,)), seed=s)[0] for s in range(3)]
    assert np.mean(with_) < 0.5 * np.mean(without), (with_, without)
