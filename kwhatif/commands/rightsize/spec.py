"""The spec of ``kwhatif rightsize``."""

from __future__ import annotations

from kwhatif.commands.spec import CommandSpec, ResultSpec

_USAGE = "samples/usage"

SPECS = (
    CommandSpec(
        name="rightsize",
        module="rightsize",
        purpose="What if requests were what pods really use?",
        position=105,
        may_be_no=True,
        has_gaps=True,
        functions=("run:rightsize",),
        examples=(
            f"--snapshot {_USAGE}/saves-40/cluster.json --usage {_USAGE}/saves-40/usage.json "
            f"--autoscale {_USAGE}/saves-40/groups.yaml --steps",
            f"--snapshot {_USAGE}/pods-bind/cluster.json --usage {_USAGE}/pods-bind/usage.txt --write advice",
        ),
        results=(
            ResultSpec(
                "result:RightsizeResult",
                "rightsize-result",
                "What comes of requests that follow from usage",
                page="text:PAGE",
            ),
        ),
        package=__package__,
    ),
)
