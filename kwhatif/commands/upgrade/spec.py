"""The spec of ``kwhatif upgrade``."""

from __future__ import annotations

from kwhatif.commands.spec import CLUSTER, CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="upgrade",
        module="upgrade",
        purpose="What would replacing the nodes of a pool do, and would it end?",
        position=61,
        may_be_no=True,
        has_gaps=True,
        functions=("run:upgrade",),
        examples=(
            f"--pool pool=general {CLUSTER} --strategy gke-surge",
            f"--pool pool=general {CLUSTER} --strategy aks --drain-timeout 10m --within 1h",
        ),
        results=(
            ResultSpec(
                "result:UpgradeResult",
                "upgrade-result",
                "How the nodes of a pool are replaced, by kwhatif upgrade",
                page="text:PAGE",
            ),
        ),
        package=__package__,
    ),
)
