"""Names, addresses and numbers that nobody has: made from public lists and rules, never from rows.

`digits` makes numbers with valid check digits by rules of its own; `words` needs faker (the extra `surrogates`).
"""

from nacre.table.surrogates.fresh import Fresh
from nacre.table.surrogates.locales import LOCALES

__all__ = ["LOCALES", "Fresh"]
