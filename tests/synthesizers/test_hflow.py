"""`hflow` and `hflow-paper` as a user meets them: fit, log-probabilities, conditions, save, read back, refuse."""

from __future__ import annotations

import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from tests.privacy import coarse
from tests.synthesizers.flows import random_model
from tests.synthesizers.mixed import table

import nacre
from nacre.errors import NacreError, ReleaseFileError, SchemaError
from nacre.nets.flow_shape import Shape
from nacre.nets.taps import Tape
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.budget import Budget
from nacre.privacy.plan import Counts
from nacre.release.file import pack, unpack
from nacre.synthesizers.hflow import warm
from nacre.synthesizers.hflow.axes import ENCODINGS, Axes
from nacre.synthesizers.hflow.model import FlowModel, dequantiser_shape, objective_of
from nacre.synthesizers.hflow.training import Descending
from nacre.synthesizers.registry import make
from nacre.table import Boolean, Categorical, Numeric, Schema, Unit
from nacre.table.columns import Identifier
from nacre.table.encoding import encode
from nacre.table.sources.frames import to_arrow

SCHEMA = Schema(
    {
        "x": Numeric(bounds=(0.0, 1.0)),
        "k": Numeric(bounds=(0, 20), integer=True, nullable=True),
        "c": Categorical(categories=("a", "b", "c")),
        "y": Boolean(),
    },
    rows=4000,
)
SMALL = {"hidden": 16, "bins": 6, "steps": 150, "batch": 400, "rate": 0.01, "warm": 0.0}


@pytest.fixture(scope="module")
def release():
    with coarse.grid():
        return nacre.fit(
            table(), schema=SCHEMA, epsilon=20.0, delta=1e-5, method="hflow", target="y", noise_seed=1, options=SMALL
        )


# ------------------------------------------------------------------------------------------- models, without a fit


LABELS = Schema(
    {"c": Categorical(categories=tuple("abcde")), "y": Boolean(), "d": Categorical(categories=tuple("uvw"))}
)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_probabilities_sum_to_one_and_are_those_of_the_drawn_rows(encoding):
    """All 30 records of a small table. The bound is tight to Monte-Carlo error; 4 standard errors of 40,000 draws, 30
    comparisons: one false alarm in 500 such tests, and the seeds are fixed. Bit strings that no label has are left out
    of the sum for the binary encoding."""
    model = random_model(LABELS, encoding, bought=encoding == "codes", blocks=1, linear="none")
    frame = pd.DataFrame([(c, y, d) for c in "abcde" for y in (False, True) for d in "uvw"], columns=["c", "y", "d"])
    p = np.exp(model.log_prob(encode(to_arrow(frame), LABELS).columns, 4000, 0))
    drawn = model.draw(40_000, np.random.default_rng(0))
    code = (drawn["c"].values * 2 + drawn["y"].values) * 3 + drawn["d"].values
    seen = np.bincount(code, minlength=30) / 40_000
    if encoding == "binary":
        assert 0.1 < p.sum() < 1.02
        assert (p <= seen + 4 * np.sqrt(seen / 40_000) + 0.01 * p + 1e-4).all()
        return
    error = 0.1 if encoding == "one-hot" else 0.02  # of the bound itself: boxes of one axis per label are wide
    assert p.sum() == pytest.approx(1, abs=error)
    assert (np.abs(p - seen) <= 4 * np.sqrt(p / 40_000) + 2 * error * p + 1e-4).all()


def test_the_bound_of_one_point_lies_below_the_probability():
    """E[log p(x + u)] ≤ log E[p(x + u)], the mass of the box, for each of the 30 records; 400 draws of u, and 4,000 for
    the mass, which sums to 1 over the records (above)."""
    model = random_model(LABELS, "codes", bought=True, blocks=1, linear="none")
    frame = pd.DataFrame([(c, y, d) for c in "abcde" for y in (False, True) for d in "uvw"], columns=["c", "y", "d"])
    mass = model.log_prob(encode(to_arrow(frame), LABELS).columns, 4000, 0)
    many = pd.concat([frame] * 400, ignore_index=True)
    drawn = model.log_prob(encode(to_arrow(many), LABELS).columns, 1, 1).reshape(400, 30)
    assert (drawn.mean(axis=0) <= mass + 3 * drawn.std(axis=0) / 20).all()
    assert (mass - drawn.mean(axis=0)).max() > 0.005, "the flow is flat: nothing was shown"


