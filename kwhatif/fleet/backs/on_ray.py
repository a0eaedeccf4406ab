"""Workers of a Ray cluster."""

from __future__ import annotations

import io
import logging
import sys
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, redirect_stdout
from typing import Any

from kwhatif.errors import ClusterError, UsageError
from kwhatif.fleet.backs.back import LOST, FatalError, Pool, unable
from kwhatif.fleet.study import Study
from kwhatif.fleet.worker import Answers, answers, kept_base


class OnRay:
    """The Ray cluster at ``address`` (``ray://HOST:PORT``), else the one that ``ray start`` or RAY_ADDRESS made known,
    else one of our own for as long as this takes. So ``many`` worlds at a time, if not one for each of its CPUs.
    """

    def __init__(self, address: str | None = None, many: int | None = None) -> None:
        self._address, self._many = address, many

    @contextmanager
    def workers(self, study: Study[Any, Any, Any], left: int) -> Iterator[Pool]:
        """The base is put into Ray's object store, from where each worker takes it once."""
        try:
            import ray
        except ImportError:
            raise UsageError("--on ray needs Ray: pip install 'kwhatif[ray]'") from None
        # Ray tells on standard output of workers that died, where the answer is to be alone.
        with redirect_stdout(sys.stderr or io.StringIO()):
            yield from self._with(ray, study)

    def _with(self, ray: Any, study: Study[Any, Any, Any]) -> Iterator[Pool]:
        ours = not ray.is_initialized()
        if ours:
            try:
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
    """Tasks of Ray. A world that failed on one machine is tried again on another one, if there is one."""

    def __init__(self, ray: Any, study: Study[Any, Any, Any], many: int) -> None:
        self._ray, self._key = ray, uuid.uuid4().hex
        # In a list, so that it is handed over as it is, not with what it stands for.
        self._base = [ray.put((study.ask, study.base))]
        self._asked = ray.remote(_asked)
        self.width = many

    def submit(self, worlds: Sequence[Any], avoid: str | None = None) -> Future[Answers]:
        task = self._asked
        if avoid is not None and (others := self._nodes_but(avoid)):
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            task = task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(others[0], soft=True))
        found: Future[Answers] = task.remote(self._key, self._base, worlds).future()
        return found

    def _nodes_but(self, node: str) -> list[str]:
        return sorted(each["NodeID"] for each in self._ray.nodes() if each["Alive"] and each["NodeID"] != node)

    def verdict(self, error: BaseException) -> Exception:
        from ray import exceptions

        if isinstance(error, exceptions.WorkerCrashedError | exceptions.OutOfMemoryError | exceptions.NodeDiedError):
            return FatalError(LOST)
        return ClusterError(f"ray: {unable(error)}")

    def renew(self) -> None:
        """Ray does that."""


def _asked(key: str, base: Sequence[Any], worlds: Sequence[Any]) -> Answers:
    import ray

    ask, common = kept_base(key, lambda: ray.get(base[0]))
    return answers(ask, common, worlds, ray.get_runtime_context().get_node_id())
