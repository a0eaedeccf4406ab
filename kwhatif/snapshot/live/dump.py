"""A snapshot of a live cluster: every kind that is read, several in parallel, each list with its resource version.

A kind that may not be read is no error but noted as unreadable, except Node. Each list is consistent, but the lists are
not of the same moment: inconsistencies between them are found, and those lists read again.
"""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from kwhatif import bounds
from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import decode_json
from kwhatif.api.kinds import LASTING, READ_KINDS, Kind, kind_named
from kwhatif.api.workloads_and_storage import PersistentVolume, PersistentVolumeClaim
from kwhatif.clock import read_clock
from kwhatif.errors import ClusterError, InputError
from kwhatif.results.amounts import format_some
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.live.control_plane import read_autoscaler, read_descheduler, read_scheduler
from kwhatif.snapshot.live.listing import Listing, ListReader, Progress
from kwhatif.snapshot.live.live_cluster import Connection, LiveCluster
from kwhatif.snapshot.live.requests import Discovery, RequestRefused, RetryingClient


class Inconsistency(msgspec.Struct, frozen=True):
    """An inconsistency between lists, and the kinds to read again."""

    text: str
    kinds: tuple[str, ...]


def inconsistencies(listings: Mapping[str, Listing]) -> list[Inconsistency]:
    """The inconsistencies between these lists."""
    inconsistent = [
        Inconsistency(f"seen twice while the list of {kind} was read: {format_some(listing.repeated)}", (kind,))
        for kind, listing in listings.items()
        if listing.repeated
    ]
    inconsistent += _missing_nodes(listings)
    inconsistent += _missing_volumes(listings)
    return inconsistent


def _missing_nodes(listings: Mapping[str, Listing]) -> list[Inconsistency]:
    pods, nodes = listings.get("Pod"), listings.get("Node")
    if pods is None or nodes is None or nodes.unreadable:
        return []
    known = {node.name for node in nodes.objects if isinstance(node, Node)}
    # A pod that has run its course may stay longer than its node.
    running = (pod for pod in pods.objects if isinstance(pod, Pod) and pod.status.phase not in ("Failed", "Succeeded"))
    lost = [pod for pod in running if pod.spec.node_name and pod.spec.node_name not in known]
    if not lost:
        return []
    gone = sorted({pod.spec.node_name or "" for pod in lost})
    number = "1 pod is" if len(lost) == 1 else f"{len(lost)} pods are"
    text = f"{number} on nodes that are not in the list of nodes: {format_some(gone)}"
    return [Inconsistency(text, ("Node", "Pod"))]


def _missing_volumes(listings: Mapping[str, Listing]) -> list[Inconsistency]:
    claims, volumes = listings.get("PersistentVolumeClaim"), listings.get("PersistentVolume")
    if claims is None or volumes is None or volumes.unreadable:
        return []
    known = {volume.name for volume in volumes.objects if isinstance(volume, PersistentVolume)}
    lost = [
        f"{claim.namespace}/{claim.name}"
        for claim in claims.objects
        if isinstance(claim, PersistentVolumeClaim)
        and claim.status.phase == "Bound"
        and claim.spec.volume_name
        and claim.spec.volume_name not in known
    ]
    if not lost:
        return []
    text = f"claims are bound to volumes that are not in the list of volumes: {format_some(lost)}"
    return [Inconsistency(text, ("PersistentVolume", "PersistentVolumeClaim"))]


PAGE_SIZE = 500
AT_A_TIME = 4
"""How many kinds are read in parallel."""

_TO_SAY_SO = 0.2
_RELEASE = re.compile(r"v\d+\.\d+\.\d+")


class DumpOptions(msgspec.Struct, frozen=True):
    """How to read a cluster. ``retries`` is how often lists that do not fit together are read again; ``usage`` asks for
    what pods use at the moment, too.
    """

    page_size: int = PAGE_SIZE
    retries: int = 1
    keep_templates: bool = False
    scheduler_config: str | None = None
    usage: bool = False


class DumpResult(msgspec.Struct, frozen=True):
    """A snapshot, notes, and the kinds that were refused (not those that are not served)."""

    snapshot: Snapshot
    notes: list[str]
    refused: list[str]


