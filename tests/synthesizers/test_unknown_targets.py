"""A mistyped target is refused by every method before anything is planned, let alone spent."""

from __future__ import annotations

import pytest
from tests.privacy_contract import tables

from nacre.errors import SchemaError
from nacre.run import Terms, prepare
from nacre.synthesizers.registry import METHODS


@pytest.mark.parametrize("method", METHODS)
def test_a_target_that_is_no_column_is_refused(method):
    schema = tables.schema(rows=300)
    epsilon = None if METHODS[method].guarantee == "none" else 1.0
    options = {"hide": ["age"]} if method == "ppem" else {}
    terms = Terms(epsilon, 1e-6, "zero_out", False, method, "nosuch", "declared", options)
    with pytest.raises(SchemaError, match="target 'nosuch' is not a modelled column"):
        prepare(schema.names, schema, terms)
