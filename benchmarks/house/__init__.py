"""Whether a change of the source tree changed what comes out of it, and what the tree looks like in figures."""
