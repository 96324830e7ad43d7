"""Before the fit: noisy values are pulled toward what lower orders already say.

Given the class, most columns are nearly independent, and the value of a product of characters is then the product
of the values. What a set of columns shows beyond that is shrunk as a whole by the positive-part rule of James and
Stein, which never adds to the expected squared error of three or more numbers. Post-processing of released numbers.
"""

from __future__ import annotations

import numpy as np

from nacre.synthesizers.pearl.characters import Characters


def project(phi: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Values of modulus at most the mass of their class (specs/pearl.md E6); phi complex [classes, k]."""
    size = np.abs(phi)
    return phi * np.minimum(1.0, mass[:, None] / np.maximum(size, 1e-300))


def shrink(phi: np.ndarray, mass: np.ndarray, sigma: np.ndarray, characters: Characters) -> np.ndarray:
    """Shrunk values, complex [classes, k]. mass: share of each class; sigma [k]: noise of a real part."""
    out = project(phi, mass)
    single = {int(m[0]): i for i, m in enumerate(characters.members) if m[1] == characters.one}
    atom = {(int(c), int(h)): i for i, (c, h) in enumerate(zip(characters.column, characters.harmonic))}
    sets: dict[tuple[int, ...], list[int]] = {}
    expected = out.copy()
    for i, members in enumerate(characters.members):
        held = [int(a) for a in members if a != characters.one]
        if len(held) == 1:
            continue
        sets.setdefault(tuple(int(characters.column[a]) for a in held), []).append(i)
        expected[:, i] = mass
        for a in held:
            c, h = int(characters.column[a]), int(characters.harmonic[a])
            one = out[:, single[atom[c, abs(h)]]] / np.maximum(mass, 1e-12)
            expected[:, i] *= one if h > 0 else one.conj()
    for where in sets.values():
        gap = (out[:, where] - expected[:, where]) / sigma[where]
        for c in range(len(mass)):
            numbers = 2 * len(where)
            rest = float(np.square(np.abs(gap[c])).sum())
            keep = max(0.0, 1.0 - (numbers - 2 if numbers > 2 else numbers) / max(rest, 1e-300))
            out[c, where] = expected[c, where] + keep * gap[c] * sigma[where]
    return project(out, mass)
