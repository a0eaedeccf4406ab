"""``kwhatif diff``: what would change?"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.grouped import grouped
from kwhatif.cli.inputs import add_objects, check_stdin, expanded_from, read_edited, read_setup
from kwhatif.cli.options import (
    AllNodes,
    EngineOptions,
    FeatureGates,
    InputOptions,
    KubernetesVersion,
    Namespace,
    Plugins,
    SkipUnknown,
    Strict,
    Tables,
)
from kwhatif.cli.output import Notes, finish, rendered
from kwhatif.errors import UsageError

if TYPE_CHECKING:
    from kwhatif.api.core import Pod
    from kwhatif.results import DecisionDiff
    from kwhatif.scheduling.setup import Setup
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.whatif.diff.diff import Side
    from kwhatif.whatif.diff.replay import Replayed
    from kwhatif.whatif.edits.outcome import Edited

__all__ = ["app", "diff"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_AT_VERSION = re.compile(r"(?P<policy>.*)@(?P<version>v?\d+\.\d+[\w.+-]*)", re.DOTALL)


@dataclass(frozen=True)
class Shared:
    """What both sides have in common about the scheduler."""

    kubernetes_version: KubernetesVersion = None
    feature_gates: FeatureGates = None
    all_nodes: AllNodes = False
    plugin: Plugins = None
    skip_unknown_plugins: SkipUnknown = False
    strict: Strict = False


@app.command()
@grouped
def diff(
    snapshot: Annotated[
        list[str],
        typer.Option(
            "--snapshot", metavar="FILE", help="The cluster; given twice, one for each side.", show_default=False
        ),
    ],
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Manifests with the pods, the same for both sides.", show_default=False),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="FILE[@VERSION]",
            help="A KubeSchedulerConfiguration, or 'default', and the Kubernetes whose rules hold, as in default@1.31; "
            "given twice, one for each side.",
            show_default=False,
        ),
    ] = None,
    old: Annotated[
        list[str] | None,
        typer.Option("--old", metavar="DIR|FILE", help="Manifests of side A alone (repeatable).", show_default=False),
    ] = None,
    new: Annotated[
        list[str] | None,
        typer.Option("--new", metavar="DIR|FILE", help="Manifests of side B alone (repeatable).", show_default=False),
    ] = None,
    replay: Annotated[
        list[str] | None,
        typer.Option(
            "--replay",
            metavar="pending|namespace=NAME|all",
            help="Schedule the snapshot's pending pods, too; or take pods of a namespace, or all, off their nodes and "
            "schedule them again, in the order they started (repeatable).",
            show_default=False,
        ),
    ] = None,
    namespace: Namespace = "default",
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit with 0 even if something differs.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show everything, however long it gets.")] = False,
    output: Annotated[Tables, typer.Option("-o", "--output", help="The format to print.")] = Tables.table,
    *,
    inputs: InputOptions,
    shared: Shared,
    edits: EditOptions,
) -> None:
    """Compare what two policies, two Kubernetes versions, two clusters or two sets of manifests come to.

    Where both sides hold the same nodes for the best, the same one is chosen: ties are no difference.

    Exit codes: 0 nothing differs, 1 something does, 2 usage or input error.
    """
    from kwhatif.whatif.diff.diff import diff as ask
    from kwhatif.whatif.fidelity.assess import insist

    wanted = _Wanted.parse(replay or ())
    policies, snapshots = list(policy or ()), list(snapshot)
    _check(policies, snapshots, old, new)
    if not (files or old or new or replay):
        raise UsageError("name files with pods to schedule, or pods of the snapshot with --replay")
    check_stdin(*(files or ()), *(old or ()), *(new or ()), *snapshots, *policies, *(edits.edits or ()))
    notes = Notes()
    clusters = [read_edited([path], edits, notes) for path in snapshots]
    manifests = [[*(files or ()), *(side or ())] for side in ((old, new) if old or new else (None,))]
    wanted.check([cluster.snapshot for cluster in clusters])
    built = _Built(clusters, policies or [None], manifests, namespace, inputs, shared, notes)
    a, b = built.sides(wanted)
    result = ask(a, b)
    if shared.strict:
        insist(result.a.fidelity)
        insist(result.b.fidelity)
    finish(_rendered(result, output, everything), 0 if exit_zero else result.exit_code, notes)


def _check(
    policies: Sequence[str], snapshots: Sequence[str], old: Sequence[str] | None, new: Sequence[str] | None
) -> None:
    for name, given in (("--policy", policies), ("--snapshot", snapshots)):
        if len(given) > 2:
            raise UsageError(f"{name} is given {len(given)} times: there are two sides")
    if bool(old) != bool(new):
        raise UsageError("--old and --new go together: manifests of side A and of side B")
    if max(len(policies), len(snapshots)) < 2 and not old:
        raise UsageError("nothing to compare: give --policy or --snapshot twice, or --old and --new")


@dataclass(frozen=True)
class _Wanted:
    """Which pods of the snapshot are scheduled."""

    pending: bool = False
    everything: bool = False
    namespaces: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, words: Sequence[str]) -> _Wanted:
        namespaces = set()
        for word in words:
            key, sign, name = word.partition("=")
            if sign and key == "namespace" and name:
                namespaces.add(name)
            elif word not in ("pending", "all"):
                raise UsageError(f"--replay {word}: expected pending, namespace=NAME or all")
        return cls("pending" in words or "all" in words, "all" in words, frozenset(namespaces))

    def check(self, snapshots: Sequence[Snapshot]) -> None:
        """Raises UsageError for a namespace that has no pods: an empty answer must not pass for a good one."""
        from kwhatif.api.core import Pod

        there = {pod.namespace for snapshot in snapshots for pod in snapshot.objects.of(Pod)}
        for name in sorted(self.namespaces - there):
            raise UsageError(f"--replay namespace={name}: the snapshot has no pods in it")

    def running(self, pod: Pod) -> bool:
        return self.everything or pod.namespace in self.namespaces

    def waiting(self, pod: Pod) -> bool:
        return self.pending or pod.namespace in self.namespaces


@dataclass(frozen=True)
class _Built:
    """What is given once serves both sides."""

    clusters: Sequence[Edited]
    policies: Sequence[str | None]
    manifests: Sequence[Sequence[str]]
    namespace: str
    inputs: InputOptions
    shared: Shared
    notes: Notes

    def sides(self, wanted: _Wanted) -> tuple[Side, Side]:
        from kwhatif.whatif.diff.replay import replay
        from kwhatif.whatif.edits.draft import Draft

        setups = [read_setup(self._engine(side), self.notes, _of(self.clusters, side).snapshot) for side in (0, 1)]
        names = [{profile.scheduler_name for profile in setup.configuration.profiles} for setup in setups]
        known: Callable[[str], bool] = (names[0] & names[1]).__contains__
        found = []
        for side, setup in enumerate(setups):
            edited = _of(self.clusters, side)
            snapshot, replayed = replay(edited.snapshot, wanted.running, known)
            # Each side adds objects of its manifests to a cluster of its own.
            snapshot = Draft(snapshot).snapshot
            found.append(self._side(side, setup, edited, snapshot, replayed, wanted))
        return found[0], found[1]

    def _engine(self, side: int) -> EngineOptions:
        policy = _of(self.policies, side)
        version = self.shared.kubernetes_version
        found = _AT_VERSION.fullmatch(policy or "")
        if found is not None:
            policy, version = found["policy"] or "default", found["version"]
        shared = {field.name: getattr(self.shared, field.name) for field in dataclasses.fields(self.shared)}
        return EngineOptions(**{**shared, "policy": policy, "kubernetes_version": version})

    def _side(
        self, side: int, setup: Setup, edited: Edited, snapshot: Snapshot, replayed: Replayed, wanted: _Wanted
    ) -> Side:
        from kwhatif.whatif.diff.diff import Side
        from kwhatif.whatif.session import pending_pods

        paths = _of(self.manifests, side)
        expanded = expanded_from(paths, self.namespace, snapshot, self.inputs)
        notes = self.notes if side == 0 else Notes()
        others = add_objects(snapshot, expanded, notes, ignore_unknown=self.inputs.ignore_unknown)
        given = {item.pod.key for item in (*expanded.pods, *replayed.pods)}
        waiting = [item for item in edited.asked if item.pod.key not in given]
        waiting += [item for item in pending_pods(snapshot) if wanted.waiting(item.pod)]
        for item in waiting:
            if item.pod.key not in given:
                given.add(item.pod.key)
                expanded.pods.append(item)
        return Side(self._label(side), snapshot, setup, expanded, replayed, others)

    def _label(self, side: int) -> str:
        """What only this side has."""
        parts = []
        if len(self.policies) > 1:
            parts.append(f"policy {self.policies[side]}")
        if len(self.clusters) > 1:
            parts.append(f"snapshot {self.clusters[side].snapshot.source}")
        if len(self.manifests) > 1:
            parts.append(f"manifests {', '.join(self.manifests[side])}")
        return ", ".join(parts)


T = TypeVar("T")


def _of(given: Sequence[T], side: int) -> T:
    return given[side if len(given) > 1 else 0]


def _rendered(result: DecisionDiff, output: Tables, everything: bool) -> str:
    from kwhatif.report.diff_text import diff_blocks

    return rendered(result, output, lambda: diff_blocks(result, everything=everything))
