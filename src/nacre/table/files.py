"""The former home of `nacre.table.sources`, for those who import it from here."""

from nacre.table.sources import BATCH_ROWS, FORMATS, Options, Source, format_of, open_file

__all__ = ["BATCH_ROWS", "FORMATS", "Options", "Source", "format_of", "open_file"]
