"""Workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from functools import partial
from typing import Any

from kwhatif.errors import ClusterError, UsageError
from kwhatif.fleet.backs.back import LOST, FatalError, LostError, Pool, unable
from kwhatif.fleet.study import Study
from kwhatif.fleet.worker import Answers, Ask, answers

_PATIENCE = 10
"""Seconds in which a scheduler has to answer."""


class OnDask:
    """The workers of the scheduler at ``address`` (host and port), all of them or so ``many`` at a time."""

    def __init__(self, address: str, many: int | None = None) -> None:
        self._address, self._many = address, many

    @contextmanager
    def workers(self, study: Study[Any, Any, Any], left: int) -> Iterator[Pool]:
        """The base is scattered to all workers before the first world."""
        try:
            from distributed import Client
        except ImportError:
            raise UsageError("--on dask needs Dask: pip install 'kwhatif[dask]'") from None
        try:
            client = Client(f"tcp://{self._address}", timeout=_PATIENCE, set_as_default=False)
        except OSError as error:
            raise ClusterError(f"dask://{self._address}: no scheduler answers there: {error}") from None
        with client:
            yield _DaskPool(client, self._address, study, self._many)


class _DaskPool:
    def __init__(self, client: Any, address: str, study: Study[Any, Any, Any], many: int | None) -> None:
        self._client, self._address, self._study, self._many = client, address, study, many
        self.renew()

    def submit(self, worlds: Sequence[Any], avoid: str | None = None) -> Future[Answers]:
        others = [] if avoid is None else [worker for worker in self._client.nthreads() if worker != avoid]
        elsewhere = {"workers": others, "allow_other_workers": True} if others else {}
        task = self._client.submit(_asked, self._base, worlds, pure=False, **elsewhere)
        found: Future[Answers] = Future()
        task.add_done_callback(partial(_hand_over, found))
        return found

    def verdict(self, error: BaseException) -> Exception:
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            return FatalError(LOST)
        if isinstance(error, CancelledError):
            # All who had the base were lost, and it with them.
            return LostError(LOST)
        return self._unable(error)

    def renew(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=_PATIENCE)
            self._base = self._client.scatter((self._study.ask, self._study.base), broadcast=True, hash=False)
        except TimeoutError:
            raise ClusterError(f"dask://{self._address}: the scheduler has no workers") from None
        except Exception as error:
            raise self._unable(error) from None
        workers = len(self._client.nthreads())
        self.width = 2 * workers if self._many is None else min(self._many, 2 * workers)

    def _unable(self, error: BaseException) -> ClusterError:
        return ClusterError(f"dask://{self._address}: {unable(error)}")


def _hand_over(found: Future[Answers], task: Any) -> None:
    """What became of a task of Dask. (Its own executor forgets about futures whose results are lost.)"""
    try:
        found.set_result(task.result())
    except BaseException as error:
        found.set_exception(error)


def _asked(base: tuple[Ask, Any], worlds: Sequence[Any]) -> Answers:
    from distributed import get_worker

    return answers(*base, worlds, get_worker().address)
