"""Support points: energies, the published algorithm's loss, expansion, baselines, and whole fits."""

from __future__ import annotations

import functools
import math

import numpy as np
import pandas as pd
import pytest
from tests.privacy_contract import checks, tables
from tests.synthesizers.support import MIXED, mixture, square

import nacre
from nacre.distances.energy import energy_distance
from nacre.errors import BudgetError, ConvergenceError, NacreError, ReleaseFileError
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.budget import Budget, Level
from nacre.privacy.doors.select import STEPS, Nearness, RecordScore
from nacre.privacy.noise import exponential_choice
from nacre.privacy.passes import feature_sums
from nacre.privacy.plan import Scope
from nacre.synthesizers.kme import Kme, reduced_set
from nacre.synthesizers.support_points import bandwidth, model, published
from nacre.synthesizers.support_points.geometry import near
from nacre.synthesizers.support_points.method import SupportPoints
from nacre.synthesizers.support_points.model import PointModel
from nacre.synthesizers.support_points.sweep import support_points
from nacre.table import Numeric, Schema
from nacre.table.conditions import parsed
from nacre.table.encoding import Values

# ------------------------------------------------------------------------------------------------------------ energies


def test_worked_example_of_the_sensitivity():
    """N = 4, n = 3 on a line: e moves by 7/8, the utility by 2·diam/N = 1/2."""
    one, other, y = np.zeros((4, 1)), np.array([[1.0], [0], [0], [0]]), np.ones((3, 1))
    assert energy_distance(one, y) == 2.0 and energy_distance(other, y) == 1.125
    u = [2 / 4 * sum(near(x.T, point).sum() for point in y) / 3 for x in (one, other)]
    assert u[1] - u[0] == pytest.approx(0.5)


def test_replaced_records_move_the_utility_by_at_most_its_bound():
    """The utility of the method on made-up records: within its stated range without clipping, and one record moves it
    by at most the diameter, most of which is reached."""
    made = feature_sums.made_up_records(tables.schema(), 4000, np.random.default_rng(1))
    x = MIXED.record_map()(made, MIXED.public())
    worth = np.stack([near(x.T, point) for point in MIXED.scattered(64, 2)])
    assert worth.min() >= -MIXED.diameter - 1e-12 and worth.max() <= 0
    assert 0.7 * MIXED.diameter < np.ptp(worth, axis=1).max() <= MIXED.diameter + 1e-12
    assert near(np.zeros((3, 1)), np.ones(3))[0] == pytest.approx(-math.sqrt(3))  # attained at corners


def test_support_points_of_a_line_are_its_quantiles():
    x = np.random.default_rng(0).beta(2, 5, 4000)
    for n in (1, 4, 7):
        found = np.sort(support_points(x[:, None], n, sweeps=4000, tolerance=1e-10)[:, 0])
        assert np.allclose(found, np.quantile(x, (2 * np.arange(n) + 1) / (2 * n)), atol=2e-3)


def test_sweeps_beat_random_rows_and_never_raise_the_energy():
    x = mixture(2000)
    rng = np.random.default_rng(3)
    chance = np.mean([energy_distance(x, x[rng.choice(2000, 20)]) for _ in range(10)])
    energies = [energy_distance(x, support_points(x, 20, sweeps=s)) for s in (1, 5, 40)]
    assert energies[0] >= energies[1] >= energies[2] and energies[2] < chance / 6


def test_the_geometry_has_the_stated_diameter():
    """Numbers are 1 wide, scaled one-hot blocks too: age, income, its nulls, city, joined, smoker."""
    assert MIXED.diameter == pytest.approx(math.sqrt(6))
    rng = np.random.default_rng(0)
    records = feature_sums.made_up_records(tables.schema(), 4000, rng)
    x = MIXED.record_map()(records, MIXED.public())
    assert x.shape[1] == MIXED.width and (x <= np.array(MIXED.top) + 1e-12).all() and (x >= 0).all()
    apart = np.linalg.norm(x[:2000] - x[2000:], axis=1)
    assert apart.max() <= MIXED.diameter and apart.max() > 0.8 * MIXED.diameter
    scattered = MIXED.scattered(100, 1)
    for start, size in MIXED.blocks:
        assert ((scattered[:, start : start + size] > 0).sum(axis=1) == 1).all()
    assert np.array_equal(MIXED.probabilities(scattered).sum(axis=1), np.full(100, len(MIXED.blocks)))


