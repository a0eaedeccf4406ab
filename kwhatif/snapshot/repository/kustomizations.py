"""Kustomizations of a repository: which of them includes which, and which can be built offline.

A kustomization is built only if each resource, base and component of it, and of those it includes, is a file or
directory of the repository. kustomize itself reads no files outside of a kustomization's directory.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text, text_of
from kwhatif.snapshot.read.objects import decode, read_documents
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.programs import run_program
from kwhatif.snapshot.repository.scratch_directories import scratch_directory

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_TREES = ("resources", "bases", "components")
_FILES = ("patchesStrategicMerge", "crds", "configurations", "transformers", "generators", "validators")
_PATCHES = ("patches", "patchesJson6902", "replacements")
_NEEDS_MORE = ("helmCharts", "helmChartInflationGenerator", "transformers", "generators", "validators")
_PLAIN = frozenset({"apiVersion", "kind", "metadata", "resources", "bases"})
_DEEPEST = 64


class ResourceFile(NamedTuple):
    """A file with resources, and the namespace in which kustomizations put them; empty if they leave it to the file."""

    path: str
    namespace: str = ""


@dataclass
class Kustomization:
    """What the kustomization of a directory reads: ``resources`` in their order, and ``files``, these among them.

    ``namespace`` is the one it sets, if any, and ``patches`` are files that are no objects. A ``plain`` one has
    resources and nothing else. ``problem`` says why it cannot be built offline.
    """

    folder: str
    files: set[str] = field(default_factory=set)
    folders: list[str] = field(default_factory=list)
    resources: list[str] = field(default_factory=list)
    patches: set[str] = field(default_factory=set)
    namespace: str = ""
    is_component: bool = False
    is_plain: bool = False
    problem: str = ""


class KustomizationGraph:
    """The kustomizations of directories of a tree, and those they lead to. Paths are those of ``place_of``."""

    def __init__(self, tree: FileTree) -> None:
        self._tree = tree
        self._by_place: dict[str, Kustomization] = {}

    def file_of(self, folder: str) -> str:
        """The file of a directory's kustomization; empty if it has none."""
        paths = (os.path.join(folder, name) for name in NAMES)
        return next((path for path in paths if self._tree.is_file(path)), "")

    def add(self, folder: str) -> Kustomization:
        """The kustomization of a directory, read with those that it leads to."""
        self._follow(folder, 0)
        return self._by_place[self._tree.place_of(folder)]

    def roots_of(self, folders: Sequence[str]) -> list[str]:
        """Those directories with a kustomization that no other one leads to; components are built by others alone."""
        added = {folder: self.add(folder) for folder in folders if self.file_of(folder)}
        led_to = {self._tree.place_of(each) for one in self._by_place.values() for each in one.folders}
        return [
            folder
            for folder, one in added.items()
            if self._tree.place_of(folder) not in led_to and not one.is_component
        ]

    def reach_of(self, folder: str) -> Iterator[Kustomization]:
        """A directory's kustomization and all that it leads to, in the order of their resources."""
        self.add(folder)
        seen: set[str] = set()
        ahead = [folder]
        while ahead:
            place = self._tree.place_of(ahead.pop())
            if place not in seen:
                seen.add(place)
                one = self._by_place[place]
                yield one
                ahead += reversed(one.folders)

    def resources_of(self, folder: str, namespace: str = "") -> list[ResourceFile]:
        """The files with the resources of a directory's kustomization and of all that it leads to.

        The ``namespace`` of an outer kustomization counts more than those of inner ones.
        """
        found: list[ResourceFile] = []
        ahead, seen = [(folder, namespace)], set[str]()
        while ahead:
            each, outer = ahead.pop()
            one = self.add(each)
            place = self._tree.place_of(each)
            if place not in seen:
                seen.add(place)
                found += (ResourceFile(file, outer or one.namespace) for file in one.resources)
                ahead += ((below, outer or one.namespace) for below in reversed(one.folders))
        return found

    def problem_of(self, folder: str) -> str:
        """Why a directory's kustomization cannot be built; empty if it can."""
        return next((one.problem for one in self.reach_of(folder) if one.problem), "")

    def is_plain(self, folder: str) -> bool:
        """Whether what comes of a directory's kustomization is its resources as they stand in their files."""
        return all(one.is_plain and not one.problem for one in self.reach_of(folder))

    @property
    def components(self) -> set[str]:
        """Files of components, which are parts of other kustomizations and no objects by themselves."""
        return {self._tree.place_of(file) for one in self._by_place.values() if one.is_component for file in one.files}

    @property
    def patches(self) -> set[str]:
        """Files that kustomizations lay over objects."""
        return {self._tree.place_of(file) for one in self._by_place.values() for file in one.patches}

    def _follow(self, folder: str, depth: int) -> None:
        place = self._tree.place_of(folder)
        if place in self._by_place:
            return
        one = self._by_place[place] = Kustomization(folder)
        file = self.file_of(folder)
        if not file or depth > _DEEPEST:
            one.problem = f"{self._tree.display(folder)} has no kustomization"
            return
        one.files.add(file)
        value: dict[str, Any] = {}
        try:
            for document in read_documents(self._tree.read(file)):
                value |= decode(document.value, dict[str, Any])
        except InputError as error:
            one.problem = str(error)
        one.namespace = value["namespace"] if isinstance(value.get("namespace"), str) else ""
        one.is_plain = value.keys() <= _PLAIN
        one.is_component = value.get("kind") == "Component"
        if needed := [key for key in _NEEDS_MORE if value.get(key)]:
            one.problem = f"{self._tree.display(file)} has {needed[0]}"
        for key in (*_TREES, *_FILES):
            for entry in _list_of(value, key):
                self._follow_entry(one, entry, key, depth)
        for name in _files_of_generators(value):
            self._require_file(one, name)
        for key in _PATCHES:
            for entry in _list_of(value, key):
                path = entry.get("path") if isinstance(entry, dict) else entry
                if isinstance(path, str) and "\n" not in path:
                    one.patches.add(os.path.normpath(os.path.join(folder, path)))
                    self._require_file(one, path)
        one.files |= one.patches

    def _require_file(self, one: Kustomization, name: str) -> None:
        """What kustomize reads has to be there: it fetches what looks like a URL."""
        if not one.problem and not self._tree.is_file(os.path.normpath(os.path.join(one.folder, name))):
            one.problem = f"{name} of {self._tree.display(one.folder)} is not there, and nothing is fetched"

    def _follow_entry(self, one: Kustomization, entry: Any, key: str, depth: int) -> None:
        path = os.path.normpath(os.path.join(one.folder, entry)) if isinstance(entry, str) else ""
        if not path or "\n" in entry:
            return
        if self._tree.is_folder(path):
            one.folders.append(path)
            self._follow(path, depth + 1)
        elif not self._tree.is_file(path):
            one.problem = (
                one.problem or f"{entry} of {self._tree.display(one.folder)} is not there, and nothing is fetched"
            )
        elif key in _TREES:
            one.files.add(path)
            one.resources.append(path)
        else:
            one.patches.add(path)


