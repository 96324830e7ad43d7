"""Release files: what is written, and that a hostile one ends in a typed error, quickly, without running anything."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import struct
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from tests.privacy_contract import checks, tables

import nacre
from nacre.certificates import verified
from nacre.errors import CertificateError, DataError, ReleaseFileError
from nacre.privacy.certificate.statement import provenance_of
from nacre.release import file as release_file

SECONDS = 2.0
NAMES = ("manifest.json", "schema.json", "certificate.json", "model.json", "arrays.safetensors")


@pytest.fixture(scope="module")
def release():
    return checks.fit_with("independent", tables.schema(), {})(tables.people(120))


@pytest.fixture(scope="module")
def good(release, tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "r.nacre"
    release.save(path)
    return path.read_bytes()


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(parts: dict[str, bytes], seal: bool = True) -> bytes:
    """A release file of the given members; with `seal`, the hashes in the manifest are made to fit."""
    parts = dict(parts)
    if seal:
        manifest = json.loads(parts["manifest.json"])
        manifest["sha256"] = {n: hashlib.sha256(d).hexdigest() for n, d in parts.items() if n != "manifest.json"}
        parts["manifest.json"] = json.dumps(manifest).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def refused(tmp_path: Path, data: bytes, match: str | None = None) -> None:
    path = tmp_path / "hostile.nacre"
    path.write_bytes(data)
    start = time.perf_counter()
    with pytest.raises(ReleaseFileError, match=match):
        nacre.load(path)
    assert time.perf_counter() - start < SECONDS


# ------------------------------------------------------------------------------------------------------------- writing


def test_saving_twice_gives_the_same_bytes(release, good, tmp_path):
    release.save(tmp_path / "again.nacre")
    assert (tmp_path / "again.nacre").read_bytes() == good


def test_a_loaded_release_saves_to_the_same_bytes(good, tmp_path):
    (tmp_path / "a.nacre").write_bytes(good)
    loaded = nacre.load(tmp_path / "a.nacre")
    loaded.save(tmp_path / "b.nacre")
    assert (tmp_path / "b.nacre").read_bytes() == good
    assert loaded.sample(20, seed=3, as_="pyarrow").num_rows == 20


def test_saving_refuses_to_overwrite(release, tmp_path):
    path = tmp_path / "r.nacre"
    path.write_text("mine")
    with pytest.raises(DataError, match="exists already"):
        release.save(path)
    assert path.read_text() == "mine"
    release.save(path, force=True)
    assert nacre.load(path).method == "independent"


@pytest.mark.parametrize(
    "interruption", (KeyboardInterrupt, OSError(28, "No space left on device")), ids=("ctrl-c", "disk")
)
def test_an_interrupted_save_leaves_nothing(release, tmp_path, monkeypatch, interruption):
    real = zipfile.ZipFile.writestr
    calls = []

    def interrupted(self, info, *args, **options):
        calls.append(info)
        if len(calls) == 3:
            raise interruption
        return real(self, info, *args, **options)

    monkeypatch.setattr(zipfile.ZipFile, "writestr", interrupted)
    with pytest.raises((KeyboardInterrupt, DataError)):
        release.save(tmp_path / "r.nacre")
    assert os.listdir(tmp_path) == []


# ------------------------------------------------------------------------------------------------------------- reading


def test_files_that_are_no_release(tmp_path):
    refused(tmp_path, b"", "not a nacre release")
    refused(tmp_path, b"PK\x03\x04 and then nothing", "not a nacre release")
    refused(tmp_path, os.urandom(4096))
    with pytest.raises(ReleaseFileError, match="no such file"):
        nacre.load(tmp_path / "absent.nacre")
    with pytest.raises(ReleaseFileError):
        nacre.load(tmp_path)


@pytest.mark.parametrize("share", (0.05, 0.3, 0.6, 0.9, 0.99, 0.9999))
def test_truncated(good, tmp_path, share):
    refused(tmp_path, good[: int(len(good) * share)], "not a nacre release, or damaged")


@pytest.mark.parametrize("name", NAMES[1:])
def test_tampered_member(good, tmp_path, name):
    parts = members(good)
    parts[name] = parts[name] + b" "
    refused(tmp_path, pack(parts, seal=False), f"{name} was altered")


def test_tampered_manifest(good, tmp_path):
    parts = members(good)
    for manifest, match in (
        (b"[]", "expected an object"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"{}", "does not say that this is a nacre release"),
        (b'{"kind": "nacre release", "format": 1, "sha256": []}', "altered"),
        (b'{"kind": "nacre release", "format": 1}', "altered"),
    ):
        refused(tmp_path, pack({**parts, "manifest.json": manifest}, seal=False), match)


@pytest.mark.parametrize("version", (0, 2, "1", None, 1e300, [1]))
def test_other_version(good, tmp_path, version):
    parts = members(good)
    parts["manifest.json"] = json.dumps({**json.loads(parts["manifest.json"]), "format": version}).encode()
    refused(tmp_path, pack(parts), "this nacre reads format 1")


@pytest.mark.parametrize("name", NAMES)
def test_missing_member(good, tmp_path, name):
    parts = members(good)
    del parts[name]
    refused(tmp_path, pack(parts, seal=False), "expected the members")


@pytest.mark.parametrize(
    "name", ("extra.json", "../../etc/cron.d/evil", "/etc/passwd", "model.pkl", "a\\..\\b", "schema.json/")
)
def test_extra_members_and_paths_out_of_the_file(good, tmp_path, name):
    before = set(tmp_path.parent.iterdir())
    refused(tmp_path, pack({**members(good), name: b"x"}, seal=False), "expected the members")
    assert set(tmp_path.parent.iterdir()) == before


def test_the_same_member_twice(good, tmp_path):
    out = io.BytesIO(good)
    with pytest.warns(UserWarning), zipfile.ZipFile(out, "a") as archive:
        archive.writestr("schema.json", b"{}")
    refused(tmp_path, out.getvalue(), "expected the members")


def test_zip_bomb_that_says_so(good, tmp_path):
    parts = members(good)
    parts["schema.json"] = b" " * (70 << 20)
    refused(tmp_path, pack(parts), "schema.json is too large")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_packed_by_another_method(good, tmp_path, method):
    """Unpacked without a limit, whatever size they declare: two kilobytes of bzip2 are four gigabytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members(good).items():
            archive.writestr(name, data)
    refused(tmp_path, out.getvalue(), "another method than deflate")


