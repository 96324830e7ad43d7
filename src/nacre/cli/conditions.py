"""Conditions on the command line: `age=30..40`, `sex=F|M`, `income=>50K:0.5,<=50K:0.5`, read by the schema."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from nacre.errors import NacreError
from nacre.table import Between, Column, Condition, Schema
from nacre.table.naming import choices


def parse_where(texts: Sequence[str], schema: Schema) -> dict[str, Condition]:
    """{column: condition} from texts such as 'age=30..40', 'sex=F|M', 'plan=null'."""
    found: dict[str, Condition] = {}
    for text in texts:
        name, rest = _split(text, schema, "--where", "age=30..40 or sex=F|M")
        if name in found:
            raise NacreError(f"--where names {name!r} twice; put its values in one condition: '{name}=a|b'")
        found[name] = _condition(rest, schema.columns[name], f"--where {text!r}")
    return found


def parse_rebalance(
    texts: Sequence[str], schema: Schema, option: str = "--rebalance"
) -> dict[str, dict[Condition, float]]:
    """{column: {condition: share}} from texts such as 'income=>50K:0.5,<=50K:0.5', one per column; ranges and sets are
    values too. `--rebalance none` asks for no shares."""
    found: dict[str, dict[Condition, float]] = {}
    if [option, *texts] == ["--rebalance", "none"]:
        return found
    for text in texts:
        name, rest = _split(text, schema, option, "income=>50K:0.5,<=50K:0.5")
        if name in found:
            raise NacreError(f"{option} names {name!r} twice; put its shares in one list: '{name}=a:0.5,b:0.5'")
        found[name] = _shares(rest, schema.columns[name], f"{option} {text!r}")
    return found


def _shares(text: str, column: Column, where: str) -> dict[Condition, float]:
    shares: dict[Condition, float] = {}
    for part in _pairs(text, column):
        value, colon, share = part.rpartition(":")
        if not colon or not value:
            raise NacreError(f"{where}: {part!r} has no share; write value:share pairs, such as 'yes:0.5,no:0.5'")
        key = _condition(value, column, where)
        if key in shares:
            raise NacreError(f"{where}: {value!r} is listed twice; list it once")
        shares[key] = _share(share, where)
    if sum(shares.values()) <= 0:
        raise NacreError(f"{where}: the shares add up to 0; expected at least one above 0")
    return shares


def _pairs(text: str, column: Column) -> list[str]:
    """The text cut at its commas, but for those in labels."""
    labels = _labels(column)
    found: list[str] = []
    for part in text.split(","):
        begun = f"{found[-1].rpartition('|')[2]}," if found else ""
        if begun and any(label.startswith(begun) for label in labels):
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def _split(text: str, schema: Schema, option: str, example: str) -> tuple[str, str]:
    """The column and the rest; both may hold '=' signs, so the longest name that is a column wins."""
    if "=" not in text:
        raise NacreError(f"{option} {text!r}: expected COLUMN=VALUES, such as {example}")
    spots = [i for i, c in enumerate(text) if c == "="]
    for i in reversed(spots):
        if text[:i] in schema.columns:
            return text[:i], text[i + 1 :]
    name = text[: spots[0]]
    raise NacreError(f"{option} {text!r}: there is no column {name!r}; choose among {choices(name, schema.names)}")


def _condition(text: str, column: Column, where: str) -> Condition:
    return dataclasses.replace(Condition.of(_spelled(text, column, where), column, where), words=text)


def _spelled(text: str, column: Column, where: str) -> Any:
    labels = _labels(column)
    if text in labels:  # a label may look like a range or a list
        return text
    if not text:
        raise NacreError(f"{where}: no value after '='; write one, several as a|b, a range as low..high, or null")
    if "|" in text:
        return [_value(part, column, where) for part in text.split("|")]
    if ".." in text:
        low, _, high = text.partition("..")
        if not low and not high:
            raise NacreError(f"{where}: the range has no end; write low..high, low.. or ..high")
        return Between(*(None if not end else _value(end, column, where) for end in (low, high)))
    return _value(text, column, where)


def _value(text: str, column: Column, where: str) -> Any:
    """One value as the column's kind has it."""
    return None if text.lower() == "null" and text not in _labels(column) else column.parsed(text, where)


def _labels(column: Column) -> tuple[str, ...]:
    """Labels that stand for themselves: there is no other way to write them."""
    return () if column.spelt else column.labels


def _share(text: str, where: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not math.isfinite(share) or share < 0:
        raise NacreError(f"{where}: {text!r} is not a share; write a number, zero or more") from None
    return share
