"""The budget of a population over all releases: capped, append-only, safe against races, crashes and backups.

docs/decisions/ledger.md says what is counted and why; docs/proofs/ledger.md why the cap is a promise.
"""

from nacre.privacy.ledger.books import Ledger, Reservation, open_ledger
from nacre.privacy.ledger.policy import Policy

__all__ = ["Ledger", "Policy", "Reservation", "open_ledger"]
