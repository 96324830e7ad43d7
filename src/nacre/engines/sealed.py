"""What passes between the processes of a cluster, sealed: partial sums, rows and names of persons are unprotected.

A cluster keeps what its processes exchange in shared memory, may move it to disk when memory is short, and may keep
logs. A sealed message is unreadable without the key of the run and refused if a bit of it was changed. The key is drawn
for the run, lives in the memory of its processes, and travels to them beside a task, never inside a stored object.

Cipher: the text is added to the stream SHAKE-256(key, nonce) with a fresh nonce of 128 bits for every message, and a
keyed BLAKE2b of nonce and cipher text is checked before anything is opened.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

import numpy as np

from nacre.errors import DataError

_NONCE, _TAG, KEY_BYTES = 16, 32, 32


def new_key() -> bytes:
    """256 fresh bits."""
    return secrets.token_bytes(KEY_BYTES)


def seal(key: bytes, text: bytes) -> bytes:
    """The sealed message: nonce, tag, cipher text."""
    nonce = secrets.token_bytes(_NONCE)
    hidden = _added(key, nonce, text)
    return nonce + _tag(key, nonce, hidden) + hidden


def unseal(key: bytes, message: bytes) -> bytes:
    """The text of a sealed message; DataError if it is not one of this key."""
    nonce, tag, hidden = message[:_NONCE], message[_NONCE : _NONCE + _TAG], message[_NONCE + _TAG :]
    if not hmac.compare_digest(tag, _tag(key, nonce, hidden)):
        raise DataError("a message of the cluster was damaged or is not of this run; nothing of it was used")
    return _added(key, nonce, hidden)


def _added(key: bytes, nonce: bytes, text: bytes) -> bytes:
    stream = hashlib.shake_256(b"nacre stream" + key + nonce).digest(len(text))
    return np.bitwise_xor(np.frombuffer(text, np.uint8), np.frombuffer(stream, np.uint8)).tobytes()


def _tag(key: bytes, nonce: bytes, hidden: bytes) -> bytes:
    keyed = hashlib.blake2b(b"nacre tag" + nonce, key=key, digest_size=_TAG)
    keyed.update(hidden)
    return keyed.digest()
