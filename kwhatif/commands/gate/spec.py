"""The spec of ``kwhatif gate``."""

from __future__ import annotations

from kwhatif.commands.spec import CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="gate",
        module="gate",
        purpose="May this change go into the cluster?",
        position=40,
        may_be_no=True,
        has_gaps=True,
        takes="manifests",
        functions=("run:gate",),
        examples=(
            "samples/gate/head --base samples/gate/base --snapshot samples/gate/snapshot.json",
            (
                "samples/gate/head --base samples/gate/base --snapshot samples/gate/snapshot.json --rule "
                "preempts=error --report markdown=comment.md"
            ),
        ),
        results=(
            ResultSpec(
                "kwhatif.results.gate:GateResult", "gate-report", "What kwhatif gate says of a change", page="page:PAGE"
            ),
        ),
        package=__package__,
    ),
)