# ------------------------------------------------------------------------------------------------ published algorithm


def test_the_published_algorithm_loses_fifty_times_its_parameter():
    """n = 1, N = 201, records 0 or 1: one record flips the support point (the median); exact laws on a grid."""
    rows, alpha = 201, 1.0
    rate = published.published_rate(alpha, rows, 1, 1.0)
    grid = np.linspace(0, 1, 801)
    laws = []
    for ones in (100, 101):
        x = np.repeat([0.0, 1.0], [rows - ones, ones])
        (reference,) = support_points(x[:, None], 1, sweeps=20_000, tolerance=1e-12)[:, 0].round(3)
        u = rate * near(np.array([[reference]]), grid[None])
        laws.append(u - np.logaddexp.reduce(u))
    loss = np.abs(laws[0] - laws[1]).max()
    assert loss > 45 * alpha
    # Any point off the middle: e(Y, Y*) moves by up to 2, where the algorithm divides by 2(2N−1)/N².
    assert loss == pytest.approx(alpha * rows**2 / (2 * (2 * rows - 1)), rel=0.01)


def test_the_published_algorithm_warns_and_promises_nothing():
    people, schema = tables.people(80), tables.schema(rows=80)
    options = {"mode": "support_points", "points": 8}
    for more in ({}, {"alpha": 500.0, "chains": 1, "moves": 1000}):
        with pytest.warns(UserWarning, match="alpha is no epsilon"):
            release = nacre.fit(
                people, epsilon=None, schema=schema, method="support-points", options={**options, **more}
            )
        assert release.certificate.guarantee == "none" and release.certificate.epsilon is None
        assert any("one record can move" in reason for reason in release.certificate.reasons)
        assert len(release.sample(30, seed=0)) == 30
    with pytest.warns(UserWarning, match="alpha is no epsilon"):  # without a budget the rows may be counted
        release = nacre.fit(people, epsilon=None, schema=tables.schema(), method="support-points", options=options)
    assert release.rows == 80
    with pytest.raises(BudgetError, match="no proven guarantee"):
        nacre.fit(people, epsilon=1.0, schema=schema, method="support-points", options=options)


# ----------------------------------------------------------------------------------------------------------- whole fits


@pytest.mark.parametrize(
    ("epsilon", "most", "options"),
    (
        (1.0, 0.015, {"mode": "data", "moves": 4000, "chains": 1}),
        (1.0, 0.010, {"mode": "list", "candidates": 512}),
        (None, 0.005, {"mode": "support_points", "alpha": 20.0, "moves": 2000, "chains": 1}),
    ),
    ids=("data", "list", "support_points"),
)
@pytest.mark.filterwarnings("ignore:mode 'support_points'", "ignore:little")
def test_points_lie_where_the_rows_do(epsilon, most, options):
    """Energies to three clusters are about .005, .003 and .002. Uniform points have .08, points that do not keep apart
    .11, points that flee from the rows .25."""
    x = mixture(10_000)
    schema = Schema({c: Numeric(bounds=(0.0, 1.0)) for c in "ab"}, rows=len(x))
    release = nacre.fit(
        pd.DataFrame(x, columns=["a", "b"]),
        epsilon=epsilon,
        schema=schema,
        method="support-points",
        neighbours="zero_out",
        noise_seed=3,
        options={"points": 20, "bandwidth": 0.0, **options},
    )
    assert energy_distance(x, release.model.numbers) < most


@functools.cache
def fitted(**options):
    return nacre.fit(
        tables.people(400),
        epsilon=4.0,
        schema=tables.schema(rows=400),
        method="support-points",
        neighbours="zero_out",
        options={"points": 6, **({} if "mode" in options else {"frequencies": 40}), **options},
    )


@pytest.mark.parametrize("mode", ("sketch", "data", "list"))
def test_mixed_tables_come_out_in_their_domain(mode, tmp_path):
    more = {"sketch": {}, "data": {"moves": 2000, "chains": 2}, "list": {"candidates": 64}}[mode]
    release = fitted() if mode == "sketch" else fitted(mode=mode, **more)
    assert release.certificate.guarantee == ("conditional" if mode == "data" else "proven")
    rows = release.sample(500, seed=1)
    assert rows["age"].between(0, 100).all() and set(rows["city"].dropna()) <= {*tables.CITIES, "elsewhere"}
    release.save(tmp_path / "r.nacre")
    again = nacre.load(tmp_path / "r.nacre").sample(500, seed=1)
    assert rows.equals(again)
    oslo = release.sample(50, where={"city": "oslo"}, seed=2) if mode == "sketch" else rows[:0]
    assert set(oslo["city"]) <= {"oslo"}
    if mode == "data":
        assert any("conditional on convergence" in reason for reason in release.certificate.reasons)


