"""From class counts, noisy or exact, to what a column is and how it is written: post-processing.

Every format is judged by the classes that it writes as they stand: the sum of their counts, less some standard errors
of that sum, so that a format with many classes does not win by their noise. What stands beside the best format in one
class or another, above the noise, says whether it is good enough; if not, the column is text, which is always right.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from nacre.table.columns import Boolean, Categorical, Column, Datetime, Numeric
from nacre.table.formats import DateFormat, NumberFormat, TruthFormat
from nacre.table.votes import cells, dates, numbers
from nacre.table.votes.words import NULL_WORDS, SINGLE_TRUTH_WORDS, TRUTH_WORDS

_PENALTY = 3.0  # standard errors that a count has to stand out
_CHOICE = 4.2  # and the difference of two formats among hundreds
_WORD = 3.5  # of a word among twenty, and of leading zeros
_ALONE = 4.75  # and a single class among the thousands
_STRAYS = 0.05  # share of values that a format may leave unread
_RESPELT = 0.10  # and of values that it reads but writes in another way
_ROUNDED = 0.01  # and of values whose last decimals it would drop
_TIE = 1e-9
_ZEROS = 0.002  # share of digits with a leading zero from which a column holds codes
_CODES = 0.005  # and of values with letters among their digits


@dataclasses.dataclass(frozen=True)
class _Option:
    """One way to read the column: the classes it writes, those it reads beside, and what it says."""

    column: Column
    written: np.ndarray
    read: np.ndarray  # all that it reads whole, the written included
    score: float
    rounded: np.ndarray | None = None  # what it reads but would round


def decide(votes: np.ndarray, sigma: float, untyped: bool, decimal: str | None = None) -> Column:
    """What a column is by its votes (`cells.COUNT` of them) with noise of scale `sigma` each; without its domain, but
    where nothing but nulls stands out. `decimal`: the mark declared for numbers; it decides what `1,234` is."""
    votes = np.asarray(votes, np.float64)
    words = _null_words(votes, sigma)
    missing = max(votes[cells.NULL], 0.0) + sum(max(votes[cells.NULL_WORD + NULL_WORDS.index(w)], 0.0) for w in words)
    # Of equal ones the first: eight digits that are all days are days.
    number = _number(votes, sigma, untyped, decimal)
    options = [o for o in (_moment(votes, sigma, untyped), number, _truth(votes, sigma)) if o]
    best = max(options, key=lambda o: o.score, default=None)
    text = votes[cells.TEXT] + votes[cells.CODE]
    if best is not None and best.score > text and _stands(best, votes, sigma, missing) and _good(best, votes, sigma):
        nullable = bool(words) or _nullable(votes[cells.NULL], sigma, best.score)
        return dataclasses.replace(best.column, nullable=nullable, null_words=words)
    rest = votes.copy()
    rest[cells.NULL] = 0.0
    standing = text > _PENALTY * sigma or _standing(rest, sigma).any()
    if not standing and missing > _PENALTY * sigma:
        return Categorical(("other",), other="other", nullable=True)
    standing = float(_standing(rest, sigma).sum())
    return Categorical(nullable=_nullable(votes[cells.NULL], sigma, max(text, standing)))


def _null_words(votes: np.ndarray, sigma: float) -> tuple[str, ...]:
    """Words that mean missing where the rest are numbers, dates or truth values; the most frequent first."""
    counts = votes[cells.NULL_WORD : cells.NULL_WORD + len(NULL_WORDS)]
    order = np.argsort(-counts, kind="stable")
    return tuple(NULL_WORDS[i] for i in order if counts[i] > _WORD * sigma)


def _nullable(nulls: float, sigma: float, values: float) -> bool:
    """Unless the count of nulls is lost in noise that could not hide many."""
    return bool(nulls > 2 * sigma or (sigma > 0 and 2 * sigma > 0.05 * max(values, 0.0)))


def _standing(votes: np.ndarray, sigma: float) -> np.ndarray:
    """The classes that stand out by themselves; the others count as empty."""
    return np.where(votes > _ALONE * sigma, votes, 0.0)


def _stands(option: _Option, votes: np.ndarray, sigma: float, missing: float) -> bool:
    """Whether what the option writes is no noise (it is the best of a thousand) and no trace beside the nulls."""
    held = float(votes[option.written].sum())
    return held > max(_ALONE * sigma * math.sqrt(option.written.sum()), _ZEROS * missing)


def _good(option: _Option, votes: np.ndarray, sigma: float) -> bool:
    """Whether little enough stands beside what the option writes."""
    standing = _standing(votes, sigma)
    standing[cells.NULL] = 0.0
    standing[cells.NULL_WORD : cells.TRUTH_WORD] = 0.0
    for place in (cells.TEXT, cells.CODE):
        standing[place] = max(votes[place], 0.0)
    held = float(votes[option.written].sum())
    respelt = float(standing[option.read & ~option.written].sum())
    strays = float(standing[~option.read & ~option.written].sum())
    whole = held + respelt + strays
    noise = _PENALTY * sigma
    if votes[cells.CODE] > max(noise, _CODES * whole):
        return False
    if isinstance(option.column, Numeric) and votes[cells.NUMBER + numbers.ZEROS] > max(_WORD * sigma, _ZEROS * whole):
        return False
    if option.rounded is not None and standing[option.rounded].sum() > max(noise, _ROUNDED * whole):
        return False
    return strays <= max(noise, _STRAYS * whole) and respelt <= max(noise, _RESPELT * whole)


def _scores(tables: np.ndarray, votes: np.ndarray, variance: np.ndarray, sigma: float) -> np.ndarray:
    """For every row of classes: their sum less its standard errors; of equal sums that of fewer classes."""
    sums, spread = tables @ votes, np.sqrt(tables @ variance)
    return sums - _CHOICE * max(sigma, _TIE) * spread


# -- numbers ------------------------------------------------------------------------------------------------------


def _number(votes: np.ndarray, sigma: float, untyped: bool, decimal: str | None) -> _Option | None:
    """The best way to read the column as numbers."""
    affixes = range(len(numbers.AFFIXES) if untyped else 1)
    found = [_numbers_with(affix, votes, sigma, untyped, decimal) for affix in affixes]
    return max(found, key=lambda o: o.score)


def _numbers_with(affix: int, votes: np.ndarray, sigma: float, untyped: bool, decimal: str | None) -> _Option:
    size = len(numbers.SHAPES)
    signs = (0, 1) if affix == 0 else (0,)
    places = [cells.NUMBER + numbers.cell(affix, s, 0) + np.arange(size) for s in signs]
    block = sum(votes[p] for p in places)
    writes, *read = numbers.tables()
    if not untyped:
        writes = writes * numbers.shortest()[:, None]
    # Eight digits that could be a day are whole numbers, too.
    compact = votes[cells.DATE + dates.COMPACT] if affix == 0 else 0.0
    block = block + np.eye(1, size, numbers.WHOLE[1])[0] * compact
    variance = np.full(size, float(len(places))) + np.eye(1, size, numbers.WHOLE[1])[0] * (affix == 0)
    scores = _scores(writes, block, variance, sigma)
    best = int(np.argmax(scores))
    sign, signed = _sign(affix, votes)
    if votes[signed] <= sigma * _CHOICE:
        sign, signed = 0, None

    def option(c: int) -> _Option:
        written, whole, rounded = _number_masks(places, (writes[c], *(r[c] for r in read)), affix, signed)
        score = float(scores[c]) + (0.0 if signed is None else float(votes[signed]))
        return _Option(_number_column(c, affix, sign, untyped), written, whole, score, rounded)

    if scores[best] <= 0:
        return option(best)
    simple = (option(c) for c in _as_good(writes, block, variance, best, sigma, decimal))
    return next((o for o in simple if _good(o, votes, sigma)), option(best))


def _as_good(
    writes: np.ndarray, votes: np.ndarray, variance: np.ndarray, best: int, sigma: float, decimal: str | None
) -> list[int]:
    """The candidates that the votes do not clearly put below the best: those with the declared decimal mark first, then
    the plain ones (1.234 is a decimal), then those of few classes. Those of many are left out, whose noise would hide
    how much they lack, and those that lack a class which stands out by itself."""
    more = writes[best] @ votes - writes @ votes
    apart = np.sqrt(np.abs(writes - writes[best]) @ variance)
    size = writes @ variance
    order = np.lexsort((size, ~numbers.plain(), numbers.against(decimal)))
    clear = (writes[best] > 0) & (votes > _ALONE * max(sigma, _TIE) * np.sqrt(variance))
    fits = (size <= 2 * size[best]) & (more <= _CHOICE * sigma * apart) & (writes[:, clear] > 0).all(axis=1)
    return [int(c) for c in order if fits[c]]


def _number_masks(
    places: list[np.ndarray], tables: tuple[np.ndarray, ...], affix: int, signed: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which classes a candidate writes, reads whole and rounds, by its rows of the tables of shapes."""
    written, read, rounded = (np.zeros(cells.COUNT, bool) for _ in tables)
    for place in places:
        written[place], read[place], rounded[place] = (table > 0 for table in tables)
    if affix == 0:
        written[cells.DATE + dates.COMPACT] = tables[0][numbers.WHOLE[1]] > 0
    if signed is not None:
        written[signed] = True
    return written, read | written, rounded


