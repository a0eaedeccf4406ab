"""The process that follows a cluster by its watches, and hands what changes to the keeper, as the lines of a recording.

It alone has the credentials of the cluster. It has a thread for each kind, so it cannot be forked, and the keeper can.
"""

from __future__ import annotations

import signal
import socket
import sys
import threading
from collections.abc import Callable

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.api.kinds import LASTING
from kwhatif.clock import read_clock
from kwhatif.errors import KwhatifError
from kwhatif.serve import frames, log
from kwhatif.snapshot.format.model import KIND
from kwhatif.snapshot.live.dump import DumpOptions
from kwhatif.snapshot.live.live_cluster import Connection
from kwhatif.snapshot.live.recorder import Recorder


class LineSender:
    """Sends lines at once; ``failed`` once nobody takes them any more. As ``RecordingWriter`` has it."""

    def __init__(self, channel: socket.socket) -> None:
        self.failed: OSError | None = None
        self.written = self.size = 0
        self._channel, self._sending = channel, threading.Lock()

    def add(self, line: Callable[[], bytes]) -> bool:
        """Send a line; it is made when its turn comes."""
        with self._sending:
            if self.failed:
                return False
            text = line()
            try:
                self._channel.sendall(text)
            except OSError as error:
                self.failed = error
                return False
            self.written, self.size = self.written + 1, self.size + len(text)
            return True

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def remove(self) -> None:
        pass


def follow(channel: socket.socket, connection: Connection) -> None:
    """Follow a cluster until nobody takes what changes any more. What makes it impossible is said in a line."""
    sender = LineSender(channel)
    try:
        Recorder(connection, DumpOptions(), tell=log.tell, kinds=LASTING, beats=True).record_to(sender)
    except KwhatifError as error:
        gap = {"since": read_clock().timestamp(), "why": str(error)}
        line = msgspec.json.encode({"at": gap["since"], "kind": KIND, "missing": gap})
        sender.add(lambda: line + b"\n")


def main() -> None:
    """Follow a cluster; the words are the numbers of the socket that says which, and of the one for lines."""
    feed, lines = (socket.socket(fileno=int(word)) for word in sys.argv[1:3])
    # A terminal sends Ctrl-C to all processes; the server ends the others when nobody waits for an answer any more.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    frame = frames.receive(feed)
    if frame is not None:
        follow(lines, decode_json(frame[1], Connection))


if __name__ == "__main__":
    main()
