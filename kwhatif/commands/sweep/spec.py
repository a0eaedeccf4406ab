"""The spec of ``kwhatif sweep``."""

from __future__ import annotations

from kwhatif.commands.spec import CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="sweep",
        module="sweep",
        purpose="Which scheduler policy is best for these clusters?",
        position=90,
        has_gaps=True,
        takes="manifests",
        functions=("run:sweep",),
        examples=(
            (
                "samples/sweep/training.yaml --space samples/sweep/space.yaml --snapshot "
                "samples/sweep/cluster.yaml --replay all"
            ),
            (
                "--replay namespace=shop --space samples/sweep/space.yaml --snapshot "
                "samples/sweep/cluster.yaml --prices samples/sweep/prices.yaml --objective cost "
                "--objective zoneSkew=0.5 --write best.yaml"
            ),
        ),
        results=(
            ResultSpec(
                "result:SweepResult", "sweep-result", "The policies that kwhatif sweep compared", page="text:PAGE"
            ),
        ),
        package=__package__,
    ),
)