def test_zip_bomb_that_lies(good, tmp_path):
    """A member that unpacks to more than it declares is cut off at what it declares."""
    parts = members(good)
    parts["schema.json"] = b"{" + b" " * (40 << 20) + b"}"
    data = bytearray(pack(parts))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = -1
        while (at := data.find(signature, at + 1)) >= 0:
            name_at = at + (30 if signature == b"PK\x03\x04" else 46)
            if data[name_at : name_at + 11] == b"schema.json":
                struct.pack_into("<I", data, at + offset, 500)
    refused(tmp_path, bytes(data))


def test_safetensors_with_an_absurd_header(good, tmp_path):
    parts = members(good)
    for header in (
        struct.pack("<Q", 2**63),
        struct.pack("<Q", 2**40) + b"{}",
        struct.pack("<Q", 5) + b"hello",
        b"\0" * 7,
    ):
        refused(tmp_path, pack({**parts, "arrays.safetensors": header}), "arrays.safetensors is damaged")
    wide = json.dumps({"x": {"dtype": "F32", "shape": [2**31, 2**31], "data_offsets": [0, 4]}}).encode()
    refused(tmp_path, pack({**parts, "arrays.safetensors": struct.pack("<Q", len(wide)) + wide + b"\0" * 4}), "damaged")


class Evil:
    ran = False

    def __reduce__(self):
        return (setattr, (Evil, "ran", True))


def test_a_pickle_inside_is_never_loaded(good, tmp_path):
    import pickle

    bomb = pickle.dumps(Evil())
    parts = members(good)
    for name in NAMES:
        refused(tmp_path, pack({**parts, name: bomb}, seal=name != "manifest.json"))
    refused(tmp_path, bomb)
    assert not Evil.ran
    before = set(sys.modules)
    refused(tmp_path, pack({**parts, "model.json": b'{"method": "os:system", "facts": {}}'}))
    assert "antigravity" not in set(sys.modules) - before


@pytest.mark.parametrize("name", NAMES[:4])
@pytest.mark.parametrize(
    "text", (b"[" * 200_000, b'{"a":' * 100_000, b'{"a": 1' + b"0" * 5000 + b"}"), ids=("lists", "objects", "digits")
)
def test_json_nested_or_long_beyond_reason(good, tmp_path, name, text):
    refused(tmp_path, pack({**members(good), name: text}, seal=name != "manifest.json"))


@pytest.mark.parametrize("name", ("schema.json", "certificate.json", "model.json"))
@pytest.mark.parametrize(
    "text", (b"{}", b'{"format": 1, "columns": {}}', b'{"method": "sketch"}', b'{"method": 3, "facts": {}}')
)
def test_documents_of_another_shape(good, tmp_path, name, text):
    refused(tmp_path, pack({**members(good), name: text}))