def test_repeated_sets_are_paid_together_and_pooled():
    release = fitted(mode="data", sets=3, chains=1, moves=1000)
    (entry,) = (e for e in release.certificate.entries if e["door"] == "sample")
    assert entry["draws"] == 3 and len(release.model.numbers) == 18
    assert 4 / 3 < entry["epsilon"] < 4.0


def test_diagnostics_reach_the_owner_and_nobody_else(tmp_path):
    notes = nacre.OwnerNotes()
    schema = tables.schema(rows=60)
    options = {"mode": "data", "points": 4, "chains": 4, "moves": 2000, "bandwidth": 0.0}
    release = nacre.fit(
        tables.people(60),
        epsilon=1.0,
        schema=schema,
        method="support-points",
        neighbours="zero_out",
        options=options,
        owner=notes,
    )
    assert notes.diagnostics["points"]["r_hat"] > 0.9 and notes.diagnostics["points"]["chains"] == 4
    release.save(tmp_path / "r.nacre")
    assert b"r_hat" not in checks.members((tmp_path / "r.nacre").read_bytes())
    assert "r_hat" not in str(release.certificate)


@pytest.mark.filterwarnings("ignore:mode 'support_points'")
def test_the_published_chain_tells_how_it_mixed():
    notes = nacre.OwnerNotes()
    options = {"mode": "support_points", "points": 4, "alpha": 100.0, "chains": 3, "moves": 1000}
    nacre.fit(tables.people(60), epsilon=None, schema=tables.schema(rows=60), method="support-points", options=options,
              owner=notes)  # fmt: skip
    told = notes.diagnostics["table"]
    assert told["chains"] == 3 and told["moves"] == 1000 and 0 < told["accepted"] < 1


def test_a_range_that_ends_inside_a_cell_is_met_by_every_row():
    points = PointModel(square(1).layout, np.array([[0.2], [0.6]]), np.zeros((2, 0)), 0.1, 10)
    low = parsed({"c0": nacre.Between(0.0, 0.41234)}, points.layout.schema.columns, "where")
    drawn = points.draw(5_000, np.random.default_rng(0), low)["c0"].values
    assert 0.41 < drawn.max() <= 0.41234


def test_a_hostile_model_is_refused(monkeypatch):
    monkeypatch.setattr(model, "ROUNDS", 20)
    release = fitted()
    facts, arrays = release.model.parts()
    schema = tables.schema()
    PointModel.from_parts(schema, facts, arrays)
    for name, wrong in (
        ("numbers", arrays["numbers"] + 2),
        ("numbers", arrays["numbers"] * np.nan),
        ("labels", arrays["labels"] * 0),
        ("labels", arrays["labels"][:, 1:]),
        ("weights", arrays["weights"] * 0),
    ):
        with pytest.raises(ReleaseFileError):
            PointModel.from_parts(schema, facts, {**arrays, name: wrong})
    with pytest.raises(ReleaseFileError):
        PointModel.from_parts(schema, {**facts, "bandwidth": 7}, arrays)
    with pytest.raises(ConvergenceError, match="widen"):
        rare = parsed({"age": nacre.Between(99, 100), "income": nacre.Between(0.0, 0.001)}, schema.columns, "where")
        PointModel.from_parts(schema, {**facts, "bandwidth": 0.0}, arrays).draw(5, np.random.default_rng(0), rare)


