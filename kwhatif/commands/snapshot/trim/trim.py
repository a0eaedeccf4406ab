"""Trims a snapshot to what a decision about some pods depends on; each cut is verified by deciding again.

Delta debugging: whole groups of objects are cut first, then halves of those that cannot be. Pods are tried on all nodes
at once, since most of them matter to their own node alone: the nodes whose verdict changed get theirs back. Kinds that
an answer would miss stay covered, even without objects. The file is decided again before it is written.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import structs
from msgspec.structs import replace

from kwhatif.api.core import Node, Pod
from kwhatif.api.kinds import Objects
from kwhatif.api.meta import Resource
from kwhatif.api.quantity import plain_quantity
from kwhatif.api.watcher_metrics import WatcherMetrics
from kwhatif.commands.snapshot.trim.decision import Cycle, Decision, ReusedShapes, decide
from kwhatif.commands.snapshot.trim.result import KindCount, TrimmedPod, TrimResult
from kwhatif.errors import InputError, KwhatifError
from kwhatif.progress import report_progress
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.flag import words_of
from kwhatif.simulation.inputs import SchedulerOptions
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot, write_snapshot
from kwhatif.snapshot.load import load_snapshot

_PLACE = ("kwhatif", "place", "--with-pending", "--snapshot")


def without_empty_kinds(snapshot: Snapshot, session: Session, pods: Sequence[PodToSchedule]) -> Snapshot:
    """The snapshot without the lists that are empty, but for those that an answer about these pods would miss.

    What is not covered cannot be referred to in vain: a pod in a Namespace that was cut away is no mistake then.
    """
    # They wait in the snapshot by now: the API server is not asked about them any more.
    pods = [structs.replace(item, ran_before=True) for item in pods]
    # What will be in the file is what it will be trusted to know.
    session = session.with_snapshot(snapshot, covered=snapshot.covered_kinds())
    run = place_pods(session, pods)
    covered = snapshot.objects.known_kinds()
    gaps = assess(run).touching
    for kind in sorted(covered):
        if not snapshot.objects.list_kind(kind):
            session.covered = covered - {kind}
            if assess(run).touching == gaps:
                covered = session.covered
    kept = {kind: objs for kind, objs in snapshot.objects.by_kind().items() if kind in covered}
    return dataclasses.replace(snapshot, objects=Objects(kept))


_LOAD = WatcherMetrics.__name__
"""How busy nodes are is given with the question and no part of a snapshot: it stays, and is not written."""

MOST_STEPS = 2000
MOST_WORK = 3_000_000
"""The most objects, summed over all steps, of the decisions that are repeated: about half a minute's."""

WORK_OF_A_POD = 60
"""Scheduling one pod takes about as long as loading this many objects."""

MANY_NODES, NODE_PARTS = 64, 32
"""Above this number spare nodes are tried in about that many parts: where nodes are sampled they stay or go
together.
"""


class TrimmedSnapshot(msgspec.Struct, frozen=True):
    """A smaller snapshot and the decision it reproduces. ``complete`` unless the steps ran out."""

    snapshot: Snapshot
    decision: Decision
    steps: int
    complete: bool


def unbind_pods(snapshot: Snapshot, pods_to_schedule: Sequence[PodToSchedule]) -> tuple[Snapshot, list[PodToSchedule]]:
    """The snapshot with these pods in it, all of them waiting for a node, and nothing that scheduling does not read."""
    pods = {item.pod.key: _pending(item.pod) for item in pods_to_schedule}
    objects = snapshot.objects.copy()
    objects.put(Pod, [*(pod for pod in snapshot.objects.list_all(Pod) if pod.key not in pods), *pods.values()])
    waiting = [structs.replace(item, pod=pods[item.pod.key]) for item in pods_to_schedule]
    return dataclasses.replace(snapshot, objects=objects, whole={}, ignored={}), waiting


def _pending(pod: Pod) -> Pod:
    return replace(
        pod, spec=replace(pod.spec, node_name=None), status=replace(pod.status, phase="Pending", start_time=None)
    )