@pytest.mark.parametrize(
    "changes",
    (
        {"guarantee": 5}, {"curve": "abc"}, {"curve": [[1]]}, {"curve": [["x", "y"]]}, {"entries": [1, 2]},
        {"entries": [{}]}, {"entries": {}}, {"unit": None}, {"unit": {}}, {"versions": []}, {"schema": 3},
        {"schema": {}}, {"schema": {"provenance": {"a": 1}}}, {"epsilon": "1"}, {"epsilon": 1.0, "delta": None},
        {"neighbours": "none of them"}, {"assumptions": "x"}, {"extras": []}, {"extras": {"ledger": 1}},
        {"extras": {"audit": {"findings": [1]}}}, {"reasons": None}, {"unknown": 1},
    ),
    ids=str,
)  # fmt: skip
def test_a_certificate_that_could_not_be_told(good, tmp_path, changes):
    parts = members(good)
    private = {"epsilon": 1.0, "delta": 1e-6, "guarantee": "proven"}
    document = {**json.loads(parts["certificate.json"]), **private, **changes}
    refused(tmp_path, pack({**parts, "certificate.json": json.dumps(document).encode()}), "certificate")


def test_facts_of_another_shape(good, tmp_path):
    parts = members(good)
    for facts in ({}, [], None, {"rows": None}, {"rows": -1}, {"rows": "many"}, {"rows": [1]}, {"rows": 1e400}):
        document = json.dumps({"method": "independent", "facts": facts}).encode()
        refused(tmp_path, pack({**parts, "model.json": document}))


def _changed(arrays, name, value):
    return {**arrays, name: value}


