"""The spec of ``kwhatif expand``."""

from __future__ import annotations

from kwhatif.commands.spec import CLUSTER, MANIFESTS, CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="expand",
        module="expand",
        purpose="What pods do manifests become?",
        position=110,
        may_be_no=True,
        takes="manifests",
        functions=("run:expand",),
        examples=(
            f"{MANIFESTS}/checkout.yaml {CLUSTER}",
            f"{MANIFESTS}/checkout.yaml -o yaml",
        ),
        results=(
            ResultSpec(
                "kwhatif.results.expand:ExpandResult", "expand-result", "What manifests become, by kwhatif expand"
            ),
        ),
        package=__package__,
    ),
)