def _list_of(value: Mapping[str, Any], key: str) -> list[Any]:
    listed = value.get(key)
    return listed if isinstance(listed, list) else []


def _files_of_generators(value: Mapping[str, Any]) -> Iterator[str]:
    """The files that generators and the schema of a kustomization are made of."""
    for key in ("configMapGenerator", "secretGenerator"):
        for generator in _list_of(value, key):
            if isinstance(generator, dict):
                names = [*_list_of(generator, "files"), *_list_of(generator, "envs"), generator.get("env")]
                yield from (name.rpartition("=")[2] for name in names if isinstance(name, str) and name)
    schema = value.get("openapi")
    if isinstance(schema, dict) and isinstance(schema.get("path"), str):
        yield schema["path"]


def program_of_kustomize() -> list[str]:
    """The program that builds kustomizations, with its first words; nothing if there is none."""
    if shutil.which("kustomize"):
        return ["kustomize", "build"]
    return ["kubectl", "kustomize"] if shutil.which("kubectl") else []


def build_kustomization(folder: str, source: str, overlay: Mapping[str, Any] | None = None) -> Text:
    """What kustomize makes of a directory on disk, with the fields of an ``overlay`` laid over it.

    Its components are named as directories are named here. ``source`` is what messages call it. Raises
    InputError with kustomize's words if it fails, or takes too long.
    """
    with scratch_directory() as home:
        target = os.path.abspath(folder)
        if overlay:
            start = os.path.join(os.path.realpath(home.path), "overlay")
            fields = _overlay_fields(start, target, overlay)
            target = os.path.dirname(home.write(f"overlay/{NAMES[0]}", msgspec.json.encode(fields)))
        printed = run_program([*program_of_kustomize(), target], home.path, source)
    return text_of(f"{source} (built)", printed, bounds.MANIFEST_BYTES)


def _overlay_fields(start: str, folder: str, overlay: Mapping[str, Any]) -> dict[str, Any]:
    """A kustomization in the directory ``start`` that leads to ``folder``."""

    def path_to(path: str) -> str:
        return os.path.relpath(os.path.realpath(path), start)

    components = [path_to(str(each)) for each in overlay.get("components") or ()]
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        **overlay,
        "resources": [path_to(folder)],
        "components": components,
    }
