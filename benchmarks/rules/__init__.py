"""Rules of schemas on real tables."""
