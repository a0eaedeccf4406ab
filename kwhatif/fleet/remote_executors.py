"""Executors on clusters of Dask and of Ray."""

from __future__ import annotations

import io
import logging
import sys
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import chdir, contextmanager, redirect_stdout
from functools import partial
from typing import Any

from kwhatif.api.objects import part_of
from kwhatif.errors import ClusterError, UsageError
from kwhatif.fleet.executors import LOST, FatalError, LostError, WorkerPool, describe_failure
from kwhatif.fleet.study import Ask, BatchResult, Study, answer_batch, kept_base

_PATIENCE = 10
"""Seconds in which a scheduler has to answer."""


class DaskExecutor:
    """The workers of the scheduler at ``address`` (host and port), all of them or so ``many`` at a time."""

    def __init__(self, address: str, many: int | None = None) -> None:
        self._address, self._many = address, many

    @contextmanager
    def workers(self, study: Study[Any, Any, Any], worlds: int) -> Iterator[WorkerPool]:
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

    def submit(self, worlds: Sequence[Any], avoid: str | None = None) -> Future[BatchResult]:
        others = [] if avoid is None else [worker for worker in self._client.nthreads() if worker != avoid]
        elsewhere = {"workers": others, "allow_other_workers": True} if others else {}
        task = self._client.submit(_answer_dask_batch, self._base, worlds, pure=False, **elsewhere)
        future: Future[BatchResult] = Future()
        task.add_done_callback(partial(_hand_over, future))
        return future

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
        return ClusterError(f"dask://{self._address}: {describe_failure(error)}")


def _hand_over(future: Future[BatchResult], task: Any) -> None:
    """The outcome of a Dask task. (Dask's own executor forgets futures whose results are lost.)"""
    try:
        future.set_result(task.result())
    except BaseException as error:
        future.set_exception(error)


def _answer_dask_batch(base: tuple[Ask, Any], worlds: Sequence[Any]) -> BatchResult:
    from distributed import get_worker

    return answer_batch(*base, worlds, get_worker().address)


class RayExecutor:
    """The Ray cluster at ``address`` (``ray://HOST:PORT``), else the one of ``ray start`` or RAY_ADDRESS, else one of
    our own for the duration of the study. So ``many`` worlds at a time, by default one for each of its CPUs.
    """

    def __init__(self, address: str | None = None, many: int | None = None) -> None:
        self._address, self._many = address, many

    @contextmanager
    def workers(self, study: Study[Any, Any, Any], worlds: int) -> Iterator[WorkerPool]:
        """The base is put into Ray's object store, from where each worker takes it once."""
        try:
            import ray
        except ImportError:
            raise UsageError("--on ray needs Ray: pip install 'kwhatif[ray]'") from None
        # Ray tells on standard output of workers that died, where the answer is to be alone.
        with redirect_stdout(sys.stderr or io.StringIO()):
            yield from self._open_pool(ray, study)

    def _open_pool(self, ray: Any, study: Study[Any, Any, Any]) -> Iterator[WorkerPool]:
        ours = not ray.is_initialized()
        if ours:
            try:
                # Ray's workers import from the directory where Ray is started, which must not be a checkout.
                with chdir(sys.prefix):
                    ray.init(self._address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
            except Exception as error:
                raise ClusterError(f"{self._address or 'ray'}: cannot be reached: {error}") from None
        try:
            cpus = int(ray.cluster_resources().get("CPU", 0))
            many = min(cpus, self._many or cpus)
            if not many:
                raise ClusterError(f"{self._address or 'ray'}: has no CPUs to work with")
            yield _RayPool(ray, study, many)
        finally:
            if ours:
                ray.shutdown()


class _RayPool:
    """Tasks of Ray. A world that failed on one machine is retried on another one, if there is one."""

    def __init__(self, ray: Any, study: Study[Any, Any, Any], many: int) -> None:
        self._ray, self._key = ray, uuid.uuid4().hex
        # In a list, so that the reference is passed on, and not its value.
        self._base = [ray.put((study.ask, study.base))]
        self._asked = ray.remote(_answer_ray_batch)
        self.width = many

    def submit(self, worlds: Sequence[Any], avoid: str | None = None) -> Future[BatchResult]:
        task = self._asked
        if avoid is not None and (others := self._nodes_but(avoid)):
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            task = task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(others[0], soft=True))
        future: Future[BatchResult] = task.remote(self._key, self._base, worlds).future()
        return future

    def _nodes_but(self, node: str) -> list[str]:
        return sorted(
            part_of(member, "NodeID")
            for member in self._ray.nodes()
            if part_of(member, "Alive") and part_of(member, "NodeID") != node
        )

    def verdict(self, error: BaseException) -> Exception:
        from ray import exceptions

        if isinstance(error, exceptions.WorkerCrashedError | exceptions.OutOfMemoryError | exceptions.NodeDiedError):
            return FatalError(LOST)
        return ClusterError(f"ray: {describe_failure(error)}")

    def renew(self) -> None:
        """Ray does that by itself."""


def _answer_ray_batch(key: str, base: Sequence[Any], worlds: Sequence[Any]) -> BatchResult:
    import ray

    ask, common = kept_base(key, lambda: ray.get(base[0]))
    return answer_batch(ask, common, worlds, ray.get_runtime_context().get_node_id())
