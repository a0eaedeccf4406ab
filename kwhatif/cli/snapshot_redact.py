"""``kwhatif snapshot redact``: a snapshot, or manifests, without the names."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer

from kwhatif.cli.options import AnyNamespace, argument, option
from kwhatif.cli.redaction import (
    TranslationFile,
    check_apart,
    copy_lines,
    redacted_snapshot,
    with_redacted_lines,
    with_translation,
)

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_MANIFESTS = (".yaml", ".yml")


@app.command()
def redact(
    files: Annotated[
        list[str],
        argument(metavar="FILE", help="Snapshots or what kubectl prints; manifests and configurations; '-' for stdin."),
    ],
    output: Annotated[
        str,
        option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where to write: .yaml for manifests; .json, .json.gz, .json.zst or '-' for a snapshot; .jsonl, "
            ".jsonl.gz or .jsonl.zst for a recording.",
        ),
    ],
    translation: TranslationFile,
    namespace: AnyNamespace = None,
) -> None:
    """Replace the names of namespaces, pods, nodes, labels, images and all else by pseudonyms.

    Placing a pod, redacted with the same translation, on the redacted snapshot gives the redacted answer; 'snapshot
    reveal' reads it back. Exit codes: 0 good, 2 usage or input error.
    """
    from kwhatif.cli.output import check_stdin, say
    from kwhatif.simulation.inputs import Notes

    check_stdin(*files)
    check_apart(translation, output)
    notes = Notes()
    if output.removesuffix(".gz").removesuffix(".zst").endswith(".jsonl"):
        _recording(files, output, translation, notes)
    elif output.endswith(_MANIFESTS):
        _manifests(files, output, translation, namespace, notes)
    else:
        _snapshot(files, output, translation, namespace, notes)
    say(notes)


def _snapshot(files: list[str], output: str, translation: str, namespace: str | None, notes: Any) -> None:
    from kwhatif.api.core import Node
    from kwhatif.snapshot.format.model import write_snapshot
    from kwhatif.snapshot.load import load_snapshot

    snapshot = load_snapshot(files, namespace or "default")
    if not snapshot.objects.list_all(Node):
        notes.warn(f"{snapshot.source}: holds no nodes; to redact manifests, write to a file that ends in .yaml")
    write_snapshot(redacted_snapshot(snapshot, translation, notes), output)


def _recording(files: list[str], output: str, translation: str, notes: Any) -> None:
    from kwhatif.errors import UsageError
    from kwhatif.snapshot.recording import recording_in

    found = recording_in(files[0]) if len(files) == 1 else None
    if found is None or not found[1].is_end:
        raise UsageError(f"-o {output}: that is a recording, which is made of one other recording, without a moment")
    with_redacted_lines(translation, notes, lambda redact: copy_lines(found[0], output, redact))


def _manifests(files: list[str], output: str, translation: str, namespace: str | None, notes: Any) -> None:
    from kwhatif.cli.output import new_file
    from kwhatif.redaction import has_rule, redact_documents
    from kwhatif.redaction.redact import read_manifests
    from kwhatif.render.formats import as_documents
    from kwhatif.results.amounts import format_counts

    documents = read_manifests(files, namespace)
    left_out = Counter(str(one.get("kind")) for one in documents if not has_rule(one))
    if left_out:
        notes.note(f"left out, since nothing here reads them: {format_counts(left_out)}")
    redacted = with_translation(translation, notes, lambda there: redact_documents(documents, there, warn=notes.warn))
    with new_file(output, private=True) as file:
        file.write(as_documents(redacted).encode())
