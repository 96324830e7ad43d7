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
        cosine, sine = np.ones((rows, one + 1)), np.zeros((rows, one + 1))
        for column, (own, cos, sin) in public["tables"].items():
            codes = grids[column].codes(records[names[column]])  # -1 picks the row of zeros at the end
            cosine[:, own], sine[:, own] = cos[codes], sin[codes]
        re, im = _product(cosine, sine, public["members"])
        out = np.zeros((rows, front + size))
        if front and target is not None:
            out[:, 0] = public["classes"][grids[target].codes(records[names[target]])]
        out[:, front : front + k] = re * public["amplitude"]
        out[:, front + k : front + 2 * k] = im * public["amplitude"]
        return out

    return features, public


def _padded(characters: Characters, column: int, lut: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    own, cos, sin = characters.tables(column)
    nothing = np.zeros((1, len(own)))
    return own, np.concatenate([cos[lut], nothing]), np.concatenate([sin[lut], nothing])


def _product(cosine: np.ndarray, sine: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Real and imaginary part of the product of each frequency's atoms, by plain real arithmetic."""
    re, im = cosine[:, members[:, 0]], sine[:, members[:, 0]]
    for place in range(1, ORDER):
        some = np.flatnonzero(members[:, place] < cosine.shape[1] - 1)
        if some.size:
            c, s = cosine[:, members[some, place]], sine[:, members[some, place]]
            a, b = re[:, some], im[:, some]
            re[:, some], im[:, some] = a * c - b * s, a * s + b * c
    return re, im
