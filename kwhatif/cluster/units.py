"""Amounts as people write them; spelt where reports can spell them, too."""

from __future__ import annotations

from kwhatif.results.amounts import spell_amount

__all__ = ["spell_amount"]
