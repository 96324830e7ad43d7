"""From records to features: what the door `total` sums.

Only products, sums and table look-ups of float64 numbers, each rounded on its own: a record's features are the same
bits wherever it stands and whatever stands around it, so that the sums are exact integers (docs/proofs/sensitivity.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nacre.synthesizers.pearl.characters import ORDER, Characters
from nacre.table.grid import Grid

BLOCK = 256  # records at a time, so that their numbers stay in the processor's cache


def character_map(
    characters: Characters,
    columns: Sequence[str],
    grids: Sequence[Grid],
    luts: Sequence[np.ndarray],
    target: int | None,
    shape: tuple[int, int],
) -> tuple[Callable[[Mapping[str, Any], Any], np.ndarray], dict[str, Any]]:
    """Features of a record, and the public arrays that they need: amplitude·[cosines, sines] of its k characters, zeros
    up to the size, and, with several parts, the number of its class in front (0 without a target). A value in no cell
    makes its characters zero."""
    parts, size = shape
    front, one, k = int(parts > 1), characters.one, len(characters.members)
    public = {
        "names": list(columns),
        "tables": {j: _padded(characters, j, luts[j]) for j in np.unique(characters.column).tolist()},
        "members": characters.members,
        "amplitude": characters.amplitude,
        "classes": np.zeros(0, np.int64) if target is None else np.append(luts[target], -1),
    }

    def features(records: Mapping[str, Any], public: Any) -> np.ndarray:
        names = public["names"]
        rows = len(records[names[0]].values)
        codes = {j: grids[j].codes(records[names[j]]) for j in public["tables"]}
        out = np.zeros((rows, front + size))
        if front and target is not None:
            out[:, 0] = public["classes"][grids[target].codes(records[names[target]])]
        for start in range(0, rows, BLOCK):
            block = slice(start, start + BLOCK)
            re, im = _product(
                *_atoms({j: c[block] for j, c in codes.items()}, public["tables"], one), public["members"]
            )
            out[block, front : front + k] = (re * public["amplitude"][:, None]).T
            out[block, front + k : front + 2 * k] = (im * public["amplitude"][:, None]).T
        return out

    return features, public


def _padded(characters: Characters, column: int, lut: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    own, cos, sin = characters.tables(column)
    nothing = np.zeros((1, len(own)))
    return own, np.concatenate([cos[lut], nothing]), np.concatenate([sin[lut], nothing])


def _atoms(codes: Mapping[int, np.ndarray], tables: Mapping[int, Any], one: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines [atoms + 1, rows] of the records' atoms; the last is the constant 1."""
    rows = len(next(iter(codes.values()))) if codes else 0
    cosine, sine = np.ones((one + 1, rows)), np.zeros((one + 1, rows))
    for column, (own, cos, sin) in tables.items():  # a code of -1 picks the row of zeros at the end
        cosine[own], sine[own] = cos[codes[column]].T, sin[codes[column]].T
    return cosine, sine


def _product(cosine: np.ndarray, sine: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Real and imaginary part [k, rows] of the product of each frequency's atoms, by plain real arithmetic."""
    re, im = cosine[members[:, 0]], sine[members[:, 0]]
    for place in range(1, ORDER):
        some = np.flatnonzero(members[:, place] < len(cosine) - 1)
        if some.size:
            c, s = cosine[members[some, place]], sine[members[some, place]]
            a, b = re[some], im[some]
            re[some], im[some] = a * c - b * s, a * s + b * c
    return re, im
