"""Builds kustomizations of a tree: what they name is read from it, each file once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kwhatif.errors import InputError
from kwhatif.snapshot.kustomize.resources import Resource
from kwhatif.snapshot.kustomize.room import copy_values
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.objects import Item, Origin, decode, items_of, plain_of, read_documents
from kwhatif.snapshot.read.path_patterns import is_excluded
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.inflated_charts import InflatedCharts
from kwhatif.snapshot.repository.kustomization_fields import is_inline
from kwhatif.snapshot.repository.kustomizations import KustomizationGraph


class KustomizationBuilder:
    """Builds what a ``graph`` knows, with the ``charts`` that were rendered for it.

    Files of resources that are ``excluded`` have none.
    """

    def __init__(
        self,
        tree: FileTree,
        graph: KustomizationGraph,
        charts: InflatedCharts | None = None,
        excluded: Sequence[str] = (),
    ) -> None:
        self._tree, self._graph, self._charts, self._excluded = tree, graph, charts, excluded
        self._objects: dict[str, list[tuple[Origin, dict[str, Any]]]] = {}
        self._documents: dict[str, list[Any]] = {}

    def build(self, folder: str, overlay: Mapping[str, Any], *, restricted: bool = True) -> list[Item]:
        """The objects of a directory's kustomization. ``restricted``: it reads no files but those in its directory.

        Raises InputError for what cannot be built offline.
        """
        from kwhatif.snapshot.kustomize.build import build

        problem = self._graph.problem_of(folder, restricted=restricted)
        if problem:
            raise InputError(problem)
        return [*map(_item_of, build(self, folder, overlay))]

    def build_over(self, folder: str, items: Iterable[Item], overlay: Mapping[str, Any]) -> list[Item]:
        """The same of objects that come from elsewhere; what the overlay names is in a directory."""
        from kwhatif.snapshot.kustomize.build import build_over

        objects = [Resource(copy_values(plain_of(item)), item.origin) for item in items]
        return [*map(_item_of, build_over(self, folder, objects, overlay))]

    def fields_of(self, folder: str) -> Mapping[str, Any]:
        return self._graph.add(folder).fields

    def origin_of(self, folder: str) -> Origin:
        return Origin(self._tree.display(self._graph.file_of(folder)))

    def path_of(self, folder: str, name: str) -> str:
        path = self._tree.path_in(folder, name)
        if not self._tree.is_folder(path) and not self._tree.is_file(path):
            raise InputError(f"{name!a} is not there, and nothing is fetched")
        return path

    def is_folder(self, path: str) -> bool:
        return self._tree.is_folder(path)

    def objects_of_charts(self, folder: str, namespace: str) -> Iterable[tuple[Origin, dict[str, Any]]]:
        made = () if self._charts is None else self._charts.objects_of(folder, namespace)
        return ((origin, copy_values(value)) for origin, value in made)

    def is_incomplete(self, folder: str) -> bool:
        return any(one.absent for one in self._graph.reach_of(folder))

    def objects_in(self, path: str) -> Sequence[tuple[Origin, dict[str, Any]]]:
        if is_excluded(path, self._excluded):
            return []
        place = self._tree.place_of(path)
        if place not in self._objects:
            documents = read_documents(self._tree.read(path), strictly=True, as_kustomize=True)
            items = [item for document in documents for item in items_of(document)]
            self._objects[place] = [(item.origin, plain_of(item)) for item in items]
        return [(origin, copy_values(value)) for origin, value in self._objects[place]]

    def documents_in(self, path: str) -> Sequence[Any]:
        place = self._tree.place_of(path)
        if place not in self._documents:
            self._documents[place] = _values_of(self._tree.read(path))
        return self._documents[place]

    def documents_of(self, text: str) -> Sequence[Any] | None:
        if not is_inline(text) and "\n" not in text and not text.lstrip().startswith(("[", "-")):
            return None
        # What begins with a bracket has to be JSON.
        name = "a patch.json" if text.lstrip().startswith("[") else "a patch"
        return _values_of(Text(name, text.encode()))

    def content_of(self, path: str) -> bytes:
        return self._tree.content_of(path)


def _item_of(resource: Resource) -> Item:
    origin, value = resource.origin, resource.value
    return Item(value, str(value.get("apiVersion")), resource.kind, origin, str(origin), "$")


def _values_of(text: Text) -> list[Any]:
    """The documents of a patch, of which kustomize reads JSON patches as kubectl would, and others as objects."""
    values: list[Any] = []
    documents = read_documents(text, as_kustomize=True)
    if any(isinstance(document.value, list) for document in documents):
        documents = read_documents(text)
    for document in documents:
        value = document.value
        values.append(value if isinstance(value, dict | list) else decode(value, Any))
    return values
