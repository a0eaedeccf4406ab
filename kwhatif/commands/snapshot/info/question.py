"""The task of ``snapshot info``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from kwhatif.commands.snapshot.info.result import InfoResult
from kwhatif.errors import UsageError
from kwhatif.simulation.command import Task
from kwhatif.simulation.flag import Argument, Flag, InputFile
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.scenario_options import EditedClusterOptions


@dataclass(frozen=True, kw_only=True)
class Info(Task[InfoResult]):
    """Show what is in a snapshot: nodes by pool and zone, what is free, who waits, how old it is, what is missing.

    Exit codes: 0 good, 2 usage or input error.
    """

    takes = EditedClusterOptions
    examples = ("samples/cluster", "samples/gpu/cluster.json --nodes", "day.jsonl.gz@+1s")

    snapshot: Annotated[
        Any,
        Argument(
            type=list[str] | None,
            metavar="FILE",
            file="cluster",
            repeats=True,
            help="A snapshot, or files and directories as kubectl prints them; as --snapshot.",
        ),
    ] = ()
    by: Annotated[
        str,
        Flag(
            "--by",
            metavar="LABEL",
            help="The label that names a node's pool. Default: those of well-known providers, or the role.",
        ),
    ] = ""
    nodes: Annotated[bool, Flag("--nodes", help="List each node, too.")] = False
    usage: Annotated[
        Sequence[str],
        InputFile(
            "--usage", "Also show what pods use, as rightsize reads it. Default: what the snapshot holds (repeatable)."
        ),
    ] = ()

    def answer(self, options: EditedClusterOptions, notes: Notes) -> InfoResult:
        from kwhatif.api.core import Node
        from kwhatif.clock import read_clock
        from kwhatif.commands.snapshot.info.info import device_uses, info
        from kwhatif.commands.snapshot.info.usage_summary import add_usage
        from kwhatif.simulation.cluster_files import snapshot_of, with_edits
        from kwhatif.simulation.cluster_map import MapBase
        from kwhatif.versions import features_of

        snapshot = with_edits(snapshot_of(options.snapshot, notes), options.edits, notes).snapshot
        known = snapshot.objects.list_all(Node)
        if self.by and known and not any(self.by in (node.metadata.labels or {}) for node in known):
            raise UsageError(f"--by {self.by}: no node has this label")
        features = features_of()
        # Who asks has a map of this very cluster.
        is_base = isinstance(options.with_map, MapBase) and not options.edits and not self.by
        result = info(
            snapshot,
            features,
            options.now or read_clock(),
            by=self.by,
            nodes=self.nodes,
            devices=lambda there: device_uses(there, features),
            mapped=bool(options.with_map) and not is_base,
        )
        if is_base:
            result = result.with_context(cluster_map=options.with_map.without_changes)
        return add_usage(result, snapshot, self.usage, features, None, notes, self.by)
