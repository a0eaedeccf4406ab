"""A worker: a fork of the keeper that answers one question after the other until the server ends it."""

from __future__ import annotations

import gc
import os
import resource
import select
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from kwhatif.api.core import Node
from kwhatif.commands.asking import ask
from kwhatif.commands.policy.show.question import Show
from kwhatif.progress import ProgressListener, use_listener
from kwhatif.serve import frames
from kwhatif.serve.answers import ServedCluster, answer
from kwhatif.serve.fields import route_of
from kwhatif.serve.frames import Head
from kwhatif.serve.openapi import openapi_text
from kwhatif.serve.replies import JSON, Reply, problem_reply
from kwhatif.serve.tools import AGENT, TOOLS, cut_answer, tools_text
from kwhatif.simulation.node_pools import pool_of
from kwhatif.simulation.scenario_options import ClusterOptions

OPENAPI = "openapi.json"
"""A question about the server: what may be asked."""

POLICY = "policy"
"""A question for agents alone: the configuration of the scheduler that answers suppose unless a request has one."""

NODES = "nodes"
"""A question for other doors alone: the names of all nodes, and their pools."""


_IDLE_SECONDS = 0.003
"""How long a worker waits for its next question before it tidies up."""


class ServedNode(msgspec.Struct, frozen=True):
    """A node of the served cluster."""

    name: str
    pool: str = ""


def work(channel: socket.socket, cluster: ServedCluster, memory: int, changes: int) -> None:
    """Answer what comes on a channel, each question with ``memory`` bytes more than there are now.

    ``changes`` are those of the cluster so far.
    """
    limit_memory(memory)
    gc.enable()
    gc.set_threshold(300_000, 20, 20)
    frames.send(channel, Head(pid=os.getpid(), changes=changes))
    number = 0
    while (frame := frames.receive(channel)) is not None:
        head, body = frame
        listener = _Listener(channel) if head.wants_progress else None
        try:
            with use_listener(listener):
                reply = reply_to(head, body, cluster)
            worker_ends = False
        except MemoryError:
            reply, worker_ends = too_large(memory), True
        frames.send(
            channel,
            Head(http_status=reply.status, media=reply.media, exit_code=reply.exit_code, worker_ends=worker_ends),
            reply.body,
        )
        if worker_ends:
            return
        # What questions leave behind is let go while nobody waits, but for every eighth.
        number += 1
        if number % 8 == 0 or not select.select([channel], [], [], _IDLE_SECONDS)[0]:
            gc.collect()


def reply_to(head: Head, body: bytes, cluster: ServedCluster) -> Reply:
    """The reply to a question."""
    if head.as_of:
        cluster.snapshot.taken_at = head.as_of
    if head.route == OPENAPI:
        return Reply(200, JSON, openapi_text())
    if head.route == NODES:
        return Reply(200, JSON, msgspec.json.encode(list(nodes_of(cluster))))
    if head.route == TOOLS:
        return Reply(200, JSON, tools_text())
    if head.route == POLICY:
        return Reply(200, JSON, ask(Show(output="json"), ClusterOptions(snapshot=cluster.source)).text.encode())
    route = route_of(head.route)
    reply = answer(route, body, cluster, media=head.media)
    return cut_answer(route, reply) if head.media == AGENT else reply


def nodes_of(cluster: ServedCluster) -> Iterator[ServedNode]:
    """The nodes in the order of the snapshot."""
    for node in cluster.snapshot.objects.list_all(Node):
        yield ServedNode(node.name, pool_of(node))


def too_large(memory: int) -> Reply:
    """The reply to a question that takes more memory than it may."""
    return problem_reply(422, "limit", f"the question takes more than {memory // 1024**2:,} MiB of memory")


def limit_memory(memory: int) -> None:
    """Let this process have so many bytes more than it has."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    # A killed worker leaves no core, which would hold what clients sent.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class _Listener(ProgressListener):
    """Tells the server how far it is, a few times a second."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._next = 0.0

    def start(self, doing: str) -> None:
        self._tell(doing)

    def update(self, doing: str, noun: str, done: int, of: int | None) -> None:
        if time.monotonic() >= self._next:
            self._tell(f"{doing}: {done:,} {noun}" if of is None else f"{doing}: {done:,} of {of:,} {noun}")

    def clear(self) -> None:
        pass

    def _tell(self, text: str) -> None:
        self._next = time.monotonic() + 0.25
        frames.send(self._channel, Head(progress=text))
