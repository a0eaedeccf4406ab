"""The spec of ``kwhatif conformance``."""

from __future__ import annotations

from kwhatif.commands.spec import CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="conformance",
        module="conformance",
        purpose="Replay recorded decisions of a real kube-scheduler and compare.",
        position=150,
        may_be_no=True,
        takes="files",
        examples=("samples/scenario.jsonl",),
        results=(
            ResultSpec(
                "result:ConformanceResult",
                "conformance-result",
                "How far replayed decisions agree with the recorded ones",
            ),
        ),
        package=__package__,
    ),
)
