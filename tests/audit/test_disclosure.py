"""Presence and attribute disclosure: closed forms, brute force, and the four controls."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom, mannwhitneyu
from tests.privacy_contract import tables

from nacre.audit import attributes as attacks
from nacre.audit import records
from nacre.audit.disclosure import CONTROLS, SENTENCE, STAMP, controls, disclosure
from nacre.audit.presence import _published_radius, curve, presence
from nacre.audit.rates import area, found_at, rate_of
from nacre.audit.records import Records, Scale, Space, nearest
from nacre.errors import DataError
from nacre.table import Boolean, Numeric, Schema

SCHEMA = Schema({**{f"c{i}": Numeric(bounds=(-6.0, 6.0)) for i in range(6)}, "b": Boolean()})


def rows(n: int, seed: int) -> Records:
    """Correlated numbers and a label that follows from them."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 1)) + 0.6 * rng.standard_normal((n, 6))
    return Records(np.clip(z, -6, 6), (z.mean(axis=1, keepdims=True) > 0).astype(np.int64))


def table(records: Records) -> pa.Table:
    columns = {f"c{i}": records.numbers[:, i] for i in range(6)}
    return pa.table({**columns, "b": records.labels[:, 0].astype(bool)})


@pytest.fixture(scope="module")
def whole():
    train, holdout = rows(3000, 1), rows(1200, 2)
    return disclosure(table(rows(3000, 3)), table(train), table(holdout), SCHEMA, share=0.15, repeats=3)


def test_intervals_are_those_of_clopper_and_pearson():
    for hits, of in ((1, 2), (2, 3), (0, 10), (10, 10), (37, 450)):
        rate = rate_of(hits, of)
        if hits:
            assert binom.sf(hits - 1, of, rate.low) == pytest.approx(0.025)
        if hits < of:
            assert binom.cdf(hits, of, rate.high) == pytest.approx(0.025)
    assert rate_of(1, 2).low == pytest.approx(0.013, abs=1e-3) and rate_of(0, 0).high == 1.0


def test_the_curve_agrees_with_brute_force():
    rng = np.random.default_rng(0)
    near, far = rng.integers(0, 12, 40) / 4.0, rng.integers(2, 14, 50) / 4.0
    auc, error = area(near, far)
    assert auc == pytest.approx(mannwhitneyu(far, near).statistic / (40 * 50))
    assert 0 < error < 0.1
    found = found_at(near, far, 0.05)
    best = max(int((near < t).sum()) for t in [*far, 99.0] if (far < t).sum() <= 0.05 * 50)
    assert found.hits == best
    radius, hits, alarms = _published_radius(near, far)
    brute = [r for r in np.unique([*near, *far]) if (near <= r).sum() > 0.55 * ((near <= r).sum() + (far <= r).sum())]
    assert radius == max(brute) and hits == (near <= radius).sum() and alarms == (far <= radius).sum()


def test_the_curve_rises_to_everybody_and_a_precision_of_one_half():
    near, far = np.random.default_rng(2).random((2, 60)).round(1)
    radii, hits, alarms = curve(near, far)
    assert (np.diff(radii) > 0).all() and (np.diff(hits) >= 0).all() and (np.diff(alarms) >= 0).all()
    assert hits[-1] == alarms[-1] == 60 and [(near <= radii[3]).sum(), (far <= radii[3]).sum()] == [hits[3], alarms[3]]


def test_nearest_distances_do_not_depend_on_pieces(monkeypatch):
    rng = np.random.default_rng(1)
    a, b = rng.random((500, 3)), rng.random((500, 3))
    brute = np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1)).min(1)
    for cells in (1 << 22, 20_000, 40):
        monkeypatch.setattr(records, "CELLS", cells)
        assert np.allclose(nearest(a, b), brute, rtol=0, atol=1e-9)
    assert nearest(a[7:], a, own=np.arange(7, 500)).min() > 0 and not nearest(a, a).any()


