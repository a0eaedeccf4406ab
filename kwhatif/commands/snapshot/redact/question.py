"""The task of ``snapshot redact``: a snapshot, a recording or manifests without the names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from kwhatif.errors import UsageError
from kwhatif.results.printed import Printed
from kwhatif.simulation.command import DOCUMENT, Task
from kwhatif.simulation.flag import Argument, OutputFile
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.scenario_options import NAMESPACE

_MANIFESTS = (".yaml", ".yml")


@dataclass(frozen=True, kw_only=True)
class Redact(Task[Printed]):
    """Replace the names of namespaces, pods, nodes, labels, images and all else by pseudonyms.

    Placing a pod, redacted with the same translation, on the redacted snapshot gives the redacted answer; 'snapshot
    reveal' reads it back. Exit codes: 0 good, 2 usage or input error.
    """

    prints = DOCUMENT
    examples = ("samples/gpu/cluster.json -o shared.json --translation names.json",)

    files: Annotated[
        Sequence[str],
        Argument(
            metavar="FILE",
            file="in",
            repeats=True,
            required=True,
            help="Snapshots or what kubectl prints; manifests and configurations; '-' for stdin.",
        ),
    ] = ()
    output: Annotated[
        str,
        OutputFile(
            "--output",
            "Where to write: .yaml for manifests; .json, .json.gz, .json.zst or '-' for a snapshot; .jsonl, "
            ".jsonl.gz or .jsonl.zst for a recording.",
            short="-o",
        ),
    ]
    translation: Annotated[
        str,
        OutputFile(
            "--translation",
            "Which pseudonym stands for what; made if it is not there, added to if it is. Keep it private.",
        ),
    ]
    namespace: Annotated[str | None, NAMESPACE] = None

    def answer(self, options: Any, notes: Notes) -> Printed:
        from kwhatif.commands.snapshot.redacted_files import check_apart

        check_apart(self.translation, self.output)
        if self.namespace is not None and not self.output.endswith(_MANIFESTS):
            raise UsageError(f"-n {self.namespace}: only manifests name no namespace; a snapshot is redacted whole")
        if self.output.removesuffix(".gz").removesuffix(".zst").endswith(".jsonl"):
            self._redact_recording(notes)
        elif self.output.endswith(_MANIFESTS):
            self._redact_manifests(notes)
        else:
            self._redact_snapshot(notes)
        return Printed()

    def _redact_snapshot(self, notes: Notes) -> None:
        from kwhatif.api.core import Node
        from kwhatif.commands.snapshot.redacted_files import redacted_snapshot
        from kwhatif.snapshot.format.model import write_snapshot
        from kwhatif.snapshot.load import load_snapshot

        snapshot = load_snapshot(self.files)
        if not snapshot.objects.list_all(Node):
            notes.warn(f"{snapshot.source}: holds no nodes; to redact manifests, write to a file that ends in .yaml")
        write_snapshot(redacted_snapshot(snapshot, self.translation, notes), self.output)

    def _redact_recording(self, notes: Notes) -> None:
        from kwhatif.commands.snapshot.redacted_files import copy_lines, with_redacted_lines
        from kwhatif.snapshot.recording import recording_in

        recording = recording_in(self.files[0]) if len(self.files) == 1 else None
        if recording is None or not recording[1].is_end:
            raise UsageError(
                f"-o {self.output}: that is a recording, which is made of one other recording, without a moment"
            )
        lines = recording[0]
        with_redacted_lines(self.translation, notes, lambda redact: copy_lines(lines, self.output, redact))

    def _redact_manifests(self, notes: Notes) -> None:
        from kwhatif.commands.snapshot.redacted_files import with_translation
        from kwhatif.redaction import has_rule, redact_documents
        from kwhatif.redaction.redact import read_manifests
        from kwhatif.render.formats import as_documents
        from kwhatif.results.amounts import format_counts
        from kwhatif.snapshot.format.atomic_files import new_file

        documents = read_manifests(self.files, self.namespace)
        left_out = Counter(str(one.get("kind")) for one in documents if not has_rule(one))
        if left_out:
            notes.note(f"left out, since nothing here reads them: {format_counts(left_out)}")
        redacted = with_translation(
            self.translation, notes, lambda there: redact_documents(documents, there, warn=notes.warn)
        )
        with new_file(self.output, private=True) as file:
            file.write(as_documents(redacted).encode())
