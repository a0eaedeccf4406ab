"""The lines of manifests at findings, with only those values that scheduling reads.

Manifests may hold private data, in environments, arguments, annotations and custom resources. So a value is shown only
where it is known to be harmless, under a field that scheduling reads. All others are ``...``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from kwhatif import bounds
from kwhatif.commands.gate.changed_lines import ChangedLines, lines_of_document
from kwhatif.errors import InputError
from kwhatif.results.gate import Change, Excerpt, Finding, GateFiles, GateResult, Location
from kwhatif.snapshot.read.files import is_given, read_paths, text_of
from kwhatif.snapshot.read.git_revisions import is_revision, read_file
from kwhatif.snapshot.read.rooted_files import FileRoot

MOST_LINES = 48
LONGEST = 160
_HIDDEN = "..."

_FIELDS = frozenset(
    (
        "apiVersion",
        "kind",
        "name",
        "namespace",
        "generateName",
        "replicas",
        "parallelism",
        "completions",
        "completionMode",
        "suspend",
        "minReadySeconds",
        "serviceName",
        "priorityClassName",
        "preemptionPolicy",
        "priority",
        "schedulerName",
        "nodeName",
        "hostPort",
        "containerPort",
        "protocol",
        "storageClassName",
        "claimName",
        "volumeName",
        "accessModes",
        "storage",
        "type",
        "maxUnavailable",
        "maxSurge",
        "minAvailable",
        "hostNetwork",
        "image",
        "runtimeClassName",
        "restartPolicy",
        "terminationGracePeriodSeconds",
        "resourceClaimName",
        "resourceClaimTemplateName",
        "deviceClassName",
        "count",
        "allocationMode",
    )
)
"""Fields whose own values are shown."""

_WHOLE = frozenset(
    (
        "labels",
        "matchLabels",
        "nodeSelector",
        "tolerations",
        "affinity",
        "topologySpreadConstraints",
        "requests",
        "limits",
        "schedulingGates",
        "overhead",
        "strategy",
        "updateStrategy",
        "selector",
    )
)
"""Fields of which everything is shown."""

_LEFT_OUT = frozenset(
    (
        "env",
        "envFrom",
        "args",
        "command",
        "data",
        "stringData",
        "binaryData",
        "annotations",
        "httpHeaders",
        "managedFields",
        "",
    )
)
"""Fields whose lines are not shown either; a value over several lines has no placeholder."""

_LINE = re.compile(
    r"(?P<space> *)(?P<dashes>(?:- +)*)(?P<quote>[\"']?)(?P<key>[\w./-]+)(?P=quote):(?: +(?P<value>.*))?"
)
_ITEM = re.compile(r"(?P<space> *)- +(?P<value>.*)")
_PLAIN = re.compile(r"[^\s\[{&*!|>%@`#\"'][^#]*|\"[^\"\\]*\"|'[^']*'|\[\]|\{\}")

_FLAT = re.compile(r"\{[^{}\[\]#]*\}|\[[^{}\[\]#]*\]")
"""A mapping or list on one line, with nothing nested."""


def with_excerpts(result: GateResult) -> GateResult:
    """The result with its places at the lines that changed, and the lines around these, as far as the files can be read
    again. What is new, and a change that no line is about, stays at the beginning of its manifest.
    """
    findings = [*result.findings, *(exemption.finding for exemption in result.exemptions)]
    places = [*(finding.location for finding in findings), *(change.location for change in result.changes)]
    files = {place.file for place in places if place is not None}
    differing = _differing_files(result.files)
    texts = dict(_texts_of(files | {*differing[:_MOST_FILES]}))
    changed = ChangedLines(result.changes, texts, differing)

    def at_change(finding: Finding) -> Finding:
        place = finding.location
        return replace(finding, location=changed.find(place, finding.subject)) if place is not None else finding

    pointed = replace(
        result,
        findings=tuple(map(at_change, result.findings)),
        exemptions=tuple(replace(exemption, finding=at_change(exemption.finding)) for exemption in result.exemptions),
        changes=_move(result.changes, changed),
    )
    beside = {
        moved: excerpt(texts[moved.file], _begin_of(texts[moved.file], place, moved), moved.line)
        for finding in findings
        if (place := finding.location) is not None and (moved := changed.find(place, finding.subject)).file in texts
    }
    return pointed.with_context(excerpts=beside)


def at_changed_lines(changes: Sequence[Change], files: GateFiles) -> tuple[Change, ...]:
    """The changes with the places of the lines that changed."""
    own = {change.location.file for change in changes if change.location is not None and change.what == "changed"}
    differing = _differing_files(files)
    texts = dict(_texts_of(own | {*differing[:_MOST_FILES]}))
    return _move(changes, ChangedLines(changes, texts, differing))


def _move(changes: Sequence[Change], changed: ChangedLines) -> tuple[Change, ...]:
    return tuple(
        change if (place := change.location) is None else replace(change, location=changed.find(place, change.subject))
        for change in changes
    )


def _begin_of(lines: Sequence[str], place: Location, moved: Location) -> int:
    """The line where the document begins in which a place is found that was moved."""
    if moved.file == place.file:
        return place.line
    separators = (number for number in range(moved.line, 0, -1) if lines[number - 1].startswith("---"))
    return next(separators, 0) + 1


_MOST_FILES = 200
"""Changed files that are looked into for what kustomizations lay over others."""


def _differing_files(files: GateFiles) -> tuple[str, ...]:
    """Files that changed and that an object may be made of."""
    return tuple(file.file for file in files.changed if file.file.endswith((".yaml", ".yml", ".json", "Kustomization")))


def _texts_of(files: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """The lines of those files that can be read again."""
    for file in sorted(files):
        if file in ("", "-"):
            continue
        try:
            # A file on disk may be called as one of a revision is, and be what it likes: it is not the one judged.
            if ":" in file and is_revision(file.partition(":")[0]):
                if (content := read_file(file)) is not None:
                    yield file, text_of(file, content, bounds.MANIFEST_BYTES).data.decode().split("\n")
                continue
            if is_given(file):
                yield from ((file, text.data.decode().split("\n")) for text in read_paths([file]))
                continue
            data = FileRoot(os.path.dirname(file) or os.curdir).read(file, bounds.MANIFEST_BYTES)
            yield file, text_of(file, data, bounds.MANIFEST_BYTES).data.decode().split("\n")
        except (InputError, ValueError):
            continue


def excerpt(lines: list[str], first: int, around: int = 0) -> Excerpt:
    """The document that begins with the line ``first`` (from 1), as far as it may be shown; nothing of JSON. Of a long
    one the lines ``around`` that number.
    """
    most = max(20 * MOST_LINES, around - first + MOST_LINES)
    document = list(islice(enumerate(lines_of_document(lines, first), first), most))
    if any(line.lstrip().startswith(("{", "[")) for _, line in document):
        return ()
    shown = [(number, line[:LONGEST]) for number, line in _mask_values(document)]
    before = sum(number < around for number, _ in shown)
    begin = max(0, before - MOST_LINES // 2) if before >= MOST_LINES else 0
    return tuple(shown[begin : begin + MOST_LINES])


def _mask_values(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Lines in block style, with their values where these may be shown; what goes on over several lines is not."""
    above: list[tuple[int, str]] = []
    for number, line in lines:
        match, item = _LINE.fullmatch(line), _ITEM.fullmatch(line)
        if match:
            indent, key, value = len(match["space"]) + len(match["dashes"]), match["key"], match["value"] or ""
            above = [line_above for line_above in above if line_above[0] < indent]
            path = [key for _, key in above]
            above.append((indent, "" if value else key))
            if _LEFT_OUT.isdisjoint(path):
                shown = key not in _LEFT_OUT and (not value or _may_be_shown(value, path, key))
                yield number, line if shown else f"{line[: line.index(':') + 1]} {_HIDDEN}"
        elif item:
            # An item may stand as far to the left as the key of its list.
            indent = len(item["space"])
            above = [line_above for line_above in above if line_above[0] <= indent]
            path = [key for _, key in above]
            above.append((indent + 1, ""))
            if path and _LEFT_OUT.isdisjoint(path):
                shown = _may_be_shown(item["value"], path[:-1], path[-1])
                yield number, line if shown else f"{item['space']}- {_HIDDEN}"


def _may_be_shown(value: str, path: list[str], key: str) -> bool:
    whole = key in _WHOLE or bool(_WHOLE.intersection(path))
    plain = bool(_PLAIN.fullmatch(value))
    return (plain and (whole or key in _FIELDS)) or (whole and bool(_FLAT.fullmatch(value)))
