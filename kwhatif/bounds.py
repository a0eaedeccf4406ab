"""Limits of everything that is taken from outside and made in one run; what exceeds one is refused with a message.

Files and API servers may be hostile, so nothing is read without a limit. The table of ``docs/reference/limits.md`` is
made of these constants and their docstrings (``tests/reference_tables.py``).
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
"""A file of a snapshot, a recording, a translation or an answer, unpacked."""

RECORDING_BYTES = 16384 * MIB
"""A recording of which one moment is taken, unpacked: it is never held as a whole."""

ROWS_BYTES = 512 * MIB
"""The rows of a study that `--resume` continues."""

MANIFEST_BYTES = 256 * MIB
"""A file of manifests, unpacked."""

SETTINGS_BYTES = 16 * MIB
"""A file that a person writes: a scheduler configuration, rules of the gate, edits, a kubeconfig, a certificate."""

RATIO = 1000
"""How many times larger a packed text may become."""

RATIO_FROM = MIB
"""The unpacked size from which that counts."""

WHOLES = 2_000_000
"""Members of gzip or frames of zstd in a file. A recording has one for each second: three weeks of them."""

DOCUMENTS = 200_000
"""Documents in a file. The largest clusters have 150,000 pods."""

DEPTH = 200
"""Lists and mappings in each other."""

BYTES_EACH = 8
"""The least text for each list or mapping of a JSON file, on average."""

MANY = 1_000_000
"""The number of lists and mappings from which that counts."""

YAML_BYTES = 128 * MIB
"""A file of YAML, unpacked. As JSON it may be larger: YAML is read a hundred times more slowly."""

YAML_VALUES = 10_000_000
"""Keys, values, lists and mappings in a file of YAML."""

ALIASED_VALUES = 1_000_000
"""Values that the aliases of a YAML file stand for."""

ANSWER_BYTES = 512 * MIB
"""An answer of an API server or an extender, unpacked; `--chunk-size` makes those of an API server smaller."""

LINE_BYTES = 64 * MIB
"""An event of a watch, and a line of a recording but for its lists."""

RECORDER_BYTES = 256 * MIB
"""Names, uids and versions that a recorder remembers of the objects of one kind."""

OBJECTS = 1_000_000
"""Objects of one kind in a live cluster; pods and containers with usage."""

EMPTY_PAGES = 10
"""Empty pages in a row of a list that is to be continued."""

ANSWER_SECONDS = 60.0
"""A whole answer of an API server or a Prometheus (`--request-timeout`, `--prometheus-timeout`)."""

LOAD_SECONDS = 10.0
"""A whole answer of a load-watcher."""

LABEL_BYTES = MIB
"""The labels of one series of usage; what an answer of a Prometheus says besides its series."""

SERIES_BYTES = 64 * MIB
"""One series of usage: a year of samples every fifteen seconds has no more."""

USAGE_VALUES = 64_000_000
"""Different values of usage."""

DUMP_SECONDS = 900.0
"""A whole dump of a live cluster, credentials included (`--timeout`)."""

PODS = 200_000
"""Pods that one run makes of manifests, edits and evictions (`--max-pods`)."""

NODES = 20_000
"""Nodes that the edits of a run add, or that node groups lack."""

COUNT = 1_000_000
"""What a document of our own may count, such as the nodes of a group."""

TRIALS = 10_000
"""Trials that a rule of the gate may ask for."""

COST = 1_000_000_000
"""What all expressions and searches for devices of a run cost together, in the units of the API server."""

SUBSTITUTED_BYTES = 64 * MIB
"""What variables of Flux put into the objects of a run."""

APPLICATIONS = 50_000
"""Applications that generators of ApplicationSets make in a run."""

COPIED_VALUES = 5_000_000
"""Values that patches and replacements of a kustomization copy; eight characters of a text count as one."""

PROGRAM_BYTES = 2048 * MIB
"""The memory of a program that renders manifests, by the addresses that it uses."""

RENDER_SECONDS = 600
"""All programs of a run that render manifests, together; each may take a minute."""

GIT_BYTES = 8192 * MIB
"""The memory of git, by the addresses that it uses: it maps files of which it reads a part."""

TREE_ENTRIES = 1_000_000
"""Files and directories of a revision, of a chart, or below a directory."""

NAME_LENGTH = 255
"""The name of a file in a revision. No file system has longer ones."""

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
