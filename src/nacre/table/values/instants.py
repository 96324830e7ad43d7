"""Moments in time as whole microseconds since 1970-01-01 UTC: what a datetime column is made of inside."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

from nacre.errors import SchemaError

# The resolutions a datetime column can have, in microseconds.
UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)


def microseconds(value: str | dt.date | dt.datetime, where: str) -> int:
    """Microseconds since the epoch of an ISO 8601 text or a Python date. Without an offset it is UTC.

    Raises SchemaError, beginning with `where`, for anything else.
    """
    if isinstance(value, str):
        value = _parse(value, where)
    if isinstance(value, dt.datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
    elif isinstance(value, dt.date):
        moment = dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    else:
        raise SchemaError(f"{where}: {value!r} is not a date; write it in ISO 8601, such as '2024-01-31'")
    return (moment - _EPOCH) // _MICROSECOND


def _parse(text: str, where: str) -> dt.datetime:
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        raise SchemaError(
            f"{where}: {text!r} is not a date; write it in ISO 8601, such as '2024-01-31' or '2024-01-31T08:00:00'"
        ) from None


def is_date_only(value: object) -> bool:
    """Whether a condition names a whole day rather than an instant."""
    if isinstance(value, str):
        return len(value) == 10
    return isinstance(value, dt.date) and not isinstance(value, dt.datetime)


def isoformat(us: int, unit: str) -> str:
    """The ISO 8601 text of an instant in UTC, as short as the unit allows. Inverse of `microseconds`."""
    moment = (_EPOCH + us * _MICROSECOND).replace(tzinfo=None)
    return moment.date().isoformat() if unit == "day" else moment.isoformat()


def check_zone(name: str, where: str) -> None:
    """Raise SchemaError unless `name` is a time zone of the IANA database, such as 'Europe/Oslo'."""
    try:
        ZoneInfo(name)
    except Exception:  # zoneinfo raises KeyError, ValueError, OSError or IsADirectoryError by the shape of the name
        raise SchemaError(
            f"{where}: tz {name!r} is not a known time zone; use an IANA name such as 'UTC' or 'Europe/Oslo'"
        ) from None
