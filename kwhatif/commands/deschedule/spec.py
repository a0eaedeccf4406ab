"""The spec of ``kwhatif deschedule``."""

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
                page="text:PAGE",
            ),
            ResultSpec(
                "explained_result:DescheduleExplained",
                "deschedule-explained",
                "Why the descheduler evicts pods or leaves them, by kwhatif explain --deschedule",
                page="explained_text:PAGE",
            ),
            ResultSpec(
                "diff_result:DescheduleDiff",
                "deschedule-diff",
                "What two policies of the descheduler differ in, by kwhatif diff --deschedule",
                page="diff_text:PAGE",
            ),
        ),
        package=__package__,
    ),
)
