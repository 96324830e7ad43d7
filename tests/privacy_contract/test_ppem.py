"""The privacy contract of PPEM with epsilon: pairs as units, sums for the penalty, generators from released things."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.privacy_contract import checks, tables

import nacre
from nacre.certificates import verified
from nacre.distances import stein
from nacre.errors import PlanError
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.accounting.accountant import PoissonGaussian
from nacre.privacy.accounting.renyi import renyi
from nacre.privacy.budget import Budget
from nacre.privacy.plan import Descend, Part
from nacre.privacy.training import descent, unit_arrays
from nacre.release.release import load
from nacre.synthesizers.parts.heads import Heads
from nacre.synthesizers.ppem import losses, private, training
from nacre.synthesizers.ppem.config import TrainingConfig
from nacre.synthesizers.ppem.method import Ppem
from nacre.table.simulate.people import people, people_schema

SMALL = {"hide": ["age"], "steps": 6, "width": 8, "batch": 16, "pairs": 20}
CONFIG = TrainingConfig(
    Heads(2, ()), Heads(3, ()), 2, ((0, 1),), width=8, batch=8, level=1e9, norm="layer", linear=True
)
JOB = private.Descent(CONFIG, 4.0, 1.0, 10.0, (1.4,))
CHOOSER = {k: np.zeros(s, np.float32) for k, s in CONFIG.chooser.shapes().items()}
KEY = jnp.asarray([5, 6, 7, 8], jnp.uint32)


def state():
    made = private.start(CONFIG, jax.random.key(0), CHOOSER)
    return {**made, "average": jnp.array([[0.05, 0.02]])}


def rows(n, seed, spiked=False):
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.integers(-2, 4, (n, 1)) if spiked else 1.0
    hidden = rng.normal(size=(n, 2)) * size
    if spiked:  # the rows of a pair lie close, or their pair value is zero
        hidden[1::2] = hidden[::2] + 0.1 * rng.normal(size=hidden[::2].shape)
    return {
        "hidden": hidden.astype(np.float32),
        "visible": (rng.normal(size=(n, 3)) * size).astype(np.float32),
        "kind": rng.integers(0, 2, n).astype(np.int32),
        "there": np.ones(n, bool),
    }


def job(clip=0.5):
    parts = (Part("xi", clip=clip), Part("gamma", clip=clip), Part("sums", clip=2**0.5))
    entry = Descend("t", q=1.0, steps=1, parts=parts, group=2)
    return descent.Descent(entry, private.query(JOB), private.update(JOB, 10), 4.0, 8)


def test_emptying_a_slot_moves_every_sum_by_one_contribution():
    """Adversarial rows, one slot of eight emptied: gradients move by at most C, the sums by at most sqrt 2."""
    one, now = job(), state()
    now["critics"]["xi"] = jax.tree.map(lambda a: 8 * a, now["critics"]["xi"])  # steep: pair values far beyond the cut

    @jax.jit
    def sums(tree, present):
        units = unit_arrays.Units(tree, present, jnp.array([True] * 4 + [False]))
        found = one.clipped_sums(now, units, KEY, 0)
        return {n: jnp.concatenate([a.ravel() for a in jax.tree.leaves(part)]) for n, part in found.items()}

    most = {"xi": 0.0, "gamma": 0.0, "sums": 0.0}
    for seed in range(12):
        tree = jax.tree.map(lambda x: x.reshape(5, 2, *x.shape[1:]), rows(10, seed, spiked=True))
        here = np.array([[True, True]] * 4 + [[False, False]])
        without = here.copy()
        without[seed % 4, seed % 2] = False
        blank = {**tree, "there": tree["there"].copy()}
        blank["there"][seed % 4, seed % 2] = False
        base, emptied, blanked = sums(tree, here), sums(tree, without), sums(blank, here)
        for name in most:
            np.testing.assert_array_equal(emptied[name], blanked[name])  # an empty row is an empty slot
            most[name] = max(most[name], float(jnp.linalg.norm(base[name] - emptied[name])))
    assert most["xi"] <= 0.5 * 1.004 and most["gamma"] <= 0.5 * 1.004 and most["sums"] <= 2**0.5 * 1.004
    assert most["xi"] > 0.25 and most["sums"] > 0.5, "the search did not come near the bounds"


def test_pairs_together_give_the_gradient_of_the_batch():
    """With exact sums in place of averaged noisy ones, Σ g_i is the gradient of Σ E(x) + 2Nρ·λ·(τ − S_ln)."""
    n = 4
    drawn, now = rows(2 * n, 3), state()
    x = jnp.asarray(drawn["hidden"])

    def u(xi):
        energy_of = lambda r: losses.energy(CONFIG.xi, xi, r, anchor=losses.ANCHOR)  # noqa: E731
        return stein.pair_values(x, losses.scores(energy_of, x), 1.4)

    now["average"] = jnp.array([[jnp.sum(u(now["critics"]["xi"])) / private.CUT / n,
                                 jnp.sum(u(now["critics"]["xi"]) ** 2) / private.CUT**2 / n]])  # fmt: skip

    def whole(xi):
        real = losses.energy(CONFIG.xi, xi, x, anchor=losses.ANCHOR).sum()
        return real - 2 * n * JOB.weight * stein.normalised(u(xi))

    wanted = jax.grad(whole)(now["critics"]["xi"])
    units = jax.tree.map(lambda a: jnp.asarray(a).reshape(n, 2, *a.shape[1:]), drawn)
    keys = jax.random.split(jax.random.key(1), n)
    asked = jax.vmap(private.query(JOB), (None, 0, 0))(now, (units, jnp.ones((n, 2), bool)), keys)
    found = jax.tree.map(lambda a: a.sum(0), asked["xi"])
    scale = max(float(jnp.abs(a).max()) for a in jax.tree.leaves(wanted))
    for key in wanted:
        np.testing.assert_allclose(found[key], wanted[key], atol=2e-3 * scale)


def test_scores_of_labels_are_taken_after_a_little_noise():
    """specs/ppem.md E4: pair values of hidden labels depend on the step's noise; numbers get none."""
    now, drawn = state(), {n: a[:2] for n, a in rows(2, 5).items()}
    drawn["hidden"] = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    asked = jax.jit(private.query(replace(JOB, config=replace(CONFIG, hidden=Heads(1, (1,))))))
    unit = (drawn, np.array([True, True]))
    one, two = (asked(now, unit, jax.random.key(k)) for k in (0, 1))
    assert not np.array_equal(one["sums"], two["sums"])
    config = replace(CONFIG, hidden=Heads(1, (1,)))
    seen = training.with_label_noise(config, jnp.asarray(drawn["hidden"]), jax.random.key(0))
    assert np.array_equal(seen[:, 0], drawn["hidden"][:, 0]) and not np.array_equal(seen[:, 1], drawn["hidden"][:, 1])


