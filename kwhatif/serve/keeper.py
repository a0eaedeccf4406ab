"""The process that keeps the cluster loaded, and of which each worker is a fork.

It has one thread, so that it can be forked at any time, asks no question of others itself, and is never handed what a
client sent. What changes in a cluster that is followed is applied here. A worker sees the cluster as it was when it was
forked, costs no more memory than what it changes, and may be killed: neither this process nor another worker notices.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
from contextlib import suppress

import msgspec

from kwhatif.api.core import Node
from kwhatif.errors import KwhatifError
from kwhatif.serve import frames
from kwhatif.serve.answers import ServedCluster, answer
from kwhatif.serve.fields import route_of, routes
from kwhatif.serve.frames import ClusterStatus, Head
from kwhatif.serve.replies import PAGE
from kwhatif.serve.worker import work
from kwhatif.snapshot.followed_cluster import FollowedCluster
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import load_snapshot

_AT_ONCE = 1 << 20

_PROBE = b"""{"manifests": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "kwhatif-probe"},
 "spec": {"containers": [{"name": "probe", "image": "probe"}]}}}"""


class Keeper:
    """Takes what the server sends on ``feed``, and forks a worker for each socket that comes on ``forks``.

    ``lines`` is where a follower sends what changes in the cluster; there is none where it is that of files.
    """

    def __init__(self, feed: socket.socket, forks: socket.socket, lines: socket.socket | None = None) -> None:
        self._feed, self._forks, self._lines = feed, forks, lines
        self._cluster: ServedCluster | None = None
        self._followed = FollowedCluster("the cluster")
        self._begun: list[bytes] = []
        self._memory = 0
        self._known = -1
        """How many changes were there when what questions share was worked out."""

    def run(self) -> None:
        """Go on until the server is gone."""
        channels = [connection for connection in (self._feed, self._forks, self._lines) if connection is not None]
        while True:
            ready, _, _ = select.select(channels, [], [])
            if self._feed in ready:
                frame = frames.receive(self._feed)
                if frame is None:
                    return
                self._take(*frame)
            if self._lines is not None and self._lines in ready and not self._follow(self._lines):
                return
            if self._forks in ready:
                self._fork()
            _reap()

    def _take(self, head: Head, body: bytes) -> None:
        self._memory = head.memory
        if self._lines is not None:
            return
        try:
            self._cluster = ServedCluster(load_snapshot(head.files))
        except KwhatifError as error:
            self._say(ClusterStatus("failed", str(error)))
            return
        self._work_out(self._cluster)
        self._say(self._status(self._cluster.snapshot))

    def _follow(self, lines: socket.socket) -> bool:
        """Apply what has changed; False once nobody says so any more."""
        try:
            piece = lines.recv(_AT_ONCE)
        except ConnectionError:
            piece = b""
        if not piece:
            return False
        followed = self._followed
        if b"\n" not in piece:
            self._begun.append(piece)
            return True
        *whole, rest = b"".join([*self._begun, piece]).split(b"\n")
        self._begun = [rest]
        for line in whole:
            followed.take_line(line)
        if followed.failure:
            self._say(ClusterStatus("failed", followed.failure))
            return False
        if followed.is_complete:
            if self._cluster is None:
                self._cluster = ServedCluster(followed.snapshot, is_live=True)
                self._work_out(self._cluster)
            self._say(self._status(followed.snapshot))
        return True

    def _status(self, snapshot: Snapshot) -> ClusterStatus:
        nodes, pods = (len(snapshot.objects.list_kind(kind)) for kind in ("Node", "Pod"))
        gaps = {kind: gap.why for kind, gap in self._followed.gaps.items()}
        changes = self._followed.changes
        return ClusterStatus(
            "ready", "", snapshot.source, snapshot.taken_at, nodes, pods, changes, gaps, tuple(routes())
        )

    def _say(self, status: ClusterStatus) -> None:
        frames.send(self._feed, Head(cluster=status))

    def _work_out(self, cluster: ServedCluster) -> None:
        """Work out what each question would of the cluster as it is now, and import what it imports."""
        begins = self._known < 0
        self._known = self._followed.changes
        answer(route_of("place"), _PROBE, cluster)
        if begins:
            # The page asks for these first.
            answer(route_of("snapshot-info"), b"{}", cluster, media=PAGE)
            answer(route_of("place"), _PROBE, cluster, media=PAGE)
            for node in cluster.snapshot.objects.list_all(Node)[:1]:
                answer(route_of("drain"), msgspec.json.encode({"nodes": [node.name]}), cluster, media=PAGE)
        gc.collect()
        if begins:
            # It is looked at no more, so that a fork can share it.
            gc.freeze()

    def _fork(self) -> None:
        _, handles, _, _ = socket.recv_fds(self._forks, 16, 1)
        if not handles:
            return
        channel = socket.socket(fileno=handles[0])
        if self._cluster is not None and self._known != self._followed.changes:
            self._work_out(self._cluster)
        if self._cluster is not None and not os.fork():
            try:
                for connection in (self._feed, self._forks, self._lines):
                    if connection is not None:
                        connection.close()
                work(channel, self._cluster, self._memory, self._known)
            finally:
                os._exit(0)
        channel.close()


def _reap() -> None:
    """Let workers that ended go."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def main() -> None:
    """Keep a cluster; the words are the numbers of the two or three sockets."""
    channels = [socket.socket(fileno=int(word)) for word in sys.argv[1:]]
    # A terminal sends Ctrl-C to all processes; the server ends the others when nobody waits for an answer any more.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    Keeper(*channels).run()


if __name__ == "__main__":
    main()