def trim(
    session: Session,
    pods_to_schedule: Sequence[PodToSchedule],
    *,
    nodes_too: bool = False,
    most_steps: int | None = None,
) -> TrimmedSnapshot:
    """The smallest snapshot found that gives the same decision for pods that wait in that of a session (see
    ``awaiting``).

    The outcome stays the same to the letter, and so do the verdict and the scores of every node that is left. Nodes
    that a failure message counts and nodes that were compared are all kept, unless ``nodes_too``: then one is enough
    for each verdict, and only the numbers in a message may change. Without ``most_steps`` large snapshots get fewer
    steps than small ones. Raises what deciding raises.
    """
    search = _Search(session, pods_to_schedule, nodes_too, most_steps)
    search.run()
    left = without_empty_kinds(search.snapshot_without(()), session, pods_to_schedule)
    pods = ", ".join(item.pod.key for item in pods_to_schedule)
    left.source = f"{left.source or 'a cluster'}, trimmed for {pods}"
    return TrimmedSnapshot(left, search.base, search.steps, not search.exhausted)


class _Chunk(msgspec.Struct, frozen=True):
    """Objects that may go together; ``node`` names the one they are on, if there is one."""

    items: tuple[Resource, ...]
    node: str = ""

    def halves(self) -> tuple[_Chunk, ...]:
        middle = (len(self.items) + 1) // 2
        return _Chunk(self.items[:middle], self.node), _Chunk(self.items[middle:], self.node)


