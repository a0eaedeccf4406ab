"""The specs of ``kwhatif snapshot`` and its subcommands."""

from __future__ import annotations

from kwhatif.commands.spec import CLUSTER, CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="snapshot",
        module="snapshot",
        purpose="Take, convert, look at and compare snapshots.",
        position=120,
        package=__package__,
    ),
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
        name="snapshot rbac",
        module="snapshot_rbac",
        purpose="Print what has to be allowed for a dump or a recording.",
        position=3,
        examples=(
            "--name snapshots",
            "--watch --service-account tools/recorder",
        ),
        package=__package__,
    ),
    CommandSpec(
        name="snapshot convert",
        module="snapshot_convert",
        purpose="Bring other tools' dumps and lists of kubectl into one file.",
        position=4,
        takes="files",
        examples=("samples/cluster -o cluster.json.zst",),
        package=__package__,
    ),
    CommandSpec(
        name="snapshot info",
        module="snapshot_info",
        purpose="What is in a snapshot, and what is missing?",
        position=5,
        takes="files",
        examples=(
            "samples/cluster",
            "samples/gpu/cluster.json --nodes",
            "day.jsonl.gz@+1s",
        ),
        results=(
            ResultSpec(
                "info.result:InfoResult",
                "snapshot-info",
                "What is in a snapshot, by kwhatif snapshot info",
                page="info.text:PAGE",
            ),
        ),
        package=__package__,
    ),
    CommandSpec(
        name="snapshot validate",
        module="snapshot_validate",
        purpose="Can a snapshot be read, and does all in it go together?",
        position=6,
        takes="files",
        may_be_no=True,
        examples=(
            "samples/cluster",
            "samples/gpu/cluster.json --strict",
        ),
        results=(
            ResultSpec(
                "kwhatif.results.snapshot_check:CheckResult",
                "snapshot-validation",
                "What is wrong with a snapshot, by kwhatif snapshot validate",
            ),
        ),
        package=__package__,
    ),
    CommandSpec(
        name="snapshot diff",
        module="snapshot_diff",
        purpose="What changed between two snapshots that scheduling can see?",
        position=7,
        may_be_no=True,
        examples=("samples/gpu/cluster.json samples/gate/snapshot.json --exit-zero",),
        results=(
            ResultSpec(
                "diff.result:DiffResult",
                "snapshot-diff",
                "What changed between two snapshots, by kwhatif snapshot diff",
            ),
        ),
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
        name="snapshot reveal",
        module="snapshot_reveal",
        purpose="Put the names back into an answer about a redacted snapshot.",
        position=9,
        examples=("answer.txt --translation names.json",),
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
