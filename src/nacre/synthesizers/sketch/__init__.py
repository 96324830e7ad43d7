"""The co-occurrence sketch: which tables are bought, how finely, and the mixture fitted to them."""

from nacre.moved import old_names

__getattr__ = old_names(__name__, "nacre.synthesizers.sketch.method")
