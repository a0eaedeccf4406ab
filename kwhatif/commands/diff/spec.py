"""The spec of ``kwhatif diff``."""

from __future__ import annotations

from kwhatif.commands.spec import CLUSTER, MANIFESTS, CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="diff",
        module="diff",
        purpose="What would change with another policy, version, cluster or manifests?",
        position=30,
        may_be_no=True,
        has_gaps=True,
        takes="manifests",
        functions=("run:diff",),
        examples=(
            f"{MANIFESTS}/web.yaml {CLUSTER} --policy default --policy samples/policies/most-allocated.yaml",
            f"--replay all {CLUSTER} --policy default@1.30 --policy default@1.36",
        ),
        results=(
            ResultSpec(
                "kwhatif.results.diff:DecisionDiff",
                "diff-result",
                "What differs between two ways to schedule the same pods, by kwhatif diff",
                page="text:PAGE",
            ),
        ),
        package=__package__,
    ),
)
