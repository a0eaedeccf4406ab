"""Recording of a live cluster: lists of all kinds that are read, and of the scheduler's Events, then every change.

The format is that of ``snapshot.recording_lines``. Besides lists and events there are lines of our own: cluster-wide
information (``cluster``), again whenever it has changed, and gaps of a kind (``missing``). The lines may go to a file,
or to somebody who applies them to a cluster that is kept.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from kwhatif.api.kinds import LASTING, Kind, kind_named
from kwhatif.clock import read_clock
from kwhatif.errors import ClusterError
from kwhatif.snapshot.format.model import KIND, Metadata
from kwhatif.snapshot.live.control_plane import read_autoscaler, read_descheduler, read_scheduler
from kwhatif.snapshot.live.dump import AT_A_TIME, DumpOptions, version_of
from kwhatif.snapshot.live.listing import ListReader, Progress
from kwhatif.snapshot.live.live_cluster import Connection, LiveCluster
from kwhatif.snapshot.live.requests import Cancelled, Discovery, RetryingClient
from kwhatif.snapshot.live.watch import KindWatch
from kwhatif.snapshot.recording_lines import EVERY, RecordingWriter, Treat

RECORDED: tuple[Kind, ...] = (*LASTING, kind_named("Event"))
"""In this order."""


class Counts(msgspec.Struct):
    """The number of recorded lines so far."""

    events: int = 0
    bound: int = 0
    size: int = 0


class RecordingSummary(msgspec.Struct, frozen=True):
    """The outcome. ``refused`` are kinds that are not in the file, ``broken`` those that were not followed at the end,
    ``gaps`` those with lost changes, each with the reason. ``lost`` lines could not be written, for ``failed``.
    """

    source: str
    seconds: float
    counts: Counts
    notes: list[str]
    refused: dict[str, str]
    broken: dict[str, str]
    gaps: dict[str, str]
    lost: int = 0
    failed: str = ""


class LineWriter(Protocol):
    """Takes lines from any number of threads, as ``RecordingWriter`` does."""

    failed: OSError | None
    written: int

    @property
    def size(self) -> int: ...

    def add(self, line: Callable[[], bytes]) -> bool: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def remove(self) -> None: ...


class _RecordingSink:
    """Writes lines with the time, which never decreases, whatever the clock does."""

    def __init__(self, file: LineWriter) -> None:
        self._file = file
        self._start, self._clock = read_clock().timestamp(), time.monotonic()
        self._counting = threading.Lock()
        self.lines = 0
        self.counts = Counts()
        self.gaps: dict[str, str] = {}

    def now(self) -> float:
        return self._start + self.seconds

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._clock

    def list(self, kind: str, text: bytes) -> None:
        self._add(kind, b'"list":%b' % text)

    def event(self, kind: str, type: str, text: bytes) -> None:
        self._add(kind, b'"event":{"type":"%b","object":%b}' % (type.encode(), text))
        with self._counting:
            self.counts.events += 1

    def count_bound_pod(self) -> None:
        with self._counting:
            self.counts.bound += 1

    def missing(self, kind: str, since: float, why: str, *, until: float | None = None, lost: bool = True) -> None:
        if until is not None and lost:
            self.gaps[kind] = why
        fields = {"since": since, **({} if until is None else {"until": until}), "why": why, "lost": lost}
        self._add(kind, b'"missing":%b' % msgspec.json.encode(fields))

    def cluster(self, metadata: Metadata) -> None:
        """What is known of the cluster as a whole."""
        with suppress(Cancelled):
            self._add(KIND, b'"cluster":%b' % msgspec.json.encode(metadata))

    def _add(self, kind: str, tail: bytes) -> None:
        added = self._file.add(lambda: b'{"at":%.6f,"kind":"%b",%b}\n' % (self.now(), kind.encode(), tail))
        with self._counting:
            self.lines += 1
        if not added and self._file.failed:
            raise Cancelled


class _InitialState(msgspec.Struct, frozen=True):
    """A recording once every kind is listed."""

    tape: _RecordingSink
    notes: list[str]
    head: Metadata
    kinds: list[KindWatch]
    served: Discovery


class Recorder:
    """Records until ``stop`` is set, for ``seconds`` at most, or until the file cannot be written any more.

    ``shown`` is called again and again with the counts, ``progress`` and ``tell`` are as for ``dump``. ``beats``: what
    is known of the cluster as a whole is written about once a second, and says that nothing else is to be written.
    """

    def __init__(
        self,
        connection: Connection,
        options: DumpOptions,
        *,
        seconds: float = threading.TIMEOUT_MAX,
        progress: Progress = lambda kind, count, total: None,
        tell: Callable[[str], None] = lambda text: None,
        shown: Callable[[Counts], None] = lambda counts: None,
        kinds: Sequence[Kind] = RECORDED,
        beats: bool = False,
    ) -> None:
        self.stop = threading.Event()
        self._kinds, self._beats = kinds, beats
        self._connection, self._wanted, self._seconds = connection, options, seconds
        self._progress, self._tell, self._shown = progress, tell, shown

    def record(self, path: str, treat: Treat | None = None) -> RecordingSummary:
        """Record; ``treat`` may change the lines that are written.

        Raises OSError if the file cannot be created, ClusterError and InputError if the cluster cannot be read at all.
        Then, and if it is stopped before all lists are there, no file is left behind.
        """
        return self.record_to(RecordingWriter(path, treat))

    def record_to(self, file: LineWriter) -> RecordingSummary:
        """As ``record``, to somebody who takes the lines."""
        begun: _InitialState | None = None
        try:
            with LiveCluster(self._connection) as cluster:
                asker = RetryingClient(cluster, self._tell)
                # Those who wait for the one wait for the other.
                asker.stop = self.stop
                begun = self._read_initial_state(cluster, asker, file)
                return self._record_until_end(begun, file)
        finally:
            self.stop.set()
            if begun is None:
                file.remove()
            else:
                file.close()

    def _read_initial_state(self, cluster: LiveCluster, asker: RetryingClient, file: LineWriter) -> _InitialState:
        """Read what there is, with every kind followed from then on."""
        tape = _RecordingSink(file)
        version = version_of(asker)
        scheduler, notes = read_scheduler(asker, self._wanted.scheduler_config)
        head = Metadata(
            source=cluster.name,
            taken_at=datetime.fromtimestamp(tape.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            kubernetes_version=version,
            scheduler=scheduler,
            autoscaler=read_autoscaler(asker),
            descheduler=read_descheduler(asker),
        )
        tape.cluster(head)
        served = Discovery(asker)
        lists = ListReader(asker, served, self._wanted.page_size, self._wanted.keep_templates, self._progress)
        kinds = [KindWatch(kind, asker, lists, served, tape) for kind in self._kinds]
        self._begin(kinds, file)
        return _InitialState(tape, notes, head, kinds, served)

    def _record_until_end(self, begun: _InitialState, file: LineWriter) -> RecordingSummary:
        """Go on until it is to end."""
        tape = begun.tape
        begun.served.begun.set()
        known = _complete_metadata(begun.head, begun.kinds)
        tape.cluster(known)
        until = time.monotonic() + self._seconds
        while not self.stop.wait(EVERY) and time.monotonic() < until and not file.failed:
            before, known = known, _complete_metadata(begun.head, begun.kinds)
            if self._beats or known != before:
                tape.cluster(known)
            file.flush()
            tape.counts.size = file.size
            self._shown(tape.counts)
        tape.cluster(_complete_metadata(begun.head, begun.kinds))
        file.close()
        tape.counts.size = file.size
        return RecordingSummary(
            source=begun.head.source or "",
            seconds=tape.seconds,
            counts=tape.counts,
            notes=begun.notes,
            refused={kind.kind.name: kind.refused for kind in begun.kinds if kind.refused and not kind.missing},
            broken={kind.kind.name: kind.broken for kind in begun.kinds if kind.broken},
            gaps={kind.kind.name: tape.gaps[kind.path] for kind in begun.kinds if kind.path in tape.gaps}
            | {kind.kind.name: kind.left_out_note for kind in begun.kinds if kind.left_out},
            lost=tape.lines - file.written if file.failed else 0,
            failed=(file.failed.strerror or str(file.failed)) if file.failed else "",
        )

    def _begin(self, kinds: list[KindWatch], file: LineWriter) -> None:
        """Read all lists, some in parallel, each followed from then on; the first failure ends all.

        The threads are daemons: an interrupted command does not wait for a server.
        """
        done: queue.SimpleQueue[KindWatch | BaseException] = queue.SimpleQueue()
        some = threading.Semaphore(AT_A_TIME)

        def work(kind: KindWatch) -> None:
            try:
                with some:
                    if not self.stop.is_set():
                        kind.begin()
                done.put(kind)
                if not kind.refused or kind.missing:
                    kind.follow()
            except BaseException as error:
                done.put(error)

        for kind in kinds:
            threading.Thread(target=work, args=(kind,), daemon=True).start()
        for _ in kinds:
            while (result := _next(done)) is None or isinstance(result, Cancelled):
                file.flush()
                if self.stop.is_set() or file.failed:
                    why = file.failed.strerror if file.failed else "stopped"
                    raise ClusterError(f"{why} before all lists were read: there is no recording")
            if isinstance(result, BaseException):
                raise result
            if result.kind.name == "Node" and result.refused:
                raise ClusterError(f"the nodes cannot be read: {result.refused}")


def _next(done: queue.SimpleQueue[KindWatch | BaseException]) -> KindWatch | BaseException | None:
    try:
        return done.get(timeout=EVERY / 4)
    except queue.Empty:
        return None


def _complete_metadata(head: Metadata, kinds: list[KindWatch]) -> Metadata:
    """The cluster's metadata once the kinds are listed."""
    return msgspec.structs.replace(
        head,
        unreadable={
            kind.kind.name: kind.refused for kind in kinds if kind.refused and not (kind.kind.rare and kind.missing)
        },
        dropped=sorted(set[str]().union(*(kind.dropped for kind in kinds))) or None,
    )