@dataclass
class _Search:
    session: Session
    asked: Sequence[PodToSchedule]
    nodes_too: bool
    most_steps: int | None
    steps: int = 0
    work: int = 0
    exhausted: bool = False
    _gone: set[int] = field(default_factory=set)

    @property
    def snapshot(self) -> Snapshot:
        return self.session.snapshot

    def run(self) -> None:
        self._shapes = ReusedShapes(self.session.setup.features)
        self.base = decide(self.session, self.snapshot, self.asked, self._shapes)
        self._mine = {item.pod.key for item in self.asked}
        self._pods_on: dict[str, list[Resource]] = {}
        for pod in self._pods():
            if pod.spec.node_name:
                self._pods_on.setdefault(pod.spec.node_name, []).append(pod)
        self._reduce([_Chunk(tuple(self._unread()))])
        kinds = [_Chunk(tuple(self._remaining_of(kind))) for kind in sorted(self.snapshot.objects.known_kinds())]
        kinds = [
            chunk for chunk in kinds if chunk.items and not isinstance(chunk.items[0], Node | Pod | WatcherMetrics)
        ]
        kept = self._settle(kinds)
        # Most of what can go goes here, which makes all that follows cheaper.
        self._settle(self._by_node())
        spare = _Chunk(tuple(self._spare_nodes()))
        many = len(spare.items) > MANY_NODES
        self._reduce([spare], smallest=len(spare.items) // NODE_PARTS if many else 1)
        self._reduce(self._by_node())
        self._reduce([half for chunk in kept for half in chunk.halves()])
        # Pods that were kept for the sake of others which are gone by now.
        self._reduce([half for chunk in self._by_node() for half in chunk.halves()])

    # --- candidates

    def _pods(self) -> list[Pod]:
        return [pod for pod in self.snapshot.objects.list_all(Pod) if pod.key not in self._mine]

    def _remaining_of(self, kind: str) -> list[Resource]:
        return [obj for obj in self.snapshot.objects.list_kind(kind) if id(obj) not in self._gone]

    def _unread(self) -> list[Resource]:
        """Objects that cannot matter: of kinds that no plugin in use reads, and pods on nodes that do not exist."""
        for item in self.asked:
            self.session.driver.scheduler(item.pod.spec.scheduler_name)
        read = {*self.session.dependencies_by_kind(), "Node", "Pod", _LOAD}
        objects = [
            obj for kind in sorted(self.snapshot.objects.known_kinds() - read) for obj in self._remaining_of(kind)
        ]
        names = {node.name for node in self.snapshot.objects.list_all(Node)}
        for pod in self._pods():
            placed = pod.spec.node_name in names if pod.spec.node_name else pod.status.nominated_node_name in names
            if not placed or pod.is_finished:
                objects.append(pod)
        return objects

    def _spare_nodes(self) -> list[Resource]:
        """Nodes that may go: those that no message counts and that were not compared, or all but one a verdict."""
        nodes = self.snapshot.objects.list_all(Node)
        cycles = self.base.cycles
        if self.nodes_too:
            needed = self._representatives(cycles)
        elif any(cycle.message and cycle.outcome != "gated" for cycle in cycles):
            return []
        else:
            needed = {node for cycle in cycles for node in (*cycle.scores, cycle.node)}
        return [node for node in nodes if node.name not in needed]

    def _representatives(self, cycles: Sequence[Cycle]) -> set[str]:
        """Of the nodes compared the best two, and one for each verdict where a message tells of them."""
        needed: set[str] = set()
        for cycle in cycles:
            needed |= {cycle.node, cycle.nominated}
            others = sorted(cycle.tied - needed) or sorted(
                cycle.scores.keys() - needed, key=lambda name: (-sum(s for _, s in cycle.scores[name]), name)
            )
            needed.update(others[:1])
            by_verdict: dict[object, str] = {}
            for node in sorted(cycle.verdicts, key=lambda name: (name not in needed, name)):
                by_verdict.setdefault(cycle.verdicts[node], node)
            needed.update(by_verdict.values() if cycle.message else ())
        if needed <= {""}:
            # Refused before any node was looked at: one has to be there to be refused.
            needed.update(sorted(node.name for node in self.snapshot.objects.list_all(Node))[:1])
        return needed

    def _by_node(self) -> list[_Chunk]:
        chunks = [
            _Chunk(tuple(pod for pod in pods if id(pod) not in self._gone), node)
            for node, pods in sorted(self._pods_on.items())
        ]
        waiting = tuple(pod for pod in self._pods() if not pod.spec.node_name and id(pod) not in self._gone)
        return [chunk for chunk in (*chunks, _Chunk(waiting)) if chunk.items]

    # --- cuts

    def snapshot_without(self, without: Iterable[Resource]) -> Snapshot:
        """What is left without these as well. All kinds are still covered, were they empty."""
        gone = self._gone | self._with_pods(without)
        return dataclasses.replace(self.snapshot, objects=self.snapshot.objects.where(lambda obj: id(obj) not in gone))

    def _with_pods(self, objects: Iterable[Resource]) -> set[int]:
        """The objects, and with each node the pods that are on it."""
        indices: set[int] = set()
        for obj in objects:
            indices.add(id(obj))
            if isinstance(obj, Node):
                indices.update(map(id, self._pods_on.get(obj.name, ())))
        return indices

    def _reduce(self, chunks: Iterable[_Chunk], *, smallest: int = 1) -> None:
        """Drop what can be dropped of the chunks, in ever smaller parts, down to about ``smallest`` objects each."""
        rest = [chunk for chunk in chunks if chunk.items]
        while rest and not self.exhausted:
            kept = [chunk for batch in _one_a_node(rest) for chunk in self._settle(batch)]
            rest = [half for chunk in kept if len(chunk.items) > smallest for half in chunk.halves()]

    def _settle(self, chunks: Sequence[_Chunk], *, part: bool = False) -> list[_Chunk]:
        """Drop chunks as they are, each on a node of its own or on none; returns those that had to stay.

        ``part``: they are some of many. Where only their own nodes complain then, these are what stands in the way.
        """
        if not chunks:
            return []
        items = [obj for chunk in chunks for obj in chunk.items]
        same, blamed = self._try(items)
        if same:
            self._gone |= self._with_pods(items)
            return []
        if len(chunks) == 1 or self.exhausted:
            return list(chunks)
        if blamed <= {chunk.node for chunk in chunks}:
            guilty = [chunk for chunk in chunks if chunk.node in blamed]
            if len(guilty) < len(chunks) and guilty:
                innocent = [chunk for chunk in chunks if chunk.node not in blamed]
                return [*guilty, *self._settle(innocent, part=True)]
            if guilty and part:
                return guilty
        middle = len(chunks) // 2
        return [*self._settle(chunks[:middle], part=True), *self._settle(chunks[middle:], part=True)]

    def _try(self, items: Sequence[Resource]) -> tuple[bool, set[str]]:
        """Whether the decision is the same without these; returns the nodes where it is not."""
        spent = self.work > MOST_WORK or self.steps >= MOST_STEPS
        if spent if self.most_steps is None else self.steps >= self.most_steps:
            self.exhausted = True
            return False, set()
        left = self.snapshot_without(items)
        self.steps += 1
        report_progress("Trimming", "steps", self.steps, self.most_steps)
        self.work += len(left.objects) + WORK_OF_A_POD * len(self.asked)
        try:
            got = decide(self.session, left, self.asked, self._shapes)
        except KwhatifError:
            return False, set()
        return self.base.against(got, loosely=self.nodes_too)


def _one_a_node(chunks: Sequence[_Chunk]) -> list[list[_Chunk]]:
    """Batches in which no node occurs twice: two chunks of one node would be one. Without nodes, one batch."""
    batches: list[list[_Chunk]] = []
    number: dict[str, int] = {}
    for chunk in chunks:
        place = number.get(chunk.node, 0)
        number[chunk.node] = place + 1 if chunk.node else 0
        if place == len(batches):
            batches.append([])
        batches[place].append(chunk)
    return batches


def check_and_write(
    trimmed: TrimmedSnapshot, session: Session, pods: Sequence[PodToSchedule], path: str, *, loosely: bool
) -> Decision:
    """Write the snapshot, after what will be in the file was read back and decided again: that decision.

    Raises InputError.
    """
    with tempfile.TemporaryDirectory(prefix="kwhatif-") as folder:
        draft = os.path.join(folder, "trimmed.json")
        written = _without_load(trimmed.snapshot)
        write_snapshot(written, draft)
        read = load_snapshot([draft])
    read.objects.put_if_any(WatcherMetrics, trimmed.snapshot.objects.list_all(WatcherMetrics))
    there = {pod.key: pod for pod in read.objects.list_all(Pod)}
    again = decide(session, read, [structs.replace(item, pod=there[item.pod.key]) for item in pods])
    same, _ = trimmed.decision.against(again, loosely=loosely)
    if not same:
        raise InputError("what was left gives another decision once it is read back: nothing was written", source=path)
    write_snapshot(written, path)
    return again


def _without_load(snapshot: Snapshot) -> Snapshot:
    kept = {kind: objs for kind, objs in snapshot.objects.by_kind().items() if kind != _LOAD}
    return dataclasses.replace(snapshot, objects=Objects(kept))


def build_trim_result(
    before: Snapshot, trimmed: TrimmedSnapshot, decision: Decision, path: str, engine: SchedulerOptions
) -> TrimResult:
    """What was cut, and the decision of this scheduler that is left."""
    before, after, mine = _without_load(before), _without_load(trimmed.snapshot), {key for key, _ in decision.pods}
    kinds = []
    left = after.counts()
    for kind, number in before.counts().items():
        if number or left.get(kind):
            kinds.append(KindCount(kind=kind, before=number, after=left.get(kind, 0)))
    return TrimResult(
        source=before.source,
        file=path,
        shown_by=shlex.join([*_PLACE, path, *words_of(SchedulerOptions, engine)]),
        pods=tuple(_pod(key, cycles) for key, cycles in decision.pods),
        kinds=tuple(kinds),
        bytes_before=_size(before),
        bytes_after=_size(after),
        steps=trimmed.steps,
        complete=trimmed.complete,
        others_pending=tuple(
            pod.key for pod in after.objects.list_all(Pod) if not pod.spec.node_name and pod.key not in mine
        ),
    )


def _pod(key: str, cycles: Sequence[Cycle]) -> TrimmedPod:
    last = cycles[-1]
    return TrimmedPod(
        pod=key,
        outcome=last.outcome,
        node=last.node,
        score=last.score,
        message=last.message,
        victims=tuple(victim for cycle in cycles for victim in cycle.victims),
    )


def _size(snapshot: Snapshot) -> int:
    """Bytes of the objects as JSON, before they are packed."""
    return len(msgspec.json.encode(snapshot.by_kind(), enc_hook=plain_quantity))