def test_noisy_gradients_count_half_and_the_known_noise_of_averages_adds_up():
    """Sums are per pair and losses per row: in Adam's first memory, half of the gradient, a noisy answer of 1 counts a
    quarter. The variance of an average of noisy sums after k steps, each kept with the weight A, in closed form."""
    after = jax.jit(private.update(JOB, 10))
    now = {**state(), "variance": jnp.zeros(())}
    still = {n: jax.tree.map(jnp.zeros_like, now["critics"][n]) for n in ("xi", "gamma")} | {"sums": jnp.zeros((1, 2))}
    ones = jax.tree.map(jnp.ones_like, still)
    first, second = (after(now, noisy, jax.random.key(0))["critic_memory"] for noisy in (still, ones))
    for name in ("xi", "gamma"):
        gaps = jax.tree.map(lambda a, b: np.asarray(b - a), first[name].mu, second[name].mu)
        for gap in jax.tree.leaves(gaps):
            np.testing.assert_allclose(gap, 0.25, rtol=1e-3)
    keep, each = private.AVERAGE, (1 - private.AVERAGE) * JOB.noise / JOB.pairs
    for k in range(1, 5):
        now = after(now, still, jax.random.key(k))
        wanted = each**2 * (1 - keep ** (2 * k)) / (1 - keep**2)
        assert float(now["variance"]) == pytest.approx(wanted, rel=1e-4)


