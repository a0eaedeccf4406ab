"""The lines of manifests at findings, with only those values that scheduling reads.

Manifests may hold private data, in environments, arguments, annotations and custom resources. So a value is shown only
where it is known to be harmless, under a field that scheduling reads. All others are ``...``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.results.gate import Excerpt, GateResult
from kwhatif.snapshot.read.files import text_of
from kwhatif.snapshot.read.git_revisions import is_revision
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
    """The result with the lines at its findings, as far as the files can be read again."""
    findings = [*result.findings, *(exemption.finding for exemption in result.exemptions)]
    places = dict.fromkeys(finding.location for finding in findings if finding.location is not None)
    texts: dict[str, list[str]] = {}
    for file in {place.file for place in places if place.file not in ("", "-")}:
        # A file may be called as one of a revision is, and be what it likes: it is not the one that was judged.
        if ":" in file and is_revision(file.partition(":")[0]):
            continue
        try:
            data = FileRoot(os.path.dirname(file) or os.curdir).read(file, bounds.MANIFEST_BYTES)
            texts[file] = text_of(file, data, bounds.MANIFEST_BYTES).data.decode().split("\n")
        except (InputError, ValueError):
            continue
    found = {place: excerpt(texts[place.file], place.line) for place in places if place.file in texts}
    return result.with_context(excerpts=found)


def excerpt(lines: list[str], first: int) -> Excerpt:
    """The document that begins with the line ``first`` (from 1), as far as it may be shown; nothing of JSON."""
    document: list[tuple[int, str]] = []
    for number, line in enumerate(lines[first - 1 : first - 1 + 20 * MOST_LINES], first):
        if document and line.startswith(("---", "...")):
            break
        document.append((number, line.rstrip("\r")))
    if any(line.lstrip().startswith(("{", "[")) for _, line in document):
        return ()
    return tuple((number, line[:LONGEST]) for number, line in list(_mask_values(document))[:MOST_LINES])


def _mask_values(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Lines in block style, with their values where these may be shown; what goes on over several lines is not."""
    above: list[tuple[int, str]] = []
    for number, line in lines:
        found, item = _LINE.fullmatch(line), _ITEM.fullmatch(line)
        if found:
            indent, key, value = len(found["space"]) + len(found["dashes"]), found["key"], found["value"] or ""
            above = [each for each in above if each[0] < indent]
            path = [each for _, each in above]
            above.append((indent, "" if value else key))
            if _LEFT_OUT.isdisjoint(path):
                shown = key not in _LEFT_OUT and (not value or _may_be_shown(value, path, key))
                yield number, line if shown else f"{line[: line.index(':') + 1]} {_HIDDEN}"
        elif item:
            # An item may stand as far to the left as the key of its list.
            indent = len(item["space"])
            above = [each for each in above if each[0] <= indent]
            path = [each for _, each in above]
            above.append((indent + 1, ""))
            if path and _LEFT_OUT.isdisjoint(path):
                shown = _may_be_shown(item["value"], path[:-1], path[-1])
                yield number, line if shown else f"{item['space']}- {_HIDDEN}"


def _may_be_shown(value: str, path: list[str], key: str) -> bool:
    whole = key in _WHOLE or bool(_WHOLE.intersection(path))
    plain = bool(_PLAIN.fullmatch(value))
    return (plain and (whole or key in _FIELDS)) or (whole and bool(_FLAT.fullmatch(value)))
