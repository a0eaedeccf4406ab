"""Numbers as documents of our own have them: every one has a bound, of ``bounds.py`` where it decides how much is done.

A test walks the Structs of these documents and finds the number that has none.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kwhatif.bounds import COUNT, TRIALS

Count = Annotated[int, Meta(ge=0, le=COUNT)]
PositiveCount = Annotated[int, Meta(ge=1, le=COUNT)]
Trials = Annotated[int, Meta(ge=1, le=TRIALS)]
Serial = Annotated[int, Meta(ge=1, le=2**31 - 1)]
"""What tells things of one sort apart: nothing is done so often."""

Price = Annotated[float, Meta(ge=0, le=1e15)]
"""In whatever currency."""

Number = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""What is compared and nothing else."""

Measure = Annotated[float, Meta(ge=-1e300, le=1e300)]
"""Likewise; JSON knows no infinite number, but there are texts that stand for one."""
