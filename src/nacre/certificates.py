"""Certificates that come without what they are about: found, read and verified by the name of their method."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from nacre.errors import CertificateError, DataError
from nacre.learners.declared import TRAININGS
from nacre.privacy.certificate.statement import Certificate
from nacre.privacy.certificate.verification import Declared, verify
from nacre.synthesizers.registry import DATABASES, METHODS
from nacre.table.documents import read

MOST = 8 << 20  # bytes


def declared(method: str) -> Declared | None:
    """What a method may say in a certificate: of those that make tables, and of those that train."""
    return METHODS.get(method) or DATABASES.get(method) or TRAININGS.get(method)


def verified(certificate: Any, schema: Any = None) -> Any:
    """A certificate, as this machine finds it (`privacy.verification`), or None as it is. CertificateError where it
    contradicts itself, its method or its schema: whatever shows a certificate asks here first."""
    return None if certificate is None else verify(certificate, declared(certificate.method), schema)


def load_certificate(path: str | os.PathLike) -> Certificate:
    """The verified certificate in a JSON file, as `--certificate FILE.json` or `to_json` gave it."""
    try:
        made = Certificate.from_json(read(Path(path), MOST))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except ValueError as error:
        raise DataError(f"{path}: expected a certificate as JSON ({error})") from None
    try:
        return verified(made)
    except CertificateError as error:
        raise CertificateError(f"{path}: do not rely on this certificate: {error}") from None
