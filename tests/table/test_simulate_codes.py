"""The made-up matrix of diagnosis codes: its size, prevalences, dependence, and that it can be repeated."""

import numpy as np
import pytest

from nacre.errors import DataError
from nacre.table.simulate.codes import CODES, ROWS, code_matrix, codes_schema, codes_table, prevalence


def test_shape_prevalence_and_dependence():
    made = code_matrix(6000, CODES, seed=3)
    assert (ROWS, CODES) == (46_520, 1_071) and made.shape == (6000, CODES)
    share = made.mean(axis=0)
    assert 0.2 < share.max() < 0.6 and 5 < made.sum(axis=1).mean() < 60
    assert (share < 0.01).mean() > 0.3, "most code groups are rare"
    some = share[:200]
    assert np.corrcoef(np.log(some), np.log(prevalence()[:200]))[0, 1] > 0.8
    frequent = made[:, :60].astype(float)
    correlation = np.corrcoef(frequent.T)[np.triu_indices(60, 1)]
    assert (np.abs(correlation) > 5 / 6000**0.5).mean() > 0.2, "codes occur together"  # five standard errors


def test_repeatable_and_a_prefix():
    long = code_matrix(5000, 30, seed=1)
    np.testing.assert_array_equal(long[:4096], code_matrix(4096, 30, seed=1))
    assert not np.array_equal(long, code_matrix(5000, 30, seed=2))


def test_table_fits_its_schema():
    table = codes_table(50, 8)
    assert table.column_names == list(codes_schema(8).names) and table.num_rows == 50
    with pytest.raises(DataError):
        code_matrix(0)
