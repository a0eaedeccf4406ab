"""Objects of Argo CD and Flux among manifests, and the directories of the repository that they deploy."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from msgspec import structs

from kwhatif.api.kinds import NAMESPACED, kind_of
from kwhatif.api.objects import list_at, section
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.objects import Item, items_of, plain_of, read_documents
from kwhatif.snapshot.repository import argo_applications as argo
from kwhatif.snapshot.repository import flux_deployments as flux
from kwhatif.snapshot.repository.application_sets import ApplicationSets
from kwhatif.snapshot.repository.argo_clusters import ArgoCluster
from kwhatif.snapshot.repository.chart_library import ChartLibrary
from kwhatif.snapshot.repository.config_maps import SOURCE_GROUPS, ConfigMapIndex, Source, source_in
from kwhatif.snapshot.repository.deployments import Deployed, Deployment
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.substitutions import Substitution, SubstitutionRoom, Variables

_MARKS = tuple(group.encode() for group in (argo.GROUP, flux.KUSTOMIZE_GROUP, flux.HELM_GROUP, *SOURCE_GROUPS))


def is_follower(item: Item) -> bool:
    """Whether an object deploys directories of a repository."""
    group = item.api_version.rpartition("/")[0]
    if group == argo.GROUP:
        return item.kind in argo.KINDS
    return (group, item.kind) in ((flux.KUSTOMIZE_GROUP, "Kustomization"), (flux.HELM_GROUP, "HelmRelease"))


@dataclass
class FollowedObjects:
    """Finds out what objects deploy of the repository that ``tree`` is of. ``variables`` are given for all of it.

    Kustomizations that nothing deploys are ``restricted`` to files of their directories until one of Flux or build
    options of Argo CD are there.
    """

    tree: FileTree
    variables: Mapping[str, str]
    room: SubstitutionRoom
    clusters: Sequence[ArgoCluster] | None = None
    library: ChartLibrary = field(default_factory=ChartLibrary)
    restricted: bool = True

    def __post_init__(self) -> None:
        self._sets = ApplicationSets(self.tree, self.clusters)
        self._argo = argo.ArgoSources(self.tree, self.library)
        self._sources: dict[tuple[str, str], list[Source]] = {}
        self._flux = flux.FluxSources(self.tree, ConfigMapIndex(self.tree), self._sources, self.library)

    def deployments_of(self, item: Item) -> Deployed:
        """What an object deploys."""
        value = plain_of(item)
        if item.kind == "ApplicationSet":
            return argo.deployments_of_set(item, value, self._sets, self._argo)
        if item.kind in argo.KINDS:
            return argo.deployments_of_application(item, value, self._argo)
        return flux.deployments_of_flux(item, value, self._flux)

    def scan(self, files: Sequence[str]) -> Iterator[Deployment]:
        """What objects in files deploy, as they stand there; what cannot be read is passed over."""
        items = [item for file in files for item in self._items_of(file)]
        self.restricted &= self._argo.restricted
        for item in items:
            self.restricted &= not item.api_version.startswith(f"{flux.KUSTOMIZE_GROUP}/")
            source = source_in(self.tree.path_named(item.origin.file), plain_of(item))
            if source is not None:
                self._sources.setdefault(source[0], []).append(source[1])
        for item in filter(is_follower, items):
            whole = Substitution(Variables(self.variables), self.room, is_text=True).apply(plain_of(item))
            for deployment in self.deployments_of(structs.replace(item, value=whole)):
                if isinstance(deployment, Deployment):
                    yield deployment

    def _items_of(self, file: str) -> list[Item]:
        try:
            text = self.tree.read(file)
        except InputError:
            return []
        if argo.lifts_restriction(text.data):
            self._argo = replace(self._argo, restricted=False)
        return _items_in(text)


def _items_in(text: Text) -> list[Item]:
    """The objects of a text that may be one of these, as far as it can be read."""
    if not any(mark in text.data for mark in _MARKS):
        return []
    items: list[Item] = []
    try:
        for document in read_documents(text):
            with suppress(InputError):
                items += items_of(document)
    except InputError:
        pass
    return items


def move_to_namespace(item: Item, deployment: Deployment) -> Item:
    """The object in the namespace that whoever deploys it says, and so the accounts that a binding leaves to it."""
    if not deployment.namespace:
        return item
    if item.kind == "ClusterRoleBinding":
        return _with_subjects(item, deployment.namespace)
    if not _is_namespaced(item):
        return item
    if item.kind == "RoleBinding":
        item = _with_subjects(item, deployment.namespace)
    whole = plain_of(item)
    metadata = section(whole, "metadata")
    if metadata.get("namespace") and not deployment.replaces_namespaces:
        return item
    return structs.replace(item, value={**whole, "metadata": {**metadata, "namespace": deployment.namespace}})


def _with_subjects(item: Item, namespace: str) -> Item:
    """A binding whose service accounts are in some namespace, as kustomize completes them."""
    whole = plain_of(item)
    subjects = [
        {**subject, "namespace": namespace}
        if isinstance(subject, dict) and subject.get("kind") == "ServiceAccount" and not subject.get("namespace")
        else subject
        for subject in list_at(whole, "subjects")
    ]
    return structs.replace(item, value={**whole, "subjects": subjects}) if subjects else item


def _is_namespaced(item: Item) -> bool:
    """Of kinds that are not known here, most are."""
    if kind_of(item.api_version, item.kind) is not None:
        return item.kind in NAMESPACED
    return not item.kind.startswith("Cluster") and item.kind != "CustomResourceDefinition"


def is_chosen(path: str, deployment: Deployment) -> bool:
    """Whether patterns of names leave a file in."""
    from kwhatif.cel.globs import matches_any

    place = os.path.relpath(path, deployment.path)
    chosen = not deployment.include or matches_any(place, deployment.include)
    return chosen and not matches_any(place, deployment.exclude)
