"""LeNet, FID and KID: against SciPy's matrix root, loops, and on scikit-learn's digits."""

import jax
import numpy as np
import pytest
from scipy.linalg import sqrtm
from sklearn.datasets import load_digits

from nacre.errors import DataError
from nacre.evaluation import images as module
from nacre.evaluation.images import Judge, cnn_accuracy, fid, kid, lenet, load_judge
from nacre.nets.lenet import FEATURES, _convolved, features, logits, start

rng = np.random.default_rng(8)


@pytest.fixture(scope="module")
def digits():
    found = load_digits()
    return found.images / 16, found.target


@pytest.fixture(scope="module")
def judge(digits):
    return lenet(digits[0][:1_200], digits[1][:1_200], seed=0, epochs=25)


def test_shapes_are_those_of_lenet():
    parameters = start(jax.random.key(0), 28, 28, 10)
    assert parameters["full1"].shape == (400, 120), "28x28 padded to 32x32 leaves 16 maps of 5x5"
    assert sum(p.size for p in parameters.values()) == 61_706
    x = rng.uniform(size=(3, 28, 28)).astype(np.float32)
    assert features(parameters, x).shape == (3, FEATURES) and logits(parameters, x).shape == (3, 10)
    assert start(jax.random.key(0), 40, 36, 3)["full1"].shape == (16 * 7 * 6, 120)


def test_convolution_is_that_of_jax():
    x, kernel = rng.normal(size=(2, 9, 8, 3)).astype(np.float32), rng.normal(size=(5, 5, 3, 4)).astype(np.float32)
    expected = jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    np.testing.assert_allclose(_convolved(jax.numpy.asarray(x), jax.numpy.asarray(kernel)), expected, atol=1e-4)


def test_one_layer_by_a_loop():
    """The first convolution and pooling, pixel by pixel."""
    parameters = start(jax.random.key(1), 32, 32, 2)
    image = rng.uniform(size=(32, 32)).astype(np.float32)
    kernel = np.asarray(parameters["conv1"])[:, :, 0, 2]
    whole = [[np.sum(image[i : i + 5, j : j + 5] * kernel) for j in range(28)] for i in range(28)]
    expected = np.maximum(whole, 0).reshape(14, 2, 14, 2).max(axis=(1, 3))
    # Let the second convolution pick the middle of the third map and the rest pass it on.
    for name, value in {"conv2": 0.0, "full1": 0.0, "full2": 0.0}.items():
        parameters[name] = parameters[name] * value
    parameters["conv2"] = parameters["conv2"].at[2, 2, 2, 0].set(1)
    parameters["full1"] = parameters["full1"].at[0, 0].set(1)  # map 0 at the upper left of the second pooling
    parameters["full2"] = parameters["full2"].at[0, 0].set(1)
    assert float(features(parameters, image[None])[0, 0]) == pytest.approx(expected[2:4, 2:4].max(), rel=1e-5)


def test_it_learns_digits_and_says_how_well(digits, judge):
    x, y = digits[0][1_200:], digits[1][1_200:]
    measured = np.mean(judge.predict(x) == y)
    assert measured > 0.9 and judge.accuracy > 0.9
    assert judge(x).shape == (len(x), FEATURES) and judge(x).dtype == np.float64
    np.testing.assert_allclose(judge(x)[:5], judge(x[:5]), rtol=1e-4, atol=1e-4)


def test_the_judge_is_kept(tmp_path, digits, judge):
    judge.save(tmp_path / "judge.safetensors")
    again = load_judge(tmp_path / "judge.safetensors")
    assert again.accuracy == judge.accuracy and again.shape == (8, 8)
    np.testing.assert_array_equal(again(digits[0][:9]), judge(digits[0][:9]))


def test_figures_tell_real_from_noisy_from_noise(digits, judge):
    x = digits[0]
    noisy = np.clip(x + 0.25 * rng.normal(size=x.shape), 0, 1)
    noise = rng.uniform(size=x.shape)
    a, b = judge(x[:800]), judge(x[800:1_600])
    for distance in (fid, lambda p, q: kid(p, q, subsets=10, rows=400)):
        same, near, far = (distance(a, f) for f in (b, judge(noisy[800:1_600]), judge(noise[800:1_600])))
        assert same < near < far
    assert abs(fid(a, a)) < 1e-7 * np.trace(np.cov(a.T)), "dead features leave roots of rounding errors"


def test_accuracy_of_training_on_other_images(digits):
    x, y = digits
    good = cnn_accuracy(x[:1_000], y[:1_000], x[1_000:], y[1_000:], epochs=12)
    bad = cnn_accuracy(x[:1_000], rng.permutation(y[:1_000]), x[1_000:], y[1_000:], epochs=12)
    assert good > 0.7 and bad < 0.35


@pytest.mark.parametrize("d", [1, 5, 30])
def test_fid_against_the_matrix_root_of_scipy(d):
    a, b = rng.normal(size=(200, d)), rng.normal(size=(150, d)) @ rng.normal(size=(d, d)) + 1
    sa, sb = (np.atleast_2d(np.cov(f.T)) for f in (a, b))
    gap = np.sum((a.mean(axis=0) - b.mean(axis=0)) ** 2)
    assert fid(a, b) == pytest.approx(gap + np.trace(sa + sb - 2 * np.real(sqrtm(sa @ sb))), rel=1e-8)
    few = rng.normal(size=(max(2, d // 2), d))  # a covariance without full rank
    assert np.isfinite(fid(few, b)) and fid(few, few) == pytest.approx(0, abs=1e-6)


def test_kid_on_all_rows_is_the_u_statistic():
    a, b = rng.normal(size=(30, 4)), rng.normal(size=(30, 4)) + 0.5
    k = lambda x, y: (x @ y.T / 4 + 1) ** 3  # noqa: E731
    off = sum((k(f, f).sum() - np.trace(k(f, f))) / (30 * 29) for f in (a, b))
    assert kid(a, b, subsets=1) == pytest.approx(off - 2 * k(a, b).mean(), rel=1e-10)
    assert kid(a, b, subsets=20, rows=10, seed=1) == kid(a, b, subsets=20, rows=10, seed=1)


def test_kid_does_not_depend_on_the_number_of_rows():
    """Equal laws: mean of 400 subsets within 4 standard errors of 0 at two sizes (each pair drawn from large sets)."""
    a, b = rng.normal(size=(20_000, 3)), rng.normal(size=(20_000, 3))
    for rows in (5, 40):
        found = [kid(a, b, subsets=20, rows=rows, seed=s) for s in range(20)]
        assert abs(np.mean(found)) < 4 * np.std(found, ddof=1) / np.sqrt(20) + 2e-3


def test_bad_images_are_refused(judge):
    with pytest.raises(DataError, match="grey images"):
        lenet(np.ones((30, 8)), np.zeros(30, dtype=int))
    with pytest.raises(DataError, match="0-255 or floats"):
        lenet(np.full((30, 8, 8), 7.5), np.zeros(30, dtype=int))
    with pytest.raises(DataError, match="labels: expected 30 whole numbers"):
        lenet(np.ones((30, 8, 8)), np.zeros(30))
    with pytest.raises(DataError, match="trained on"):
        judge(np.ones((3, 9, 9)))
    with pytest.raises(DataError, match="2 to 10 rows"):
        kid(np.ones((10, 2)), np.ones((12, 2)), rows=11)
    assert module.grey(np.full((1, 2, 2, 1), 255, dtype=np.uint8), "x").max() == 1.0
    assert isinstance(judge, Judge)