@pytest.mark.slow
def test_a_known_law_of_three_labels_is_learnt():
    """Without privacy the bound on fresh rows is within 0.05 nats of the entropy (specs/dphflow.md 11)."""
    rng = np.random.default_rng(7)
    law = rng.dirichlet(np.full(30, 0.5))
    names = [(c, y, d) for c in "abcde" for y in (False, True) for d in "uvw"]
    first, fresh = (
        pd.DataFrame([names[i] for i in rng.choice(30, 20_000, p=law)], columns=["c", "y", "d"]) for _ in range(2)
    )
    schema = Schema(LABELS.columns, rows=20_000)
    options = {"hidden": 32, "bins": 8, "steps": 600, "batch": 1024, "rate": 0.01, "warm": 0.0}
    got = nacre.fit(first, schema=schema, epsilon=None, method="hflow", options=options)
    entropy = -(law * np.log(law)).sum()
    assert -got.log_prob(fresh, samples=64).mean() == pytest.approx(entropy, abs=0.05)


def test_a_learned_dequantiser_scores_the_same_flow_and_is_saved_with_it():
    """p(record) = E_q[p/q] is the same number for every dequantiser that covers the box; the estimates by 2,000
    points agree to Monte-Carlo error, and weights of the dequantiser are in the file."""
    plain = random_model(LABELS, "codes", bought=True, blocks=1, linear="none")
    learned = dequantiser_shape(plain.axes, "variational")
    rng = np.random.default_rng(3)
    noise = {n: {p: 0.03 * rng.normal(size=s) for p, s in parts.items()} for n, parts in learned.sizes().items()}
    for layer in ("dequantise/out0", "dequantise/out1"):  # logits wider than uniform ones: p/q has a small spread
        noise[layer]["bias"].reshape(-1, 3 * learned.components + 2)[:, -2] = 0.9
    both = FlowModel(plain.axes, plain.shape, {**plain.weights, **noise}, "normal", None, 100, "variational")
    records = encode(to_arrow(pd.DataFrame({"c": list("abcd"), "y": [True, False] * 2, "d": list("uvwu")})), LABELS)
    scored = [model.log_prob(records.columns, 2000, 1) for model in (plain, both)]
    assert scored[1] == pytest.approx(scored[0], abs=0.1)
    assert (scored[1] != scored[0]).all(), "the dequantiser plays no part"
    facts, arrays = both.parts()
    again = FlowModel.from_parts(LABELS, facts, arrays)
    assert again.dequantisation == "variational"
    for layer, parts in noise.items():
        assert all((again.weights[layer][part] == value.astype(np.float32)).all() for part, value in parts.items())
    with pytest.raises(ReleaseFileError):
        FlowModel.from_parts(LABELS, facts, {k: v for k, v in arrays.items() if k != "dequantise/in0.weight"})
    old = {k: v for k, v in facts.items() if k != "dequantisation"}  # written before the weights were kept
    kept = {k: v for k, v in arrays.items() if not k.startswith("dequantise")}
    assert FlowModel.from_parts(LABELS, old, kept).dequantisation == "uniform"


def test_the_sizes_of_a_dequantiser_are_those_of_its_parameters():
    import jax

    from nacre.nets.dequantise import Dequantiser

    for sizes in ((1, 3), (4, 2), (5, 7)):
        for printed in (False, True):
            model = Dequantiser(*sizes, printed=printed)
            found = jax.eval_shape(model.start, jax.random.key(0))
            assert {n: {k: v.shape for k, v in p.items()} for n, p in found.items()} == model.sizes()


def test_density_of_a_real_column_is_per_unit():
    schema = Schema({"x": Numeric(bounds=(2.0, 6.0)), "y": Boolean()})
    model = random_model(schema, "codes", bought=True, blocks=1, linear="none")
    line = 2 + (np.arange(1000) + 0.5) * 4 / 1000
    frame = pd.DataFrame({"x": np.tile(line, 2), "y": np.repeat([False, True], len(line))})
    density = np.exp(model.log_prob(encode(to_arrow(frame), schema).columns, 100, 0))
    atoms = pd.DataFrame({"x": [2.0, 6.0, 2.0, 6.0], "y": [False, False, True, True]})
    masses = np.exp(model.log_prob(encode(to_arrow(atoms), schema).columns, 400, 0))
    assert density.sum() * (line[1] - line[0]) + masses.sum() == pytest.approx(1, abs=0.02)


