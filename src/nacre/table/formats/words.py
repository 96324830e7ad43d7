"""Texts that stand for a missing value."""

from __future__ import annotations

from nacre.table.checking import need, sequence

MAX_WORDS = 100


def check_null_words(words: object) -> tuple[str, ...]:
    """The words as a tuple; the empty text always means missing and is not named."""
    found = tuple(sequence("null_words", words))
    need(len(found) <= MAX_WORDS, f"null_words has {len(found)} words; at most {MAX_WORDS}")
    for word in found:
        need(
            isinstance(word, str) and bool(word) and word == word.strip() and "\0" not in word,
            f"null_words has {word!r}; write texts without spaces around them (the empty text means missing anyway)",
        )
    need(len(set(found)) == len(found), f"null_words {list(found)} names a word twice; name it once")
    return found
