"""What `--only` asks of `pearl-credit`: methods, descriptions, or both."""

import pytest
from benchmarks.catalogue import Options
from benchmarks.pearl import credit


@pytest.mark.parametrize(
    ("only", "asked"),
    [
        ((), {"ends": (), "cells": ()}),
        (("cells",), {"cells": ()}),
        (("merf",), {"ends": ("merf",), "cells": ("merf",)}),
        (("sketch", "ends", "real"), {"ends": ("sketch", "real")}),
    ],
)
def test_only_takes_methods_descriptions_or_both(monkeypatch, only, asked):
    seen = {}
    names = {id(study): name for name, study in credit.STUDIES.items()}
    monkeypatch.setattr(credit, "run_study", lambda study, options, *_: seen.update({names[id(study)]: options.only}))
    credit.run(Options(only=only), type("Results", (), {})())
    assert seen == asked
