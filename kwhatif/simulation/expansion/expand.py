"""Creates or updates the objects of manifests through the API server and the controllers, and collects their pods.

Objects are created in the order of ``expansion/creation_order.py``, or in the given order if a verb is named. One that
exists in the cluster is updated, and its rollout planned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

from kwhatif.admission.object_store import name_of, namespace_of
from kwhatif.admission.pipeline import DEFAULT_PLUGINS
from kwhatif.admission.response import Doubt, Object, RequestRefusal, StoredObject
from kwhatif.admission.server import ApiServer
from kwhatif.api.field_types import Types, check
from kwhatif.api.kinds import describe_kind, is_kept_whole, struct_for
from kwhatif.api.objects import part_of, section
from kwhatif.api.times import convert_object
from kwhatif.bounds import make_room, pods_left, pods_to_make
from kwhatif.errors import InputError, LimitError
from kwhatif.progress import track
from kwhatif.results.amounts import format_count
from kwhatif.results.expand import ChangeRecord
from kwhatif.results.place import Refusal, RefusedField, RequestWarning
from kwhatif.simulation.expansion.creation_order import in_creation_order
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests, PendingCreations, Rollout, convert_claim
from kwhatif.simulation.expansion.objects import complete_object, display_name_of, is_stored
from kwhatif.simulation.expansion.scaled_workloads import WorkloadScaling, replicas_of
from kwhatif.simulation.expansion.snapshot_objects import (
    build_object_store,
    nodes_of,
)
from kwhatif.simulation.expansion.unfinished_workloads import goes_on
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import Manifest
from kwhatif.versions import DEFAULT_MINOR
from kwhatif.workloads.children import doubts_of, draft_pods, kind_for
from kwhatif.workloads.controllers import WORKLOADS, make_native, makes_pods, reconcile
from kwhatif.workloads.daemon_set import homes_of
from kwhatif.workloads.kueue_admission import as_admitted, is_queued, kueue_doubts
from kwhatif.workloads.object_creation import template_hash
from kwhatif.workloads.objects import controller_of, group_of, stated_pods
from kwhatif.workloads.pod_autoscalers import Position, WorkloadKey
from kwhatif.workloads.rollout_operators import operator_pods, operator_rollout
from kwhatif.workloads.rollout_state import Admit
from kwhatif.workloads.rollout_state import Rollout as PodRollout
from kwhatif.workloads.workload_kind import Companions, WorkloadKind


def expand(
    manifests: Sequence[Manifest],
    snapshot: Snapshot,
    *,
    plugins: Sequence[str] = DEFAULT_PLUGINS,
    templates: Sequence[WorkloadKind] = (),
    as_new: bool = False,
    verb: str = "",
    minor: str = DEFAULT_MINOR,
    types: Types | None = None,
    gates: Mapping[str, bool] = MappingProxyType({}),
    position: Position = None,
    waiting: Collection[WorkloadKey] = (),
) -> ExpandedManifests:
    """Create or update every object in turn, and collect the pods. Nothing that is given is changed.

    ``as_new`` creates workloads as if the cluster had none of their names, with all their pods. ``verb`` is one of
    ``admission.sent.VERBS``; the API server is one of a ``minor``, with feature ``gates`` set by hand, which serves
    ``types``, if they are not those of that minor. Workloads that are scaled are at a ``position`` between
    their bounds, or as their load of today has it. Controllers of workloads that are ``waiting`` for a node go on.
    """
    expansion = _Expansion(manifests, snapshot, plugins, templates, verb, minor, types, gates, position, waiting)
    return expansion.run(as_new=as_new)


class _Expansion:
    def __init__(
        self,
        manifests: Sequence[Manifest],
        snapshot: Snapshot,
        plugins: Sequence[str],
        templates: Sequence[WorkloadKind],
        verb: str,
        minor: str,
        types: Types | None,
        gates: Mapping[str, bool],
        position: Position,
        waiting: Collection[WorkloadKey],
    ) -> None:
        self._manifests, self._snapshot, self._templates = manifests, snapshot, templates
        named = {(manifest.obj.kind or "", manifest.obj.name) for manifest in manifests}
        namespaces = {manifest.obj.namespace for manifest in manifests} | {namespace for _, namespace, _ in waiting}
        self._world = build_object_store(snapshot, namespaces, named)
        self._waiting = waiting
        self._server = ApiServer(self._world, plugins, minor, types=types, gates=gates)
        self._companions = Companions(map(complete_object, manifests))
        self._verb = verb
        self._nodes: list[Object] | None = None
        self._to_reconcile: list[tuple[Object, str, tuple[ChangeRecord, ...]]] = []
        self._generated = Counter[tuple[object, str, str]]()
        self._scaling = WorkloadScaling(self._world, position, self._server.doubts)
        self._creations = PendingCreations(self._server)
        self._done = ExpandedManifests(
            world=self._world,
            doubts=[self._server.doubts],
            scaled=self._scaling.scaled,
            creations=self._creations,
        )

    def run(self, *, as_new: bool) -> ExpandedManifests:
        with pods_to_make(pods_left()):
            for manifest in self._manifests:
                if makes_pods(manifest.raw, self._templates) and manifest.obj.kind != "DaemonSet":
                    self._make_room(complete_object(manifest), str(manifest.origin))
        # Requests of a named verb are sent as kubectl sends them, one after the other as they were given.
        ordered = self._manifests if self._verb else in_creation_order(self._manifests)
        for manifest in track(ordered, "Expanding", "objects"):
            with _naming_source(manifest.origin), self._leaving_out(manifest):
                self._take(complete_object(manifest), str(manifest.origin), as_new=as_new)
        for obj, origin, changes in self._to_reconcile:
            with _naming_source(origin):
                self._reconcile_new(obj, origin, changes)
        for origin, there in self._scaling.targets(self._manifests):
            scaled = self._scaling.scale_stored(there, origin, replicas_of(there))
            if scaled is not there:
                self._update(there, scaled, origin)
        self._resume_waiting()
        return self._done

    def _resume_waiting(self) -> None:
        """Let controllers go on once a pod of theirs has a node, where nothing else is asked of the workload."""
        updated = {rollout.name for rollout in self._done.rollouts}
        for key in self._waiting:
            there = self._world.get(*key)
            if there is None or display_name_of(there) in updated:
                continue
            if goes_on(there, self._world, self._all_nodes(there), self._server.features):
                self._done.rollouts.append(self._rollout(there, there, "", resumed=True))

    @contextmanager
    def _leaving_out(self, manifest: Manifest) -> Iterator[None]:
        """Leave out a custom resource of a directory that its operator could not read; what else fails ends the run."""
        try:
            yield
        except LimitError:
            raise
        except InputError as error:
            operated = kind_for(manifest.raw, self._templates)
            if manifest.is_named or operated is None or (group_of(manifest.raw), manifest.obj.kind) in WORKLOADS:
                raise
            self._done.unreadable.setdefault(manifest.origin.file, error.with_source(str(manifest.origin)))

    def _make_room(self, obj: Object, origin: str) -> None:
        """Raises InputError if there are too many pods by then, by the manifest's numbers as far as they are valid."""
        with _naming_source(origin):
            make_room(stated_pods(obj), display_name_of(obj))

    def _take(self, obj: Object, origin: str, *, as_new: bool) -> None:
        """One object of a manifest."""
        kind = part_of(obj, "kind")
        if makes_pods(obj, self._templates):
            there = self._world.get(kind, namespace_of(obj), name_of(obj)) if kind != "Pod" else None
            if there is not None and as_new:
                self._forget(there)
            self._workload(obj, origin, replicas_of(there), as_new=as_new)
        elif kind == "PersistentVolumeClaim":
            self._claim(obj, origin)
        elif self._server.judges(obj) or is_kept_whole(part_of(obj, "apiVersion"), kind):
            self._put(obj, origin)
        else:
            self._done.unknown[describe_kind(part_of(obj, "apiVersion"), kind)] += 1

    def _put(self, obj: Object, origin: str) -> None:
        """Store an object that makes no pods; admission and scheduling may look it up."""
        stored = self._apply(obj, origin)
        if stored is None:
            return
        if (struct := struct_for(part_of(obj, "apiVersion"), part_of(obj, "kind"))) is not None:
            self._done.objects.append(convert_object(stored.object, struct))
        elif not is_kept_whole(part_of(obj, "apiVersion"), part_of(obj, "kind")):
            self._done.unknown[describe_kind(part_of(obj, "apiVersion"), part_of(obj, "kind"))] += 1

    def _claim(self, obj: Object, origin: str) -> None:
        """Keep the claim as it would be stored, unless it is refused."""
        stored = self._apply(obj, origin)
        if stored is not None:
            self._keep_claims([stored.object])

    def _apply(self, obj: Object, origin: str) -> StoredObject | None:
        """Create an object, or update it if it is there; None if it is refused."""
        there = self._world.get(part_of(obj, "kind"), namespace_of(obj), name_of(obj))
        if self._server.judges(obj):
            answer = self._server.send(self._verb, obj, namespace=namespace_of(obj) or "default")
        else:
            answer = self._server.create(obj) if there is None else self._server.update(obj)
        named = display_name_of(obj)
        self._done.warnings += [RequestWarning(object=named, origin=origin, text=text) for text in answer.warnings]
        if isinstance(answer, RequestRefusal):
            self._record_refusal(obj, origin, answer)
            return None
        return answer

    def _keep_claims(self, claims: Sequence[Object]) -> None:
        self._done.claims += claims
        self._done.objects += map(convert_claim, claims)

    def _workload(self, obj: Object, origin: str, running: int | None, *, as_new: bool = False) -> None:
        if part_of(obj, "kind") == "Pod" and is_stored(obj):
            check(obj, "", "Pod")
            self._world.put(obj)
            self._done.pods.append(self._done.record_pod(obj, origin, "", ()))
            return
        operator = None if (group_of(obj), part_of(obj, "kind")) in WORKLOADS else kind_for(obj, self._templates)
        if operator is not None:
            self._expand_operated(obj, operator, origin, as_new=as_new)
            return
        old = self._world.get(part_of(obj, "kind"), namespace_of(obj), name_of(obj))
        stored = self._apply(obj, origin)
        if stored is None:
            return
        new = self._scaling.scale_stored(stored.object, origin, running)
        if is_queued(new):
            for doubt in kueue_doubts(new):
                self._done.doubts[0].setdefault(doubt, {})[part_of(obj, "kind"), namespace_of(new), name_of(new)] = None
            new = as_admitted(new) if old is None else new
        if old is None or part_of(obj, "kind") == "Pod":
            self._accept(new, origin, stored.changes)
        else:
            self._update(old, new, origin)

    def _forget(self, obj: Object) -> None:
        """Remove a workload from the store, with everything its controllers have made."""
        kind, namespace, name = part_of(obj, "kind"), namespace_of(obj), name_of(obj)
        self._world.remove(kind, namespace, name)
        for made in ("ReplicaSet", "Job", "Pod"):
            for other in list(self._world.all(made, namespace)):
                owner = controller_of(other)
                if (owner.get("kind"), owner.get("name")) == (kind, name):
                    self._forget(other)
        for template in section(obj, "spec").get("volumeClaimTemplates") or ():
            begins = f"{name_of(template)}-{name}-"
            for claim in list(self._world.all("PersistentVolumeClaim", namespace)):
                if name_of(claim).startswith(begins) and name_of(claim).removeprefix(begins).isdecimal():
                    self._world.remove("PersistentVolumeClaim", namespace, name_of(claim))

    def _accept(self, obj: Object, origin: str, changes: tuple[ChangeRecord, ...] = ()) -> None:
        """Leave a new object to the controllers: after all requests where those keep their order, since controllers try
        again until what they need is there.
        """
        if self._verb:
            self._to_reconcile.append((obj, origin, changes))
        else:
            self._reconcile_new(obj, origin, changes)

    def _reconcile_new(self, obj: Object, origin: str, changes: tuple[ChangeRecord, ...] = ()) -> None:
        """The pods and objects that the controllers make of a new object. ``changes`` are admission's changes to it."""
        made = reconcile(
            self._server, obj, self._all_nodes(obj), templates=self._templates, companions=self._companions
        )
        if bare := part_of(obj, "kind") == "Pod":
            make_room(1, display_name_of(obj))
        elif not made.pods:
            self._doubt_new(obj)
        for pod, own in zip(made.pods, made.changes, strict=True):
            self._done.pods.append(
                self._done.record_pod(pod, origin, "" if bare else display_name_of(obj), changes if bare else own)
            )
        self._keep_claims(made.claims)
        for between in (obj, *made.objects):
            struct = struct_for(part_of(between, "apiVersion"), part_of(between, "kind"))
            if struct is not None and part_of(between, "kind") != "Pod":
                self._done.objects.append(convert_object(between, struct))
        self._done.failed += self._creations.record_failures(made.refusals, obj, origin)

    def _expand_operated(self, obj: Object, kind: WorkloadKind, origin: str, *, as_new: bool) -> None:
        """An object whose pods an operator makes. Snapshots hold no such objects: it counts as existing if its
        pods do.
        """
        if self._server.judges(obj):
            stored = self._apply(obj, origin)
            if stored is None:
                return
            obj = stored.object
        elif not name_of(obj):
            obj = {**obj, "metadata": {**obj["metadata"], "name": self._generate_name(obj)}}
        obj = as_admitted(obj)
        wanted = draft_pods(obj, kind, self._companions, make_native)
        there = [] if as_new else operator_pods(obj, wanted, self._world)
        if "replicas" in section(obj, "spec"):
            # Each replica is a pod, or how many run is not how many replicas there are.
            running = len(there) if there and len(wanted) == replicas_of(obj) else None
            scaled = self._scaling.scale(obj, origin, running)
            if scaled is not obj:
                obj = scaled
                wanted = draft_pods(obj, kind, self._companions, make_native)
        for doubt in doubts_of(obj, kind, self._companions, updated=bool(there)):
            self._done.doubts[0].setdefault(doubt, {})[part_of(obj, "kind"), namespace_of(obj), name_of(obj)] = None
        if not there:
            self._accept(obj, origin)
            return
        make_room(len(wanted), display_name_of(obj))

        def begin(pods: Sequence[Object], admit: Admit) -> PodRollout:
            mine = operator_pods(obj, wanted, self._world, pods)
            return operator_rollout(obj, kind, wanted, mine, admit)

        self._update(obj, obj, origin, begin)

    def _generate_name(self, obj: Object) -> str:
        """A name of its own for each object that has only the beginning of one; equal inputs have equal names."""
        spec = {"spec": section(obj, "spec")}
        prefix = str(part_of(obj, "metadata").get("generateName", ""))
        key = (obj.get("kind"), namespace_of(obj), f"{prefix}{template_hash(spec)}")
        self._generated[key] += 1
        number = self._generated[key]
        return key[2] if number == 1 else f"{prefix}{template_hash({**spec, 'number': number})}"

    def _doubt_new(self, obj: Object) -> None:
        """Note that a workload whose pods exist already is hardly new."""
        pods = self._world.all("Pod", namespace_of(obj))
        owners = ((owner.get("kind"), owner.get("name")) for owner in map(controller_of, pods))
        number = sum(owner == (part_of(obj, "kind"), name_of(obj)) for owner in owners)
        if number:
            there = f"{format_count(number, 'pod')} of it {'is' if number == 1 else 'are'}"
            doubt = Doubt(
                f"{display_name_of(obj)} is not in the snapshot, though {there}",
                "what its update would do is not known",
            )
            self._done.doubts[0].setdefault(doubt, {})[part_of(obj, "kind"), namespace_of(obj), name_of(obj)] = None

    def _update(
        self,
        old: Object,
        new: Object,
        origin: str,
        operated: Callable[[Sequence[Object], Admit], PodRollout] | None = None,
    ) -> None:
        """The update of a workload; ``operated`` begins one that is an operator's."""
        if (struct := struct_for(part_of(new, "apiVersion"), part_of(new, "kind"))) is not None:
            self._done.objects.append(convert_object(new, struct))
        # How it goes is found out later, maybe more than once; at most all of its pods are new.
        replicas = section(new, "spec").get("replicas") or 0
        nodes = self._all_nodes(new)
        make_room(len(homes_of(new, nodes)) if part_of(new, "kind") == "DaemonSet" else replicas, display_name_of(new))
        self._done.rollouts.append(self._rollout(old, new, origin, operated))

    def _rollout(
        self,
        old: Object,
        new: Object,
        origin: str,
        operated: Callable[[Sequence[Object], Admit], PodRollout] | None = None,
        *,
        resumed: bool = False,
    ) -> Rollout:
        return Rollout(
            old,
            new,
            origin,
            self._server,
            self._done,
            nodes=self._all_nodes(new),
            dropped=self._snapshot.dropped,
            taken_at=self._snapshot.taken_at,
            operated=operated,
            resumed=resumed,
        )

    def _record_refusal(self, obj: Object, origin: str, refused: RequestRefusal) -> None:
        causes = tuple(RefusedField(field=cause.field, message=cause.message) for cause in refused.causes)
        refusal = Refusal(
            object=display_name_of(obj),
            origin=origin,
            code=refused.code,
            reason=refused.reason,
            message=refused.message,
            causes=causes,
            hint=refused.hint,
        )
        self._done.refusals.append(refusal)

    def _all_nodes(self, obj: Object) -> list[Object]:
        if part_of(obj, "kind") != "DaemonSet":
            return []
        if self._nodes is None:
            self._nodes = nodes_of(self._snapshot)
        return self._nodes


@contextmanager
def _naming_source(origin: object) -> Iterator[None]:
    """Errors inside name the manifest's place."""
    try:
        yield
    except InputError as error:
        raise error.with_source(str(origin)) from None
