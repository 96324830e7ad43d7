"""Lower bounds on what is spent, and attacks on what was made."""
