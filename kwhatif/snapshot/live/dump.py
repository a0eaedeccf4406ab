"""A snapshot of a live cluster: every kind that is read, several at a time, each at a version that is noted.

A kind that may not be read is no error but noted as unreadable, unless it is Node: a snapshot without nodes answers
nothing.
"""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from kwhatif import bounds
from kwhatif.api.decode import decode_json
from kwhatif.api.kinds import READ, Kind, kind_named
from kwhatif.errors import ClusterError, InputError
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.live.asker import Asker, Refused
from kwhatif.snapshot.live.autoscaler_maps import read_autoscaler
from kwhatif.snapshot.live.consistency import inconsistencies
from kwhatif.snapshot.live.discovery import Discovery
from kwhatif.snapshot.live.listing import Listing, ListReader, Progress
from kwhatif.snapshot.live.live_cluster import Connection, LiveCluster
from kwhatif.snapshot.live.scheduler_info import read_scheduler

PAGE_SIZE = 500
AT_A_TIME = 4
"""So many kinds are read at the same time."""

_TO_SAY_SO = 0.2
_RELEASE = re.compile(r"v\d+\.\d+\.\d+")


@dataclass(frozen=True)
class Wanted:
    """How to read a cluster. ``retries`` is how often lists that do not fit together are read again."""

    page_size: int = PAGE_SIZE
    retries: int = 1
    keep_templates: bool = False
    scheduler_config: str | None = None


@dataclass(frozen=True)
class Dumped:
    """A snapshot, what is worth a word about it, and the kinds that were refused (not those that are not served)."""

    snapshot: Snapshot
    notes: list[str]
    refused: list[str]


class _Version(msgspec.Struct, rename="camel"):
    git_version: str
    major: str = ""
    minor: str = ""


def dump(
    connection: Connection,
    wanted: Wanted,
    *,
    progress: Progress = lambda kind, count, total: None,
    tell: Callable[[str], None] = lambda text: None,
) -> Dumped:
    """Read a cluster. ``progress`` and ``tell`` (what is asked again) are called from several threads.

    Raises ClusterError if the cluster does not let itself be read or takes longer than it may, InputError if what it
    says cannot be understood.
    """

    def read() -> Dumped:
        with LiveCluster(connection) as cluster:
            return read_cluster(cluster, wanted, progress=progress, tell=tell)

    try:
        # Whoever asks for credentials ends by itself when time is up, and can say so.
        return bounds.in_time(connection.limit + _TO_SAY_SO, read)
    except TimeoutError:
        raise ClusterError(f"the cluster was not read within {connection.limit:g} seconds (--timeout)") from None


def read_cluster(
    cluster: LiveCluster,
    wanted: Wanted,
    *,
    progress: Progress = lambda kind, count, total: None,
    tell: Callable[[str], None] = lambda text: None,
) -> Dumped:
    """``dump`` of a cluster that it is known how to reach, however long it takes."""
    asker = Asker(cluster, tell)
    version = version_of(asker)
    scheduler, notes = read_scheduler(asker, wanted.scheduler_config)
    lists = ListReader(asker, Discovery(asker), wanted.page_size, wanted.keep_templates, progress)
    listings = {listing.kind: listing for listing in _at_a_time(asker, lists.read, READ)}
    if listings["Node"].unreadable:
        raise ClusterError(f"{cluster.name}: the nodes cannot be read: {listings['Node'].unreadable}")
    found = inconsistencies(listings)
    for _ in range(wanted.retries):
        again = sorted({kind for one in found for kind in one.kinds})
        if not again:
            break
        tell(f"reading {', '.join(again)} again: {found[0].text}")
        listings |= {listing.kind: listing for listing in _at_a_time(asker, lists.read, map(kind_named, again))}
        found = inconsistencies(listings)
    snapshot = _snapshot(listings)
    snapshot.source, snapshot.kubernetes_version = cluster.name, version
    snapshot.taken_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    snapshot.inconsistencies = [one.text for one in found]
    snapshot.scheduler, snapshot.autoscaler = scheduler, read_autoscaler(asker)
    refused = sorted(kind for kind, listing in listings.items() if listing.unreadable and not listing.missing)
    return Dumped(snapshot, notes, refused)


def version_of(asker: Asker) -> str | None:
    """The cluster's release, if it is told. Also the first thing that is asked: is this an API server at all?"""
    try:
        version = decode_json(asker.get("/version", what="version"), _Version)
    except Refused as refused:
        if refused.status == 403:
            return None
        raise asker.nonsense("version", "this is no Kubernetes API server") from None
    except InputError:
        raise asker.nonsense("version", "this is no Kubernetes API server") from None
    if _RELEASE.match(version.git_version):
        plain = f"v{version.major}.{version.minor.rstrip('+')}"
        # A server that was built from no release tells its version but here.
        return version.git_version if version.git_version.startswith(f"{plain}.") or not version.major else plain
    return version.git_version


def _at_a_time(asker: Asker, read: Callable[[Kind], Listing], kinds: Iterable[Kind]) -> Iterator[Listing]:
    """Read several kinds at the same time; the first failure ends all.

    The threads are daemons: whoever is interrupted does not wait for a server.
    """
    todo: queue.SimpleQueue[Kind] = queue.SimpleQueue()
    done: queue.SimpleQueue[Listing | BaseException] = queue.SimpleQueue()
    number = 0
    for kind in kinds:
        todo.put(kind)
        number += 1

    def work() -> None:
        try:
            while not asker.stop.is_set():
                done.put(read(todo.get_nowait()))
        except queue.Empty:
            return
        except BaseException as error:
            done.put(error)

    for _ in range(min(AT_A_TIME, number)):
        threading.Thread(target=work, daemon=True).start()
    try:
        for _ in range(number):
            result = done.get()
            if isinstance(result, BaseException):
                raise result
            yield result
    except BaseException:
        asker.stop.set()
        raise


def _snapshot(listings: dict[str, Listing]) -> Snapshot:
    snapshot, dropped = Snapshot(), set[str]()
    for kind in READ:
        listing = listings[kind.name]
        if listing.unreadable and not (kind.rare and listing.missing):
            snapshot.unreadable[kind.name] = listing.unreadable
            continue
        if kind.struct:
            snapshot.objects.extend(kind.struct, listing.objects)
        if kind.whole:
            snapshot.whole[kind.name] = listing.whole
        if not listing.missing:
            snapshot.resource_versions[kind.name] = listing.resource_version
        dropped |= listing.dropped
    snapshot.dropped = sorted(dropped)
    return snapshot
