"""Views and the entry `nested`: what is refused, JSON there and back, the worst unit against all shapes."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from nacre.errors import BudgetError, CertificateError, NacreError, PlanError
from nacre.privacy.accounting import accountant
from nacre.privacy.accounting.events import Gaussian
from nacre.privacy.budget import Budget
from nacre.privacy.certificate.statement import Certificate, certify
from nacre.privacy.certificate.verification import verify
from nacre.privacy.doors import entry_from_json
from nacre.privacy.doors.entry import Scope
from nacre.privacy.doors.nested import Nested
from nacre.privacy.nested.views import View, worst
from nacre.privacy.noise import ENTROPY
from nacre.privacy.plan import Plan
from nacre.table import Categorical, Schema

UNITS = View("units", "patients")
STAYS = View("stays", "stays", own=((64, 45, 36),), of=64)
STRATA = View("strata", "stays", own=((64,), (0, 45, 22), (45,)), of=64)
NEXT = View("next", "stays", kind="next", own=((0, 32, 16),), of=32)
CODES = View("codes", "codes", above=((16, 11, 5),), own=((16, 13),), of=16)
FLAT = View("flat", "codes", above=((1, 1, 1),))
PAIR = View("pair", "codes", kind="pair", other="drugs", above=((8, 8, 3),), own=((8, 7),), of=8)
CAPS = {"stays": 3, "codes": 2, "drugs": 2}


def entry(**changes: Any) -> Nested:
    given: dict[str, Any] = {
        "name": "tables",
        "views": (UNITS, STRATA, PAIR),
        "cliques": (((), ("patients.sex",)), (("stays.age", "stays@place"),), (("codes.code", "drugs.drug"),)),
        "sigmas": ((3.0, 4.0), (5.0,), (6.0,)),
        "mu": 0.5,
    }
    return Nested(**{**given, **changes})


# ------------------------------------------------------------------------------------------------------- the worst unit


def cost(views: list[View], precisions: list[float], stays: tuple[int, ...]) -> float:
    """What a unit costs, row by row: `stays` holds the number of codes of each stay."""
    total = 0.0
    for view, precision in zip(views, precisions):
        sums = [0.0, 0.0, 0.0]
        if view.table == "patients":
            sums[0] = 1.0
        elif view.table == "stays":
            m = len(stays)
            for i in range(m - (view.kind == "next")):
                stratum = 0 if not view.strata or m == 1 else 2 if i == m - 1 else 1
                listed = view.own[stratum]
                sums[stratum] += listed[m - 1 if len(listed) > 1 else 0] / view.of
        else:
            for m in stays:
                rows = min(m, 1) if view.kind == "pair" else m
                number = view.own[0][m - 1 if len(view.own[0]) > 1 else 0] if m else 0
                sums[0] += rows * view.above[0][len(stays) - 1] * number / view.of**2
        total += precision * sum(s**2 for s in sums)
    return total


@pytest.mark.parametrize(
    "views",
    (
        [UNITS],
        [STAYS],
        [STRATA],
        [NEXT],
        [STAYS, STRATA, NEXT],
        [CODES],
        [CODES, FLAT],
        [PAIR],
        [CODES, FLAT, PAIR],
        [UNITS, STAYS, NEXT],
    ),
    ids=lambda views: "-".join(v.name for v in views),
)
def test_the_worst_unit_is_the_largest_of_all_shapes(views):
    rng = np.random.default_rng(5)
    shapes = [s for n in range(4) for s in itertools.product(range(3), repeat=n)]
    for _ in range(5):
        precisions = rng.exponential(size=len(views)).tolist()
        found = worst(views, precisions, CAPS)
        largest = max(cost(views, precisions, s) for s in shapes)
        assert largest <= found <= largest * (1 + 1e-9)


def test_tables_of_a_database_add_up_to_no_less_than_any_unit_costs():
    views = [UNITS, STAYS, STRATA, NEXT, CODES, FLAT, PAIR]
    rng = np.random.default_rng(6)
    shapes = [s for n in range(4) for s in itertools.product(range(3), repeat=n)]
    for _ in range(10):
        precisions = rng.exponential(size=len(views)).tolist()
        assert max(cost(views, precisions, s) for s in shapes) <= worst(views, precisions, CAPS)


def test_three_levels_are_worst_where_all_parents_have_equally_many():
    above = ((4, 3, 1), (4, 2))
    views = [View("a", "t", above=above, own=((4, 3),), of=4), View("b", "t", above=above, own=((4, 1),), of=4)]
    precisions = [1.0, 2.0]
    parents = [s for n in range(3) for s in itertools.product(range(3), repeat=n)]
    largest = 0.0
    for n in range(1, 4):
        for unit in itertools.product(parents, repeat=n):
            sums = [
                sum(
                    above[0][n - 1] * above[1][len(p) - 1] * v.own[0][m - 1] * m / 64
                    for p in unit
                    for m in p
                    if p and m
                )
                for v in views
            ]
            largest = max(largest, sum(s**2 * p for s, p in zip(sums, precisions)))
    assert worst(views, precisions, {"t": 2}) == pytest.approx(largest, rel=1e-9)


def test_many_shapes_cost_a_bound_that_is_no_less():
    """Weights at random have hundreds of shapes of which none is above another."""
    rng = np.random.default_rng(7)
    cap = 400
    above = [tuple((rng.integers(1, 2000, cap) // np.arange(1, cap + 1) + 1).tolist()) for _ in range(4)]
    views = [View(str(i), "t", above=(a,), own=((1000, 900),), of=1000) for i, a in enumerate(above)]
    m = np.arange(1, cap + 1)
    best = max(sum((k * a[k - 1] * 1.8 / 1000) ** 2 for a in above) for k in m)
    found = worst(views, [1.0] * 4, {"t": 2})
    assert best <= found * (1 + 1e-12)


def test_worst_refuses_what_it_cannot_weigh():
    for views, precisions, caps in (
        ([STAYS], [1.0, 2.0], CAPS),
        ([STAYS], [math.nan], CAPS),
        ([STAYS], [math.inf], CAPS),
        ([STAYS], [1.0], {"stays": 4}),
        ([STAYS], [1.0], {}),
        ([CODES, replace(CODES, name="x", above=())], [1.0, 1.0], CAPS),
        ([CODES, replace(CODES, name="x", above=((1, 1),))], [1.0, 1.0], CAPS),
    ):
        with pytest.raises(PlanError):
            worst(views, precisions, caps)


# ------------------------------------------------------------------------------------------------------------- entries


@pytest.mark.parametrize(
    "changes",
    (
        {"kind": "others"},
        {"table": ""},
        {"name": 3},
        {"other": "drugs"},
        {"kind": "pair"},
        {"kind": "pair", "other": "stays"},
        {"kind": "next", "own": ((1,), (1,), (1,))},
        {"own": ((1,), (1,))},
        {"own": ()},
        {"own": ((),)},
        {"own": ((0, 0),)},
        {"own": ((1, -1),)},
        {"own": ((1.5,),)},
        {"own": ((True,),)},
        {"own": ((1, 2), (1, 2, 3), (1,))},
        {"own": 3},
        {"above": ((2**16,),), "own": ((2**16,),)},
        {"of": 0},
        {"of": 2**16, "above": ((1,),)},
        {"of": 1.0},
        {"above": (3,)},
    ),
)
def test_views_that_mean_nothing_are_refused(changes):
    with pytest.raises(PlanError, match="view"):
        View(**{"name": "v", "table": "stays", **changes})


@pytest.mark.parametrize(
    "changes",
    (
        {"views": ()},
        {"views": (UNITS, UNITS, PAIR)},
        {"cliques": ((("a",),),)},
        {"cliques": ((), (("a",),), (("a",),))},
        {"cliques": ((("a",), ()), (("a", "a"),), (("a",),))},
        {"cliques": (((), ("a",)), ("stays.age",), (("a",),))},
        {"sigmas": ((3.0,), (5.0,), (6.0,))},
        {"sigmas": ((3.0, math.nan), (5.0,), (6.0,))},
        {"sigmas": ((3.0, 0.0), (5.0,), (6.0,))},
        {"sigmas": ((3.0, math.inf), (5.0,), (6.0,))},
        {"sigmas": ((3.0, 4.0), (2.0**30,), (6.0,))},
        {"sigmas": 3.0},
        {"mu": 0.0},
        {"mu": -1.0},
        {"mu": math.nan},
        {"mu": math.inf},
    ),
)
def test_entries_that_nothing_can_answer_are_refused(changes):
    with pytest.raises((PlanError, BudgetError)):
        entry(**changes)
    data = json.loads(json.dumps(entry().to_json()))
    data.update(json.loads(json.dumps(changes, default=View.to_json)))
    with pytest.raises(NacreError):
        entry_from_json(data)


def test_an_entry_travels_as_json():
    plan = Plan("test", (entry(),), Budget(3.0, 1e-6))
    again = Plan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan and again.entries[0].views == (UNITS, STRATA, PAIR)
    assert View.from_json(json.loads(json.dumps(STRATA.to_json()))) == STRATA
    for wrong in ({"name": "v"}, {"name": "v", "table": "t", "more": 1}, {}):
        with pytest.raises(PlanError, match="not a view"):
            View.from_json(wrong)


def test_an_entry_costs_what_one_unit_may_move():
    for relation, factor in (("add_or_remove_one", 1.0), ("zero_out", 1.0), ("replace_one", math.sqrt(2))):
        (event,) = entry().events(Scope(relation))
        assert event.mu == 0.5 * factor
    assert entry().precisions == pytest.approx((1 / 9 + 1 / 16, 1 / 25, 1 / 36))


def test_an_entry_says_what_was_asked():
    assert entry().words == (
        "4 tables over units and the rows they own (units: rows of patients; strata: rows of stays; pair: one row of "
        "codes with one of drugs), noise 3 to 6 counts of weight 1 per cell; a unit moves all of them together by at "
        "most 0.5 noise standard deviations, or is left out"
    )
    assert entry().sheet == ("4", "3")


# -------------------------------------------------------------------------------------------------------- certificates


@dataclass(frozen=True)
class Method:
    """What a method that opens the door declares."""

    guarantee: str = "proven"
    opens: Mapping[str, str] = field(default_factory=lambda: {"tables": "nested"})
    needs: tuple[tuple[str, ...], ...] = (("tables",),)
    chosen: Mapping[str, str] = field(default_factory=dict)
    says: Mapping[str, str | None] = field(default_factory=dict)
    rests: tuple[str, ...] = ("it holds",)


def certificate(relation: str = "add_or_remove_one") -> Certificate:
    plan = Plan("nested", (entry(),), Budget(2.6, 1e-6, relation))
    schema = Schema({"sex": Categorical(("f", "m"))})
    return certify(plan, schema, seeded=False, noise=ENTROPY, assumptions=("it holds",))


@pytest.mark.parametrize("relation", ("add_or_remove_one", "zero_out"))
def test_a_certificate_with_the_door_is_recomputed(relation):
    made = certificate(relation)
    assert "tables, through `nested`: 4 tables over units" in str(made) and made.guarantee == "proven"
    again = Certificate.from_json(json.loads(json.dumps(made.to_json())))
    assert json.dumps(verify(again, Method()).to_json()) == json.dumps(made.to_json())
    (told,) = (e for d, e in made.curve if d == 1e-6)
    assert told == pytest.approx(accountant.epsilon_at([Gaussian(0.5)], 1e-6))


@pytest.mark.parametrize(
    ("change", "words"),
    (
        ({"mu": 0.6}, "costs"),
        ({"mu": -0.5}, "above 0"),
        ({"mu": "NaN"}, "no plan holds"),
        ({"mu": None}, "no plan holds"),
        ({"mu": []}, "no plan holds"),
        ({"mu": [0.1]}, "no plan holds"),
        ({"views": []}, "one or more"),
        ({"cliques": [[], [], []]}, "a table or more"),
        ({"sigmas": [[3.0, 4.0], [0.0], [6.0]]}, "above 0"),
        ({"sigmas": [[3.0, 1e-320], [5.0], [6.0]]}, "at least 2"),
        ({"sigmas": [[3.0, 4.0], [5.0]]}, "for each"),
        ({"views": [{"name": "v", "table": "t", "own": [[-1]]}] * 3}, "whole numbers"),
        ({"more": 1}, "not an entry"),
    ),
)
def test_forged_entries_are_refused(change, words):
    told = json.loads(json.dumps(certificate().to_json()))
    told["entries"][0].update(change)
    with pytest.raises(CertificateError, match=words):
        verify(Certificate.from_json(told), Method())


def test_a_replacement_costs_more_than_a_removal():
    with pytest.raises(BudgetError):
        certificate("replace_one")