def test_controls_come_out_as_they_must(whole):
    """Copies are found out, fresh rows are not (AUC within .05 of one half: about three standard errors)."""
    p = whole.presence
    assert p["copy"].auc == 1.0 and p["copy"].found.value == 1.0 and p["copy"].precision.value > 0.55
    assert p["copy"].at[0.01].value == 1.0 and p["copy"].copies.value == 1.0 and p["copy"].ks_p < 1e-9
    assert p["noisy copy"].auc > 0.95
    for name in ("fresh rows", "synthetic", "independent columns"):
        assert abs(p[name].auc - 0.5) < 0.06 and p[name].at[0.01].low < 0.02
    # the closest row of m fresh and n - 1 real ones is a fresh one with probability m/(m + n - 1): 750 and 3,000 beside
    # 2,999 others, 450 members; five standard errors
    assert p["fresh rows"].copies.value == pytest.approx(750 / 3749, abs=0.1)
    assert p["synthetic"].copies.value == pytest.approx(3000 / 5999, abs=0.12)
    assert set(p) == {"synthetic", *CONTROLS} and p["synthetic"].members == p["synthetic"].others == 450


def test_tolerances_as_printed_are_shares_of_the_value():
    """Values near 1 in a range of 1,000: all of them are within 5 % of the range, few within 5 % of themselves."""
    schema = Schema({f"c{i}": Numeric(bounds=(0.0, 1000.0)) for i in range(2)})
    made, train, holdout = (
        pa.table(dict(zip(("c0", "c1"), 1 + np.random.default_rng(seed).random((2, 200))))) for seed in (1, 2, 3)
    )
    wide, exact = (
        disclosure(made, train, holdout, schema, repeats=1, paper_exact=p).attributes["synthetic"].members
        for p in (False, True)
    )
    assert wide.hit_rate.value == 1.0 and exact.hit_rate.value < 0.5


def test_attributes_of_members_leak_only_where_rows_were_copied(whole):
    a = whole.attributes
    assert a["copy"].excess.low > 0 and a["noisy copy"].excess.value > 0  # one of the five neighbours is the person
    assert a["copy"].excess.value > a["fresh rows"].excess.value
    for name in ("fresh rows", "synthetic", "independent columns"):
        assert a[name].excess.low < 0.02 < 0.1 > a[name].excess.value
    # links between columns let strangers be guessed; shuffled columns do not
    assert a["fresh rows"].others.hit_rate.value > a["independent columns"].others.hit_rate.value + 0.05
    assert len(a["copy"].known) == 3


def test_text_says_what_it_is(whole):
    text = str(whole)
    assert text.startswith(f"{STAMP}\n{SENTENCE}") and all(name in text for name in CONTROLS)
    assert "fewer than 20 accused" in text or "precision" in text


def test_claims_and_hits_of_single_values():
    values = np.array([[1, 1.02, 1.01, 1, 1], [0, 1, 2, 3, 4], [np.nan] * 4 + [1.0], [1, 1, 1, 1, np.nan]])
    claim, hit = attacks._number(values, np.array([1.04, 2.0, np.nan, 1.0]), 0.05)
    assert claim.tolist() == [True, False, True, True] and hit.tolist() == [True, True, True, True]
    values = np.array([[100, 100, 103, 104, 103.0], [100, 100, 103, 104, 107], [0] * 5, [0] * 5, [1] * 5])
    claim, hit = attacks._number(values, np.array([107, 96, 0.0, 0.01, np.nan]), None)  # 5 % of the value
    assert claim.tolist() == [True, False, True, True, True] and hit.tolist() == [True, False, True, False, False]
    claim, hit = attacks._label(np.array([[1, 1, 1, 1, 2], [1, 1, 1, 2, 2], [3, 3, 3, 3, 3]]), np.array([1, 1, 2]))
    assert claim.tolist() == [True, False, True] and hit.tolist() == [True, True, False]