def _sign(affix: int, votes: np.ndarray) -> tuple[int, int]:
    """The way in which negative numbers are written that most votes speak for, and its class."""
    kinds = range(3 if affix == 0 else 1, len(numbers.SIGNS))
    best = max(kinds, key=lambda s: votes[cells.NUMBER + numbers.cell(affix, s, 0)])
    return best, cells.NUMBER + numbers.cell(affix, best, 0)


def _number_column(candidate: int, affix: int, sign: int, untyped: bool) -> Numeric:
    format, decimals = numbers.candidates()[candidate]
    prefix, suffix = numbers.AFFIXES[affix]
    negative = numbers.SIGNS[sign] or NumberFormat.negative
    whole = NumberFormat(".", "") if decimals == 0 and not format.thousands else format
    full = dataclasses.replace(whole, prefix=prefix, suffix=suffix, negative=negative)
    integer = decimals == 0
    stated = full if untyped and full != NumberFormat() else None
    return Numeric(integer=integer, decimals=None if integer else decimals, format=stated)


# -- dates --------------------------------------------------------------------------------------------------------


def _moment(votes: np.ndarray, sigma: float, untyped: bool) -> _Option | None:
    options = [_typed_moment(votes, sigma)]
    if untyped:
        options += [_written_moment(votes, sigma), _plain_moment(votes, sigma), _named_moment(votes, sigma)]
        options.append(_compact(votes, sigma))
    found = [o for o in options if o is not None]
    return max(found, key=lambda o: o.score, default=None)


