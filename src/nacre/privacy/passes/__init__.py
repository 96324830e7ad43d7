"""Passes over the rows: what doors add up, batch by batch, of at most `cap` rows of each person."""
