"""The spec of ``kwhatif chances``."""

from __future__ import annotations

from kwhatif.commands.spec import CLUSTER, MANIFESTS, CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="chances",
        module="chances",
        purpose="How likely is it that these pods go where they may go?",
        position=70,
        may_be_no=True,
        has_gaps=True,
        takes="manifests",
        functions=("run:chances",),
        examples=(
            f"{MANIFESTS}/web.yaml {CLUSTER} --trials 200",
            f"{MANIFESTS}/web.yaml {CLUSTER} --precision 0.05 --skew 2",
        ),
        results=(
            ResultSpec(
                "result:ChancesResult",
                "chances-result",
                "How likely it is that pods go where they may go, by kwhatif chances",
                page="text:PAGE",
            ),
        ),
        package=__package__,
    ),
)
