"""A release: the fitted model with its certificate, its file, and rows for other shares."""

from nacre.moved import old_names

__getattr__ = old_names(__name__, "nacre.release.release")
