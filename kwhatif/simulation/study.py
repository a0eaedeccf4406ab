"""The base of a study: a cluster with its scheduler, as a value that can be sent to workers."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, Unpack

import msgspec
from msgspec import structs

from kwhatif.api.quantity import plain_quantity
from kwhatif.errors import UsageError
from kwhatif.results.place import failures_left
from kwhatif.scheduling.driver import DriverOptions
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.simulation.inputs import Inputs, SchedulerOptions
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.scenario import PreparedScenario, ReadManifests
from kwhatif.simulation.session import Session


class StudyBase(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A scenario after all stages up to ``session``, without what only those need. Every world is a ``fork`` of it.

    Objects are sent, of which each worker makes columns once, which takes as long as sending columns would. Plugins
    from outside are loaded by each worker.
    """

    scenario: PreparedScenario
    manifests: tuple[Any, ...] = ()
    """As given: updates are prepared from them for each run, and are in no snapshot."""

    @classmethod
    def from_scenario(cls, scenario: PreparedScenario) -> StudyBase:
        """The base of a scenario. Raises UsageError where extenders are to be called, which a study would flood."""
        if scenario.scheduler_options.call_extenders:
            raise UsageError("--call-extenders: extenders are not called for many worlds")
        expanded = ExpandedManifests(doubts=scenario.expanded.doubts)
        if scenario.expanded.creations:
            expanded.creations, expanded.failed = scenario.expanded.creations, scenario.expanded.failed
        bare = PreparedScenario(
            Inputs(),
            SchedulerOptions(plugins=scenario.scheduler_options.plugins, strict=scenario.scheduler_options.strict),
            read=ReadManifests(gaps=scenario.read.gaps),
            edited=scenario.edited,
            scheduler=scenario.setup,
            expanded=expanded,
            pods_to_schedule=scenario.pods_to_schedule,
            unknown_kinds=scenario.unknown_kinds,
        )
        return cls(bare, tuple(manifest.raw for manifest in scenario.manifests))

    @property
    def is_picklable(self) -> bool:
        """Whether it can be sent to other processes. What controllers try again, they do with a server of this one."""
        return not self.scenario.expanded.creations

    def missing_pods(self, run: Run) -> int:
        """How many pods controllers could not create by the end of a run."""
        return sum(failure.pods for failure in failures_left(self.scenario.expanded.failed, run.created))

    @cached_property
    def session(self) -> Session:
        """The cluster as columns, made once a process. It must not be changed. Raises InputError."""
        return self.scenario.new_session()

    def fork(self, setup: Setup | None = None, **options: Unpack[DriverOptions]) -> Session:
        """A world of its own: the cluster as it is, with a scheduler process that has done nothing yet."""
        return self.session.fork(setup, **options)

    @cached_property
    def digest(self) -> str:
        """The same for the same cluster, scheduler and pods."""
        encode = msgspec.json.Encoder(enc_hook=plain_quantity, order="deterministic").encode
        digest = hashlib.sha256()
        for kind, objects in self.scenario.snapshot.by_kind().items():
            digest.update(kind.encode() + encode(objects))
        digest.update(encode([[asked.pod for asked in self.scenario.pods_to_schedule], self.manifests]))
        setup = self.scenario.setup
        options = (setup.all_nodes, setup.skip_unknown, sorted(self.scenario.unknown_kinds))
        digest.update(repr((setup.configuration, str(setup.features), *options)).encode())
        for name, plugin in sorted(setup.outside.items()):
            digest.update(f"{name} {plugin.__module__}.{plugin.__qualname__} {_source_of(plugin)}".encode())
        return digest.hexdigest()

    def __reduce__(self) -> tuple[Callable[[PreparedScenario, bool], StudyBase], tuple[PreparedScenario, bool]]:
        # Classes from files have no name that another process could import them by.
        setup = self.scenario.setup
        return _with_outside_plugins, (
            replace(self.scenario, scheduler=structs.replace(setup, outside={})),
            bool(setup.outside),
        )


def _with_outside_plugins(scenario: PreparedScenario, outside: bool) -> StudyBase:
    if outside:
        from kwhatif.framework.outside import load_outside

        scenario = replace(
            scenario,
            scheduler=structs.replace(scenario.setup, outside=load_outside(scenario.scheduler_options.plugins or ())),
        )
    return StudyBase(scenario)


def _source_of(plugin: type) -> str:
    """The source text of a plugin from outside, where it is available: another text makes other rows."""
    try:
        return inspect.getsource(plugin)
    except (OSError, TypeError):
        return ""
