"""What is written as canonical JSON: the same text says the same, and only that."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os


class Written:
    """A value that its canonical JSON says whole."""

    def to_json(self) -> str:
        """Readable JSON; `from_json` gives an equal value back, and the same text from it."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike, force: bool = False) -> None:
        """Write the JSON file, whole or not at all; an existing file is kept unless `force`."""
        from nacre.table.writing import write_text

        write_text(path, self.to_json() + "\n", force=force)

    def digest(self) -> str:
        """SHA-256 of the canonical JSON: equal values, and only they, have the same digest."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Written) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())