def _mask(places: np.ndarray | list[int]) -> np.ndarray:
    found = np.zeros(cells.COUNT, bool)
    found[places] = True
    return found


def _typed_moment(votes: np.ndarray, sigma: float) -> _Option:
    day, moment, midnight = (votes[c] for c in (cells.DAY, cells.MOMENT, cells.MIDNIGHT))
    if day > moment + midnight:
        mask = _mask([cells.DAY])
        return _Option(Datetime(unit="day"), mask, mask, day - _PENALTY * sigma)
    mask = _mask([cells.MOMENT, cells.MIDNIGHT])
    score = moment + midnight - _PENALTY * sigma * math.sqrt(2)
    if moment > max(_PENALTY * sigma, _ZEROS * midnight):
        return _Option(Datetime(), mask, mask, score)
    at_midnight = DateFormat("%Y-%m-%d 00:00:00")
    return _Option(Datetime(unit="day", format=at_midnight), mask, mask, score)


def _grid(votes: np.ndarray) -> np.ndarray:
    """The votes for days in digits, by day and clock."""
    size = len(dates.DAYS) * len(dates.CLOCKS)
    return votes[cells.DATE : cells.DATE + size].reshape(len(dates.DAYS), len(dates.CLOCKS))


def _written_moment(votes: np.ndarray, sigma: float) -> _Option | None:
    days, clocks, _ = dates.tables()
    found = _grid(votes)
    sums = days @ found @ clocks.T
    # Where nothing speaks for leaving out zeros, they are written.
    sizes = [t.sum(axis=1) + 2.0 * np.array(["%-" in p for p in names]) for t, names in (
        (days, dates.day_patterns()), (clocks, dates.clock_patterns())
    )]  # fmt: skip
    spread = np.sqrt(np.outer(*sizes))
    scores = sums - _CHOICE * max(sigma, _TIE) * spread
    day, clock = (int(i) for i in np.unravel_index(int(np.argmax(scores)), scores.shape))
    clock = _fewest_clocks(days[day] @ found, clocks, clock, float(days[day].sum()), sigma)
    pattern = dates.day_patterns()[day] + dates.clock_patterns()[clock]
    if not _order_is_clear(dates.day_patterns()[day], found @ clocks[clock], float(sums[day, clock]), sigma):
        return None
    format = DateFormat(pattern)
    stated = None if pattern == "%Y-%m-%d" else format
    written = np.outer(days[day], clocks[clock]).reshape(-1)
    mask = _mask(cells.DATE + np.flatnonzero(written))
    return _Option(Datetime(unit=format.unit, format=stated), mask, mask, float(scores[day, clock]))


