"""What is asked of a format, whatever it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


class Format:
    """One way to write values: a frozen value without any library behind it."""

    tag: ClassVar[str]  # names it beside an Arrow field

    @property
    def plain(self) -> bool:
        """Whether any program reads such texts as what they are."""
        raise NotImplementedError

    @classmethod
    def given(cls, value: object) -> Self:
        """A format from itself or from its JSON."""
        raise NotImplementedError

    def to_json(self) -> Any:
        raise NotImplementedError

    def write(self, values: np.ndarray, null: np.ndarray | None = None) -> pa.Array:
        """Stored values as texts, null where `null` says so."""
        raise NotImplementedError

    def stored(self, array: pa.Array) -> pa.Array:
        """Typed values as the numbers that are stored for them."""
        return array

    def write_typed(self, array: pa.Array) -> pa.Array:
        """An array of typed values as texts."""
        import pyarrow.compute as pc

        null = array.is_null().to_numpy(zero_copy_only=False)
        return self.write(pc.fill_null(self.stored(array), 0).to_numpy(zero_copy_only=False), null)
