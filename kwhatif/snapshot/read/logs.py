"""``kubectl cluster-info dump`` on standard output: the lists, and between them the logs of every container.

Upstream: k8s.io/kubectl/pkg/cmd/clusterinfo/clusterinfo_dump.go.
"""

from __future__ import annotations

import re

from kwhatif.errors import InputError

_START = re.compile(rb"^==== START (logs for container [^\n]{1,1000}) ====\n", re.MULTILINE)
_MARK = b"==== START logs for container "


def without_logs(data: bytes) -> tuple[bytes, int]:
    """The text with empty lines in place of the logs, and how many there were. Raises InputError if one has no end.

    No JSON and no YAML document has a line that begins like the head of a log. Logs need not end with a line break,
    nor be UTF-8.
    """
    if not data.startswith(_MARK) and data.find(b"\n" + _MARK) < 0:
        return data, 0
    kept: list[bytes] = []
    position = number = 0
    while found := _START.search(data, position):
        end = b"==== END " + found[1] + b" ====\n"
        stop = data.find(end, found.end())
        if stop < 0:
            line = data.count(b"\n", 0, found.start()) + 1
            problem = f"the {found[1].decode('utf-8', 'replace')} do not end: the file is truncated"
            raise InputError(problem, place=f"line {line}")
        stop += len(end)
        kept += data[position : found.start()], b"\n" * data.count(b"\n", found.start(), stop)
        position, number = stop, number + 1
    return b"".join((*kept, data[position:])), number
