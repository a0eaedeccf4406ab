"""Processes that read a cluster for the first time, in threads that all begin to decode at the same moment.

To be run alone, as ``python -m tests.snapshot.decoding_race NUMBER``: what was decoded before is safe forever. Each
process is forked from one in which nothing was. The exit code says how many of them crashed.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping

from kwhatif.api.kinds import READ_KINDS
from kwhatif.snapshot.live.dump import AT_A_TIME, DumpOptions, read_cluster
from kwhatif.snapshot.live.live_cluster import LiveCluster, Reply


class AtOnce(LiveCluster):
    """Has an object of every kind. The first answers, one for each thread, come at the same time."""

    def __init__(self) -> None:
        self._together = threading.Barrier(AT_A_TIME)
        self._first = threading.local()
        self._kinds = {kind.path(version): kind for kind in READ_KINDS for version in kind.versions}

    @property
    def name(self) -> str:
        return "nobody"

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> Reply:
        if path == "/version":
            return Reply(200, {}, b'{"gitVersion": "v1.33.0"}')
        if path not in self._kinds:
            return Reply(404, {}, b"{}")
        body = {"kind": f"{self._kinds[path].kind}List", "items": [{"metadata": {"name": "a"}}]}
        if not hasattr(self._first, "gone"):
            self._first.gone = True
            self._together.wait()
        return Reply(200, {}, json.dumps(body).encode())


def crashes(number: int) -> int:
    crashed = 0
    for _ in range(number):
        child = os.fork()
        if child == 0:
            sys.setswitchinterval(1e-5)
            read_cluster(AtOnce(), DumpOptions())
            os._exit(0)
        crashed += os.waitpid(child, 0)[1] != 0
    return crashed


if __name__ == "__main__":
    sys.exit(min(crashes(int(sys.argv[1])), 100))
