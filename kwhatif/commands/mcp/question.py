"""The task of ``mcp``: a server for one agent, on standard input and output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from kwhatif.commands.common_options import CLUSTER, QuestionMemoryLimit, QuestionTimeLimit
from kwhatif.commands.registry import load
from kwhatif.commands.served_cluster import ServesCluster
from kwhatif.results.printed import Printed
from kwhatif.simulation.command import DOCUMENT
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.scenario_options import ClusterOptions


@dataclass(frozen=True, kw_only=True)
class Mcp(ServesCluster):
    """Answer an agent's questions about a cluster, as messages of the Model Context Protocol on stdin and stdout.

    Tools are the questions of the command line; none changes anything, and none reads a file that the agent names. With
    --live it follows every change of the cluster.
    """

    takes = ClusterOptions
    lacks = frozenset({"now"})
    prints = DOCUMENT
    examples = (CLUSTER,)
    functions: ClassVar[Mapping[str, str]] = {"start_mcp_server": "question:Mcp"}

    time_limit_seconds: QuestionTimeLimit = 60.0
    memory_limit: QuestionMemoryLimit = 1024

    def answer(self, options: Any, notes: Notes) -> Printed:
        files, followed = self.cluster_of(options)
        limits = load("kwhatif.serve.workers:Limits")(
            seconds=self.time_limit_seconds, memory=self.memory_limit * 1024**2
        )
        load("kwhatif.serve.stdio:talk")(files, limits, followed)
        return Printed()
