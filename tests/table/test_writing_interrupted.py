"""A writer that is stopped while it opens its file leaves no file, finished or not."""

from __future__ import annotations

import pyarrow as pa
import pytest

from nacre.table.writing import TableWriter


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_opening_puts_nothing_in_place(tmp_path, monkeypatch, error):
    def stopped(self, part):
        part.write_text("half a header")
        raise error

    monkeypatch.setattr(TableWriter, "_open", stopped)
    with pytest.raises(error), TableWriter(tmp_path / "out.csv", pa.schema([("a", pa.int64())])):
        pass
    assert list(tmp_path.iterdir()) == []
