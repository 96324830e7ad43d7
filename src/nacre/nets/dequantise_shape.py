"""The sizes of a learned dequantiser, without JAX: files are checked by them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DequantiserShape:
    """`columns` numbers u given `context` numbers; `components` logistics, `couplings`, `hidden` units per network."""

    columns: int
    context: int
    components: int = 4
    couplings: int = 2
    hidden: int = 64
    printed: bool = False

    @property
    def turns(self) -> list[tuple[slice, slice]]:
        """(given, changed) coordinates of each coupling: the halves take turns. One column is changed given nothing."""
        half = self.columns // 2
        first, second = slice(0, half), slice(half, self.columns)
        if self.printed or not half:
            return [(first, second)]
        return [((first, second), (second, first))[i % 2] for i in range(self.couplings)]

    def sizes(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """layer -> part -> shape of every parameter."""
        into = {"dequantise/context": (self.hidden, self.context)}
        for i, (given, changed) in enumerate(self.turns):
            numbers = (changed.stop - changed.start) * (3 * self.components + 2)
            into[f"dequantise/in{i}"] = (self.hidden, given.stop - given.start + self.hidden)
            into[f"dequantise/out{i}"] = (numbers, self.hidden)
        return {name: {"weight": shape, "bias": shape[:1]} for name, shape in into.items()}