def test_the_noise_that_averages_are_corrected_for_is_that_of_the_door(monkeypatch):
    """A descent is told how noisy its sums will be: against 4,000 sums that the door makes noisy."""

    class Asked(Exception):
        pass

    def stop(job):
        raise Asked(job.noise)

    monkeypatch.setattr(private, "query", stop)
    budget = Budget(2.0, 1e-6, neighbours="zero_out")
    method = Ppem(target="late_payment", **SMALL)
    part = next(p for p in method.plan(people_schema(), 120, budget)["pairs"].parts if p.name == "sums")
    with pytest.raises(Asked) as told:
        nacre.fit(people(120, 1), epsilon=2.0, delta=1e-6, schema=people_schema(), target="late_payment",
                  method="ppem", neighbours="zero_out", options=SMALL)  # fmt: skip
    draw = jax.jit(jax.vmap(lambda step: descent.with_noise(part, jnp.zeros((1, 2)), KEY, step, 2)))
    assert np.std(draw(jnp.arange(4000))) == pytest.approx(told.value.args[0], rel=0.05)


def test_the_penalty_is_off_once_the_average_rejects():
    now = {**state(), "average": jnp.array([[1.0, 1.0]])}
    ratio, on = private.coefficients(now, replace(JOB, config=replace(CONFIG, level=3.84), pairs=64.0))
    assert float(on[0]) == 0.0 and float(ratio[0]) == pytest.approx(1.0)
    noisy = {**now, "variance": jnp.asarray(1.0)}  # what noise explains is taken off first: stricter
    assert float(private.coefficients(noisy, replace(JOB, config=replace(CONFIG, level=3.84), pairs=64.0))[1][0]) == 1.0


def test_the_conditional_generator_never_sees_a_row():
    """specs/ppem.md 11: the exact answers of two sets of rows, E_xi and E_gamma frozen: bit-identical generators."""
    asked = jax.jit(jax.vmap(private.query(JOB), (None, 0, 0)))
    keys, answers = jax.random.split(jax.random.key(1), 4), []
    for seed in (1, 2):
        units = jax.tree.map(lambda a: jnp.asarray(a).reshape(4, 2, *a.shape[1:]), rows(8, seed))
        found = asked(state(), (units, jnp.ones((4, 2), bool)), keys)
        answers.append(jax.tree.map(lambda a: a.mean(0), found))
    for one, two in zip(*map(jax.tree.leaves, answers)):
        assert not np.array_equal(one, two), "the rows must show in the answers"
    after = jax.jit(private.update(replace(JOB, config=replace(CONFIG, energy_rate=0.0)), 10))
    now = {**state(), "step": jnp.int32(4)}
    made = [after(now, a, jax.random.key(3)) for a in answers]
    assert not np.array_equal(made[0]["average"], made[1]["average"]), "the answers must be read"
    for part in ("generators", "mean"):
        for one, two in zip(jax.tree.leaves(made[0][part]), jax.tree.leaves(made[1][part])):
            np.testing.assert_array_equal(one, two)
    for net in ("v", "omega"):
        assert not np.array_equal(made[0]["generators"][net]["out.weight"], now["generators"][net]["out.weight"])
    for new, averaged in zip(jax.tree.leaves(made[0]["generators"]), jax.tree.leaves(made[0]["mean"])):
        # two steps of the generators in all: what is released is what they came to, nothing of where they began
        np.testing.assert_array_equal(new, averaged)


def test_energies_go_down_the_noisy_gradient():
    """Without public terms (no margin, no Lipschitz penalty) the first step of Adam goes against the answer."""
    rng, now = np.random.default_rng(2), state()
    config = replace(CONFIG, margin=0.0, steep=0.0)
    noisy = {n: jax.tree.map(lambda a: rng.choice([-1.0, 1.0], a.shape), now["critics"][n]) for n in ("xi", "gamma")}
    after = jax.jit(private.update(replace(JOB, config=config, weight=0.0), 10))(now, noisy, jax.random.key(3))
    for name, answer in noisy.items():
        for key, g in answer.items():
            moved = np.asarray(after["critics"][name][key] - now["critics"][name][key])
            np.testing.assert_allclose(moved, -config.energy_rate * g, rtol=1e-2)


