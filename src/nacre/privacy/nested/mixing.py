"""Keyed 64-bit numbers that stand for rows: by them, and nothing else, chance decides inside a unit.

Which rows stay where no order says so, and which of a unit's rows form a pair, depends on the number of each row: on
what stands in the row, on the row above it and on the secret key. They serve fairness between rows, not secrecy: no
promise rests on them.
"""

from __future__ import annotations

import hashlib

import numpy as np

_ONE, _TWO = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # the finaliser of SplitMix64
_STEP = np.uint64(0x9E3779B97F4A7C15)


def seed(key: bytes, name: str) -> np.uint64:
    """A number of its own for every name."""
    return np.uint64(int.from_bytes(hashlib.blake2b(name.encode(), key=key, digest_size=8).digest(), "little"))


def mixed(numbers: np.ndarray) -> np.ndarray:
    """The numbers, each spread over all 64 bits by a map that can be undone: equal ones stay equal, no others are."""
    found = numbers ^ (numbers >> np.uint64(30))
    found *= _ONE
    found ^= found >> np.uint64(27)
    found *= _TWO
    found ^= found >> np.uint64(31)
    return found


def joined(numbers: np.ndarray, more: np.ndarray, salt: np.uint64) -> np.ndarray:
    """Numbers for rows of which `more` is known: whole numbers, or floats by their bits."""
    bits = (more + 0.0).view(np.uint64) if more.dtype.kind == "f" else more.astype(np.uint64)
    return mixed(numbers ^ mixed(bits + salt))


def told_apart(numbers: np.ndarray, occurrence: np.ndarray) -> np.ndarray:
    """Numbers of their own for equal rows, by how many of them came before: which is which makes no difference."""
    return mixed(numbers + occurrence.astype(np.uint64) * _STEP)
