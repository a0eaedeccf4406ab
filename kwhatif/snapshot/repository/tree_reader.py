"""Reads the objects of directories as Argo CD, Flux or kubectl would see them.

Directories that an Application, a Kustomization of Flux or a HelmRelease deploys are read in its place, with its
values, variables and namespace, and nowhere else. In the other directories, charts and kustomizations that no other one
includes are rendered, and the files they read are not read on their own.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.objects import Origin
from kwhatif.snapshot.read.other_documents import COMPONENT, PATCH, UNUSED, OtherDocumentError, may_hold_objects
from kwhatif.snapshot.read.path_patterns import is_excluded
from kwhatif.snapshot.repository.charts import ChartRelease, has_chart
from kwhatif.snapshot.repository.deployments import Deployment, NotFollowed
from kwhatif.snapshot.repository.file_documents import FoundItem, GivenText, find_items
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.followed_objects import FollowedObjects, is_chosen, is_follower, move_to_namespace
from kwhatif.snapshot.repository.kustomizations import KustomizationGraph, ResourceFile
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport
from kwhatif.snapshot.repository.renderer import Renderer, RenderRequest

_UNDEPLOYED = Deployment("", Origin(""), "")


@dataclass
class _Unit:
    """One part of a directory that is deployed: what is to be rendered, or files to be read as they are."""

    files: list[ResourceFile] = field(default_factory=list)
    request: RenderRequest | None = None


class TreeReader:
    """Reads directories and files of one tree, all of them at once: what one deploys may be in another one.

    Of directories that turn out to be deployed, objects count only as they are deployed.
    """

    def __init__(self, tree: FileTree, options: ReadingOptions, report: ReadingReport) -> None:
        self._tree, self._options, self._report = tree, options, report
        self._graph = KustomizationGraph(tree)
        self._renderer = Renderer(tree, self._graph, options, report)
        self._followed = FollowedObjects(tree, options.variables, report.room)
        self._claimed: dict[str, dict[str, Deployment]] = {}
        self._rendered: dict[str, Text] = {}
        self._resources: dict[str, list[ResourceFile]] = {}
        self._covered: set[str] = set()
        self._read: set[str] = set()
        self._done: set[tuple[str, str]] = set()
        self._files_read: set[str] = set()
        self._texts_read: set[str] = set()
        self._bytes_again = 0
        self._folders: Sequence[str] = ()
        self._named: set[str] = set()
        self._free: dict[str, list[FoundItem]] = {}
        self._deployed: list[FoundItem] = []

    def prepare(self, folders: Sequence[str], files: Sequence[str]) -> None:
        """Read all that will be asked for. Raises InputError."""
        folders = [folder for folder in folders if not self._is_left_out(folder)]
        self._tree.prepare([*files, *(file for folder in folders for file in self._manifests_in(folder))])
        self._folders = folders
        self._claim(folders, files)
        self._render_free()
        self._named = set(map(self._tree.place_of, files))
        self._read_deployed(self._read_free(files))
        self._read_rest()

    def _claim(self, folders: Sequence[str], files: Sequence[str]) -> None:
        # A pipe can be read only once.
        ahead = [
            *filter(self._tree.is_file, files),
            *(file for folder in folders for file in self._manifests_in(folder)),
        ]
        scanned = set(map(self._tree.place_of, ahead))
        while ahead:
            claimed = self._add_claims(self._followed.scan(ahead))
            below = [file for each in claimed for file in self._manifests_below(each)]
            ahead = [file for file in below if self._tree.place_of(file) not in scanned]
            scanned |= set(map(self._tree.place_of, ahead))

    def _add_claims(self, deployments: Iterable[Deployment]) -> list[str]:
        """The directories of deployments that no earlier one deploys; kustomizations there read what they do."""
        new: list[str] = []
        for each in deployments:
            if isinstance(self._renderable(each), NotFollowed):
                continue
            claims = self._claimed.setdefault(self._tree.place_of(each.path), {})
            claims.setdefault(each.owner, each)
            if len(claims) == 1:
                new.append(each.path)
                for unit in self._units_of(each):
                    if unit.request is not None and unit.request.release is None:
                        self._cover(unit.request.folder)
        return new

    def _cover(self, folder: str) -> None:
        for one in self._graph.reach_of(folder):
            self._covered |= set(map(self._tree.place_of, one.files))

    def _manifests_below(self, folder: str) -> Iterator[str]:
        for each in self._tree.folders_below(folder):
            yield from self._manifests_in(each)

    def _render_free(self) -> None:
        free = [folder for folder in self._folders if not self._is_claimed(folder)]
        charts = [folder for folder in free if self._is_chart(folder)]
        roots = self._graph.roots_of(free)
        requests: list[RenderRequest] = []
        for folder in roots:
            if self._graph.is_plain(folder) and self._options.render != "never":
                self._resources[self._tree.place_of(folder)] = self._resources_of(folder)
                self._cover(folder)
            else:
                requests.append(RenderRequest(folder))
        for folder in charts:
            chart = self._renderer.chart_of(folder)
            if not chart.is_library:
                requests.append(RenderRequest(folder, release=ChartRelease(chart.name)))
        for request, text in zip(requests, self._renderer.render(requests), strict=True):
            place = self._tree.place_of(request.folder)
            if text is None and request.release is None:
                # Its other files, such as patches, are passed over where they stand.
                self._resources[place] = self._resources_of(request.folder)
                self._covered |= {self._tree.place_of(file.path) for file in self._resources[place]}
            elif text is not None:
                self._rendered[place] = text
                if request.release is None:
                    self._cover(request.folder)
                else:
                    self._covered.add(place)

    def read(self, path: str) -> Iterator[FoundItem]:
        """The objects of a file that was named itself, or of a directory without those below it."""
        yield from self._free.pop(self._tree.place_of(path), ())

    def read_deployed(self) -> Iterator[FoundItem]:
        """The objects of directories that other objects deploy."""
        yield from self._deployed

    def _read_free(self, files: Sequence[str]) -> list[Deployment]:
        """Read what nothing deploys, and return what it deploys."""
        wave: list[Deployment] = []
        for file in files:
            given = GivenText(self._tree.read_named(file), is_named=True)
            self._free[self._tree.place_of(file)] = list(self._split(self._items_of(given, _UNDEPLOYED), wave))
        for folder in self._folders:
            if not self._is_claimed(folder):
                self._free[self._tree.place_of(folder)] = list(self._split(self._items_in(folder), wave))
        return wave

    def _read_deployed(self, wave: Sequence[Deployment]) -> None:
        """Read what deployments deploy, and what that deploys."""
        while wave:
            self._add_claims(wave)
            for place in [place for place in self._free if self._is_claimed(place)]:
                if place not in self._named:
                    del self._free[place]
            more: list[Deployment] = []
            self._deployed += self._split(self._deploy(wave), more)
            wave = more

    def _read_rest(self) -> None:
        """Read directories that something deploys which itself is in no other: the top of them all."""
        for place, deployments in list(self._claimed.items()):
            own = [each for each in deployments.values() if self._tree.is_below(self._file_of(each), each.path)]
            if place not in self._read and own:
                self._read_deployed(own)
        for place, deployments in list(self._claimed.items()):
            if place not in self._read:
                self._read_deployed(list(deployments.values()))
        for folder in filter(self._is_claimed, self._folders):
            for file in self._manifests_in(folder):
                if self._is_unused(file):
                    self._report.pass_over(UNUSED, self._tree.display(file))

    def _is_unused(self, file: str) -> bool:
        """Whether a file of a directory that is deployed may hold objects, and nothing leads to it."""
        if any(each in self._files_read for each in _with_parents(self._tree.place_of(file))):
            return False
        try:
            return may_hold_objects(self._tree.read(file).data)
        except InputError:
            return False

    def _file_of(self, deployment: Deployment) -> str:
        return self._tree.path_named(deployment.source.file)

    def _items_in(self, folder: str) -> Iterator[FoundItem]:
        place = self._tree.place_of(folder)
        if place in self._rendered:
            yield from self._items_of(GivenText(self._rendered[place], is_named=False), _UNDEPLOYED)
        yield from self._items_of_files(self._resources.get(place, ()), _UNDEPLOYED)
        for file in self._manifests_in(folder):
            at = self._tree.place_of(file)
            if at in self._graph.components:
                self._report.pass_over(COMPONENT, self._tree.display(file))
            elif not self._is_covered(at):
                yield from self._items_of_files([ResourceFile(file)], _UNDEPLOYED)

    def _items_of_files(self, files: Iterable[ResourceFile], deployment: Deployment) -> Iterator[FoundItem]:
        for file, namespace in files:
            place = self._tree.place_of(file)
            if place in self._graph.patches:
                self._report.pass_over(PATCH, self._tree.display(file))
                continue
            self._files_read.add(place)
            try:
                text = self._tree.read(file)
            except OtherDocumentError as error:
                self._report.pass_over(error.sort, self._tree.display(file))
                continue
            self._count_again(place, text)
            moved = deployment
            if namespace and not deployment.replaces_namespaces:
                moved = replace(deployment, namespace=namespace, replaces_namespaces=True)
            yield from self._items_of(GivenText(text, is_named=False), moved)

    def _count_again(self, place: str, text: Text) -> None:
        """Count what is read once more. Raises InputError for too much: a file may be deployed ten thousand times."""
        self._bytes_again += len(text.data) if place in self._texts_read else 0
        self._texts_read.add(place)
        if self._bytes_again > bounds.MANIFEST_BYTES:
            problem = f"files that are deployed more than once come to more than {bounds.MANIFEST_BYTES:,} bytes"
            raise InputError(problem, source=text.name)

    def _items_of(self, given: GivenText, deployment: Deployment) -> Iterator[FoundItem]:
        for document, item in find_items(given, deployment.variables, self._options, self._report):
            yield document, move_to_namespace(item, deployment), given.is_named

    def _split(self, found: Iterable[FoundItem], wave: list[Deployment]) -> Iterator[FoundItem]:
        """Objects as they come; what some of them deploy instead of themselves is added to the wave."""
        for document, item, is_named in found:
            if not is_follower(item):
                yield document, item, is_named
                continue
            deployed = [self._renderable(each) for each in self._followed.deployments_of(item)]
            followed = [each for each in deployed if isinstance(each, Deployment)]
            for each in deployed:
                if isinstance(each, NotFollowed):
                    self._report.not_followed.setdefault(each.reason, Counter())[item.kind] += 1
            if len(followed) == len(deployed):
                self._report.followed[item.kind] += 1
            else:
                yield document, item, is_named
            wave += followed

    def _renderable(self, each: Deployment | NotFollowed) -> Deployment | NotFollowed:
        if isinstance(each, NotFollowed) or each.release is None:
            return each
        if self._options.render == "never":
            return NotFollowed("charts, which --render auto has rendered")
        problem = self._renderer.problem_of(RenderRequest(each.path, release=each.release))
        if problem and self._options.render != "always":
            self._report.not_rendered[os.path.normpath(self._tree.display(each.path))] = problem
            return NotFollowed("charts that cannot be rendered")
        return each

    def _deploy(self, wave: Sequence[Deployment]) -> Iterator[FoundItem]:
        new: list[Deployment] = []
        for each in wave:
            key = (each.owner, self._tree.place_of(each.path))
            if key not in self._done:
                self._done.add(key)
                self._read.add(key[1])
                new.append(each)
        units = [(each, unit) for each in new for unit in self._units_of(each)]
        requests = [unit.request for _, unit in units if unit.request is not None]
        texts = iter(self._renderer.render(requests))
        for deployment, unit in units:
            yield from self._items_of_unit(deployment, unit, next(texts) if unit.request is not None else None)

    def _items_of_unit(self, deployment: Deployment, unit: _Unit, text: Text | None) -> Iterator[FoundItem]:
        if text is not None:
            if deployment.lost:
                self._report.lost.setdefault(deployment.owner, list(deployment.lost))
            yield from self._items_of(GivenText(text, is_named=False), deployment)
        else:
            lost = [*deployment.lost, *(key for key in deployment.overlay if key != "namespace")]
            if deployment.release is not None:
                lost = ["a chart that cannot be rendered"]
            if lost:
                self._report.lost.setdefault(deployment.owner, lost)
            yield from self._items_of_files(unit.files, deployment)

    def _units_of(self, deployment: Deployment) -> Iterator[_Unit]:
        path = deployment.path
        if deployment.release is not None:
            self._files_read.add(self._tree.place_of(path))
            yield _Unit([], RenderRequest(path, release=deployment.release))
        elif self._graph.file_of(path):
            yield self._kustomization_unit(path, deployment)
        else:
            yield from self._units_in(path, deployment)

    def _units_in(self, folder: str, deployment: Deployment) -> Iterator[_Unit]:
        """Parts of a directory without a kustomization: its files, and what is below it."""
        files = [ResourceFile(file) for file in self._manifests_in(folder) if is_chosen(file, deployment)]
        if files:
            yield _Unit(files)
        for below in self._tree.folders_in(folder) if deployment.is_recursive else ():
            if self._is_left_out(below):
                continue
            if not self._graph.file_of(below):
                yield from self._units_in(below, deployment)
            elif not self._graph.add(below).is_component:
                yield self._kustomization_unit(below, deployment)

    def _kustomization_unit(self, folder: str, deployment: Deployment) -> _Unit:
        self._files_read |= {self._tree.place_of(file) for one in self._graph.reach_of(folder) for file in one.files}
        files = self._resources_of(folder)
        laid_over = deployment.overlay.keys() - ({"namespace"} if deployment.replaces_namespaces else set())
        if self._graph.is_plain(folder) and not laid_over:
            return _Unit(files)
        return _Unit(files, RenderRequest(folder, deployment.path, deployment.overlay))

    def _resources_of(self, folder: str) -> list[ResourceFile]:
        """The files with the resources of a kustomization and of all that it leads to, but for those left out."""
        for one in self._graph.reach_of(folder):
            if one.outside:
                names = [f"{name!a}, which is outside of the repository" for name in one.outside]
                self._report.lost.setdefault(self._tree.display(self._graph.file_of(one.folder)), names)
        return [file for file in self._graph.resources_of(folder) if not self._is_left_out(file.path)]

    def _manifests_in(self, folder: str) -> list[str]:
        return self._tree.manifests_in(folder, self._options.exclude)

    def _is_left_out(self, path: str) -> bool:
        return is_excluded(path, self._options.exclude)

    def _is_covered(self, place: str) -> bool:
        return any(each in self._covered for each in _with_parents(place))

    def _is_claimed(self, path: str) -> bool:
        return any(each in self._claimed for each in _with_parents(self._tree.place_of(path)))

    def _is_chart(self, folder: str) -> bool:
        """Whether a directory is a chart that is not built by kustomize, nor a part of another chart."""
        return has_chart(self._tree, folder) and not self._graph.file_of(folder) and not self._is_in_chart(folder)

    def _is_in_chart(self, folder: str) -> bool:
        """Whether a chart is a part of another one."""
        _, *above = _with_parents(self._tree.place_of(folder))
        return any(has_chart(self._tree, each) for each in above)


def _with_parents(place: str) -> Iterator[str]:
    """A place and the directories that it is in, up to the top of all."""
    yield place
    while (above := os.path.dirname(place)) != place:
        place = above
        yield place
