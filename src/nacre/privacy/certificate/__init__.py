"""The document that travels with a release: its statement, its words, and checks of those that come from anybody."""

from nacre.moved import old_names

__getattr__ = old_names(__name__, "nacre.privacy.certificate.statement")
