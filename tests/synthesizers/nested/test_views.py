"""What is counted of a database, and that a unit costs what its entry says."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from nacre.privacy.nested.views import worst
from nacre.synthesizers.nested import views
from nacre.table.database import Key
from nacre.table.database.forms import forms
from nacre.table.simulate.clinic import DRUGS, ITEMS_MOST, VISITS_MOST, clinic_database

DATABASE = clinic_database()
FORMS = forms(DATABASE, {("drugs", "id"): tuple(map(str, range(1, DRUGS + 1)))})
CAPS = {"visits": VISITS_MOST, "items": ITEMS_MOST}


def _listed(target: str | None = None) -> dict[str, views.Priced]:
    return {p.view.name: p for p in views.tables(DATABASE, FORMS, target)}


def test_the_noise_meets_the_cost_of_the_worst_unit():
    for priced in (views.singles(DATABASE, FORMS), list(_listed().values())):
        entry = views.entry("some", priced, DATABASE, 0.04)
        assert entry.mu == pytest.approx(0.2)
        cost = worst(entry.views, entry.precisions, CAPS)
        assert 0.04 * (1 - 1e-9) <= cost <= 0.04 * (1 + 1e-9)


def test_a_unit_costs_the_same_whatever_its_number_of_visits():
    entry = views.entry("some", _listed().values(), DATABASE, 1.0)
    total = np.zeros(VISITS_MOST)
    for view, precision in zip(entry.views, entry.precisions):
        if view.table == "visits":
            total += precision * np.square(view.sums(VISITS_MOST)[1:] / view.of).sum(1)
    assert total.min() > 0.99 * total.max()  # but for the rounding of weights


def test_every_pair_is_counted_once_and_numbers_of_rows_beside_their_rows():
    found = _listed()
    own = [f"visits.{c}" for c in FORMS["visits"].columns]
    within = found["visits"]
    assert sum(all(c in own for c in clique) for clique in within.cliques) == math.comb(len(own), 2)
    assert sum("patients.visits count" in clique for clique in within.cliques) == len(own)
    assert not any("patients.visits count" in clique for clique in found["visits upward"].cliques)
    assert all(len(set(p.cliques)) == len(p.cliques) for p in found.values())
    two_hops = [c for c in found["items upward"].cliques if c[0].startswith("patients.")]
    assert len(two_hops) == len(FORMS["patients"].columns) * len(FORMS["items"].columns)
    assert found["visits"].view.strata
    assert not found["items"].view.strata  # no order, no last row


def test_without_an_order_either_row_of_a_pair_may_come_first():
    items, visits = _listed()["items next"].cliques, _listed()["visits next"].cliques
    n, m = len(FORMS["items"].columns), len(FORMS["visits"].columns)
    assert len(items) == n * (n + 1) // 2
    assert len(visits) == m * m


def test_half_of_what_consecutive_rows_cost_goes_to_their_own_columns():
    priced = _listed()["visits next"]
    same = math.fsum(w for c, w in zip(priced.cliques, priced.worth) if f"{c[0]}+" == c[1])
    assert same == pytest.approx(math.fsum(priced.worth) / 2)


def test_tables_with_the_target_are_known_better():
    plain = views.entry("some", _listed().values(), DATABASE, 1.0)
    aimed = views.entry("some", _listed("visits.severity").values(), DATABASE, 1.0)
    for cliques, before, after in zip(plain.cliques, plain.sigmas, aimed.sigmas):
        for clique, a, b in zip(cliques, before, after):
            held = any(c.removesuffix("+") == "visits.severity" for c in clique)
            assert (b < a) if held else (b > a)


def test_a_single_row_of_a_parent_has_no_row_after_it():
    keys = [Key("items.visit -> visits.id", cap=1) if k.child == "items" and k.cap else k for k in DATABASE.keys]
    database = dataclasses.replace(DATABASE, keys=keys)
    made = forms(database, {("drugs", "id"): ("1",)})
    names = [p.view.name for p in views.tables(database, made, None)]
    assert "items next" not in names
    assert "visits next" in names
