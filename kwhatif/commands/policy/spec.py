"""The spec of ``kwhatif policy`` and its subcommands."""

from __future__ import annotations

from kwhatif.commands.spec import CommandSpec

SPECS = (
    CommandSpec(
        name="policy",
        module="policy",
        purpose="Look at a KubeSchedulerConfiguration.",
        position=130,
        package=__package__,
    ),
    CommandSpec(
        name="policy show",
        module="policy",
        purpose="Print the effective configuration with every default.",
        position=1,
        examples=(
            "",
            "samples/policies/most-allocated.yaml",
        ),
        package=__package__,
    ),
    CommandSpec(
        name="policy validate",
        module="policy",
        purpose="Say whether kube-scheduler would start with this file.",
        position=2,
        may_be_no=True,
        examples=("samples/policies/most-allocated.yaml",),
        package=__package__,
    ),
    CommandSpec(
        name="policy convert",
        module="policy",
        purpose="Write a configuration in an old format as v1.",
        position=3,
        examples=("samples/legacy/policy.json",),
        package=__package__,
    ),
)
