"""Reads the objects of directories as Argo CD, Flux or kubectl would see them.

Directories that an Application, a Kustomization of Flux or a HelmRelease deploys are read in its place, with its
values, variables and namespace, and nowhere else. In the other directories, charts and kustomizations that no other one
includes are rendered, and the files they read are not read on their own.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kwhatif.api.objects import text_at
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.objects import Item, Origin, plain_of
from kwhatif.snapshot.read.other_documents import (
    COMPONENT,
    KUSTOMIZATION,
    UNLISTED,
    UNUSED,
    may_hold_objects,
)
from kwhatif.snapshot.read.path_patterns import is_excluded
from kwhatif.snapshot.repository.charts import ChartRelease, has_chart
from kwhatif.snapshot.repository.deployments import Deployment, NotFollowed, owner_of
from kwhatif.snapshot.repository.file_account import FileUse, TreeFiles
from kwhatif.snapshot.repository.file_documents import FoundItem, GivenText
from kwhatif.snapshot.repository.file_trees import FileTree, with_parents
from kwhatif.snapshot.repository.followed_objects import FollowedObjects, is_chosen, is_follower
from kwhatif.snapshot.repository.inflated_charts import InflatedCharts, local_folder
from kwhatif.snapshot.repository.item_reader import ItemReader
from kwhatif.snapshot.repository.kustomization_builds import KustomizationBuilder
from kwhatif.snapshot.repository.kustomizations import KustomizationGraph, ResourceFile
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport
from kwhatif.snapshot.repository.renderer import Renderer, RenderRequest

_UNDEPLOYED = Deployment("", Origin(""), "")


@dataclass
class _Unit:
    """One part of a directory that is deployed: a chart or a kustomization, or files to be read as they are.

    Those of a kustomization are read where it cannot be built.
    """

    files: list[ResourceFile] = field(default_factory=list)
    request: RenderRequest | None = None
    kustomization: str = ""


class TreeReader:
    """Reads directories and files of one tree, all of them at once: what one deploys may be in another one.

    Of directories that turn out to be deployed, objects count only as they are deployed.
    """

    def __init__(self, tree: FileTree, options: ReadingOptions, report: ReadingReport) -> None:
        self._tree, self._options, self._report = tree, options, report
        self._graph = KustomizationGraph(tree)
        self._renderer = Renderer(tree, options, report)
        self._charts = InflatedCharts(tree, self._graph, self._renderer, options.charts, report)
        self._builder = KustomizationBuilder(tree, self._graph, self._charts, options.exclude)
        self._items = ItemReader(tree, options, report, self._graph, self._builder)
        self._account = TreeFiles(tree, report.files)
        self._followed = FollowedObjects(tree, options.variables, report.room, options.clusters, options.charts)
        self._claimed: dict[str, dict[str, Deployment]] = {}
        self._rendered: dict[str, Text] = {}
        self._built: dict[str, list[Item]] = {}
        self._resources: dict[str, list[ResourceFile]] = {}
        self._covered: set[str] = set()
        self._read: set[str] = set()
        self._done: set[tuple[str, str]] = set()
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
        for folder in folders:
            self._items.pass_over_programs(folder)

    def account_rest(self, folder: str) -> None:
        """Say of all files of a directory that nobody looked at why that is so."""
        for subfolder in self._tree.folders_below(folder) if self._options.recursive else [folder]:
            self._account.note_rest(subfolder, self._options.exclude)
            if self._options.recursive:
                self._account.note_hidden(subfolder)

    def _claim(self, folders: Sequence[str], files: Sequence[str]) -> None:
        # A pipe can be read only once.
        ahead = [
            *filter(self._tree.is_file, files),
            *(file for folder in folders for file in self._manifests_in(folder)),
        ]
        scanned = set(map(self._tree.place_of, ahead))
        while ahead:
            claimed = self._add_claims(self._followed.scan(ahead))
            below = [file for path in claimed for file in self._manifests_below(path)]
            ahead = [file for file in below if self._tree.place_of(file) not in scanned]
            scanned |= set(map(self._tree.place_of, ahead))

    def _add_claims(self, deployments: Iterable[Deployment]) -> list[str]:
        """The directories of deployments that no earlier one deploys; kustomizations there read what they do."""
        new: list[str] = []
        for deployment in deployments:
            if deployment.pulled is not None or isinstance(self._renderable(deployment), NotFollowed):
                continue
            claims = self._claimed.setdefault(self._tree.place_of(deployment.path), {})
            claims.setdefault(deployment.owner, deployment)
            if len(claims) == 1:
                new.append(deployment.path)
                for unit in self._units_of(deployment):
                    if unit.kustomization:
                        self._cover(unit.kustomization)
        return new

    def _cover(self, folder: str) -> None:
        for one in self._graph.reach_of(folder):
            # A chart beside a kustomization is rendered for it alone.
            charts = (local_folder(self._tree, one.folder, reason.fields) for reason in one.charts)
            self._covered |= set(map(self._tree.place_of, (*one.files, *filter(None, charts))))

    def _manifests_below(self, folder: str) -> Iterator[str]:
        for subfolder in self._tree.folders_below(folder):
            yield from self._manifests_in(subfolder)

    def _render_free(self) -> None:
        free = [folder for folder in self._folders if not self._is_claimed(folder)]
        roots = self._graph.roots_of(free)
        self._charts.inflate((folder, "") for folder in roots)
        for folder in roots:
            place = self._tree.place_of(folder)
            # Flux, which is likely to build it, lets kustomizations read what is beside them.
            built = self._build(folder, {}, restricted=self._followed.restricted)
            self._cover(folder)
            if built is not None:
                self._built[place] = built
            else:
                # Its other files, such as patches, are passed over where they stand.
                self._resources[place] = self._resources_of(folder)
        requests: list[RenderRequest] = []
        for folder in filter(self._is_chart, free):
            if self._is_covered(self._tree.place_of(folder)):
                continue
            # Its templates, and what these read, may look like objects.
            self._covered.add(self._tree.place_of(folder))
            chart = self._renderer.chart_of(folder)
            if chart.is_library:
                self._account.note(self._tree.files_below(folder), FileUse.passed_over, "a chart of others' parts")
            else:
                requests.append(RenderRequest(folder, ChartRelease(chart.name)))
        for request, text in zip(requests, self._renderer.render(requests), strict=True):
            if text is not None:
                self._rendered[self._tree.place_of(request.folder)] = text

    def _build(self, folder: str, overlay: Mapping[str, Any], *, restricted: bool) -> list[Item] | None:
        """The objects of a kustomization; None if it cannot be built, which is noted. Raises InputError if it must."""
        source = self._source_of(folder)
        files = [file for one in self._graph.reach_of(folder) for file in (*one.files, *one.inputs)]
        self._items.files_read |= set(map(self._tree.place_of, files))
        try:
            built = self._builder.build(folder, overlay, restricted=restricted)
            absent = [reason for one in self._graph.reach_of(folder) for reason in one.absent.items()]
            if absent and self._options.render == "always":
                name, why = absent[0]
                raise InputError(f"{name!a}: {why}")
        except InputError as error:
            if self._options.render == "always":
                raise InputError(f"cannot be built: {error}", source=source) from None
            self._report.not_rendered[source] = str(error)
            self._report.pass_over(KUSTOMIZATION, self._tree.display(self._graph.file_of(folder)))
            self._account.note(files, FileUse.failed, f"its kustomization cannot be built: {error}")
            return None
        self._report.built += 1
        self._account.note(files, FileUse.rendered)
        for one in self._graph.reach_of(folder):
            if one.absent:
                file = self._graph.file_of(one.folder)
                self._report.lost.setdefault(self._tree.display(file), [*map(ascii, one.absent)])
                self._account.note_absent(file, one.absent, partial(self._graph.state_of_absent, folder, one))
        return built

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
            self._free[self._tree.place_of(file)] = list(self._split(self._items.items_of(given, _UNDEPLOYED), wave))
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
            own = [
                deployment
                for deployment in deployments.values()
                if self._tree.is_below(self._file_of(deployment), deployment.path)
            ]
            if place not in self._read and own:
                self._read_deployed(own)
        # First what lies in no directory that is deployed: it may lead to the others.
        rest = sorted(self._claimed, key=lambda place: all(map(self._is_claimed, self._files_that_claim(place))))
        for place in rest:
            if place not in self._read:
                # What reads a directory and does not come to a file there deploys nothing of what that file names.
                claims = self._claimed[place].values()
                self._read_deployed([claim for claim in claims if not self._is_read(self._file_of(claim))])
        for folder in filter(self._is_claimed, self._folders):
            for file in self._manifests_in(folder):
                if self._is_unused(file):
                    self._items.pass_over(UNUSED, file)

    def _is_unused(self, file: str) -> bool:
        """Whether a file of a directory that is deployed may hold objects, and nothing leads to it."""
        if any(folder in self._items.files_read for folder in with_parents(self._tree.place_of(file))):
            return False
        try:
            return may_hold_objects(self._tree.read(file).data)
        except InputError:
            return False

    def _files_that_claim(self, place: str) -> Iterator[str]:
        return map(self._file_of, self._claimed[place].values())

    def _file_of(self, deployment: Deployment) -> str:
        return self._tree.path_named(deployment.source.file)

    def _items_in(self, folder: str) -> Iterator[FoundItem]:
        place = self._tree.place_of(folder)
        if place in self._rendered:
            made = GivenText(self._rendered[place], is_named=False, is_made=True)
            yield from self._items.items_of(made, _UNDEPLOYED)
        yield from self._items.items_of_build(self._built.get(place, ()), _UNDEPLOYED)
        yield from self._items.items_of_files(self._resources.get(place, ()), _UNDEPLOYED)
        for file in self._manifests_in(folder):
            at = self._tree.place_of(file)
            if at in self._graph.components:
                self._items.pass_over(COMPONENT, file)
            elif self._graph.file_of(folder) and not self._is_covered(at):
                self._items.pass_over(UNLISTED, file)
            elif not self._is_covered(at):
                yield from self._items.items_of_files([ResourceFile(file)], _UNDEPLOYED)

    def _split(self, items: Iterable[FoundItem], wave: list[Deployment]) -> Iterator[FoundItem]:
        """Objects as they come; what some of them deploy instead of themselves is added to the wave."""
        for document, item, is_named in items:
            if not is_follower(item):
                yield document, item, is_named
                continue
            deployed = [self._renderable(deployment) for deployment in self._followed.deployments_of(item)]
            followed = [deployment for deployment in deployed if isinstance(deployment, Deployment)]
            for deployment in deployed:
                if isinstance(deployment, NotFollowed):
                    self._note_not_followed(item, deployment)
            if len(followed) == len(deployed):
                self._report.followed[item.kind] += 1
            else:
                yield document, item, is_named
            wave += followed

    def _note_not_followed(self, item: Item, deployment: NotFollowed) -> None:
        value = plain_of(item)
        owner, why = owner_of(item, value), f"what it deploys is not read: {deployment.problem or deployment.reason}"
        if deployment.chart is not None:
            self._report.absent_charts.setdefault(deployment.chart.command, []).append(owner)
            why = self._options.charts.describe_absence(deployment.chart)
        self._report.not_followed.setdefault(deployment.reason, Counter())[item.kind] += 1
        self._account.note_absent(self._tree.path_named(item.origin.file), {owner: why}, partial(repr, value))
        for encrypted in deployment.encrypted:
            self._report.note_encrypted(encrypted, owner)

    def _renderable(self, deployment: Deployment | NotFollowed) -> Deployment | NotFollowed:
        if isinstance(deployment, NotFollowed) or deployment.release is None:
            return deployment
        if self._options.render == "never":
            return NotFollowed("charts, which --render auto has rendered")
        request = RenderRequest(deployment.path, deployment.release, deployment.pulled)
        problem = self._renderer.problem_of(request)
        if problem and self._options.render != "always":
            self._report.not_rendered[self._renderer.name_of(request)] = problem
            return NotFollowed("charts that cannot be rendered", problem=problem)
        return deployment

    def _deploy(self, wave: Sequence[Deployment]) -> Iterator[FoundItem]:
        new: list[Deployment] = []
        for deployment in wave:
            key = (
                deployment.owner,
                self._tree.place_of(deployment.path) if deployment.pulled is None else deployment.pulled.place,
            )
            if key not in self._done:
                self._done.add(key)
                self._read.add(key[1])
                new.append(deployment)
                self._account.note(deployment.settings, FileUse.read)
                if deployment.assumed:
                    self._report.assumed.setdefault(deployment.assumed, []).append(deployment.owner)
                if deployment.lost:
                    self._report.lost.setdefault(deployment.owner, [*deployment.lost])
        units = [(deployment, unit) for deployment in new for unit in self._units_of(deployment)]
        builds = [(unit.kustomization, deployment.overlay) for deployment, unit in units if unit.kustomization]
        self._charts.inflate((folder, text_at(overlay, "namespace")) for folder, overlay in builds)
        requests = [unit.request for _, unit in units if unit.request is not None]
        texts = iter(self._renderer.render(requests))
        for deployment, unit in units:
            if unit.request is not None:
                yield from self._items.items_of_chart(deployment, next(texts))
            elif unit.kustomization:
                yield from self._items_of_kustomization(deployment, unit)
            else:
                yield from self._items.items_of_directory(unit.files, deployment)

    def _items_of_kustomization(self, deployment: Deployment, unit: _Unit) -> Iterator[FoundItem]:
        built = self._build(unit.kustomization, deployment.overlay, restricted=deployment.restricted)
        if built is not None:
            yield from self._items.items_of_build(built, deployment)
            return
        lost = [key for key in deployment.overlay if key != "namespace"]
        if lost:
            self._report.lost.setdefault(deployment.owner, []).extend(lost)
        why = self._report.not_rendered[self._source_of(unit.kustomization)]
        self._account.note([self._file_of(deployment)], FileUse.failed, f"what it deploys cannot be built: {why}")
        yield from self._items.items_of_files(unit.files, deployment)

    def _source_of(self, folder: str) -> str:
        """A kustomization as messages name it."""
        return os.path.normpath(self._tree.display(folder))

    def _units_of(self, deployment: Deployment) -> Iterator[_Unit]:
        path = deployment.path
        if deployment.release is not None:
            if deployment.pulled is None:
                self._items.files_read.add(self._tree.place_of(path))
            yield _Unit([], RenderRequest(path, deployment.release, deployment.pulled))
        elif self._graph.file_of(path):
            yield self._kustomization_unit(path)
        else:
            yield from self._units_in(path, deployment)

    def _units_in(self, folder: str, deployment: Deployment) -> Iterator[_Unit]:
        """Parts of a directory without a kustomization: its files, and what is below it."""
        self._items.pass_over_programs(folder)
        files = [ResourceFile(file) for file in self._manifests_in(folder) if is_chosen(file, deployment)]
        if files:
            yield _Unit(files)
        for below in self._tree.folders_in(folder) if deployment.is_recursive else ():
            if self._is_left_out(below):
                continue
            if not self._graph.file_of(below):
                yield from self._units_in(below, deployment)
            elif not self._graph.add(below).is_component:
                yield self._kustomization_unit(below)

    def _kustomization_unit(self, folder: str) -> _Unit:
        return _Unit(self._resources_of(folder), kustomization=folder)

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
        return any(folder in self._covered for folder in with_parents(place))

    def _is_read(self, path: str) -> bool:
        return any(folder in self._read for folder in with_parents(self._tree.place_of(path)))

    def _is_claimed(self, path: str) -> bool:
        return any(folder in self._claimed for folder in with_parents(self._tree.place_of(path)))

    def _is_chart(self, folder: str) -> bool:
        """Whether a directory is a chart that is not built by kustomize, nor a part of another chart."""
        return has_chart(self._tree, folder) and not self._graph.file_of(folder) and not self._is_in_chart(folder)

    def _is_in_chart(self, folder: str) -> bool:
        """Whether a chart is a part of another one."""
        _, *above = with_parents(self._tree.place_of(folder))
        return any(has_chart(self._tree, parent) for parent in above)
