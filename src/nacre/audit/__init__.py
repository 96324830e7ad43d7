"""Is it private? Attacks on releases: what they find is computed on private rows, for the owner of the data alone."""