def test_parameters_have_the_shapes_that_files_are_checked_by():
    import jax

    from nacre.nets import flow

    for shape in (Shape(4, cells=(2, 0, 3, 0)), Shape(3, linear="plu", depth=3), Shape(1, blocks=1), Shape(2, rank=2)):
        found = jax.eval_shape(lambda key, shape=shape: flow.start(shape, key), jax.random.key(0))
        shapes = {
            n: {k: v.shape for k, v in p.items()} if isinstance(p, dict) else {"value": p.shape}
            for n, p in found.items()
        }
        assert shapes == shape.sizes()


# ----------------------------------------------------------------------------------------------------------- fitted


def test_what_depends_on_the_class_is_kept(release):
    """Means by class and the shares of labels, to less than half of what independent columns would be off by."""
    fake, real = release.sample(4000, seed=2), table()
    assert abs(fake["y"].mean() - real["y"].mean()) < 0.15
    for value in (False, True):
        ours, theirs = fake[fake["y"] == value], real[real["y"] == value]
        assert abs(ours["x"].mean() - theirs["x"].mean()) < 0.12
        assert abs(ours["k"].mean() - theirs["k"].mean()) < 3.5
        gap = ours["c"].value_counts(normalize=True).sub(theirs["c"].value_counts(normalize=True), fill_value=0)
        assert gap.abs().max() < 0.25
    assert 0.02 < fake["k"].isna().mean() < 0.25


def test_log_probability_is_better_than_that_of_independent_columns(release):
    shuffled = table(800, 5).apply(lambda c: c.sample(frac=1, random_state=ord(c.name)).to_numpy())
    assert release.log_prob(table(800, 5), samples=8).mean() > release.log_prob(shuffled, samples=8).mean() + 0.5


def test_conditions_and_rebalancing(release):
    assert release.sample(50, where={"y": True}, seed=0)["y"].all()
    both = release.sample(300, where={"y": False, "c": ["a", "b"]}, seed=0)
    assert not both["y"].any() and set(both["c"]) <= {"a", "b"} and len(both) == 300
    assert release.sample(40, where={"x": nacre.Between(0.4, None)}, seed=1)["x"].min() >= 0.4
    even = release.sample(2000, rebalance={"y": {True: 0.5, False: 0.5}}, seed=3)
    assert abs(even["y"].mean() - 0.5) < 0.06
    with pytest.raises(SchemaError):
        release.sample(5, where={"nobody": 1})


def test_releases_are_saved_and_sampled_without_jax(release, tmp_path):
    path = tmp_path / "r.nacre"
    release.save(path)
    pd.testing.assert_frame_equal(nacre.load(path).sample(30, seed=4), release.sample(30, seed=4))
    command = (
        "import sys, nacre; nacre.load(sys.argv[1]).sample(5, as_='pyarrow'); "
        "print([m for m in ('jax', 'optax', 'dp_accounting') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", command, str(path)], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr[-500:]