def test_guesses_from_a_copy_with_everything_distinct_are_exact():
    """Five copies of each person: the five nearest rows are that person's."""
    people = rows(40, 7)
    pool = people.take(np.repeat(np.arange(40), 5))
    space = Space.of(SCHEMA)
    found = attacks.guess(pool, people, np.arange(3), Scale.of(pool, space), space)
    assert found.sensitivity.value == found.precision.value == found.hit_rate.value == 1.0
    small = attacks.guess(people.take(np.arange(2)), people, np.arange(3), Scale.of(people, space), space)
    assert small.hit_rate.of == 40 * 4


def test_equal_columns_are_guessed_and_independent_ones_are_not():
    """All columns equal: right in more than 95 %. Independent uniform numbers: the mean of five lies near the middle,
    and a tenth of the values within .05 of the range of it; next to no five neighbours agree."""
    schema = Schema({f"c{i}": Numeric(bounds=(0.0, 1.0)) for i in range(6)})
    space, known = Space.of(schema), np.arange(3)
    none = np.zeros((2_000, 0), np.int64)
    one = np.random.default_rng(3).random((2, 2_000, 1))
    pool, people = (Records(np.repeat(v, 6, axis=1), none) for v in one)
    assert attacks.guess(pool, people, known, Scale.of(pool, space), space).hit_rate.value > 0.95
    pool, people = (Records(v, none) for v in np.random.default_rng(4).random((2, 2_000, 6)))
    found = attacks.guess(pool, people, known, Scale.of(pool, space), space)
    assert found.hit_rate.value == pytest.approx(0.1, abs=0.015) and found.sensitivity.value < 1e-3


def test_a_group_can_be_attacked_by_itself():
    """Copies of the people with the label, strangers for the others: only the first group is found out."""
    train, holdout, fresh = (table(rows(1500, seed)) for seed in (11, 12, 13))
    label = lambda t: t["b"].to_numpy()  # noqa: E731
    made = pa.concat_tables([train.filter(label(train)), fresh.filter(~label(fresh))])
    found = {
        name: disclosure(made, train, holdout, SCHEMA, share=0.2, repeats=1, only=only).presence["synthetic"].auc
        for name, only in (("copied", label), ("rest", lambda t: ~label(t)), ("all", None))
    }
    assert found["copied"] == 1.0 and abs(found["rest"] - 0.5) < 0.12 and found["rest"] < found["all"] < 1.0
    for wrong, match in ((lambda t: [True], "truth values"), (lambda t: np.zeros(len(t), bool), "can be attacked")):
        with pytest.raises(DataError, match=match):
            disclosure(made, train, holdout, SCHEMA, only=wrong)


def test_mixed_tables_with_missing_values_go_through():
    schema = tables.schema()
    train, holdout, made = (tables.people(n, seed) for n, seed in ((400, 1), (200, 2), (300, 3)))
    found = disclosure(made, train, holdout, schema, share=0.1, repeats=2)
    assert found.presence["copy"].auc > 0.95 and found.presence["copy"].found.value == 1.0
    space = Space.of(schema)
    records = space.records(train, "train")
    assert np.isnan(records.numbers).any() and records.labels.shape == (400, 2)
    made = controls(records, records, space, 1)["independent columns"]
    assert np.allclose(np.sort(made.numbers, axis=0), np.sort(records.numbers, axis=0), equal_nan=True)


def test_too_small_a_holdout_is_refused():
    with pytest.raises(DataError, match="at least 40"):
        disclosure(table(rows(50, 1)), table(rows(50, 2)), table(rows(30, 3)), SCHEMA)
    with pytest.raises(DataError, match="0 rows"):
        disclosure(table(rows(5, 1)).slice(0, 0), table(rows(50, 2)), table(rows(60, 3)), SCHEMA)


def test_fresh_rows_have_an_area_of_one_half():
    """20 repeats with 500 members: the mean AUC lies within .02 of one half (four standard errors)."""
    space = Space.of(SCHEMA)
    all_of_them = np.arange(500)
    found = [
        presence(rows(800, 50 + i), rows(500, 100 + i), all_of_them, rows(500, 200 + i), space).auc for i in range(20)
    ]
    assert abs(np.mean(found) - 0.5) < 0.02
