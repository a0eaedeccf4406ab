"""The spec of ``kwhatif place``."""

from __future__ import annotations

from kwhatif.commands.spec import CLUSTER, MANIFESTS, CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="place",
        module="place",
        purpose="Where would these pods go?",
        position=10,
        may_be_no=True,
        has_gaps=True,
        takes="manifests",
        functions=("run:place",),
        examples=(
            f"{MANIFESTS}/web.yaml {CLUSTER}",
            f"-f {MANIFESTS}/too-big.yaml {CLUSTER} --explain too-big",
            f"--with-pending {CLUSTER} --uncordon general-a-2 -o wide",
        ),
        results=(
            ResultSpec(
                "kwhatif.results.place:PlaceResult", "place-result", "Where kwhatif place puts pods", page="text:PAGE"
            ),
        ),
        package=__package__,
    ),
)
