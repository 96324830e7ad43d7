"""The ledger under load."""
