"""``kwhatif deschedule`` as a value."""

from __future__ import annotations

from kwhatif.commands.spec import CLUSTER, CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="deschedule",
        module="deschedule",
        purpose="What would the descheduler evict, and what follows?",
        position=62,
        may_be_no=True,
        has_gaps=True,
        functions=("run:deschedule",),
        examples=(
            f"--policy samples/deschedule/policy.yaml {CLUSTER}",
            f"--policy samples/deschedule/policy.yaml {CLUSTER} --until-quiet",
        ),
        results=(
            ResultSpec(
                "result:DescheduleResult",
                "deschedule-result",
                "What the descheduler evicts and what follows, by kwhatif deschedule",
            ),
        ),
        package=__package__,
    ),
)