def test_a_hostile_file_is_refused(release, tmp_path):
    path = tmp_path / "r.nacre"
    release.save(path)
    documents, arrays = unpack(path)
    weight = "made/in.weight"
    spoilt = {
        "shape": ({}, {**arrays, weight: arrays[weight][:-1]}),
        "missing": ({}, {k: v for k, v in arrays.items() if k != weight}),
        "not finite": ({}, {**arrays, weight: arrays[weight] * np.nan}),
        "edges": ({}, {**arrays, "edges.0": arrays["edges.0"][::-1].copy()}),
        "huge": ({"shape": {**documents["model.json"]["facts"]["shape"], "hidden": 10**9}}, arrays),
        "kind": ({"shape": {**documents["model.json"]["facts"]["shape"], "linear": "cubic"}}, arrays),
        "encoding": ({"encoding": "letters"}, arrays),
        "rows": ({"rows": -5}, arrays),
    }
    for name, (facts, bad) in spoilt.items():
        model = {**documents["model.json"], "facts": {**documents["model.json"]["facts"], **facts}}
        texts = {n: json.dumps(d) for n, d in {**documents, "model.json": model}.items()}
        pack(path, texts, bad, force=True)
        with pytest.raises(ReleaseFileError):
            nacre.load(path)
            pytest.fail(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"clipping": "sparse", "encoding": "binary", "linear": "plu", "blocks": 2, "activation": "tanh", "lessons": 2},
        {"clipping": "per-unit", "dequantisation": "variational", "encoding": "one-hot", "warm": 0.0, "marginals": 0.0},
    ],
    ids=lambda o: "-".join(map(str, o.values())),
)
def test_options_run_and_say_what_they_cost(options):
    small = {"hidden": 4, "bins": 2, "steps": 2, "depth": 1}
    got = nacre.fit(table(), schema=SCHEMA, epsilon=2.0, delta=1e-5, method="hflow", options={**small, **options})
    assert got.certificate.guarantee == "proven (real arithmetic)" and got.certificate.epsilon == 2.0
    entry = got.certificate.entries[-1]
    assert entry["parts"][0]["clipping"] == options["clipping"] and entry["steps"] == 2
    assert len(got.sample(20)) == 20


def test_without_epsilon_nothing_is_promised_and_nothing_is_clipped():
    plan = make("hflow-paper", {}).plan(SCHEMA, 4000, Budget(None))
    part = plan["training"].parts[0]
    assert (part.sigma, part.clip) == (0.0, None) and plan.level.name == "NONE"


def test_log_probabilities_of_a_file_are_those_of_its_rows(release, tmp_path):
    table(40, 5).to_csv(tmp_path / "t.csv", index=False)
    np.testing.assert_allclose(
        release.log_prob(tmp_path / "t.csv", samples=4), release.log_prob(table(40, 5), samples=4), rtol=1e-6
    )


def test_log_probabilities_need_samples(release):
    with pytest.raises(NacreError, match="samples"):
        release.log_prob(table(5), samples=0)