def _fewest_clocks(votes: np.ndarray, clocks: np.ndarray, best: int, days: float, sigma: float) -> int:
    """The best clock, or one that writes fewer of its classes, such as midnight alone, where the rest is noise."""
    inside = (clocks <= clocks[best]).all(axis=1) & (clocks.sum(axis=1) > 0)
    lost = clocks[best] - clocks
    fits = inside & (lost @ votes <= _PENALTY * sigma * np.sqrt(lost.sum(axis=1).clip(0) * days))
    return int(min(np.flatnonzero(fits), key=lambda c: clocks[c].sum()))


def _order_is_clear(pattern: str, days: np.ndarray, total: float, sigma: float) -> bool:
    """Whether votes, not their noise, say which number is the day and which the month. Points stand for day first."""
    if pattern.startswith("%Y") or ("." in pattern and pattern.index("d") < pattern.index("m")):
        return True
    first = dict.fromkeys(("day", "month"), 0.0)
    for key, count in zip(dates.DAYS, days):
        if key[0] in first and key[1] in pattern:
            first[key[0]] += float(count)
    mine, other = ("day", "month") if pattern.index("d") < pattern.index("m") else ("month", "day")
    return first[mine] - first[other] > max(_PENALTY * sigma * math.sqrt(12), 0.05 * total)


def _plain_moment(votes: np.ndarray, sigma: float) -> _Option:
    """ISO 8601 with fractions of a second or offsets, as it is read without a format."""
    found = np.zeros((len(dates.DAYS), len(dates.CLOCKS)), bool)
    padded = [i for i, key in enumerate(dates.DAYS) if key[:2] == ("year", "-") and key[2] != "bare"]
    for i in padded:
        found[i, dates.PLAIN_CLOCKS] = True
    mask = _mask(cells.DATE + np.flatnonzero(found.reshape(-1)))
    read = found.copy()
    read[np.ix_(padded, [i for i, key in enumerate(dates.CLOCKS) if key[0] in ("none", "24", "midnight")])] = True
    score = float(votes[mask].sum()) - _PENALTY * sigma * math.sqrt(mask.sum())
    return _Option(Datetime(unit="us"), mask, _mask(cells.DATE + np.flatnonzero(read)), score)


def _named_moment(votes: np.ndarray, sigma: float) -> _Option:
    first = cells.DATE + len(dates.DAYS) * len(dates.CLOCKS)
    writes = dates.tables()[2]
    block = votes[first : first + len(dates.NAMED)]
    scores = _scores(writes, block, np.ones(len(block)), sigma)
    best = int(np.argmax(scores))
    mask = _mask(first + np.flatnonzero(writes[best]))
    format = DateFormat(dates.named_patterns()[best])
    return _Option(Datetime(unit="day", format=format), mask, mask, float(scores[best]))


def _compact(votes: np.ndarray, sigma: float) -> _Option:
    mask = _mask([cells.DATE + dates.COMPACT])
    score = float(votes[mask].sum()) - _PENALTY * sigma
    # Numbers of eight digits may look like days now and then: nearly all of them must.
    return _Option(Datetime(unit="day", format=DateFormat("%Y%m%d")), mask, mask, score)


# -- truth values -------------------------------------------------------------------------------------------------


def _truth(votes: np.ndarray, sigma: float) -> _Option | None:
    """Typed truth values, or a pair of words that both stand out."""
    mask = _mask([cells.TRUTH])
    options = [_Option(Boolean(), mask, mask, float(votes[cells.TRUTH]) - _PENALTY * sigma)]
    for true, false in TRUTH_WORDS:
        places = [cells.TRUTH_WORD + SINGLE_TRUTH_WORDS.index(word) for word in (true, false)]
        both = votes[places]
        if both.min() > max(_PENALTY * sigma, _ZEROS * both.sum()):
            format = None if (true, false) == ("true", "false") else TruthFormat(true, false)
            mask = _mask(places)
            score = float(both.sum()) - _PENALTY * sigma * math.sqrt(2)
            options.append(_Option(Boolean(format=format), mask, mask, score))
    return max(options, key=lambda o: o.score)
