"""Limits of everything that is taken from outside and made in one run; what exceeds one is refused with a message.

Files and API servers may be hostile, so nothing is read without a limit. ``docs/reference/limits.md`` lists these
limits, and a test compares the two.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from kwhatif.errors import LimitError

T = TypeVar("T")

MIB = 1024**2

SNAPSHOT_BYTES = 2048 * MIB
"""A file of a snapshot, unpacked."""

RECORDING_BYTES = 16384 * MIB
"""A recording, unpacked, of which one moment is taken: it is never held as a whole."""

ROWS_BYTES = 512 * MIB
"""The rows of a study that is to be gone on with; they are held as a whole."""

MANIFEST_BYTES = 256 * MIB
"""A file of manifests, unpacked."""

SETTINGS_BYTES = 16 * MIB
"""A file that a person writes: a scheduler configuration, the gate's rules, edits, a kubeconfig, a certificate."""

RATIO = 1000
"""The greatest ratio of a text's size to its compressed size; gzip cannot do much more, and no manifest comes near."""

RATIO_FROM = MIB
"""The ratio of compression is checked only once more bytes than this are unpacked."""

WHOLES = 2_000_000
"""Members of gzip or frames of zstd in a file. A recording has one for each second: three weeks of them."""

DOCUMENTS = 200_000
"""In one file. The largest clusters have 150,000 pods."""

DEPTH = 200
"""Lists and mappings in each other."""

BYTES_EACH = 8
"""The least text, in bytes, per list or mapping of a JSON file with very many of them, on average."""

MANY = 1_000_000
"""The number of lists and mappings from which that is checked."""

YAML_BYTES = 128 * MIB
"""A file of YAML, unpacked: it is read a hundred times more slowly than JSON."""

YAML_VALUES = 10_000_000
"""Keys, values, lists and mappings in a file of YAML; of each comes a Python object."""

ALIASED_VALUES = 1_000_000
"""What all aliases of a YAML file stand for."""

ANSWER_BYTES = 512 * MIB
"""One answer of an API server or an extender, unpacked."""

LINE_BYTES = 64 * MIB
"""One event of a watch, and a line of a recording but for its lists. etcd takes objects of one or two."""

RECORDER_BYTES = 256 * MIB
"""What a recorder remembers of the objects of one kind: their names, uids and versions."""

OBJECTS = 1_000_000
"""Of one kind, in a live cluster."""

EMPTY_PAGES = 10
"""The most empty pages in a row of a list that is to be continued."""

ANSWER_SECONDS = 60.0
"""For one whole answer of an API server or a Prometheus: how long to wait for what is still to come of it."""

LOAD_SECONDS = 10.0
"""For one whole answer of a load-watcher."""

LABEL_BYTES = MIB
"""The labels of one series of usage, of which Prometheus' own servers allow a fraction; what else an answer says."""

SERIES_BYTES = 64 * MIB
"""One series of usage: a year of samples every fifteen seconds has no more."""

USAGE_VALUES = 64_000_000
"""Different values of usage that there is room for, in a gibibyte of memory."""

DUMP_SECONDS = 900.0
"""For a whole dump, credentials included."""

PODS = 200_000
"""What one run may make of manifests, edits and evictions."""

NODES = 20_000
"""What the edits of one run may add."""

COUNT = 1_000_000
"""What a document of our own may count, such as the nodes of a group. What is made of it has limits of its own."""

TRIALS = 10_000
"""Those that a rule of the gate may ask for, which may come from a pull request."""

COST = 1_000_000_000
"""What all expressions and searches for devices of one run may cost together, in the units in which an API server says
what a single expression may cost."""

SUBSTITUTED_BYTES = 64 * MIB
"""What variables of Flux put into the objects of one run."""

APPLICATIONS = 50_000
"""What generators of ApplicationSets make in one run."""

COPIED_VALUES = 5_000_000
"""What patches and replacements of one kustomization may copy, in values and in eighths of their texts."""

PROGRAM_BYTES = 2048 * MIB
"""The memory of a program that renders manifests, by the addresses that it uses."""

RENDER_SECONDS = 600
"""All programs of a run that render manifests, together; each may take a minute."""

GIT_BYTES = 8192 * MIB
"""The memory of git, likewise: it maps files that it reads a part of."""

TREE_ENTRIES = 1_000_000
"""Files and directories of a revision of git, or of a directory that is read with those below it."""

NAME_LENGTH = 255
"""The name of a file. No file system has longer ones."""

PATH_LENGTH = 4096
"""The path of a file in a revision."""

_EACH_COSTS = 10
_SHOWN = 60


@dataclass
class _PodRoom:
    most: int
    made: int = 0
    nodes: int = 0


_pod_room: ContextVar[_PodRoom | None] = ContextVar("pod_room", default=None)
_spent: ContextVar[list[int] | None] = ContextVar("spent", default=None)


@contextmanager
def pods_to_make(most: int | None = None) -> Iterator[None]:
    """A context with its own limit of created pods, the outer one by default; they do not count outside."""
    around = _pod_room.get()
    token = _pod_room.set(_PodRoom(most if most is not None else around.most if around else PODS))
    try:
        yield
    finally:
        _pod_room.reset(token)


def pods_left() -> int:
    """How many pods may still be made."""
    room = _pod_room.get()
    return PODS if room is None else room.most - room.made


def make_room(pods: int, owner: str) -> None:
    """Count pods that are about to be made. Raises LimitError if they are too many.

    A caller that knows of further pods first makes room for all of them in a ``pods_to_make`` of its own.
    """
    room = _pod_room.get() or _PodRoom(PODS)
    if room.made + pods > room.most:
        others = f" after {room.made:,} of others" if room.made else ""
        problem = f"expected no more than {room.most:,} pods in all (--max-pods), found {pods:,} of {owner}{others}"
        raise LimitError(problem)
    room.made += pods


def make_nodes(number: int) -> None:
    """Count nodes that an edit is about to add. Raises LimitError if they are too many."""
    room = _pod_room.get() or _PodRoom(PODS)
    if room.nodes + number > NODES:
        others = f" after {room.nodes:,} of other edits" if room.nodes else ""
        raise LimitError(f"expected no more than {NODES:,} new nodes in all, found {number:,}{others}")
    room.nodes += number


def check_nodes(number: int, owner: str) -> None:
    """Check a number of additional nodes. Raises LimitError if it exceeds the limit."""
    if number > NODES:
        raise LimitError(f"expected no more than {NODES:,} new nodes in all, found {number:,} of {owner}")


@contextmanager
def work_to_do() -> Iterator[None]:
    """A context in which the work that is charged has a limit."""
    token = _spent.set([0])
    try:
        yield
    finally:
        _spent.reset(token)


def charge(cost: int, work: str) -> None:
    """Count work whose cost the input decides. Raises LimitError once it exceeds the limit."""
    spent = _spent.get()
    if spent is None:
        return
    spent[0] += cost + _EACH_COSTS
    if spent[0] > COST:
        shown = work if len(work) <= _SHOWN else f"{work[:_SHOWN]}..."
        problem = f"expressions and searches for devices together cost more than the limit of {COST:,}, at {shown!r}"
        raise LimitError(problem)


def in_time(seconds: float, work: Callable[[], T]) -> T:
    """The result of ``work``, or what it raises. Raises TimeoutError once it has taken too long.

    It then goes on in a thread that is not waited for any more.
    """
    outcome: list[T | BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise TimeoutError
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]
