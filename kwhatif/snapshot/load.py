"""Loads snapshots and manifests from the files that a command names."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif import bounds
from kwhatif.api.decode import describe_value
from kwhatif.api.field_types import newest_types
from kwhatif.api.kinds import GROUPS, NAMESPACED, TEMPLATES
from kwhatif.api.meta import Resource
from kwhatif.errors import InputError
from kwhatif.garbage import never_collect
from kwhatif.snapshot.collector import SnapshotCollector
from kwhatif.snapshot.foreign.layouts import texts_of, tree_of
from kwhatif.snapshot.format.model import KIND, Snapshot, is_snapshot
from kwhatif.snapshot.read.files import display_path, lines_that_begin, once, read_paths
from kwhatif.snapshot.read.objects import (
    Item,
    Origin,
    decode_objects,
    plain_of,
    put_in_namespace,
    resource_of,
)
from kwhatif.snapshot.read.other_documents import advice_on_machines
from kwhatif.snapshot.read.yaml_memory import remember_yaml
from kwhatif.snapshot.recording import Recording, read_recording, recording_in, state_at
from kwhatif.snapshot.recording_lines import is_recording, lines_of
from kwhatif.snapshot.repository.manifest_reader import read_items
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport

__all__ = [
    "Manifest",
    "Origin",
    "decode_objects",
    "is_recording_file",
    "load_manifests",
    "load_recording",
    "load_snapshot",
]


_AS_THEY_ARE = ReadingOptions()
_NAMES = ("name", "generateName", "namespace")


class Manifest(msgspec.Struct, frozen=True):
    """One object of a manifest and where it came from.

    ``obj`` has only apiVersion, kind and names: the rest is validated by the API server. ``raw`` is the whole object as
    plain Python values, as it stands in the file. ``replaces`` is where an earlier one of its name stood. Its file or
    itself ``is_named``, unless it was found in a directory. ``kept_because`` is why it stays once it is in no manifest.
    """

    obj: Resource
    origin: Origin
    raw: dict[str, Any]
    replaces: Origin | None = None
    is_named: bool = True
    kept_because: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Kind, namespace and name."""
        return self.obj.kind or "", self.obj.namespace, self.obj.name


