"""Kustomizations of a repository: which of them includes which, and which can be built offline.

A kustomization is built only if each resource, base and component of it, and of those it includes, is a file or
directory of the repository, and what else it reads a file in its own directory, where kustomize reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kwhatif.api.objects import list_at, section, text_at
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.objects import decode, read_documents
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.kustomization_fields import ADDS_MORE, TREES, read_fields, with_references

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_DEEPEST = 64
_OBJECTS = ("resources", "configMapGenerator", "secretGenerator", "helmCharts", "helmGlobals", "generators")
"""Fields that add objects and leave those of others alone."""
_ADDRESS = re.compile(
    r"(?:[a-z]+::)?(?:https?://|ssh://|git://|git@|[a-z0-9-]+(?:\.[a-z0-9-]+)+[/:]\S)|\S+\?(?:ref|version)="
)
_NOT_HERE = "it is not here, and nothing is fetched"
_CHART_GENERATOR = "HelmChartInflationGenerator"
_MOST_REFERENCES = 20_000
_MOST_BUILDS = 10_000
"""Directories that kustomize builds for one: each as often as a way leads to it."""


class ResourceFile(NamedTuple):
    """A file with resources, and the namespace in which kustomizations put them; empty if they leave it to the file."""

    path: str
    namespace: str = ""


class ChartEntry(NamedTuple):
    """A chart that a kustomization names: with which ``fields``, and the files of its ``values``."""

    fields: Mapping[str, Any]
    values: Sequence[str] = ()


@dataclass
class Kustomization:
    """What the kustomization of a directory reads: ``resources`` in their order, and ``files``, these among them.

    ``fields`` are what it says, and ``namespace`` the one it sets, if any; ``patches`` are files that are no objects,
    ``inputs`` those of which ConfigMaps and Secrets are generated, or that are values of ``charts``. ``problem`` says
    why it cannot be built offline, ``restriction`` why not by kubectl, which reads files of its directory alone, and
    ``outside`` has what it names outside of the repository. What is ``absent``, and why, is at an address, or made by a
    chart or a plugin: the rest is built without, as it is ``left_out`` with what is generated of it.
    """

    folder: str
    fields: dict[str, Any] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    folders: dict[str, None] = field(default_factory=dict)
    resources: list[str] = field(default_factory=list)
    patches: set[str] = field(default_factory=set)
    inputs: set[str] = field(default_factory=set)
    namespace: str = ""
    is_component: bool = False
    problem: str = ""
    restriction: str = ""
    charts: list[ChartEntry] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    left_out: list[Any] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    references: int = 0


class KustomizationGraph:
    """The kustomizations of directories of a tree, and those they lead to. Paths are those of ``place_of``."""

    def __init__(self, tree: FileTree) -> None:
        self._tree = tree
        self._by_place: dict[str, Kustomization] = {}
        self.components: set[str] = set()
        """Files of components, which are parts of other kustomizations and no objects by themselves."""
        self.patches: set[str] = set()
        """Files that kustomizations lay over objects."""

    def file_of(self, folder: str) -> str:
        """The file of a directory's kustomization; empty if it has none."""
        paths = (self._tree.path_in(folder, name) for name in NAMES)
        return next((path for path in paths if self._tree.is_file(path)), "")

    def add(self, folder: str) -> Kustomization:
        """The kustomization of a directory, read with those that it leads to."""
        self._follow(folder, 0)
        return self._by_place[self._tree.place_of(folder)]

    def roots_of(self, folders: Sequence[str]) -> list[str]:
        """Those directories with a kustomization that no other one leads to, and one of each circle.

        Components are built by others alone.
        """
        added = [folder for folder in folders if self.file_of(folder) and not self.add(folder).is_component]
        led_to = {self._tree.place_of(path) for one in self._by_place.values() for path in one.folders}
        tops = [one.folder for place, one in list(self._by_place.items()) if place not in led_to]
        reached = {self._tree.place_of(one.folder) for top in tops for one in self.reach_of(top)}
        roots: list[str] = []
        for folder in added:
            place = self._tree.place_of(folder)
            if place not in led_to:
                roots.append(folder)
            elif place not in reached:
                roots.append(folder)
                reached |= {self._tree.place_of(one.folder) for one in self.reach_of(folder)}
        return roots

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

    def state_of_absent(self, folder: str, holder: Kustomization) -> str:
        """What is done to what is absent of a kustomization that a directory's leads to, in a text to compare.

        That is the transformations on the way and the generators of what is absent, but no other objects.
        """
        place = self._tree.place_of(holder.folder)
        above = [
            one
            for one in self.reach_of(folder)
            if one.is_component
            or any(self._tree.place_of(kustomization.folder) == place for kustomization in self.reach_of(one.folder))
        ]
        fields = [{key: value for key, value in one.fields.items() if key not in _OBJECTS} for one in above]
        files = [self._tree.identity_of(patch) for one in above for patch in sorted(one.patches)]
        charts = [(chart.fields, [*map(self._tree.identity_of, chart.values)]) for chart in holder.charts]
        return repr((fields, files, holder.left_out, charts))

    def resources_of(self, folder: str, namespace: str = "") -> list[ResourceFile]:
        """The files with the resources of a directory's kustomization and of all that it leads to.

        The ``namespace`` of an outer kustomization counts more than those of inner ones.
        """
        resources: list[ResourceFile] = []
        ahead, seen = [(folder, namespace)], set[str]()
        while ahead:
            path, outer = ahead.pop()
            one = self.add(path)
            place = self._tree.place_of(path)
            if place not in seen:
                seen.add(place)
                resources += (ResourceFile(file, outer or one.namespace) for file in one.resources)
                ahead += ((below, outer or one.namespace) for below in reversed(one.folders))
        return resources

    def problem_of(self, folder: str, *, restricted: bool = True) -> str:
        """Why a directory's kustomization cannot be built; empty if it can. Flux's builds are not ``restricted``."""
        problem = next((one.problem for one in self.reach_of(folder) if one.problem), "")
        if restricted and not problem:
            problem = next((one.restriction for one in self.reach_of(folder) if one.restriction), "")
        return problem or self._problem_of_builds(folder)

    def _problem_of_builds(self, folder: str) -> str:
        """Whether kustomizations lead back to themselves, or too many are built for one."""
        builds: dict[str, int] = {}
        ahead = [(folder, False)]
        while ahead:
            path, done = ahead.pop()
            place = self._tree.place_of(path)
            below = self._by_place[place].folders
            if done:
                counts = [builds[self._tree.place_of(inner)] for inner in below]
                if not all(counts):
                    return f"{self._tree.display(path)} leads back to itself"
                builds[place] = min(1 + sum(counts), 2 * _MOST_BUILDS)
            elif place not in builds:
                builds[place] = 0
                ahead += [(path, True), *((inner, False) for inner in below)]
        if builds[self._tree.place_of(folder)] > _MOST_BUILDS:
            return f"{self._tree.display(folder)} has more than {_MOST_BUILDS:,} kustomizations built"
        return ""

    def _follow(self, folder: str, depth: int) -> None:
        place = self._tree.place_of(folder)
        if place in self._by_place:
            return
        one = self._by_place[place] = Kustomization(folder)
        file = self.file_of(folder)
        if not file:
            one.problem = f"{self._tree.display(folder)} has no kustomization"
            return
        if depth > _DEEPEST:
            one.problem = f"more than {_DEEPEST} kustomizations are in each other"
            return
        one.files.add(file)
        problems: list[str] = []
        shown = self._tree.display(file)
        try:
            one.fields = read_fields(self._tree.read(file), problems)
        except InputError as error:
            one.problem = str(error)
        with_references(one.fields, _References(self._tree, one), problems)
        one.namespace = one.fields["namespace"] if isinstance(one.fields.get("namespace"), str) else ""
        one.is_component = one.fields.get("kind") == "Component"
        one.files |= one.patches
        one.absent |= {key: _NOT_HERE for key in ADDS_MORE if one.fields.get(key)}
        self._add_charts(one, problems)
        _leave_out_absent(one)
        problems += (
            ["it has a schema of its own"]
            if isinstance(one.fields.get("openapi"), dict) and "path" in one.fields["openapi"]
            else []
        )
        if problems and not one.problem:
            one.problem = f"{shown}: {problems[0]}"
        self.patches |= set(map(self._tree.place_of, one.patches))
        if one.is_component:
            self.components |= set(map(self._tree.place_of, one.files))
        for folder_inside in one.folders:
            self._follow(folder_inside, depth + 1)

    def _add_charts(self, one: Kustomization, problems: list[str]) -> None:
        """Add the charts of ``helmCharts``, and of generators that are documents of kustomize's own."""
        of_all = section(one.fields, "helmGlobals")
        entries = [{**of_all, **chart} for chart in list_at(one.fields, "helmCharts")]
        for generator in list_at(one.fields, "generators"):
            documents = self._documents_of(one, str(generator), problems)
            if all(text_at(value, "kind") == _CHART_GENERATOR for value in documents):
                entries += documents
            else:
                one.absent["generators"] = _NOT_HERE
        references = _References(self._tree, one)
        for entry in entries:
            try:
                if not text_at(entry, "name"):
                    raise InputError("expected a name")
                names = [entry["valuesFile"]] if entry.get("valuesFile") else []
                names = [str(name) for name in (*names, *list_at(entry, "additionalValuesFiles"))]
                values = [self._tree.path_in(one.folder, references.input(name)) for name in names]
                one.charts.append(ChartEntry(entry, values))
            except InputError as error:
                problems.append(f"helmCharts: {error.problem}")

    def _documents_of(self, one: Kustomization, text: str, problems: list[str]) -> list[dict[str, Any]]:
        """The documents of a generator: those of its file or, where it stands in the kustomization, its own."""
        path = self._tree.path_in(one.folder, text)
        if self._tree.is_folder(path):
            # Built, it is generators; none of them is looked for.
            return [{}]
        try:
            given = Text("generators", text.encode())
            if self._tree.is_file(path):
                one.files.add(path)
                given = self._tree.read(path)
            return [decode(read_document.value, dict[str, Any]) for read_document in read_documents(given)]
        except InputError as error:
            problems.append(f"generators: {error.problem}")
            return []


