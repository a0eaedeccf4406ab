"""What commands take besides their own options: a cluster with what-if edits, how manifests come to it, who schedules
and who adds nodes.

An option of all commands that take one of these is a field here: every class of a command that ``takes`` it has the
option, on the command line and in Python.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Self

from kwhatif.simulation.flag import Argument, Cluster, Flag, WhatIf, parse_moment, values_of
from kwhatif.simulation.inputs import AutoscalingOptions, Files, Inputs, ManifestOptions, SchedulerOptions
from kwhatif.simulation.scenario import Scenario

NAMESPACE = Flag("--namespace", short="-n", metavar="NAME", help="The namespace of objects that do not name one.")
RECURSIVE = Flag("--recursive", short="-R", help="Read directories recursively.")
Now = Annotated[
    datetime | None,
    Flag(
        "--now",
        type=str | None,
        parse=parse_moment,
        metavar="TIME",
        variable="KWHATIF_NOW",
        help="The time to assume, such as 2026-03-01T12:00:00Z. Default: now for the age of the snapshot, the "
        "snapshot's own for autoscalers.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class PodOptions:
    """Pods by files or by names, and files that names are looked up in."""

    pods: Annotated[
        Files,
        Argument(
            metavar="POD",
            file="manifests",
            completion="pod",
            help="Manifests (files, directories, '-' for stdin), or names of pods: NAME, NAMESPACE/NAME, KIND/NAME.",
        ),
    ] = ()
    files: Annotated[
        Files,
        Flag(
            "--filename",
            short="-f",
            metavar="FILE",
            file="manifests",
            help="Manifests to take pods from: those named, or all of them if none is (repeatable).",
        ),
    ] = ()
    namespace: Annotated[str | None, NAMESPACE] = None


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """The cluster: files, a snapshot, or who takes one when its turn comes; none is empty. What time it is there.

    ``with_map`` as ``Inputs`` have it.
    """

    snapshot: Annotated[Any, Cluster()] = ()
    now: Now = None
    with_map: Any = False


@dataclass(frozen=True, kw_only=True)
class EditedClusterOptions(ClusterOptions):
    """What if the cluster were different? None, or edits as ``Inputs`` have them."""

    edits: Annotated[Any, WhatIf()] = None


@dataclass(frozen=True, kw_only=True)
class ScenarioOptions(SchedulerOptions, ManifestOptions, EditedClusterOptions):
    """Manifests that come to a cluster, and the scheduler."""

    recursive: Annotated[bool, RECURSIVE] = False
    namespace: Annotated[str, NAMESPACE] = "default"

    def build_inputs(self, manifests: Files) -> Inputs:
        """The cluster, and these manifests."""
        return Inputs(
            self.snapshot,
            self.gather(manifests),
            self.namespace,
            self.edits,
            ManifestOptions(**values_of(ManifestOptions, self)),
            self.now,
            with_map=self.with_map,
        )

    def gather(self, manifests: Files) -> Files:
        """The same files, those below directories one by one if that is wanted. Raises InputError."""
        if not self.recursive:
            return manifests
        from kwhatif.snapshot.read.directories import gather_directories

        return [
            path
            for manifest in manifests
            for path in (gather_directories([manifest]) if isinstance(manifest, str) else [manifest])
        ]

    def build_scenario(self, manifests: Files) -> Scenario:
        """The same, with the scheduler that decides."""
        return Scenario(self.build_inputs(manifests), SchedulerOptions(**values_of(SchedulerOptions, self)))

    def with_rules_file(self) -> Self:
        """These, with what the nearest rules file leaves out of directories. Raises InputError for the file."""
        from kwhatif.simulation.repository_policy import find_policy, read_policy

        path = find_policy(os.curdir)
        more = read_policy(path).policy.exclude if path else None
        return replace(self, exclude=[*(self.exclude or ()), *more]) if more else self


@dataclass(frozen=True, kw_only=True)
class AutoscaledOptions(AutoscalingOptions, ScenarioOptions):
    """The same, with autoscalers that have a part in it."""

    def build_inputs(self, manifests: Files) -> Inputs:
        return replace(super().build_inputs(manifests), autoscale=self.autoscale, provision=self.provision_seconds)