def load_snapshot(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], namespace: str = "default"
) -> Snapshot:
    """One snapshot of all that is in ``paths``: own snapshots, manifests, output of ``kubectl get``, others' dumps.

    Namespaced objects without a namespace get ``namespace``. Of an object that appears twice one is enough; if they
    differ, the last one counts, which is among the snapshot's inconsistencies; within one dump the first
    (``SnapshotCollector``; manifests have a rule of their own). Raises InputError.
    """
    named = [os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    collector = SnapshotCollector(namespace)
    with never_collect():
        for path in once(named):
            if recorded := recording_in(path):
                collector.begin(path, None)
                collector.add_moment(state_at(*recorded))
                continue
            dump = tree_of(path)
            collector.begin(path, dump)
            for text, type_meta in texts_of(path, dump):
                collector.add_text(text, type_meta)
    if collector.is_empty and named:
        raise _empty_error(named)
    snapshot = collector.finish()
    if snapshot.ignored and not (snapshot.objects.known_kinds() or snapshot.whole or snapshot.scheduler):
        there = ", ".join(f"{count} {kind}" for kind, count in sorted(snapshot.ignored.items()))
        advice = advice_on_machines(snapshot.ignored)
        raise InputError(f"holds nothing that is read here, only {there}{advice}", source=snapshot.source)
    return snapshot


def load_recording(path: str) -> tuple[Recording, Snapshot]:
    """A recording, and the cluster it begins with. Raises InputError, also for a file of another format."""
    if os.path.isdir(path):
        raise InputError("expected a recording, found a directory", source=display_path(path))
    with never_collect():
        # It is held as a whole.
        lines = lines_that_begin(path, is_recording, bounds.SNAPSHOT_BYTES)
        if lines is None:
            (text,) = read_paths([path])
            if not is_recording(text.data):
                problem = "expected a recording, whose lines have at, kind, and a list or an event"
                raise InputError(problem, source=text.name, place="line 1")
            lines = lines_of(text)
        recording = read_recording(lines)
        collector = SnapshotCollector("default")
        collector.begin(path, None)
        collector.add_recording(recording, recording.begins)
        return recording, collector.finish()


def is_recording_file(path: str) -> bool:
    """Whether a file is a recording; standard input is assumed to be one."""
    return path == "-" or lines_that_begin(path, is_recording) is not None


@remember_yaml()
def load_manifests(
    sources: Sequence[str | Mapping[str, Any]],
    namespace: str = "default",
    options: ReadingOptions = _AS_THEY_ARE,
    report: ReadingReport | None = None,
) -> list[Manifest]:
    """The objects of manifests, in their order: those of files, and those given as plain values.

    Namespaced objects without a namespace get ``namespace``; ``metadata.generateName`` may stand for a name. Of an
    object that appears twice one is enough; if they differ, the last one counts, but is refused if its file was named
    itself and it may make pods (``load_snapshot`` refuses none). Notes go to the ``report``. Raises InputError.
    """
    manifests: list[Manifest] = []
    seen: dict[tuple[str, ...], int] = {}
    report = ReadingReport() if report is None else report
    for document, item, is_named in read_items(sources, options, report):
        if item.place == "$" and is_snapshot(document, item.api_version, item.kind):
            problem = f"expected manifests, found a whole {KIND}"
            raise InputError(problem, source=document.source, place="$.kind")
        try:
            manifest = _manifest(item, namespace, options.namespaced)
        except InputError as error:
            if is_named:
                raise
            report.leave_out(error, item.origin.file)
            continue
        if not is_named:
            manifest = replace(manifest, is_named=False)
        key = _identity(manifest.obj, item)
        place = seen.setdefault(key, len(manifests)) if manifest.obj.name else len(manifests)
        if place == len(manifests):
            manifests.append(manifest)
            continue
        first = manifests[place]
        if first.raw == manifest.raw:
            continue
        if is_named and _may_make_pods(item, key[0]):
            raise _duplicate_error(key, item, first.origin)
        if first.origin.file != item.origin.file:
            report.files.explain(first.origin.file, f"of {_name_of(key)} another file counts: {item.origin.file}")
        manifests[place] = replace(manifest, replaces=first.origin)
    return list(_with_unique_origins(manifests))


def _with_unique_origins(manifests: Iterable[Manifest]) -> Iterator[Manifest]:
    """Manifests by origins of their own: overlays make several objects of one file, and pods are known by origins."""
    seen: set[Origin] = set()
    for manifest in manifests:
        if manifest.origin in seen:
            kind, namespace, name = manifest.key
            whose = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
            yield replace(manifest, origin=replace(manifest.origin, whose=whose))
        else:
            yield manifest
        seen.add(manifest.origin)


def _empty_error(paths: Sequence[str]) -> InputError:
    return InputError("holds no objects: it is empty", source=", ".join(map(display_path, paths)))


def _manifest(item: Item, namespace: str, namespaced: Collection[tuple[str, str]]) -> Manifest:
    whole = plain_of(item)
    metadata = whole.get("metadata")
    if isinstance(metadata, dict):
        metadata = {key: metadata[key] for key in _NAMES if key in metadata}
    obj = resource_of(replace(item, value={"metadata": metadata}), Resource, generated_names=True)
    if item.kind in NAMESPACED:
        put_in_namespace(obj, namespace)
    elif (item.api_version.partition("/")[0], item.kind) in namespaced and isinstance(metadata, dict):
        put_in_namespace(obj, namespace)
        whole = {**whole, "metadata": {**whole["metadata"], "namespace": obj.namespace}}
    return Manifest(obj, item.origin, whole, kept_because=item.kept_because)


def _identity(obj: Resource, item: Item) -> tuple[str, ...]:
    """The identity of an object: group, kind, namespace and name."""
    return item.api_version.rpartition("/")[0], item.kind, obj.namespace, obj.name


def _may_make_pods(item: Item, group: str) -> bool:
    """Whether a kind makes pods, or is custom, so that it may have a template anywhere."""
    if GROUPS.get(item.kind) != group:
        return newest_types().api_resource_of(item.api_version, item.kind) is None
    return item.kind in {"Pod", *TEMPLATES}


def _duplicate_error(key: tuple[str, ...], item: Item, first: Origin) -> InputError:
    return InputError(f"{_name_of(key)} appears twice: it is also in {first}", source=item.source, place=item.place)


def _name_of(key: tuple[str, ...]) -> str:
    _, kind, namespace, name = key
    return f"{kind} {describe_value(f'{namespace}/{name}' if namespace else name)}"
