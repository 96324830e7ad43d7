"""PEARL: a private characteristic function, bought once, and a generator fitted to it (specs/pearl.md).

`method` is our form (low-order characters of grouped columns, particles), `paper` the published one.
"""