def hostile_arrays(arrays: dict[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    blocks, lut, inside = arrays["blocks"], arrays["lut.0"], arrays["inside.0"]
    bad = {
        "blocks NaN": _changed(arrays, "blocks", np.full_like(blocks, np.nan)),
        "blocks infinite": _changed(arrays, "blocks", np.full_like(blocks, np.inf)),
        "blocks negative": _changed(arrays, "blocks", -blocks - 1),
        "blocks all zero": _changed(arrays, "blocks", np.zeros_like(blocks)),
        "blocks too narrow": _changed(arrays, "blocks", blocks[:, :-1]),
        "blocks flat": _changed(arrays, "blocks", blocks.ravel()),
        "blocks empty": _changed(arrays, "blocks", blocks[:0]),
        "blocks a scalar": _changed(arrays, "blocks", np.float32(1.0).reshape(())),
        "blocks of integers": _changed(arrays, "blocks", np.ones(blocks.shape, np.int8) * -1),
        "lut negative": _changed(arrays, "lut.0", lut - 5),
        "lut too large": _changed(arrays, "lut.0", lut + 10**6),
        "lut of floats": _changed(arrays, "lut.0", lut.astype(np.float64)),
        "lut NaN": _changed(arrays, "lut.0", np.full(lut.shape, np.nan)),
        "lut empty": _changed(arrays, "lut.0", lut[:0]),
        "lut short": _changed(arrays, "lut.0", lut[:-1]),
        "lut a scalar": _changed(arrays, "lut.0", lut[0].reshape(())),
        "lut two-dimensional": _changed(arrays, "lut.0", lut[None]),
        "inside NaN": _changed(arrays, "inside.0", np.full_like(inside, np.nan)),
        "inside negative": _changed(arrays, "inside.0", inside - 2),
        "inside all zero": _changed(arrays, "inside.0", np.zeros_like(inside)),
        "inside short": _changed(arrays, "inside.0", inside[:-1]),
        "inside a scalar": _changed(arrays, "inside.0", np.float64(1.0).reshape(())),
        "inside of two axes": _changed(arrays, "inside.0", np.stack([inside] * 3, axis=1)),
        "slope NaN": _changed(arrays, "slopes.0", np.full(lut.shape, np.nan)),
        "slope huge": _changed(arrays, "slopes.0", np.full(lut.shape, 1e300)),
        "slope short": _changed(arrays, "slopes.0", arrays["slopes.0"][1:]),
    }
    columns, counts = arrays["bought.columns"], arrays["bought.counts"]
    bad |= {
        "bought of other columns": _changed(arrays, "bought.columns", columns + 1000),
        "bought of none": _changed(arrays, "bought.columns", np.full_like(columns, -1)),
        "bought twice": _changed(arrays, "bought.columns", np.tile(columns[:1], (len(columns), 1))),
        "bought flat": _changed(arrays, "bought.columns", columns.ravel()),
        "bought empty": _changed(arrays, "bought.columns", columns[:0]),
        "bought short": _changed(arrays, "bought.counts", counts[1:]),
        "bought NaN": _changed(arrays, "bought.counts", np.full_like(counts, np.nan)),
        "bought of integers": _changed(arrays, "bought.counts", counts.astype(np.int32)),
        "bought without noise": _changed(arrays, "bought.variances", -np.ones_like(counts)),
    }
    for name in arrays:
        bad[f"without {name}"] = {k: v for k, v in arrays.items() if k != name}
    return bad


def test_arrays_of_other_shapes_types_and_values(good, tmp_path):
    """Refused when loaded; nothing is left for the middle of drawing."""
    parts = members(good)
    arrays = load_arrays(parts["arrays.safetensors"])
    slipped = []
    for name, changed in hostile_arrays(arrays).items():
        data = pack(
            {**parts, "arrays.safetensors": save_arrays({k: np.array(v, order="C") for k, v in changed.items()})}
        )
        path = tmp_path / "hostile.nacre"
        path.write_bytes(data)
        start = time.perf_counter()
        try:
            nacre.load(path)
            slipped.append(f"{name}: accepted")
        except ReleaseFileError:
            pass
        except Exception as error:
            slipped.append(f"{name}: {type(error).__name__}")
        assert time.perf_counter() - start < SECONDS, name
    assert not slipped, slipped


def _mutated(rng: np.random.Generator, data: bytes) -> bytes:
    """A copy with a few bytes changed, a stretch removed, repeated or exchanged."""
    data = bytearray(data)
    kind = rng.integers(4)
    if kind == 0:
        for at in rng.integers(0, len(data), rng.integers(1, 6)):
            data[at] = rng.integers(256)
    else:
        a, b = sorted(rng.integers(0, len(data), 2).tolist())
        b = min(b, a + 400)
        if kind == 1:
            del data[a:b]
        elif kind == 2:
            data[a:a] = data[a:b]
        else:
            data[a:b] = rng.bytes(b - a)
    return bytes(data)


def tried(tmp_path: Path, data: bytes) -> str:
    """What becomes of a mutated file: '' if refused as it should be or still a sound release."""
    path = tmp_path / "mutant.nacre"
    path.write_bytes(data)
    start = time.perf_counter()
    try:
        nacre.load(path).sample(5, seed=0, as_="pyarrow")
        found = ""
    except ReleaseFileError:
        found = ""
    except Exception as error:
        found = f"{type(error).__name__}: {error}"[:200]
    return found or ("slow" if time.perf_counter() - start > SECONDS else "")


def test_random_mutations_of_the_file(good, tmp_path):
    """The hashes cover every member, so a mutant is refused or unpacks to the same content."""
    rng = np.random.default_rng(0)
    problems = {tried(tmp_path, _mutated(rng, good)) for _ in range(600)} - {""}
    assert not problems, problems


def test_random_mutations_with_the_seal_renewed(good, tmp_path):
    """An author who can compute hashes: the content itself must be checked."""
    rng = np.random.default_rng(1)
    parts = members(good)
    problems = set()
    for _ in range(500):
        name = NAMES[1 + rng.integers(4)]
        problems.add(tried(tmp_path, pack({**parts, name: _mutated(rng, parts[name])})))
    assert not problems - {""}, problems


def test_limits_name_every_member():
    assert set(release_file._LIMITS) == set(NAMES)


# -------------------------------------------------------------------------------------------------- what it promises


def test_a_certificate_holds_when_composed_again(release):
    assert verified(release.certificate, release.schema) == release.certificate
    seeded = checks.fit_with("independent", None, {})(tables.people(120), noise_seed=1)
    assert verified(seeded.certificate, seeded.schema).guarantee == "none"


@pytest.mark.parametrize(
    ("changes", "part"),
    (
        ({"epsilon": 7.9}, "was spent costs more"),
        ({"delta": 1e-9}, "was spent costs more"),
        ({"neighbours": "replace_one"}, "was spent costs more"),
        ({"guarantee": "conditional"}, "states 'conditional', but its parts give 'proven'"),
        ({"delta": None}, "without a whole promise"),
        ({"epsilon": None, "delta": None}, "without a whole promise"),
        ({"unit": {"column": "person", "cap": 3}}, "another schema or unit"),
        ({"schema": {"digest": "0", "provenance": {}}}, "another schema or unit"),
    ),
    ids=str,
)
def test_a_certificate_that_promises_more_than_was_paid_is_found_out(release, changes, part):
    with pytest.raises(CertificateError, match=part):
        verified(dataclasses.replace(release.certificate, **changes), release.schema)


def test_parts_that_promise_less_are_found_out(release):
    raw = (*release.certificate.entries, {"door": "reveal", "name": "all", "reason": ""})
    with pytest.raises(CertificateError, match="never opens"):
        verified(dataclasses.replace(release.certificate, entries=raw), release.schema)
    columns = {**release.schema.columns, "age": nacre.Numeric((0, 100), integer=True, provenance={"bounds": "read"})}
    read = dataclasses.replace(release.schema, columns=columns)
    told = {"digest": read.digest(), "rows": read.rows, "provenance": provenance_of(read)}
    with pytest.raises(CertificateError, match="its parts give 'none'"):
        verified(dataclasses.replace(release.certificate, schema=told), read)
