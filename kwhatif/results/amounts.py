"""Amounts as people write them: 300m, 1.2Gi."""

from __future__ import annotations

__all__ = ["spell_amount"]

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def spell_amount(resource: str, amount: int) -> str:
    """An amount of a resource: cpu in cores or millicores, bytes with a binary suffix, all else as a number."""
    sign, size = ("-", -amount) if amount < 0 else ("", amount)
    if resource == "cpu":
        return f"{sign}{size // 1000}" if size % 1000 == 0 else f"{sign}{size}m"
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        power = 0
        while power < len(_BINARY) - 1 and size >= 1024 ** (power + 1):
            power += 1
        text = f"{size / 1024**power:.1f}".removesuffix(".0")
        return f"{sign}{text}{_BINARY[power]}"
    return f"{sign}{size}"
