"""Amounts as people write them: 300m, 1.2Gi, 3 days, 2 pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_MANY_MILLICORES = 10_000
_CORES_ALONE = 100_000
_THOUSAND = 1000
_BITS_OF_FLOATS = 1023
_SMALLEST_SHARE = 0.1
"""The smallest number in a unit; smaller amounts are written in a smaller unit."""
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def format_amount(resource: str, amount: int) -> str:
    """An amount of a resource: cpu in cores or millicores, bytes with a binary suffix, all else as a number.

    Large amounts of cpu are rounded to cores.
    """
    sign, size = ("-", -amount) if amount < 0 else ("", amount)
    if resource == "cpu" and size >= _CORES_ALONE:
        return f"{sign}{round(_divide(size, 1000)):,}"
    if resource == "cpu":
        return f"{sign}{size // 1000}" if size % 1000 == 0 else f"{sign}{size}m"
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        power = 0
        while power < len(_BINARY) - 1 and size >= 1024 ** (power + 1):
            power += 1
        amount_of_unit = _divide(size, 1024**power)
        text = str(amount_of_unit) if isinstance(amount_of_unit, int) else f"{amount_of_unit:.1f}".removesuffix(".0")
        return f"{sign}{text}{_BINARY[power]}"
    return f"{sign}{size}"


def _divide(size: int, by: int) -> float | int:
    """The quotient; rounded down for what no floating-point number holds."""
    return size // by if size.bit_length() > _BITS_OF_FLOATS else size / by


def format_clock(seconds: float) -> str:
    """``1:02:30``, ``12:05``: hours if there are any, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def format_size(size: int) -> str:
    """``12.3 MB`` of a file."""
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size / 1e3:.1f} kB"


def format_in_one_unit(resource: str, *amounts: int) -> list[str]:
    """Amounts of a resource in one unit, that of the first: what is subtracted from it is read at a glance."""
    if resource == "cpu":
        return [f"{amount // 1000}" if not any(one % 1000 for one in amounts) else f"{amount}m" for amount in amounts]
    unit = format_amount(resource, amounts[0]).lstrip("-0123456789.")
    size = 1024 ** _BINARY.index(unit)
    return [f"{amount / size:.1f}".removesuffix(".0") + unit if unit else str(amount) for amount in amounts]


def format_column(resource: str, amounts: Sequence[int]) -> list[str]:
    """Amounts of a resource that stand below or beside each other, in one unit: that of the largest.

    Where the smallest is less than a tenth of that, all are in the next smaller one.

    Ten cores and more are written in cores.
    """
    most = max(map(abs, amounts), default=0)
    if resource == "cpu" and most < _MANY_MILLICORES:
        return format_in_one_unit(resource, *amounts)
    unit = "" if resource == "cpu" else format_amount(resource, most).lstrip("0123456789.")
    power = 0 if resource == "cpu" else _BINARY.index(unit)
    least = min((abs(amount) for amount in amounts if amount), default=0)
    if power > 1 and 1024 ** (power - 1) <= least < _SMALLEST_SHARE * 1024**power:
        power -= 1
    unit, size = _BINARY[power], 1000 if resource == "cpu" else 1024**power
    if size == 1:
        return list(map(str, amounts))
    return [(f"{_format_rounded(amount / size)}{unit}" if amount else "0") for amount in amounts]


def _format_rounded(number: float) -> str:
    """With one digit behind the point, with two or more where it would be lost otherwise; 0 is for nothing."""
    digits = 1 if abs(number) >= 0.95 else 2 if abs(number) >= 0.01 else 4
    if abs(number) >= _THOUSAND:
        return f"{number:,.0f}"
    text = f"{number:.{digits}f}"
    return text.rstrip("0").rstrip(".") if float(text) else f"{'-' if number < 0 else ''}<0.0001"


def format_count(number: int, one: str, many: str = "") -> str:
    """``1 pod``, ``2 pods``."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def format_ordinal(number: float) -> str:
    """``1st``, ``24th``, ``99.9th``."""
    text = f"{number:g}"
    ending = {"1": "st", "2": "nd", "3": "rd"}.get(text[-1], "th") if text[-2:-1] != "1" else "th"
    return text + ending


def format_some(names: Sequence[str], most: int = 3) -> str:
    """``a, b, c and 4 more``."""
    more = len(names) - most
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:most])} and {more} more"


def format_counts(kinds: Mapping[str, int]) -> str:
    """``2 Deployment, 1 Service``."""
    return ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))


def format_age(seconds: int) -> str:
    """``3 days``: in the largest unit of which there are two."""
    unit, length = next(((name, size) for name, size in _UNITS if seconds >= 2 * size), _UNITS[-1])
    return format_count(seconds // length, unit)
