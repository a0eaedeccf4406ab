"""The base of a study: a cluster with its scheduler, as a value that can be sent to workers."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Unpack

import msgspec

from kwhatif.api.quantity import plain_quantity
from kwhatif.errors import UsageError
from kwhatif.scheduling.driver import DriverOptions
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.expansion.expand import ExpandedManifests
from kwhatif.simulation.inputs import Inputs, SchedulerOptions
from kwhatif.simulation.scenario import PreparedScenario, ReadManifests
from kwhatif.simulation.session import Session


@dataclass(frozen=True, eq=False)
class StudyBase:
    """A scenario after all stages up to ``session``, without what only those need. Every world is a ``fork`` of it.

    Objects are sent, of which each worker makes columns once, which takes as long as sending columns would. Plugins
    from outside are loaded by each worker.
    """

    case: PreparedScenario
    manifests: tuple[Any, ...] = ()
    """As given: updates are prepared from them for each run, and are in no snapshot."""

    @classmethod
    def from_scenario(cls, case: PreparedScenario) -> StudyBase:
        """The base of a scenario. Raises UsageError where extenders are to be called, which a study would flood."""
        if case.scheduler_options.call_extenders:
            raise UsageError("--call-extenders: extenders are not called for many worlds")
        bare = PreparedScenario(
            Inputs(),
            SchedulerOptions(plugins=case.scheduler_options.plugins),
            read=ReadManifests(),
            edited=case.edited,
            scheduler=case.setup,
            expanded=ExpandedManifests(doubts=case.expanded.doubts),
            pods_to_schedule=case.pods_to_schedule,
            unknown_kinds=case.unknown_kinds,
        )
        return cls(bare, tuple(manifest.raw for manifest in case.manifests))

    @cached_property
    def session(self) -> Session:
        """The cluster as columns, made once a process. It must not be changed. Raises InputError."""
        return self.case.new_session()

    def fork(self, setup: Setup | None = None, **options: Unpack[DriverOptions]) -> Session:
        """A world of its own: the cluster as it is, with a scheduler process that has done nothing yet."""
        return self.session.fork(setup, **options)

    @cached_property
    def digest(self) -> str:
        """The same for the same cluster, scheduler and pods."""
        encode = msgspec.json.Encoder(enc_hook=plain_quantity, order="deterministic").encode
        digest = hashlib.sha256()
        for kind, objects in self.case.snapshot.by_kind().items():
            digest.update(kind.encode() + encode(objects))
        digest.update(encode([[asked.pod for asked in self.case.pods_to_schedule], self.manifests]))
        setup = self.case.setup
        options = (setup.all_nodes, setup.skip_unknown, sorted(self.case.unknown_kinds))
        digest.update(repr((setup.configuration, str(setup.features), *options)).encode())
        for name, plugin in sorted(setup.outside.items()):
            digest.update(f"{name} {plugin.__module__}.{plugin.__qualname__} {_source_of(plugin)}".encode())
        return digest.hexdigest()

    def __reduce__(self) -> tuple[Callable[[PreparedScenario, bool], StudyBase], tuple[PreparedScenario, bool]]:
        # Classes from files have no name that another process could import them by.
        setup = self.case.setup
        return _with_outside_plugins, (replace(self.case, scheduler=replace(setup, outside={})), bool(setup.outside))


def _with_outside_plugins(case: PreparedScenario, outside: bool) -> StudyBase:
    if outside:
        from kwhatif.framework.outside import load_outside

        case = replace(case, scheduler=replace(case.setup, outside=load_outside(case.scheduler_options.plugins or ())))
    return StudyBase(case)


def _source_of(plugin: type) -> str:
    """The source text of a plugin from outside, where it is available: another text makes other rows."""
    try:
        return inspect.getsource(plugin)
    except (OSError, TypeError):
        return ""
