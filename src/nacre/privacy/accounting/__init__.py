"""What a list of privacy events costs."""

from nacre.moved import old_names

__getattr__ = old_names(__name__, "nacre.privacy.accounting.accountant")
