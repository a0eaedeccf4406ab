"""Collects the objects of several files into one snapshot, each object once, with where it was found."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from kwhatif.api.core import Pod
from kwhatif.api.decode import describe_value
from kwhatif.api.kinds import GROUPS, KINDS, NAMESPACED, is_kept_whole, kind_of, struct_for
from kwhatif.api.meta import Resource
from kwhatif.api.objects import part_of
from kwhatif.errors import InputError
from kwhatif.progress import report_progress, report_start
from kwhatif.snapshot.foreign.directory_dump import FEWEST_NAMESPACES, DirectoryDump, describe_namespaces, partial
from kwhatif.snapshot.foreign.exports import (
    LEFT_OUT,
    SimulatorExport,
    convert_internal_list,
    is_kwok_patch,
    simulator_export,
)
from kwhatif.snapshot.format.autoscaler_info import CONFIG_MAPS, ConfigMap, with_config_map
from kwhatif.snapshot.format.descheduler_info import is_named_like_policy, with_descheduler_policy
from kwhatif.snapshot.format.model import SchedulerInfo, Snapshot, is_snapshot, read_envelope
from kwhatif.snapshot.read.files import Text, display_path
from kwhatif.snapshot.read.objects import (
    Document,
    Item,
    decode,
    head_of,
    inside,
    items_of,
    list_meta,
    plain_of,
    put_in_namespace,
    read_documents,
    resource_of,
)
from kwhatif.snapshot.recording import Moment, RecordedState, Recording, rfc3339, state_at
from kwhatif.snapshot.recording_lines import KIND_OF_PATH, RecordingReader, is_recording, lines_of

# Where the objects of one namespace are read: /apis/apps/v1/namespaces/shop/deployments.
_OF_NAMESPACE = re.compile(r".*/namespaces/([^/]+)/[^/]+")
T = TypeVar("T")
_SYSTEM_NAMESPACE = "kube-system"
"""Every cluster has pods and an account here: a list of pods of this namespace may be whole, one without it is not."""

_NUMEROUS = frozenset(
    {"Node", "CSINode", "PersistentVolume", "VolumeAttachment", "ResourceSlice", "Event", "Lease", "EndpointSlice"}
    | {"Endpoints", "ControllerRevision", "PodMetrics", "NodeMetrics"}
)
"""Kinds of which clusters have very many, and that manifests hardly ever change."""


class _Found(NamedTuple):
    """Where an object was found first, in which dump, and its position in the list of its kind."""

    place: str
    dump: DirectoryDump | None
    position: int


class SnapshotCollector:
    """A snapshot under construction, and where each of its objects was found.

    ``names`` are those of its sources; ``is_empty`` says that none of them held a document.
    """

    def __init__(self, namespace: str) -> None:
        self.snapshot = Snapshot()
        self.names: list[str] = []
        self._doing = ""
        self.is_empty = True
        self._namespace = namespace
        self._dump: DirectoryDump | None = None
        self._pods_of_lists: list[set[str]] = []
        self._seen: dict[tuple[str, ...], _Found] = {}

    def begin(self, path: str, dump: DirectoryDump | None) -> None:
        """What follows is from this path, and if there is a ``dump``, from the dump there."""
        snapshot, self._dump = self.snapshot, dump
        self.names.append(display_path(path))
        self._doing = f"Loading {display_path(path)}"
        report_start(self._doing)
        if dump is None:
            return
        self._note_layout(dump.layout)
        snapshot.taken_at = snapshot.taken_at or dump.taken_at
        snapshot.kubernetes_version = snapshot.kubernetes_version or dump.kubernetes_version
        for sort, count in dump.skipped.items():
            self._ignore(sort, count)
        snapshot.unreadable |= {kind: why for kind, why in dump.unreadable.items() if kind not in snapshot.unreadable}
        if dump.namespaces is not None and (said := partial(dump.namespaces)):
            snapshot.unreadable["Pod"] = said

    def add_text(self, text: Text, type_meta: tuple[str, str] = ("", "")) -> None:
        """All documents of one text; ``type_meta``: apiVersion and kind where they lack them. Raises InputError."""
        if is_recording(text.data):
            self.add_moment(state_at(lines_of(text), Moment()))
            return
        pod_lists = 0
        documents = read_documents(text)
        for document in map(convert_internal_list, documents):
            self.is_empty = False
            pod_lists += self._add_document(document, type_meta, alone=not self._dump and not text.logs) == "PodList"
        if self._dump and not documents:
            raise InputError("empty: the dump was not written to its end", source=text.name)
        if text.logs:
            self._note_layout("kubectl cluster-info dump")
            self._ignore("log", text.logs)
            if pod_lists < FEWEST_NAMESPACES:
                said = f"the dump holds those of {pod_lists} namespace{'' if pod_lists == 1 else 's'} alone"
                self.snapshot.unreadable["Pod"] = said

    def add_recording(self, recording: Recording, version: float = math.inf) -> None:
        """The objects of a recording as they are once all changes up to a version are made. Raises InputError."""
        self._add_recording_metadata(recording)
        if recording.starts_at is not None:
            self.snapshot.taken_at = self.snapshot.taken_at or rfc3339(recording.starts_at)
        for change in recording.until(version):
            self._add_item(change.item)

    def add_moment(self, state: RecordedState) -> None:
        """The objects of a recording as they are at one moment. Raises InputError."""
        self.is_empty = False
        snapshot = self.snapshot
        self._add_recording_metadata(state)
        snapshot.taken_at = snapshot.taken_at or rfc3339(state.at)
        for path, missing in state.about.open.items():
            kind = KIND_OF_PATH.get(path)
            if kind in state.kinds:
                said = f"{path} were not followed from {rfc3339(missing.since)} on: {missing.why}"
                snapshot.inconsistencies.append(said)
        if state.cut:
            snapshot.inconsistencies.append(f"the recording breaks off after {rfc3339(state.at)}")
        for item in state.items():
            self._add_item(item)

    def _add_recording_metadata(self, recorded: RecordingReader[Any]) -> None:
        """The lines of a recording other than its objects."""
        self._note_layout("recording")
        snapshot, recorded_cluster = self.snapshot, recorded.about.cluster
        snapshot.kubernetes_version = snapshot.kubernetes_version or recorded_cluster.kubernetes_version
        snapshot.scheduler, snapshot.autoscaler = (
            snapshot.scheduler or recorded_cluster.scheduler,
            snapshot.autoscaler or recorded_cluster.autoscaler,
        )
        snapshot.descheduler = snapshot.descheduler or recorded_cluster.descheduler
        snapshot.unreadable |= {
            kind: why for kind, why in (recorded_cluster.unreadable or {}).items() if kind not in snapshot.unreadable
        }
        snapshot.dropped = sorted({*snapshot.dropped, *(recorded_cluster.dropped or ())})
        snapshot.redacted = snapshot.redacted or bool(recorded_cluster.redacted)
        for followed in recorded.kinds:
            self._cover(followed.api_version(), followed.kind)
        for kind, count in recorded.unread_kinds.items():
            self._ignore(kind, count)

    def _note_layout(self, layout: str) -> None:
        """Note the tool that wrote the dump."""
        self.names[-1] = f"{self.names[-1].removesuffix(f' ({layout})')} ({layout})"

    def _add_document(self, document: Document, type_meta: tuple[str, str], *, alone: bool) -> str:
        """Add the objects of a document; returns its kind. A document that stands ``alone`` belongs to no dump."""
        api_version, kind = head_of(document, type_meta)
        if is_snapshot(document, api_version, kind):
            self._add_snapshot(document)
        elif api_version or kind:
            self._cover(api_version, kind.removesuffix("List") if kind.endswith("List") or any(type_meta) else "")
            pods = len(self.snapshot.objects.list_all(Pod))
            for item in items_of(document, type_meta):
                self._add_item(item)
                self._keep_as_read(item)
            if kind.endswith("List") and alone:
                self._look_at_list(document, kind.removesuffix("List"), self.snapshot.objects.list_all(Pod)[pods:])
        elif export := simulator_export(document):
            self._add_export(export)
        elif self._dump:
            self._ignore("other document")
        else:
            # Neither is known, so this raises what is to be said of that.
            list(items_of(document))
        return kind

    def _look_at_list(self, document: Document, kind: str, pods: Sequence[Pod]) -> None:
        """Note a list that is incomplete, by its metadata or by its objects."""
        meta, unreadable = list_meta(document), self.snapshot.unreadable
        of_namespace = _OF_NAMESPACE.fullmatch(meta.self_link or "")
        if kind in GROUPS and meta.continue_:
            unreadable[kind] = f"the list in {document.source} was cut off, more follow"
        elif kind in GROUPS and of_namespace:
            unreadable[kind] = describe_namespaces([of_namespace[1]], "list")
        elif pods:
            self._pods_of_lists.append({pod.namespace for pod in pods} if not meta.self_link else set())

    def finish(self) -> Snapshot:
        """The snapshot. A list with pods of one namespace only is what kubectl prints without ``-A``, which is
        noted.
        """
        snapshot = self.snapshot
        lists = self._pods_of_lists
        if lists and all(len(names) == 1 for names in lists) and "Pod" not in snapshot.unreadable:
            there = set[str]().union(*lists)
            if _SYSTEM_NAMESPACE not in there and all(pod.namespace in there for pod in snapshot.objects.list_all(Pod)):
                snapshot.unreadable["Pod"] = describe_namespaces(there, "list" if len(lists) == 1 else "lists")
        accounts = snapshot.whole.get("ServiceAccount")
        homes = {part_of(account, "metadata", "namespace") for account in accounts or ()}
        if accounts is not None and _SYSTEM_NAMESPACE not in homes:
            # Every namespace has an account, and every cluster this namespace.
            why = describe_namespaces(homes, "list") if homes else "the list is empty, which it is in no cluster"
            snapshot.unreadable.setdefault("ServiceAccount", why)
        snapshot.source = snapshot.source or ", ".join(self.names)
        return snapshot

    def _add_export(self, export: SimulatorExport) -> None:
        snapshot = self.snapshot
        self._note_layout("kube-scheduler-simulator")
        for api_version, kind in export.kinds:
            self._cover(api_version, kind)
        for item in export.items():
            self._add_item(item)
        for name in export.unknown:
            self._ignore(name)
        configuration = export.configuration()
        if configuration and not snapshot.scheduler:
            source = f"{export.document.source}: schedulerConfig"
            snapshot.scheduler = SchedulerInfo(configuration=configuration, source=source)
        snapshot.unreadable |= {kind: why for kind, why in LEFT_OUT.items() if kind not in snapshot.unreadable}

    def _cover(self, api_version: str, kind: str) -> None:
        """Mark a kind as covered, even if its list is empty."""
        if struct := struct_for(api_version, kind):
            self.snapshot.objects.extend(struct, [])
        if is_kept_whole(api_version, kind):
            self.snapshot.whole.setdefault(kind, [])

    def _ignore(self, kind: str, count: int = 1) -> None:
        self.snapshot.ignored[kind] = self.snapshot.ignored.get(kind, 0) + count

    def _add_snapshot(self, document: Document) -> None:
        try:
            other = read_envelope(document.value)
        except InputError as error:
            raise inside(error, document.source, "$") from None
        snapshot = self.snapshot
        snapshot.source = ", ".join(part for part in (snapshot.source, other.source) if part)
        snapshot.kubernetes_version = snapshot.kubernetes_version or other.kubernetes_version
        snapshot.taken_at = snapshot.taken_at or other.taken_at
        snapshot.unreadable.update(other.unreadable)
        snapshot.resource_versions.update(other.resource_versions)
        snapshot.inconsistencies += other.inconsistencies
        snapshot.dropped = sorted({*snapshot.dropped, *other.dropped})
        snapshot.redacted = snapshot.redacted or other.redacted
        snapshot.edits += other.edits
        snapshot.scheduler = snapshot.scheduler or other.scheduler
        snapshot.autoscaler = snapshot.autoscaler or other.autoscaler
        snapshot.descheduler = snapshot.descheduler or other.descheduler
        for kind, count in other.ignored.items():
            self._ignore(kind, count)
        for kind, listed in other.objects.by_kind().items():
            snapshot.objects.extend(KINDS[kind], [])
            for i, obj in enumerate(listed):
                self._add_decoded(obj, f"{document.source} $.objects.{kind}[{i}]")
        for kind, objects in other.whole.items():
            snapshot.whole.setdefault(kind, [])
            for i, whole in enumerate(objects):
                self._add_whole(whole, kind, f"{document.source} $.objects.{kind}[{i}]")

    def _add_item(self, item: Item) -> None:
        """Add one object, or count it if its kind is not read. Raises InputError."""
        struct, whole = struct_for(item.api_version, item.kind), is_kept_whole(item.api_version, item.kind)
        if is_kwok_patch(item.api_version, item.kind):
            self._ignore(item.kind)
            return
        obj = resource_of(item, struct or Resource)
        if not whole and struct is None:
            snapshot = self.snapshot
            if item.kind == "ConfigMap" and obj.name in CONFIG_MAPS:
                snapshot.autoscaler = with_config_map(snapshot.autoscaler, decode(item.value, ConfigMap))
            elif item.kind == "ConfigMap" and is_named_like_policy(obj.namespace, obj.name):
                snapshot.descheduler = with_descheduler_policy(snapshot.descheduler, decode(item.value, ConfigMap))
            self._ignore(item.kind)
            return
        if struct is not None:
            self.snapshot.objects.extend(struct, [])
            self._add_decoded(obj, f"{item.source} {item.place}")
        if whole:
            self._add_whole(plain_of(item, checked=True), item.kind, f"{item.source} {item.place}")

    def _keep_as_read(self, item: Item) -> None:
        """Keep all fields of an object that a manifest may change, since scheduling reads few or none of them."""
        if item.kind in _NUMEROUS or is_kept_whole(item.api_version, item.kind):
            return
        plain = plain_of(item)
        metadata = plain.get("metadata")
        if not isinstance(metadata, dict) or (item.kind == "Pod" and metadata.get("ownerReferences")):
            return
        known = kind_of(item.api_version, item.kind)
        home = metadata.get("namespace") or (self._namespace if known is not None and known.namespaced else "")
        kept = {**plain, "metadata": {**metadata, "namespace": home} if home else metadata}
        self.snapshot.as_read[item.kind, home, str(metadata.get("name") or "")] = kept

    def _add_decoded(self, obj: Resource, place: str) -> None:
        """Keep an object as it is decoded; there is a list of its kind already."""
        kind = type(obj).__name__
        if kind in NAMESPACED:
            put_in_namespace(obj, self._namespace)
        self._insert(self.snapshot.objects.list_kind(kind), obj, (kind, obj.namespace, obj.name), place)

    def _add_whole(self, whole: dict[str, Any], kind: str, place: str) -> None:
        """Keep an object as plain values."""
        metadata: dict[str, Any] = part_of(whole, "metadata")
        whole["kind"] = kind
        if kind in NAMESPACED:
            metadata["namespace"] = metadata.get("namespace") or self._namespace
        key = (kind, metadata.get("namespace") or "", part_of(metadata, "name"), "whole")
        self._insert(self.snapshot.whole.setdefault(kind, []), whole, key, place)

    def _insert(self, listed: list[T], obj: T, key: tuple[str, ...], place: str) -> None:
        """Put an object into the list of its kind. Of those of one name the last counts, but within one dump
        the first. (Of manifests: ``load_manifests``.)
        """
        report_progress(self._doing, "objects", len(self._seen))
        here = _Found(place, self._dump, len(listed))
        first = self._seen.setdefault(key, here)
        if first is here:
            listed.append(obj)
        elif (self._dump is None or first.dump is not self._dump) and listed[first.position] != obj:
            listed[first.position] = obj
            said = describe_conflict(key, place, first.place)
            if said not in self.snapshot.inconsistencies:
                self.snapshot.inconsistencies.append(said)


def describe_conflict(key: tuple[str, ...], place: str, first: str) -> str:
    """The note about two objects of one kind, namespace and name that differ, of which the later one counts."""
    kind, namespace, name, *_ = key
    what = f"{kind} {describe_value(f'{namespace}/{name}' if namespace else name)}"
    return f"{what} is there twice, and not alike: {place} counts, not {first}"
