"""Which back is meant by words."""

from __future__ import annotations

import re

from kwhatif.errors import UsageError
from kwhatif.fleet.backs.back import Back

_DASK = re.compile(r"dask://(?P<address>[^/\s]+:\d+)")
_RAY = re.compile(r"ray|ray://[^/\s]+:\d+")


def back_of(on: str | None, workers: int | None) -> Back:
    """The back ``on`` these machines, with so many ``workers`` at most. Raises UsageError for what names none."""
    if workers is not None and workers < 1:
        raise UsageError(f"--workers {workers}: expected a number of at least 1")
    if on is None:
        from kwhatif.fleet.backs.here import Here

        return Here(workers)
    if found := _DASK.fullmatch(on):
        from kwhatif.fleet.backs.on_dask import OnDask

        return OnDask(found["address"], workers)
    if _RAY.fullmatch(on):
        from kwhatif.fleet.backs.on_ray import OnRay

        return OnRay(None if on == "ray" else on, workers)
    raise UsageError(f"--on {on}: expected dask://HOST:PORT, ray or ray://HOST:PORT")
