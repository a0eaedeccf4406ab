"""The spec of ``kwhatif autoscale`` and its subcommands."""

from __future__ import annotations

from kwhatif.commands.spec import CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="autoscale plan",
        module="autoscale_plan",
        purpose="Which nodes would it add or remove? What is done where no command is named.",
        position=1,
        may_be_no=True,
        has_gaps=True,
        takes="manifests",
        functions=(
            "run:autoscale",
            "run:karpenter",
            "pools_diff:diff_node_pools",
            "run:explain_consolidation",
        ),
        examples=(
            (
                "samples/autoscaled/training.yaml --snapshot samples/autoscaled/cluster.yaml --groups "
                "samples/autoscaled/groups.yaml"
            ),
            (
                "samples/karpenter/web.yaml --snapshot samples/karpenter/cluster.yaml --catalogue "
                "samples/karpenter/catalogue.yaml"
            ),
        ),
        results=(
            ResultSpec(
                "result:AutoscaleResult",
                "autoscale-result",
                "What cluster-autoscaler would do, by kwhatif autoscale",
                page="text:PAGE",
            ),
            ResultSpec(
                "karpenter_result:KarpenterResult",
                "karpenter-result",
                "What Karpenter would do, by kwhatif autoscale",
                page="karpenter_text:PAGE",
            ),
            ResultSpec(
                "karpenter_result:AutoscalersResult",
                "autoscalers-result",
                "What both autoscalers would do, by kwhatif autoscale",
                page="karpenter_text:BOTH_PAGE",
            ),
            ResultSpec(
                "karpenter_result:PoolsDiff",
                "pools-diff",
                "What Karpenter buys with two sets of NodePools, by kwhatif diff",
                page="karpenter_text:POOLS_PAGE",
            ),
            ResultSpec(
                "karpenter_result:NodesExplained",
                "nodes-explained",
                "Why Karpenter gives nodes back or keeps them, by kwhatif explain",
                page="karpenter_text:NODES_PAGE",
            ),
        ),
        package=__package__,
    ),
)
