"""From an option's value to an executor: processes of this machine, or workers of a Dask or Ray cluster."""

from __future__ import annotations

from kwhatif.errors import UsageError
from kwhatif.fleet.executors import _DASK, _RAY, Executor, LocalExecutor


def executor_of(on: str | None, workers: int | None) -> Executor:
    """The executor that ``on`` names, with at most ``workers`` workers. Raises UsageError for an unknown name."""
    if workers is not None and workers < 1:
        raise UsageError(f"--workers {workers}: expected a number of at least 1")
    if on is None:
        return LocalExecutor(workers)
    if match := _DASK.fullmatch(on):
        from kwhatif.fleet.remote_executors import DaskExecutor

        return DaskExecutor(match["address"], workers)
    if _RAY.fullmatch(on):
        from kwhatif.fleet.remote_executors import RayExecutor

        return RayExecutor(None if on == "ray" else on, workers)
    raise UsageError(f"--on {on}: expected dask://HOST:PORT, ray or ray://HOST:PORT")