@pytest.mark.slow
def test_persons_with_several_rows():
    people = table(300).assign(who=np.arange(300) // 3)
    schema = Schema({"who": Identifier(person=True), **SCHEMA.columns}, unit=Unit("who", 2))
    small = {"hidden": 4, "bins": 2, "steps": 2, "depth": 1, "lessons": 2}
    got = nacre.fit(people, schema=schema, epsilon=4.0, delta=1e-5, method="hflow", options=small)
    assert got.certificate.guarantee == "proven (real arithmetic)" and len(got.sample(10)) == 10


def test_the_update_is_adabelief_with_an_average_of_the_weights():
    """Against the formulas in float64: a rate that falls as a cosine, and an average that forgets its start."""
    steps, rate, keep = 30, 0.05, 0.8
    descending = Descending(steps, rate, "cosine", keep)
    slopes = np.random.default_rng(0).normal([1.0, -0.2, 0.0], size=(steps, 3))
    state = descending.start({"w": jnp.asarray([0.5, 0.0, -1.0])})
    w = average = np.array([0.5, 0.0, -1.0])
    m = v = np.zeros(3)
    for t, g in enumerate(slopes, 1):
        state = descending.update(state, {"gradient": {"w": jnp.asarray(g, jnp.float32)}}, jax.random.key(0))
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * (g - m) ** 2
        pace = rate * 0.5 * (1 + np.cos(np.pi * (t - 1) / steps))
        w = w - pace * (m / (1 - 0.9**t)) / np.sqrt(v / (1 - 0.999**t))
        average = average + max(1 - keep, 9 / (9 + t)) * (w - average)
    np.testing.assert_allclose(state["parameters"]["w"], w, rtol=1e-3)
    np.testing.assert_allclose(descending.end(state)["w"], average, rtol=1e-3)
    assert not np.isclose(w, average, rtol=3e-3).any(), "the two would not be told apart"


def test_the_loss_of_a_person_is_that_of_the_rows_that_are_there():
    axes = Axes.of(SCHEMA, "y", "codes", None, "test")
    shape = make("hflow", {"hidden": 4, "bins": 2, "depth": 1}).shape(axes)
    one, two = (objective_of(axes, shape, "normal", group=g) for g in (1, 2))
    parameters = jax.tree.map(lambda a: a + 0.1, one.start(jax.random.key(0)))
    records = axes.encode(encode(to_arrow(table(4)), SCHEMA).columns)
    rows = {k: jnp.asarray(a).reshape(2, 2, -1) for k, a in records.items()}
    present, keys = jnp.asarray([[True, True], [False, True]]), jax.random.split(jax.random.key(1), 2)
    whole = two.loss(parameters, Tape(2), (rows, present), keys, None)
    alone = [
        one.loss(parameters, Tape(2), {k: a[:, i] for k, a in rows.items()},
                 jax.vmap(jax.random.fold_in, (0, None))(keys, i), None)
        for i in range(2)
    ]  # fmt: skip
    np.testing.assert_allclose(whole, [alone[0][0] + alone[1][0], alone[1][1]], rtol=1e-5)


def test_a_batch_without_a_number_of_rows_is_refused():
    with pytest.raises(NacreError, match="batch=512: does nothing where the schema declares no number of rows"):
        make("hflow", {"batch": 512}).plan(SCHEMA, None, Budget(None))
    assert make("hflow", {"batch": 512}).plan(SCHEMA, 1024, Budget(None))["training"].q == 0.5


def test_the_plan_meets_the_budget_closely():
    with coarse.grid():
        plan = make("hflow", {}).plan(SCHEMA, 4000, Budget(1.0, 1e-5))
        assert 0.98e-5 < accounting.delta_at(plan.events(), 1.0) <= 1e-5


def test_a_warm_start_takes_its_share_and_no_more():
    """Tables of noise σ_j cost Σ σ_j⁻² of the μ² that the budget gives; what is left goes to DP-SGD, and all of it."""
    with coarse.grid():
        budget = Budget(1.0, 1e-5)
        plan = make("hflow", {"warm": 0.4, "target": "y"}).plan(SCHEMA, 4000, budget)
        spent = sum(s**-2 for e in plan.entries if isinstance(e, Counts) for s in e.sigmas)
        assert spent == pytest.approx(0.4 / accounting.gaussian_sigma(1.0, 1e-5) ** 2, rel=1e-3)
        assert plan.entries[-1].name == "training" and 0.98e-5 < accounting.delta_at(plan.events(), 1.0) <= 1e-5


@pytest.mark.slow  # the sketch and two networks are compiled
def test_a_warm_start_knows_the_table_before_the_first_step(monkeypatch):
    """One step of DP-SGD at a rate of almost nothing: what the flow knows of y given x it has from the noisy tables."""
    monkeypatch.setattr(warm, "ROWS", 4000)
    still = {**SMALL, "steps": 1, "rate": 1e-9, "averaging": 0.0}

    def likelihood(**more):
        got = nacre.fit(table(), schema=SCHEMA, epsilon=4.0, delta=1e-5, method="hflow", target="y", noise_seed=1,
                        options={**still, **more})  # fmt: skip
        return got.log_prob(table(1000, seed=5), samples=16).mean()

    with coarse.grid():
        assert likelihood(warm=0.5, lessons=300) > likelihood() + 0.8  # y says 0.61 nats of c alone


@pytest.mark.parametrize(
    "options",
    [
        {"bins": 0},
        {"encoding": "letters"},
        {"clipping": "none"},
        {"marginals": 1.0},
        {"rate": float("nan")},
        {"steps": True},
        {"sparsity": 0.3},
        {"bins": 600},
        {"warm": 1.0},
        {"marginals": 0.2},
        {"lessons": 10, "warm": 0.0},
        {"lessons": 0},
        {"lessons": 10**9},
        {"hidden": 5000},
        {"bound": 2000.0},
        {"rank": 3},
        {"labels": "no"},
    ],
    ids=lambda o: next(iter(o)),
)
def test_bad_settings_are_refused(options):
    with pytest.raises(NacreError, match=next(iter(options))):
        make("hflow", options)
    with pytest.raises(SchemaError, match="target"):
        make("hflow", {"target": "z"}).supports(SCHEMA)
