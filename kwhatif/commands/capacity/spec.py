"""The spec of ``kwhatif capacity``."""

from __future__ import annotations

from kwhatif.commands.spec import CLUSTER, MANIFESTS, CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="capacity",
        module="capacity",
        purpose="How many more of these would fit?",
        position=50,
        may_be_no=True,
        has_gaps=True,
        takes="manifests",
        functions=("run:capacity",),
        examples=(
            f"{MANIFESTS}/checkout.yaml {CLUSTER}",
            f"{MANIFESTS}/checkout.yaml {CLUSTER} --at-least 5",
        ),
        results=(
            ResultSpec(
                "result:CapacityResult",
                "capacity-result",
                "How many more of a pod or a release fit, by kwhatif capacity",
                page="text:PAGE",
            ),
        ),
        package=__package__,
    ),
)
