"""What the worlds of a study have in common, as a value that travels to workers: a cluster, and who schedules there."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import inspect
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import msgspec

from kwhatif.api.quantity import plain_quantity
from kwhatif.errors import UsageError
from kwhatif.scheduling.driver import DriverOptions
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.expansion.expand import ExpandedManifests
from kwhatif.simulation.inputs import Inputs, SchedulerOptions
from kwhatif.simulation.question import Scenario
from kwhatif.simulation.session import Session


@dataclass(frozen=True, eq=False)
class StudyBase:
    """A case after all stages up to ``session``, without what only those need. Every world is a ``fork`` of it.

    What is sent is the objects: columns are made of them once a worker, which takes as long as sending columns would.
    Plugins from outside are looked for by each worker.
    """

    case: Scenario
    manifests: tuple[Any, ...] = ()
    """As they were given: updates are made of them anew, and stand in no snapshot."""

    @classmethod
    def from_scenario(cls, case: Scenario) -> StudyBase:
        """The ground of a case. Raises UsageError where extenders are to be called, which a study would flood."""
        if case.scheduler_options.call_extenders:
            raise UsageError("--call-extenders: extenders are not called for many worlds")
        bare = Scenario(Inputs(), SchedulerOptions(plugins=case.scheduler_options.plugins))
        bare.edited, bare.setup, bare.pods_to_schedule, bare.unknown_kinds = (
            case.edited,
            case.setup,
            case.pods_to_schedule,
            case.unknown_kinds,
        )
        bare.expanded = ExpandedManifests(doubts=case.expanded.doubts)
        return cls(bare, tuple(manifest.raw for manifest in case.manifests))

    @cached_property
    def session(self) -> Session:
        """The cluster as columns, made once a process. It is to stay as it is. Raises InputError."""
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

    def __getstate__(self) -> tuple[Scenario, bool]:
        # Classes from files have no name that another process could import them by.
        bare, outside = copy.copy(self.case), bool(self.case.setup.outside)
        bare.setup = dataclasses.replace(bare.setup, outside={})
        return bare, outside

    def __setstate__(self, state: tuple[Scenario, bool]) -> None:
        case, outside = state
        if outside:
            from kwhatif.framework.outside import load_outside

            case.setup.outside = load_outside(case.scheduler_options.plugins or ())
        self.__dict__.update({"case": case, "manifests": ()})


def _source_of(plugin: type) -> str:
    """The text of a plugin from outside, where it can be had: with another one the rows are others."""
    try:
        return inspect.getsource(plugin)
    except (OSError, TypeError):
        return ""