@pytest.mark.parametrize(
    "options",
    (
        {"mode": "best"},
        {"alpha": 3.0},
        {"sets": 2},
        {"bandwidth": 0.9},
        {"bandwidth": "read"},
        {"points": 0},
        {"mode": "support_points", "bandwidth": "laplace"},
        {"mode": "support_points", "bandwidth": "bought"},
        {"mode": "support_points", "moves": 1000},
        {"moves": 1000},
        {"mode": "data", "moves": 750},
        {"mode": "data", "moves": 1100},
        {"mode": "support_points", "alpha": 100.0, "moves": 100},
        {"mode": "support_points", "alpha": 100.0, "moves": 1100},
        {"mode": "data", "candidates": 9},
        {"mode": "list", "frequencies": 9},
    ),
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(options):
    with pytest.raises(NacreError):
        SupportPoints(**options)


# ----------------------------------------------------------------------------------------------------------- expansion


def test_log_densities_are_those_of_the_mixture_of_kernels():
    from scipy.stats import multivariate_normal

    geometry = square(2)
    rng = np.random.default_rng(0)
    records = feature_sums.made_up_records(geometry.layout.schema, feature_sums.CHUNK, rng)
    points = rng.random((5, 2))
    public = {**geometry.public(), "points": points, "widths": np.array([0.05, 0.2])}
    found = bandwidth.log_densities(geometry)(records, public)
    x = geometry.record_map()(records, geometry.public())
    for i, h in enumerate((0.05, 0.2)):
        density = np.mean([multivariate_normal(p, h * h).pdf(x) for p in points], axis=0)
        seen = density > 1e-200
        assert np.allclose(found[seen, i], np.log(density[seen]) / 2, atol=2e-6)


def test_widths_are_drawn_by_the_softmax_of_their_scores():
    """Chi-square of 20,000 draws among twenty widths against exp(ε·S/10), false-alarm rate 1e-6."""
    from scipy.stats import chisquare, norm

    geometry = square(1)
    x, points = np.random.default_rng(3).normal(0.5, 0.1, 25).clip(0, 1), np.array([[0.4], [0.6]])
    public = {**geometry.public(), "points": points, "widths": bandwidth.WIDTHS}
    score = RecordScore(bandwidth.log_densities(geometry), 20, -bandwidth.LIMIT, bandwidth.LIMIT, public)
    rate = 2.0 / score.loss_range(Scope("zero_out"))
    totals = score._of_batch({"c0": Values.of(x)}, 25)
    noise = checks.FixedNoise(8)
    found = np.bincount([exponential_choice(totals, rate, noise) for _ in range(20_000)], minlength=20)
    density = norm.pdf(x[:, None, None], points[:, 0], bandwidth.WIDTHS[:, None]).mean(axis=2)
    logits = 0.2 * np.clip(np.log(np.maximum(density, 1e-300)), -5, 5).sum(axis=0)
    wanted = np.exp(logits - logits.max())
    assert chisquare(found, 20_000 * wanted / wanted.sum()).pvalue > 1e-6


def nearness_of(x, points, rows=None):
    """The score of `laplace` for these rows of one column, and its totals."""
    rows = len(x) if rows is None else rows
    geometry, steps = square(1), STEPS
    value = RecordScore(bandwidth.squares(geometry), 1, 0.0, 1.0, {**geometry.public(), "points": points})
    score = Nearness(value, np.array([j * steps * rows // bandwidth.SQUARES for j in range(1, bandwidth.SQUARES + 1)]))
    total = value._of_batch({"c0": Values.of(x)}, len(x))[0] if len(x) else 0
    return score, -np.abs(total - score.places)


def test_laplace_widths_have_laplace_noise_on_the_public_list():
    """Chi-square of 20,000 draws against exp(−ε·N·|h² − mean s|·64/2), s the clipped squared distance to the nearest
    point, by brute force; cells below five expected draws together. False-alarm rate 1e-6."""
    from scipy.stats import chisquare

    x, points = np.random.default_rng(3).normal(0.5, 0.1, 60).clip(0, 1), np.array([[0.45], [0.6]])
    score, totals = nearness_of(x, points)
    rate = 2.0 / score.loss_range(Scope("zero_out"))
    noise = checks.FixedNoise(8)
    found = np.bincount([exponential_choice(totals, rate, noise) for _ in range(20_000)], minlength=len(totals))
    mean = np.mean([min(min((a - b) ** 2 for b in points[:, 0]), 1 / 64) for a in x])
    squares = np.arange(1, bandwidth.SQUARES + 1) / bandwidth.SQUARES / 64
    wanted = np.exp(-2.0 * len(x) * np.abs(squares - mean) * 64 / 2)
    wanted *= 20_000 / wanted.sum()
    many = wanted >= 5
    counts = [np.append(v[many], v[~many].sum()) for v in (found, wanted)]
    assert chisquare(*counts).pvalue > 1e-6


def test_laplace_widths_by_enumeration():
    """The exact law of the width for neighbouring tables: no loss above ε = 1, present or absent and replaced. With the
    scale of noise on an endless line it is exceeded."""
    points, rng = np.array([[0.5]]), np.random.default_rng(5)
    near, far = 0.5, 0.9  # s = 0, and at the clip
    bases = [np.full(k, near) for k in (1, 3, 12)] + [np.full(12, far), rng.random(12)]
    worst = {1: 0.0, 2: 0.0}
    for base in bases:
        others = [np.append(some, new) for some in (base, base[1:]) for new in (near, far)] + [base[1:]]
        for times in worst:
            laws = []
            for x in (base, *others):
                score, totals = nearness_of(x, points, len(base))
                logits = times / score.loss_range(Scope("zero_out")) * (totals - totals.max()).astype(float)
                laws.append(logits - np.log(np.exp(logits).sum()))
            worst[times] = max(worst[times], *(np.abs(law - laws[0]).max() for law in laws[1:]))
    assert worst[1] <= 1 + 1e-9
    assert worst[2] > 1.2


def test_a_width_is_paid_from_the_budget():
    """The plan holds it as an entry of its own, within the budget, and the sketch gets what is left."""
    schema = Schema({c: Numeric(bounds=(0.0, 1.0)) for c in "ab"}, rows=3000)
    budget = Budget(1.0, 1e-6)
    free = SupportPoints().plan(schema, 3000, budget)
    for how, kind, level in (("laplace", "select", 3), ("gaussian", "total", 3), ("bought", "select", 2)):
        plan = SupportPoints(bandwidth=how).plan(schema, 3000, budget)
        assert plan["bandwidth"].door == kind and plan["sketch"].sigma > free["sketch"].sigma
        assert plan.level == Level(level)
        assert accounting.epsilon_at(plan.events(), 1e-6) == pytest.approx(1.0, rel=2e-3)


@pytest.mark.parametrize("how", bandwidth.BOUGHT)
def test_a_bought_width_finds_the_spread_around_the_points(how):
    rng = np.random.default_rng(1)
    x = np.clip(0.5 + 0.06 * rng.standard_normal((3000, 2)), 0, 1)
    schema = Schema({c: Numeric(bounds=(0.0, 1.0)) for c in "ab"}, rows=3000)
    release = nacre.fit(
        pd.DataFrame(x, columns=["a", "b"]),
        epsilon=None,
        schema=schema,
        method="support-points",
        options={"points": 1, "frequencies": 100, "bandwidth": how},
    )
    assert 0.04 < release.model.bandwidth < 0.09
    rows = release.sample(4000, seed=0)
    assert rows["a"].std() == pytest.approx(release.model.bandwidth, rel=0.1)


# ----------------------------------------------------------------------------------------------------------- baselines


def test_kme_finds_the_places_and_weights_of_a_small_law():
    geometry = square(2)
    waves = Kme(features=400)._waves(geometry)
    truth, weights = np.array([[0.1, 0.2], [0.9, 0.4], [0.5, 0.95]]), np.array([0.5, 0.3, 0.2])
    angle = truth @ waves.frequencies.T
    embedding = weights @ np.concatenate([np.cos(angle), np.sin(angle)], axis=1) / 20
    found, share = reduced_set(geometry, waves, embedding, 12, 0)
    assert (share >= 0).all() and share.sum() == pytest.approx(1, abs=0.02)
    assert share @ found == pytest.approx(weights @ truth, abs=0.02)
    left = [np.abs(found[share > 0.05] - t).sum(axis=1).min() for t in truth]
    assert max(left) < 0.15


def test_kme_is_proven_and_draws_by_weight():
    release = checks.fit_with("kme", tables.schema(), {"features": 50, "points": 6})(tables.people(300))
    assert release.certificate.guarantee == "proven" and len(release.sample(40, seed=0)) == 40
    entry = Kme().plan(tables.schema(rows=300), 300, Budget(1.0, 1e-6, "zero_out"))["embedding"]
    assert accounting.gaussian_delta(1.0, entry.bound / entry.sigma) == pytest.approx(1e-6, rel=1e-3)
    points = PointModel(square(1).layout, np.array([[0.1], [0.9]]), np.zeros((2, 0)), 0.0, 10, np.array([0.25, 0.75]))
    drawn = points.draw(8, np.random.default_rng(0))["c0"].values
    assert sorted(drawn.round(3)) == [0.1] * 2 + [0.9] * 6
