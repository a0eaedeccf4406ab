"""Types of numbers in documents of our own: each has a bound, of ``bounds.py`` where the number decides how much is
done.

A test walks the Structs of these documents and finds numbers without a bound.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kwhatif.bounds import COUNT, TRIALS

Count = Annotated[int, Meta(ge=0, le=COUNT)]
PositiveCount = Annotated[int, Meta(ge=1, le=COUNT)]
Trials = Annotated[int, Meta(ge=1, le=TRIALS)]
Serial = Annotated[int, Meta(ge=1, le=2**31 - 1)]
"""An index or id: no loop runs up to it."""

Price = Annotated[float, Meta(ge=0, le=1e15)]
"""In whatever currency."""

Number = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A number that is only compared."""

Measure = Annotated[float, Meta(ge=-1e300, le=1e300)]
"""Likewise; JSON knows no infinite number, but there are texts that stand for one."""
