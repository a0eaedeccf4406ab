"""The account of a change's files: which of them differ from the base, and which of these nobody read into objects."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from msgspec import structs

from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.base import Gap
from kwhatif.results.gate import GateFile, GateFiles
from kwhatif.simulation.inputs import Files
from kwhatif.simulation.manifest_loading import gaps_of_files
from kwhatif.snapshot.read.files import display_path
from kwhatif.snapshot.read.path_patterns import is_excluded
from kwhatif.snapshot.repository.file_account import ARROW, FileAccount, FileEntry, FileUse, name_of

_USES = {
    FileUse.passed_over: "passed over",
    FileUse.unread: "not read",
    FileUse.read: "read",
    FileUse.rendered: "rendered",
    FileUse.opaque: "read",
    FileUse.failed: "not read",
}
_MOST_NAMED = 3


def account_files(
    head: FileAccount, base: FileAccount | None, heads: Files, bases: Files | None, accepted: Sequence[str]
) -> GateFiles:
    """The account of all files. ``heads`` and ``bases`` are what was named: below these, files of one path are one.

    Patterns of ``accepted`` name files that may stay unread.
    """
    counts = head.counts()
    if base is None:
        changed = list(head.gaps())
    else:
        names = _names_below(head, heads), _names_below(base, bases or ())
        changed = list(head.changes_from(base, *names))
    return GateFiles(
        named=len(head.entries),
        read=counts[FileUse.read] + counts[FileUse.opaque],
        rendered=counts[FileUse.rendered],
        passed_over=counts[FileUse.passed_over],
        not_read=counts[FileUse.unread] + counts[FileUse.failed],
        changed=tuple(_file(file, entry, accepted) for file, entry in changed),
    )


def without_unreadable(
    files: GateFiles, problems: Mapping[str, str], accepted: Sequence[str], *, is_compared: bool
) -> GateFiles:
    """The account once it is known of which files, with a problem each, objects could not be read after all."""
    named = {name_of(file): why for file, why in problems.items()}
    known = {file.file for file in files.changed}
    changed = [
        _file(file.file, FileEntry(FileUse.failed, named[file.file]), accepted) if file.file in problems else file
        for file in files.changed
    ]
    if not is_compared:
        entries = ((file, FileEntry(FileUse.failed, why)) for file, why in named.items() if file not in known)
        changed += [_file(file, entry, accepted) for file, entry in entries]
    return structs.replace(files, changed=tuple(changed))


def _file(file: str, entry: FileEntry, accepted: Sequence[str]) -> GateFile:
    return GateFile(
        file=file,
        use=_USES[entry.use],  # type: ignore[arg-type]
        reason=entry.reason,
        accepted=entry.use.is_gap and is_excluded(_path_in(file), accepted),
    )


def _names_below(account: FileAccount, named: Files) -> Mapping[str, str]:
    """The files of an account by their paths below what was named; those beside it by their whole paths."""
    tops = sorted((_top_of(name) for name in named if isinstance(name, str)), key=len, reverse=True)
    names: dict[str, str] = {}
    for file in account.entries:
        top = next((folder for folder in tops if file == folder or file.startswith(_beginning_of(folder))), None)
        if top is None:
            revision, colon, _ = file.partition(ARROW)[0].rpartition(":")
            names[file] = file.removeprefix(f"{revision}{colon}")
        else:
            # A file that was named itself may have another name in the base.
            names[file] = file.removeprefix(top).lstrip("/") or "."
    return names


def _path_in(file: str) -> str:
    """The path of a file in its revision; what it names may stand behind it."""
    return file.partition(ARROW)[0].rpartition(":")[2]


def _top_of(path: str) -> str:
    """A directory as the names of its files begin; ``REVISION:PATH`` is what such names look like."""
    shown = display_path(path)
    if ":" not in shown:
        shown = posixpath.normpath(shown)
    return "" if shown == "." else shown


def _beginning_of(top: str) -> str:
    return top if top.endswith((":", "/")) or not top else f"{top}/"


def gaps_of(files: GateFiles) -> Iterator[Gap]:
    """The files that were not read, by name."""
    for accepted in (False, True):
        missing = [(file.file, file.reason) for file in files.changed if file.use == "not read"]
        chosen = {file.file for file in files.changed if file.accepted is accepted}
        yield from gaps_of_files((gap for gap in missing if gap[0] in chosen), ", as was accepted" * accepted)


def describe_missing(files: GateFiles) -> str:
    """``2 changed files were not read: a.yaml (...), b.yaml``; the reason is that of the first."""
    missing = files.missing
    names = format_some([gap.file for gap in missing], _MOST_NAMED)
    verb = "was" if len(missing) == 1 else "were"
    return f"{format_count(len(missing), 'file')} of the change {verb} not read: {names} ({missing[0].reason})"
