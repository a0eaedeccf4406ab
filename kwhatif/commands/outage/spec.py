"""The spec of ``kwhatif outage``."""

from __future__ import annotations

from kwhatif.commands.spec import CLUSTER, CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="outage",
        module="outage",
        purpose="What happens when nodes, zones or pools are gone?",
        position=80,
        may_be_no=True,
        has_gaps=True,
        takes="manifests",
        functions=("run:outage",),
        examples=(
            f"{CLUSTER}",
            f"{CLUSTER} --each nodes,zones --survive node",
        ),
        results=(
            ResultSpec(
                "kwhatif.results.disruption:OutageResult",
                "outage-result",
                "What kwhatif outage says that failures would do",
                page="text:PAGE",
            ),
        ),
        package=__package__,
    ),
)
