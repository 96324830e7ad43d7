"""MMD in all its forms, against loops over pairs, and its laws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from sklearn.metrics.pairwise import rbf_kernel

from nacre.distances import RBF, Energy, Polynomial, effective_size, mmd2, mmd_biased, mmd_test, weighted_mmd2
from nacre.distances import mmd as forms
from nacre.errors import DataError
from nacre.synthesizers.weighted import losses

rng = np.random.default_rng(1)
H = 1.4


def k(a, b):
    return rbf_kernel(a, b, gamma=1 / (2 * H * H))


def pairs(x, y, w, scheme, form):
    """importance_weighted.md 3, read aloud: loops over tuples with or without repeats."""
    kxx, kyy, kxy, n, m = k(x, x), k(y, y), k(x, y), len(x), len(y)
    tuples = [(i, j) for i in range(n) for j in range(n) if form == "v" or i != j]
    top = sum(w[i] * w[j] * kxx[i, j] for i, j in tuples)
    xx = top / (len(tuples) if scheme == "iw" else sum(w[i] * w[j] for i, j in tuples))
    yy = np.mean([kyy[i, j] for i in range(m) for j in range(m) if form == "v" or i != j])
    xy = sum(w[i] * kxy[i, j] for i in range(n) for j in range(m)) / (m * (n if scheme == "iw" else sum(w)))
    return xx + yy - 2 * xy


@pytest.mark.parametrize("form", ["u", "v"])
@pytest.mark.parametrize("scheme", ["iw", "sniw"])
def test_weighted_forms_are_sums_over_tuples(scheme, form):
    x, y, w = rng.normal(size=(13, 2)), rng.normal(size=(9, 2)) + 0.5, rng.uniform(0.1, 3, 13)
    expected = pairs(x, y, w, scheme, form)
    assert weighted_mmd2(x, w, y, RBF(H), scheme, form) == pytest.approx(expected, rel=1e-10)
    of_matrices = {"iw": forms.importance, "sniw": forms.self_normalised}[scheme]
    with jax.enable_x64(True):
        traced = jax.jit(of_matrices, static_argnames="form")(k(x, x), k(x, y), k(y, y), w, form=form)
    assert float(traced) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("form", ["u", "v"])
def test_plain_form_is_the_weighted_one_at_equal_weights(form):
    x, y = rng.normal(size=(600, 3)), rng.normal(size=(530, 3))
    one = np.ones(600)
    whole = mmd2(x, y, RBF(H), form)
    assert whole == pytest.approx(weighted_mmd2(x, one, y, RBF(H), "iw", form), rel=1e-9)
    assert whole == pytest.approx(weighted_mmd2(x, 7 * one, y, RBF(H), "sniw", form), rel=1e-9)
    with jax.enable_x64(True):
        assert whole == pytest.approx(float(forms.plain(k(x, x), k(x, y), k(y, y), form)), rel=1e-9)


def test_laws_of_the_v_form():
    for _ in range(50):
        x, y = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
        assert mmd2(x, y, RBF(H), "v") > -1e-14 and mmd2(x, y, RBF(H), "v") == pytest.approx(mmd2(y, x, RBF(H), "v"))
        assert abs(mmd2(x, x[::-1], RBF(H), "v")) < 1e-14
        assert weighted_mmd2(x, rng.uniform(0, 2, 6), y, RBF(H), "sniw", "v") > -1e-14
    assert mmd_biased(x, y, RBF(H)) ** 2 == pytest.approx(mmd2(x, y, RBF(H), "v"))


def test_mmd_with_the_distance_kernel_is_the_energy_distance_and_scale_does_not_matter_to_medians():
    from nacre.distances import energy_distance

    x, y = rng.normal(size=(40, 12)), rng.normal(size=(50, 12)) + 1
    assert mmd2(x, y, Energy(), "v") == pytest.approx(energy_distance(x, y), rel=1e-12)
    assert mmd2(x, y) == pytest.approx(mmd2(100 * x + 5, 100 * y + 5), rel=1e-8)


def thinned(size):
    """Rows of MP with p(θ) = (2θ + a)/(1 + a), a = 0.2, for P uniform: weights (1 + a)/(2θ + a), at most 6, mean 1."""
    a = 0.2
    u = rng.uniform(size=size)
    theta = (-a + np.sqrt(a * a + 4 * u * (1 + a))) / 2
    return theta, (1 + a) / (2 * theta + a)


def test_importance_weighting_is_unbiased_and_its_neighbours_are_not():
    """Against the population value 0 of Q = P: mean of 4,000 draws within 4 standard errors (false alarm 6e-5)."""

    @jax.jit
    @jax.vmap
    def all_forms(x, y, w):
        x, y = x[:, None], y[:, None]
        kernel = RBF(0.3)
        kxx, kxy, kyy = kernel(x, x), kernel(x, y), kernel(y, y)
        iw = forms.importance(kxx, kxy, kyy, w)
        return jnp.stack([iw, forms.importance(kxx, kxy, kyy, w, "v"), forms.plain(kxx, kxy, kyy)])

    x, w = thinned((4_000, 20))
    assert w.mean() == pytest.approx(1, abs=0.02) and w.max() <= 6
    values = np.asarray(all_forms(x, rng.uniform(size=(4_000, 20)), w))
    mean, error = values.mean(axis=0), values.std(axis=0) / np.sqrt(4_000)
    assert abs(mean[0]) < 4 * error[0]
    assert mean[1] > 10 * error[1], "the V form is biased upward"
    assert mean[2] > 10 * error[2], "unweighted rows follow another law"


def test_importance_weighting_hits_the_closed_form():
    """importance_weighted.md 13: P = N(0,1) seen as N(.5,1), Q = N(.3,1), RBF variance 1, n = m = 64; the mean of 2,000
    draws within 4 standard errors (false alarm 6e-5) of 2/sqrt(3) (1 - exp(-.09/6)) = 0.017191."""

    @jax.jit
    @jax.vmap
    def weighted(x, y, w):
        x, y = x[:, None], y[:, None]
        kernel = RBF(1.0)
        return forms.importance(kernel(x, x), kernel(x, y), kernel(y, y), w)

    draw = np.random.default_rng(7)
    x, y = draw.normal(0.5, 1, (2_000, 64)), draw.normal(0.3, 1, (2_000, 64))
    values = np.asarray(weighted(x, y, np.exp(0.125 - 0.5 * x)))  # the ratio of the densities of N(0,1) and N(.5,1)
    error = values.std() / np.sqrt(2_000)
    assert error < 0.001 and abs(values.mean() - 0.017191) < 4 * error
    one = weighted_mmd2(x[0][:, None], np.exp(0.125 - 0.5 * x[0]), y[0][:, None], RBF(1.0), "iw")
    assert one == pytest.approx(values[0], abs=1e-5)


def test_median_of_groups():
    x, y, w = rng.normal(size=(45, 2)), rng.normal(size=(36, 2)), rng.uniform(0.5, 2, 45)
    key = jax.random.key(3)
    kx, ky = jax.random.split(key)
    ix, iy = (np.asarray(jax.random.permutation(*a)) for a in ((kx, 45), (ky, 36)))
    with jax.enable_x64(True):
        by = losses.Estimator("miw", groups=9)
        traced = losses.squared_mmd(RBF(H), *(jnp.asarray(a) for a in (x, y, w)), by, key)
    by_hand = [pairs(x[i], y[j], w[i], "iw", "u") for i, j in zip(ix.reshape(9, 5), iy.reshape(9, 4), strict=True)]
    assert float(traced) == pytest.approx(np.median(by_hand), rel=1e-10)
    one_group = weighted_mmd2(x, w, y, RBF(H), "miw", groups=1)
    assert one_group == pytest.approx(weighted_mmd2(x, w, y, RBF(H), "iw"), rel=1e-10)
    assert weighted_mmd2(x, w, y, RBF(H), "miw", seed=1) == weighted_mmd2(x, w, y, RBF(H), "miw", seed=1)
    with pytest.raises(DataError, match="groups=30"):
        weighted_mmd2(x, w, y, RBF(H), "miw", groups=30)
    assert effective_size([1, 1, 1, 1]) == 4 and effective_size([1, 0, 0]) == 1


def test_the_gradient_of_the_median_is_that_of_the_middle_group():
    x, y, w = rng.normal(size=(30, 2)), rng.normal(size=(30, 2)), np.ones(30)
    key = jax.random.key(5)
    with jax.enable_x64(True):

        def loss(rows):
            by = losses.Estimator("miw", groups=5)
            return losses.squared_mmd(RBF(H), jnp.asarray(x), rows, jnp.asarray(w), by, key)

        slope = np.asarray(jax.grad(loss)(jnp.asarray(y)))
        step = 1e-6 * rng.normal(size=y.shape)
        rise = float(loss(jnp.asarray(y + step)) - loss(jnp.asarray(y - step))) / 2
    assert np.count_nonzero(np.abs(slope).sum(axis=1)) == 6
    assert rise == pytest.approx(np.sum(slope * step), rel=1e-5)


def brute_test(x, y, labels):
    """Statistics of label vectors by taking the matrix apart."""
    z = np.concatenate([x, y])
    found = []
    for row in labels:
        a, b = z[row == 1], z[row == 0]
        n, m = len(a), len(b)
        same = (k(a, a).sum() - n) / (n * (n - 1)) + (k(b, b).sum() - m) / (m * (m - 1))
        found.append(same - 2 * k(a, b).mean())
    return np.array(found)


def test_permutation_test_against_taking_the_matrix_apart():
    x, y = rng.normal(size=(30, 2)), rng.normal(size=(22, 2)) + 0.3
    outcome = mmd_test(x, y, RBF(H), permutations=99, seed=4)
    labels = np.ones((101, 52), dtype=np.int8)
    labels[:-1, 30:] = 0
    np.random.default_rng(4).permuted(labels[1:-1], axis=1, out=labels[1:-1])
    values = brute_test(x, y, labels[:-1])
    assert outcome.statistic == pytest.approx(values[0], rel=1e-10)
    assert outcome.p_value == (1 + np.sum(values[1:] >= values[0])) / 100
    assert outcome.sizes == (30, 22) and outcome.level == 0.05 and "99 permutations" in outcome.method


def test_permutation_p_values_are_uniform_when_nothing_differs():
    """500 runs, KS test against the uniform law at 1e-3 (false alarm 1e-3 at most, the p-values being discrete)."""
    p = [
        mmd_test(rng.normal(size=(20, 2)), rng.normal(size=(25, 2)), permutations=199, seed=s).p_value
        for s in range(500)
    ]
    smooth = np.array(p) - rng.uniform(size=500) / 200  # spreads each of the 200 possible values evenly
    assert stats.kstest(smooth, "uniform").pvalue > 1e-3
    assert 0.02 < np.mean(np.array(p) <= 0.05) < 0.085


def test_the_test_sees_a_shift_and_a_tie_is_not_evidence():
    x = rng.normal(size=(80, 2))
    assert mmd_test(x, x + np.array([1.0, 0.0]), permutations=200).p_value == 1 / 201
    assert mmd_test(x, x + np.array([1.0, 0.0]), permutations=200).rejects
    same = np.repeat([[0.0], [1.0]], 20, axis=0)
    assert mmd_test(same, same, permutations=50).p_value > 0.5
    two = np.array([[0.0], [1.0]])
    assert mmd_test(two, two, RBF(1.0), permutations=50).p_value >= 1 / 3, "swapped labels tie with the observed ones"
    with pytest.raises(DataError, match="permutations=0"):
        mmd_test(x, x, permutations=0)
    with pytest.raises(DataError, match="level=5"):
        mmd_test(x, x, permutations=10, level=5)


def test_polynomial_kernel_is_not_centred():
    x, y = rng.normal(size=(20, 3)) + 2, rng.normal(size=(20, 3)) + 1
    poly = lambda a, b: (a @ b.T / 3 + 1) ** 3  # noqa: E731
    expected = poly(x, x).mean() + poly(y, y).mean() - 2 * poly(x, y).mean()
    assert mmd2(x, y, Polynomial(), "v") == pytest.approx(expected, rel=1e-10)