def _leave_out_absent(one: Kustomization) -> None:
    """Build without what is at addresses, and without what is generated of it."""
    absent = set(one.absent)
    for key in TREES:
        if isinstance(one.fields.get(key), list):
            one.fields[key] = [path for path in one.fields[key] if not (isinstance(path, str) and path in absent)]
    for key in ("configMapGenerator", "secretGenerator"):
        entries = one.fields.get(key)
        if isinstance(entries, list):
            one.left_out += [entry for entry in entries if absent & set(_inputs_of(entry))]
            one.fields[key] = [entry for entry in entries if not absent & set(_inputs_of(entry))]


def _inputs_of(entry: Any) -> Iterator[str]:
    for key in ("files", "envs"):
        for file in entry.get(key) or () if isinstance(entry, dict) else ():
            if isinstance(file, str):
                yield file
                yield file.partition("=")[2]


@dataclass
class _References:
    """Finds the files and directories that a kustomization names, and those that are not there."""

    files: FileTree
    one: Kustomization

    def tree(self, key: str, name: str) -> str:
        path = self._path_of(name)
        # A component would change the other objects.
        if key == "resources" and self._is_absent(name, path):
            return name
        if path in self.one.files or path in self.one.folders:
            raise InputError(f"{name} stands there twice")
        if self.files.is_folder(path):
            self.one.folders[path] = None
            return name
        if self.files.is_file(path):
            self.one.files.add(path)
            self.one.resources.append(path)
        return self._check(name, path)

    def inline(self, text: str) -> str:
        return text

    def patch(self, name: str) -> str:
        path = self._path_of(name)
        if self.files.is_file(path):
            self.one.patches.add(path)
        return self._check(name, path)

    def input(self, name: str) -> str:
        path = self._path_of(name)
        if self._is_absent(name, path):
            return name
        if self.files.is_file(path):
            self.one.inputs.add(path)
        return self._check(name, path)

    def _is_absent(self, name: str, path: str) -> bool:
        """Whether it is at an address, which nobody fetches from."""
        if not _ADDRESS.match(name) or self.files.is_folder(path) or self.files.is_file(path):
            return False
        self.one.absent[name] = _NOT_HERE
        return True

    def _path_of(self, name: str) -> str:
        self.one.references += 1
        if self.one.references > _MOST_REFERENCES:
            raise InputError(f"it names more than {_MOST_REFERENCES:,} files and directories")
        return self.files.path_in(self.one.folder, name)

    def _check(self, name: str, path: str) -> str:
        """Raise InputError for a file that kustomize cannot read, fetches, or must not read."""
        if self.files.leads_out(path):
            self.one.outside.append(name)
            raise InputError(f"{name!a} is outside of the repository, where nothing is read")
        if not self.files.is_file(path):
            raise InputError(f"{name} is not there, and nothing is fetched")
        if not self.files.is_inside(path, self.one.folder):
            shown = self.files.display(next(iter(self.one.files), self.one.folder))
            self.one.restriction = (
                f"{shown}: {name} is not in the kustomization's directory, and kustomize reads no other files"
            )
        return name
