"""The spec of ``kwhatif explain``."""

from __future__ import annotations

from kwhatif.commands.spec import CLUSTER, MANIFESTS, CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="explain",
        module="explain",
        purpose="Why does a pod go where it goes, or nowhere?",
        position=20,
        may_be_no=True,
        has_gaps=True,
        takes="manifests",
        functions=("run:explain",),
        examples=(
            f"deployment/web {CLUSTER}",
            f"{MANIFESTS}/too-big.yaml {CLUSTER} --node gpu-b-1",
            f"reindex-3-2f9gk --after {MANIFESTS}/checkout.yaml {CLUSTER}",
        ),
        results=(
            ResultSpec(
                "kwhatif.results.explain:ExplainResult",
                "explain-result",
                "Why pods go where they go, by kwhatif explain",
                page="text:PAGE",
            ),
        ),
        package=__package__,
    ),
)
