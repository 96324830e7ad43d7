"""Images through `pearl-paper` and `merf`: the generator against JAX's own operations, whole releases on 8x8 digits."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestCentroid

import nacre
from nacre.errors import NacreError, ReleaseFileError, SchemaError
from nacre.privacy.passes import feature_sums
from nacre.privacy.plan import Total
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.pearl import fourier, generator, upconv

PIXELS, DIGITS = load_digits(return_X_y=True)
FIRST = DIGITS < 4  # four classes keep the tests short
SCHEMA = nacre.Schema(
    {
        "image": nacre.Tensor(shape=(8, 8), bounds=(0.0, 16.0)),
        "digit": nacre.Categorical(categories=tuple("0123")),
    },
    rows=int(FIRST.sum()),
)
SMALL = {"frequencies": 200, "steps": 300, "batch": 40}


def table() -> pa.Table:
    flat = pa.array(PIXELS[FIRST].astype(np.float32).ravel())
    return pa.table(
        {"image": pa.FixedSizeListArray.from_arrays(flat, 64), "digit": pa.array(DIGITS[FIRST].astype(str))}
    )


def fitted(method, **options):
    settings = {**SMALL, **options}
    budget = {"epsilon": 8.0, "delta": 1e-5, "noise_seed": 1}
    return nacre.fit(table(), schema=SCHEMA, method=method, target="digit", options=settings, **budget)


@pytest.fixture(scope="module")
def release():
    """Hardly trained."""
    return fitted("pearl-paper", steps=3)


# ------------------------------------------------------------------------------------------------ the generator


def test_doubling_is_bilinear_interpolation():
    x = np.random.default_rng(0).normal(size=(3, 2, 5, 7)).astype(np.float32)
    expected = jax.image.resize(jnp.asarray(x), (3, 2, 10, 14), "linear")
    np.testing.assert_allclose(upconv.doubled(x), expected, atol=1e-5)


def test_convolution_is_that_of_the_library_and_so_is_its_gradient():
    rng = np.random.default_rng(1)
    x, kernel = rng.normal(size=(3, 4, 6, 9)).astype(np.float32), rng.normal(size=(25 * 2, 3)).astype(np.float32)

    def library(x, kernel):  # [25·out, maps] -> [out, maps, 5, 5]
        weights = kernel.reshape(5, 5, 2, 3).transpose(2, 3, 0, 1)
        return jnp.moveaxis(jax.lax.conv(jnp.moveaxis(x, 0, 1), weights, (1, 1), "SAME"), 1, 0)

    np.testing.assert_allclose(upconv.convolved(x, kernel), library(jnp.asarray(x), jnp.asarray(kernel)), atol=1e-4)
    ours, theirs = (
        jax.grad(lambda x, k, f=f: jnp.sum(jnp.sin(f(x, k))), argnums=(0, 1))(jnp.asarray(x), jnp.asarray(kernel))
        for f in (upconv.convolved, library)
    )
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a, b, atol=1e-3)


@pytest.mark.parametrize("image", ((8, 8, 1), (6, 9, 3)))
def test_generators_give_images_of_any_size_with_numpy_and_jax_alike(image):
    network = upconv.network(image, 0)
    net, running = generator.start(network, jax.random.key(0), 2)
    assert {n: a.shape for n, a in {**net, **running}.items()} == network.shapes(2)
    x = np.random.default_rng(2).normal(size=(5, network.latent + 2)).astype(np.float32)
    whole = {**net, **running}
    plain = generator.forward(network, {n: np.asarray(a) for n, a in whole.items()}, x)
    assert plain.shape == (5, np.prod(image)) and isinstance(plain, np.ndarray)
    compiled = jax.jit(lambda x: generator.forward(network, whole, x))
    np.testing.assert_allclose(plain, compiled(x), atol=1e-5)
    assert np.std(plain, axis=0).min() > 0  # every pixel depends on the input


def test_training_uses_the_statistics_of_the_batch_and_sampling_their_running_average():
    network = upconv.network((8, 8, 1), 0)
    net, running = generator.start(network, jax.random.key(1), 2)
    x = jax.random.normal(jax.random.key(2), (64, network.latent + 2))
    step = jax.jit(lambda running: generator.train_forward(network, net, running, x))
    for _ in range(150):  # the same batch again and again: the average becomes that batch's
        raw, running = step(running)
    whole = {n: np.asarray(a) for n, a in {**net, **running}.items()}
    np.testing.assert_allclose(generator.forward(network, whole, np.asarray(x)), raw, atol=1e-4)


# ---------------------------------------------------------------------------------------------- records and doors


def test_pixels_are_scaled_by_public_bounds_and_come_back():
    layout = Layout.of(SCHEMA, "digit", "test")
    rows = feature_sums.made_up_records(SCHEMA, 50, np.random.default_rng(3))
    numbers, codes = layout.encode(rows)
    assert numbers.shape == (50, 64) and not codes and numbers.min() >= 0 and numbers.max() <= 1
    np.testing.assert_allclose(numbers, rows["image"].values.reshape(50, 64) / 16.0, atol=1e-6)
    back = layout.decode(numbers, [], layout.kinds(rows))
    np.testing.assert_allclose(back["image"].values, rows["image"].values, atol=1e-5)
    assert np.array_equal(back["digit"].values, rows["digit"].values)
    blank = dataclasses.replace(rows["image"], null=np.ones(50, bool))
    assert not layout.encode({**rows, "image": blank})[0].any()  # a missing image is a blank one


@pytest.mark.parametrize("make", (fourier.cosine_map, fourier.mixed_map))
def test_record_features_of_images_have_norm_one_and_look_at_one_record(make):
    layout = Layout.of(SCHEMA, "digit", "test")
    rows = feature_sums.made_up_records(SCHEMA, 60, np.random.default_rng(4))
    t = fourier.frequencies(30, layout.width, 0.3, (1.0,), 0)
    public = fourier.public_parameters(layout, t)
    vectors = make(layout)(rows, public)
    np.testing.assert_allclose(np.linalg.norm(vectors[:, 1:], axis=1), 1.0, atol=1e-9)
    angle = rows["image"].values.reshape(60, 64).astype(np.float64) / 16.0 @ t.T
    np.testing.assert_allclose(vectors[:, 1:31], np.cos(angle) / np.sqrt(30), atol=1e-9)
    entry = Total("s", size=60, sigma=3.0, exact=False, parts=4)
    feature_sums.check_record_map(make(layout), public, SCHEMA, entry)


def test_moments_of_images_give_their_mean_distance():
    layout = Layout.of(SCHEMA, "digit", "test")
    rows = feature_sums.made_up_records(SCHEMA, 200, np.random.default_rng(5))
    vectors = fourier.moment_map(layout)(rows, None)
    assert np.linalg.norm(vectors, axis=1).max() <= 1 + 1e-12
    x = rows["image"].values.reshape(200, 64) / 16.0
    squares = np.square(x[:, None] - x[None]).sum(-1)
    assert fourier.mean_distance(layout, vectors.sum(0), 200, 0.0) == pytest.approx(np.sqrt(squares.mean()), rel=1e-5)


# ---------------------------------------------------------------------------------------------------- whole releases


@pytest.mark.parametrize(("method", "options"), [("pearl-paper", {}), ("merf", {"scale": "bought"})])
def test_digits_are_learnt(method, options):
    """The mean synthetic image of each class tells real digits apart; chance is 0.25, real means give 0.97."""
    fake = fitted(method, **options).sample(1500, seed=1)
    x = np.stack(fake["image"].to_list())
    assert x.shape == (1500, 64) and x.dtype == np.float32 and x.min() >= 0 and x.max() <= 16
    assert NearestCentroid().fit(x, fake["digit"].astype(int)).score(PIXELS[FIRST], DIGITS[FIRST]) > 0.85
    assert x.reshape(1500, 8, 8).std(axis=0).mean() > 0.5 * PIXELS[FIRST].std(axis=0).mean()  # and they differ
    shares = fake["digit"].value_counts(normalize=True)
    assert shares.sub(0.25).abs().max() < 0.08


def test_conditions_on_the_label_are_exact_and_others_refused(release):
    twos = release.sample(40, where={"digit": "2"}, seed=0)
    assert set(twos["digit"]) == {"2"} and len(twos) == 40
    tilted = release.sample(1000, rebalance={"digit": {"0": 0.8, "3": 0.2}}, seed=0)["digit"]
    assert set(tilted) == {"0", "3"} and abs((tilted == "0").mean() - 0.8) < 0.06
    with pytest.raises(SchemaError, match="kind tensor take no conditions"):
        release.sample(5, where={"image": 1.0})


def test_releases_of_images_are_saved_and_sampled_without_jax(release, tmp_path):
    path = tmp_path / "digits.nacre"
    release.save(path)
    again = nacre.load(path)
    # More than one batch of the network.
    assert again.sample(600, as_="pyarrow", seed=3).equals(release.sample(600, as_="pyarrow", seed=3))
    command = (
        "import sys, nacre; nacre.load(sys.argv[1]).write(sys.argv[1] + '.parquet', 5); "
        "print([m for m in ('jax', 'optax', 'dp_accounting') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", command, str(path)], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr[-500:]


def test_a_release_whose_images_have_another_shape_is_refused(release, tmp_path):
    from nacre.release.file import pack, unpack

    path = tmp_path / "digits.nacre"
    release.save(path)
    documents, arrays = unpack(path)
    import json

    documents["schema.json"]["columns"]["image"]["shape"] = [16, 16]
    pack(path, {n: json.dumps(d) for n, d in documents.items()}, arrays, force=True)
    with pytest.raises(ReleaseFileError):
        nacre.load(path)


def test_samples_of_images_come_in_smaller_chunks(release, monkeypatch):
    from nacre.release import release as chunked

    monkeypatch.setattr(chunked, "CHUNK_NUMBERS", 64 * 100)
    sizes = [t.num_rows for t in release.chunks(250, seed=0)]
    assert sizes == [100, 100, 50]


@pytest.mark.parametrize(
    ("columns", "target", "method", "match"),
    [
        ({"age": nacre.Numeric(bounds=(0, 9))}, "digit", "merf", "nothing beside them"),
        ({}, None, "merf", "nothing beside them"),
        ({"image": nacre.Tensor(shape=(64,), bounds=(0.0, 1.0))}, "digit", "pearl-paper", "no image"),
        ({"image": nacre.Tensor(shape=(8, 8), bounds=(0.0, 1.0), nullable=True)}, "digit", "merf", "not nullable"),
        ({}, "image", "merf", "at most 64 labels"),
        ({}, "digit", "pearl", "pearl-paper"),
        ({}, "digit", "sketch", "pearl-paper"),
    ],
)
def test_tables_that_are_not_images_with_a_label_are_refused(columns, target, method, match):
    schema = dataclasses.replace(SCHEMA, columns={**SCHEMA.columns, **columns})
    held = table()
    for name in columns:
        if name not in held.schema.names:
            held = held.append_column(name, pa.array(np.zeros(held.num_rows)))
    with pytest.raises(SchemaError, match=match):
        nacre.fit(held, schema=schema, epsilon=1.0, method=method, target=target)


def test_options_for_categories_are_refused_for_images():
    with pytest.raises(NacreError, match="images have none"):
        fitted("pearl-paper", outputs="exact")
    with pytest.raises(NacreError, match="two rows for each of 4 classes"):
        fitted("pearl-paper", batch=7)
