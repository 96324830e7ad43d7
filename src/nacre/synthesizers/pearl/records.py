"""From records to features: what the door `total` sums.

Only products, sums and table look-ups of float64 numbers, each rounded on its own: a record's features are the same
bits wherever it stands and whatever stands around it, so that the sums are exact integers (docs/proofs/sensitivity.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.synthesizers.pearl.characters import ORDER, Characters
from nacre.table.grid import Grid

if TYPE_CHECKING:
    from nacre.privacy.passes.feature_sums import Features

BLOCK = 32  # records at a time, so that their numbers stay in the processor's cache


def character_map(
    characters: Characters,
    columns: Sequence[str],
    grids: Sequence[Grid],
    luts: Sequence[np.ndarray],
    target: int | None,
    shape: tuple[int, int],
) -> tuple[Features, dict[str, Any]]:
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
        out = np.empty((rows, front + size))
        out[:, front + 2 * k :] = 0.0
        if front:
            out[:, 0] = 0 if target is None else public["classes"][grids[target].codes(records[names[target]])]
        for start in range(0, rows, BLOCK):
            block = slice(start, start + BLOCK)
            atoms = _atoms({j: c[block] for j, c in codes.items()}, public["tables"], one, len(out[block]))
            cosines, sines = out[block, front : front + k], out[block, front + k : front + 2 * k]
            _product(*atoms, public["members"], cosines, sines)
            cosines *= public["amplitude"]
            sines *= public["amplitude"]
        return out

    return features, public


def _padded(characters: Characters, column: int, lut: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    own, cos, sin = characters.tables(column)
    nothing = np.zeros((1, len(own)))
    return own, np.concatenate([cos[lut], nothing]), np.concatenate([sin[lut], nothing])


def _atoms(
    codes: Mapping[int, np.ndarray], tables: Mapping[int, Any], one: int, rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines [rows, atoms + 1] of the records' atoms; the last is the constant 1."""
    cosine, sine = np.ones((rows, one + 1)), np.zeros((rows, one + 1))
    for column, (own, cos, sin) in tables.items():  # a code of -1 picks the row of zeros at the end
        cosine[:, own], sine[:, own] = cos[codes[column]], sin[codes[column]]
    return cosine, sine


def _product(cosine: np.ndarray, sine: np.ndarray, members: np.ndarray, re: np.ndarray, im: np.ndarray) -> None:
    """Into `re` and `im` [rows, k] the product of each frequency's atoms, by plain real arithmetic."""
    re[:], im[:] = (np.take(x, members[:, 0], axis=1) for x in (cosine, sine))
    for place in range(1, ORDER):
        if (members[:, place] < cosine.shape[1] - 1).any():  # the rest are multiplied by the constant 1
            c, s = (np.take(x, members[:, place], axis=1) for x in (cosine, sine))
            both = re * s
            both += im * c
            re *= c
            re -= im * s
            im[:] = both
