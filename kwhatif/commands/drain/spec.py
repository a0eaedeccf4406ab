"""The spec of ``kwhatif drain``."""

from __future__ import annotations

from kwhatif.commands.spec import CLUSTER, CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="drain",
        module="drain",
        purpose="What would draining nodes do?",
        position=60,
        may_be_no=True,
        has_gaps=True,
        takes="manifests",
        functions=("run:drain",),
        examples=(
            f"general-b-1 {CLUSTER} --ignore-daemonsets --delete-emptydir-data",
            (f"topology.kubernetes.io/zone=eu-west-1a {CLUSTER} --ignore-daemonsets --delete-emptydir-data --force"),
        ),
        results=(
            ResultSpec(
                "kwhatif.results.disruption:DrainResult",
                "drain-result",
                "What kwhatif drain says that draining nodes would do",
                page="text:PAGE",
            ),
        ),
        package=__package__,
    ),
)
