"""What `--only` asks of `pearl-credit`: methods, descriptions, or both."""

import pytest

from benchmarks import pearl_credit
from nacre.errors import NacreError


def test_only_takes_methods_descriptions_or_both():
    assert set(pearl_credit.asked(())) == {"ends", "cells"}
    assert pearl_credit.asked(("cells",)) == {"cells": pearl_credit.METHODS}
    assert pearl_credit.asked(("merf",)) == {"ends": ("merf",), "cells": ("merf",)}
    assert pearl_credit.asked(("sketch", "ends", "real")) == {"ends": ("sketch", "real")}


def test_only_refuses_what_is_neither():
    with pytest.raises(NacreError, match="pearl-network"):
        pearl_credit.asked(("cells", "pearl-network"))