@pytest.mark.parametrize(
    ("q", "steps", "delta", "sigma"),
    [
        (64 / 142_403, 222_505, 1 / 284_807, 1.13), (64 / 142_403, 222_505, 1e-6, 1.18),
        (64 / 142_403, 1_112_527, 1 / 284_807, 2.14), (64 / 142_403, 1_112_527, 1e-6, 2.26),
        (64 / 23_260, 36_343, 1 / 46_520, 2.16), (64 / 23_260, 36_343, 1e-6, 2.49),
        (64 / 23_260, 181_718, 1 / 46_520, 4.60), (64 / 23_260, 181_718, 1e-6, 5.37),
    ],
)  # fmt: skip
def test_the_accountant_reproduces_the_noise_of_the_spec(q, steps, delta, sigma):
    """specs/ppem.md 4: σ_eff for ε = 1, by Rényi orders, to the two decimals that are printed there."""
    less, more = (renyi(0.0, [PoissonGaussian(q, sigma + e, steps)])(1.0, 1e-40) for e in (-0.01, 0.01))
    assert more < delta < less


def test_parts_of_one_sample_are_one_event():
    """specs/ppem.md 3.7: three parts with σ_eff = 1 cost ε 7.05; booked as three samples they would claim 5.10."""
    assert accounting.epsilon_at([PoissonGaussian(0.1, 1.0, 100)], 1e-5) == pytest.approx(7.05, abs=0.01)
    assert accounting.epsilon_at([PoissonGaussian(0.1, 3**0.5, 100)] * 3, 1e-5) == pytest.approx(5.10, abs=0.01)


@pytest.mark.parametrize("relation", ["zero_out", pytest.param("replace_one", marks=pytest.mark.slow)])
def test_neighbours_show_the_same_bytes_and_the_certificate_names_columns_and_events(relation, tmp_path):
    """One event per step; the hidden columns by name."""
    base = tables.people(120)
    near = dict(list(tables.replaced(base).items())[: 1 if relation == "zero_out" else 3])  # each compiles anew
    fit = checks.fit_with("ppem", tables.schema(), SMALL, "smoker", neighbours=relation)
    outcome = checks.check_replay(fit, base, near, tmp_path)
    certificate = checks.certificate_of(outcome.release)
    assert certificate["guarantee"] == "proven (real arithmetic)" and certificate["epsilon"] == 8.0
    assert certificate["extras"] == {"hidden": {"sets": [["age"]], "alpha": 0.05}}
    (entry,) = [e for e in certificate["entries"] if e["door"] == "descend"]
    assert entry["group"] == 2 and [p["name"] for p in entry["parts"]] == ["xi", "gamma", "sums"]
    planned = Descend("pairs", **{k: entry[k] for k in ("q", "steps", "parts", "group")})
    assert planned.noise == pytest.approx(sum(p["sigma"] ** -2 for p in entry["parts"]) ** -0.5)
    (tmp_path / "again.nacre").write_bytes(outcome.release)
    release = load(tmp_path / "again.nacre")
    verified(release.certificate, release.schema)


@pytest.mark.parametrize(
    ("options", "neighbours", "match"),
    [
        ({}, "add_or_remove_one", "zero_out"),
        ({"decoy": 0.1}, "zero_out", "decoy=0.1 reads the hidden columns"),
        ({"effect": 0.1}, "zero_out", "effect=0.1"),
        ({"norm": "batch"}, "zero_out", "mixes records"),
        ({"penalty": "one-sided"}, "zero_out", "no private form"),
    ],
)
def test_what_has_no_private_form_is_refused_before_rows_are_read(options, neighbours, match):
    counted = checks.CountedRows(tables.people(50))
    schema = replace(tables.schema(), rows=50)
    with pytest.raises(PlanError, match=match):
        checks.fit_with("ppem", schema, {**SMALL, **options}, neighbours=neighbours)(counted)
    assert counted.passes == 0
