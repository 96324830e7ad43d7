"""Learners as files: the parameters, what they mean, and the certificate. Reading one runs no code.

Kept is what was released and no more: a flow, which could be drawn from without end, stays with whoever trained it. The
file has the form of a release file (`nacre.release.file`).
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from nacre.errors import CertificateError, DataError, NacreError, ReleaseFileError
from nacre.learners.declared import TRAININGS
from nacre.privacy.certificate.statement import Certificate
from nacre.privacy.certificate.verification import verify
from nacre.table.documents import UNFIT

KINDS = {"LogisticRegression": "nacre.learners.logistic", "GRUD": "nacre.learners.grud"}
PLAIN = bool | int | float | str


def save(learner: Any, path: str | os.PathLike, force: bool = False) -> None:
    """Write a fitted learner; an existing file is kept unless `force`."""
    from nacre.release.file import pack

    classes = learner.classes_.tolist()
    if not all(isinstance(c, PLAIN) for c in classes):
        raise DataError(f"classes of type {learner.classes_.dtype} cannot be written; use numbers, texts or booleans")
    facts = {"classes": classes, **learner._facts()}
    documents = {
        "schema.json": json.dumps({}),
        "certificate.json": json.dumps(learner.certificate_.to_json(), indent=1, sort_keys=True),
        "model.json": json.dumps({"learner": type(learner).__name__, "facts": facts}, indent=1, sort_keys=True),
    }
    arrays = {"parameters": learner._parameters(), "low": learner.scale_.low, "high": learner.scale_.high}
    pack(path, documents, {name: np.asarray(a, np.float64) for name, a in arrays.items()}, force)


def load(path: str | os.PathLike) -> Any:
    """The learner of a file: it predicts and has its certificate. Anything unexpected is a ReleaseFileError."""
    from nacre.release.file import unpack

    return made_of(path, *unpack(path))


def made_of(path: str | os.PathLike, documents: Any, arrays: Any) -> Any:
    """The learner in the parts of a file."""
    import importlib

    from nacre.learners.labelled import Scale

    try:
        model = documents["model.json"]
        name, facts = model["learner"], model["facts"]
        kind = getattr(importlib.import_module(KINDS[name]), name)
        certificate = Certificate.from_json(documents["certificate.json"])
        certificate = verify(certificate, TRAININGS.get(certificate.method))
        scale = Scale(arrays["low"], arrays["high"])
        if not all(isinstance(c, PLAIN) for c in facts["classes"]) or not np.isfinite(arrays["parameters"]).all():
            raise ValueError("classes or parameters are not what was written")
        made = kind()
        made.classes_, made.scale_, made.certificate_, made.flow_ = (
            np.asarray(facts["classes"]),
            scale,
            certificate,
            None,
        )
        made._restore(facts, arrays["parameters"])
    except CertificateError as error:
        raise CertificateError(f"{path}: do not rely on this learner: {error}") from None
    except (*UNFIT, NacreError) as error:
        raise ReleaseFileError(f"{path}: not the file of a learner ({error})") from None
    return made