class _Version(msgspec.Struct, rename="camel"):
    git_version: str
    major: str = ""
    minor: str = ""


def dump(
    connection: Connection,
    options: DumpOptions,
    *,
    progress: Progress = lambda kind, count, total: None,
    tell: Callable[[str], None] = lambda text: None,
) -> DumpResult:
    """Read a cluster. ``progress`` and ``tell`` (of repetitions) are called from several threads.

    Raises ClusterError if the cluster cannot be read or takes longer than it may, InputError if an answer cannot be
    understood.
    """

    def read() -> DumpResult:
        with LiveCluster(connection) as cluster:
            return read_cluster(cluster, options, progress=progress, tell=tell)

    try:
        # The plugin for credentials ends by itself when time is up, and can say so.
        return bounds.in_time(connection.limit + _TO_SAY_SO, read)
    except TimeoutError:
        raise ClusterError(f"the cluster was not read within {connection.limit:g} seconds (--timeout)") from None


def read_cluster(
    cluster: LiveCluster,
    options: DumpOptions,
    *,
    progress: Progress = lambda kind, count, total: None,
    tell: Callable[[str], None] = lambda text: None,
) -> DumpResult:
    """``dump`` through an open connection, without a time limit."""
    asker = RetryingClient(cluster, tell)
    version = version_of(asker)
    scheduler, notes = read_scheduler(asker, options.scheduler_config)
    lists = ListReader(asker, Discovery(asker), options.page_size, options.keep_templates, progress)
    kinds = READ_KINDS if options.usage else LASTING
    listings = {listing.kind: listing for listing in _at_a_time(asker, lists.read, kinds)}
    if listings["Node"].unreadable:
        raise ClusterError(f"{cluster.name}: the nodes cannot be read: {listings['Node'].unreadable}")
    inconsistent = inconsistencies(listings)
    for _ in range(options.retries):
        again = sorted({kind for one in inconsistent for kind in one.kinds})
        if not again:
            break
        tell(f"reading {', '.join(again)} again: {inconsistent[0].text}")
        listings |= {listing.kind: listing for listing in _at_a_time(asker, lists.read, map(kind_named, again))}
        inconsistent = inconsistencies(listings)
    snapshot = _snapshot(listings)
    snapshot.source, snapshot.kubernetes_version = cluster.name, version
    snapshot.taken_at = read_clock().strftime("%Y-%m-%dT%H:%M:%SZ")
    snapshot.inconsistencies = [one.text for one in inconsistent]
    snapshot.scheduler, snapshot.autoscaler = scheduler, read_autoscaler(asker)
    snapshot.descheduler = read_descheduler(asker)
    if options.usage and listings["PodMetrics"].missing:
        notes.append("the cluster does not serve metrics.k8s.io: what pods use is not in the snapshot")
    refused = sorted(kind for kind, listing in listings.items() if listing.unreadable and not listing.missing)
    return DumpResult(snapshot, notes, refused)


def version_of(asker: RetryingClient) -> str | None:
    """The cluster's release, if the server reports one. It is the first request, which shows whether this is an API
    server at all.
    """
    try:
        version = decode_json(asker.get("/version", what="version"), _Version)
    except RequestRefused as refused:
        if refused.status == 403:
            return None
        raise asker.build_protocol_error("version", "this is no Kubernetes API server") from None
    except InputError:
        raise asker.build_protocol_error("version", "this is no Kubernetes API server") from None
    if _RELEASE.match(version.git_version):
        plain = f"v{version.major}.{version.minor.rstrip('+')}"
        # A server that was built from no release tells its version but here.
        return version.git_version if version.git_version.startswith(f"{plain}.") or not version.major else plain
    return version.git_version


def _at_a_time(asker: RetryingClient, read: Callable[[Kind], Listing], kinds: Iterable[Kind]) -> Iterator[Listing]:
    """Read several kinds in parallel; the first failure ends all.

    The threads are daemons: an interrupted command does not wait for a server.
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
    for kind in (kind for kind in READ_KINDS if kind.name in listings):
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
