"""The process that keeps the cluster loaded, and of which each worker is a fork.

It has one thread, so that it can be forked at any time, asks no question of others itself, and is never handed what a
client sent. A worker sees the cluster as it was when it was forked, costs no more memory than what it changes, and may
be killed: neither this process nor another worker notices.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
from contextlib import suppress

from kwhatif.errors import KwhatifError
from kwhatif.serve import frames
from kwhatif.serve.answers import ServedCluster, answer
from kwhatif.serve.fields import route_of, routes
from kwhatif.serve.frames import ClusterStatus, Head
from kwhatif.serve.worker import work
from kwhatif.snapshot.load import load_snapshot

_PROBE = b"""{"manifests": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "kwhatif-probe"},
 "spec": {"containers": [{"name": "probe", "image": "probe"}]}}}"""


class Keeper:
    """Takes what the server sends on ``feed``, and forks a worker for each socket that comes on ``forks``."""

    def __init__(self, feed: socket.socket, forks: socket.socket) -> None:
        self._feed, self._forks = feed, forks
        self._cluster: ServedCluster | None = None
        self._memory = 0

    def run(self) -> None:
        """Go on until the server is gone."""
        while True:
            ready, _, _ = select.select([self._feed, self._forks], [], [])
            if self._feed in ready:
                frame = frames.receive(self._feed)
                if frame is None:
                    return
                self._take(*frame)
            elif self._forks in ready:
                self._fork()
            _reap()

    def _take(self, head: Head, body: bytes) -> None:
        self._memory = head.memory
        try:
            self._set(ServedCluster(load_snapshot(head.files)))
        except KwhatifError as error:
            frames.send(self._feed, Head(cluster=ClusterStatus("failed", str(error))))

    def _set(self, cluster: ServedCluster) -> None:
        """This is the cluster from now on. What each question would work out of it is worked out, and what it imports
        is imported.
        """
        self._cluster = cluster
        answer(route_of("place"), _PROBE, cluster)
        gc.collect()
        gc.freeze()
        snapshot = cluster.snapshot
        nodes, pods = (len(snapshot.objects.list_kind(kind)) for kind in ("Node", "Pod"))
        status = ClusterStatus("ready", "", snapshot.source, snapshot.taken_at, nodes, pods, tuple(routes()))
        frames.send(self._feed, Head(cluster=status))

    def _fork(self) -> None:
        _, handles, _, _ = socket.recv_fds(self._forks, 16, 1)
        if not handles:
            return
        channel = socket.socket(fileno=handles[0])
        if self._cluster is not None and not os.fork():
            try:
                self._feed.close()
                self._forks.close()
                gc.enable()
                work(channel, self._cluster, self._memory)
            finally:
                os._exit(0)
        channel.close()


def _reap() -> None:
    """Let workers that ended go."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def main() -> None:
    """Keep a cluster; the words are the numbers of the two sockets."""
    feed, forks = (socket.socket(fileno=int(word)) for word in sys.argv[1:3])
    # A terminal sends Ctrl-C to all processes; the server ends the others when nobody waits for an answer any more.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    Keeper(feed, forks).run()


if __name__ == "__main__":
    main()
