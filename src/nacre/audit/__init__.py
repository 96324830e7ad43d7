"""Is it private? Attacks on releases, for the owner of the data."""
