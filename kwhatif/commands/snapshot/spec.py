"""The specs of ``kwhatif snapshot`` and its subcommands."""

from __future__ import annotations

from kwhatif.commands.spec import CLUSTER, CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="snapshot dump",
        module="snapshot_dump",
        purpose="Read a live cluster into a file.",
        position=1,
        examples=(
            "-o cluster.json.zst",
            "--redact --translation names.json -o shared.json.zst",
        ),
        package=__package__,
    ),
    CommandSpec(
        name="snapshot record",
        module="snapshot_record",
        purpose="Write down a live cluster and all that changes there.",
        position=2,
        examples=("-o day.jsonl.zst --for 8h",),
        package=__package__,
    ),
    CommandSpec(
        name="snapshot redact",
        module="snapshot_redact",
        purpose="Replace all names by pseudonyms, so that a snapshot may be shared.",
        position=8,
        takes="files",
        examples=("samples/gpu/cluster.json -o shared.json --translation names.json",),
        package=__package__,
    ),
    CommandSpec(
        name="snapshot trim",
        module="snapshot_trim",
        purpose="Cut a snapshot down to what a pod's decision depends on.",
        position=10,
        examples=(f"reindex-3-2f9gk {CLUSTER} -o reproducer.json",),
        results=(
            ResultSpec(
                "trim.result:TrimResult", "snapshot-trim", "How far a snapshot was cut down, by kwhatif snapshot trim"
            ),
        ),
        package=__package__,
    ),
)
