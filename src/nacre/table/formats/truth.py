"""How truth values are written: two words."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from nacre.errors import SchemaError
from nacre.table.checking import UNNAMED, check_label, need
from nacre.table.formats.base import Format

_PLAIN = (("true", "false"), ("True", "False"))


@dataclasses.dataclass(frozen=True)
class TruthFormat(Format):
    """The word for true and the word for false. Reading does not look at the case, writing keeps it."""

    true: str = "true"
    false: str = "false"

    tag = "truth"

    def __post_init__(self) -> None:
        for name in ("true", "false"):
            word = getattr(self, name)
            check_label("format", word)
            need(word == word.strip(), f"format: the word for {name} is {word!r}; write it without spaces around it")
        need(
            self.true.lower() != self.false.lower(),
            f"format: {self.true!r} and {self.false!r} differ at most in their case; write two different words",
        )

    @property
    def plain(self) -> bool:
        """Whether any program reads the words as truth values."""
        return (self.true, self.false) in _PLAIN

    @classmethod
    def given(cls, value: object) -> TruthFormat:
        """A format from itself or from its JSON object."""
        if isinstance(value, TruthFormat):
            return value
        if not isinstance(value, Mapping) or set(value) != {"true", "false"}:
            raise SchemaError(f'{UNNAMED}: format is {value!r}; write {{"true": "Yes", "false": "No"}} or the like')
        return cls(**value)

    def to_json(self) -> dict[str, str]:
        return {"true": self.true, "false": self.false}

    def read(self, array: object) -> tuple[Any, Any, Any]:
        """(values, null, bad) of an Arrow array of texts, each value by itself."""
        import numpy as np
        import pyarrow.compute as pc

        from nacre.table.values.casting import mask
        from nacre.table.values.labels import nulls

        text = pc.utf8_trim_whitespace(array)
        word = pc.utf8_lower(text)
        true, false = (mask(pc.or_(pc.equal(text, w), pc.equal(word, w.lower()))) for w in (self.true, self.false))
        empty = mask(pc.equal(text, "")) | nulls(array)
        return true.astype(np.int32), ~(true | false), ~(true | false | empty)

    def stored(self, array: Any) -> Any:
        import pyarrow as pa

        return array.cast(pa.int8())

    def write(self, values: object, null: object = None) -> Any:
        """0 and 1 as an Arrow array of texts."""
        import numpy as np
        import pyarrow as pa

        index = pa.array(np.asarray(values).astype(np.int32), mask=null)
        return pa.array([self.false, self.true]).take(index)
