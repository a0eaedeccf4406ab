"""The objects of files, of what kustomizations build, and of what charts become, as somebody deploys them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from msgspec import structs

from kwhatif import bounds
from kwhatif.api.objects import section
from kwhatif.errors import InputError, LimitError
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.objects import Item, plain_of
from kwhatif.snapshot.read.other_documents import PATCH, DocumentSort, OtherDocumentError
from kwhatif.snapshot.read.path_patterns import is_excluded, sort_of_program
from kwhatif.snapshot.repository.deployments import Deployment
from kwhatif.snapshot.repository.file_account import FileUse, TreeFiles
from kwhatif.snapshot.repository.file_documents import FoundItem, GivenText, complete_items, find_items
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.followed_objects import move_to_namespace
from kwhatif.snapshot.repository.kustomization_builds import KustomizationBuilder
from kwhatif.snapshot.repository.kustomizations import KustomizationGraph, ResourceFile
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport

_KEPT = {
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
    "argocd.argoproj.io/sync-options": "Prune=false",
    "helm.sh/resource-policy": "keep",
}
"""Labels and annotations by which Flux, Argo CD and Helm leave an object where it is."""


class ItemReader:
    """Reads what one tree holds, and says of each file what became of it. ``files_read`` are their places."""

    def __init__(
        self,
        tree: FileTree,
        options: ReadingOptions,
        report: ReadingReport,
        graph: KustomizationGraph,
        builder: KustomizationBuilder,
    ) -> None:
        self._tree, self._options, self._report = tree, options, report
        self._graph, self._builder = graph, builder
        self._account = TreeFiles(tree, report.files)
        self.files_read: set[str] = set()
        self._texts_read: set[str] = set()
        self._bytes_again = 0

    def items_of_files(self, files: Iterable[ResourceFile], deployment: Deployment) -> Iterator[FoundItem]:
        for given, namespace in self._texts_of(files):
            moved = deployment
            if namespace and not deployment.replaces_namespaces:
                moved = replace(deployment, namespace=namespace, replaces_namespaces=True)
            yield from self.items_of(given, moved)

    def items_of_directory(self, files: Iterable[ResourceFile], deployment: Deployment) -> Iterator[FoundItem]:
        """The objects of a directory without a kustomization. Flux makes one of all its files.

        Upstream: fluxcd/pkg/kustomize (kustomize_generator.go).
        """
        if not deployment.variables.are_of_flux:
            yield from self.items_of_files(files, deployment)
            return
        texts = [replace(given, as_kustomize=True) for given, _ in self._texts_of(files)]
        yield from self._items_over(texts, deployment, [*deployment.overlay])

    def _texts_of(self, files: Iterable[ResourceFile]) -> Iterator[tuple[GivenText, str]]:
        """The texts of files, and the namespaces that kustomizations say of them."""
        for file, namespace in files:
            place = self._tree.place_of(file)
            if place in self._graph.patches:
                self.pass_over(PATCH, file)
                continue
            self.files_read.add(place)
            try:
                text = self._tree.read(file)
            except OtherDocumentError as error:
                self.pass_over(error.sort, file)
                continue
            except InputError as error:
                self._account.note([file], FileUse.failed, error.problem)
                self._report.unreadable.append(error)
                continue
            self._count_again(place, text)
            yield GivenText(text, is_named=False), namespace

    def _items_over(
        self, texts: Iterable[GivenText], deployment: Deployment, fields: Sequence[str]
    ) -> Iterator[FoundItem]:
        """The objects of texts under the overlay of a deployment; if that fails, the ``fields`` are known as lost."""
        items = [item for given in texts for _, item in find_items(given, None, self._options, self._report)]
        try:
            items = self._builder.build_over(deployment.path, items, deployment.overlay)
        except InputError as error:
            lost = [f"{', '.join(fields)} ({error})"]
            self._report.lost.setdefault(deployment.owner, []).extend(lost)
        yield from self.items_of_build(items, deployment)

    def pass_over(self, sort: DocumentSort, file: str) -> None:
        self._report.pass_over(sort, self._tree.display(file))
        self._account.note([file], FileUse.unread if sort.makes_objects else FileUse.passed_over, str(sort))

    def pass_over_programs(self, folder: str) -> None:
        """Count the files of a directory by which programs make objects, of which nobody runs any here."""
        for name, is_folder in self._tree.files_in(folder):
            path = self._tree.path_in(folder, name)
            if is_folder or self._tree.display(path) in self._report.files or is_excluded(path, self._options.exclude):
                continue
            try:
                sort = sort_of_program(name, partial(self._read, path))
            except InputError:
                continue
            if sort is not None:
                self.pass_over(sort, path)

    def _read(self, path: str) -> bytes:
        return self._tree.read(path).data

    def items_of_build(self, items: Iterable[Item], deployment: Deployment) -> Iterator[FoundItem]:
        for document, item in complete_items(items, deployment.variables, self._options, self._report):
            yield document, _as_deployed(item, deployment), False

    def _count_again(self, place: str, text: Text) -> None:
        """Count what is read once more. Raises InputError for too much: a file may be deployed ten thousand times."""
        self._bytes_again += len(text.data) if place in self._texts_read else 0
        self._texts_read.add(place)
        if self._bytes_again > bounds.MANIFEST_BYTES:
            problem = f"files that are deployed more than once come to more than {bounds.MANIFEST_BYTES:,} bytes"
            raise LimitError(problem, source=text.name)

    def items_of(self, text: GivenText, deployment: Deployment) -> Iterator[FoundItem]:
        for document, item in find_items(text, deployment.variables, self._options, self._report):
            yield document, _as_deployed(item, deployment), text.is_named

    def items_of_chart(self, deployment: Deployment, text: Text | None) -> Iterator[FoundItem]:
        if text is None:
            self._report.lost.setdefault(deployment.owner, ["a chart that cannot be rendered"])
            return
        made = GivenText(text, is_named=False, is_made=True)
        if deployment.overlay:
            yield from self._items_over([made], deployment, ["spec.postRenderers"])
        else:
            yield from self.items_of(made, deployment)


def _as_deployed(item: Item, deployment: Deployment) -> Item:
    """The object in its namespace, with what its own annotations or the deployment say of a time without it in git."""
    moved = move_to_namespace(item, deployment)
    metadata = section(plain_of(item), "metadata")
    notes = {**section(metadata, "labels"), **section(metadata, "annotations")}
    own = next((f"{key}: {notes[key]}" for key, value in _KEPT.items() if value in str(notes.get(key)).split(",")), "")
    kept_because = own or deployment.kept_because
    return structs.replace(moved, kept_because=kept_because) if kept_because else moved
