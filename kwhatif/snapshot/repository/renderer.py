"""Kustomizations and charts of a repository, rendered by the programs that are installed, several at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.repository.charts import Chart, ChartRelease, is_helm_installed, read_chart, render_chart
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.kustomizations import (
    KustomizationGraph,
    build_kustomization,
    program_of_kustomize,
)
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport

_MOST_AT_ONCE = 8


@dataclass(frozen=True)
class RenderRequest:
    """A directory to render: a chart if there is a ``release``, else a kustomization with an ``overlay`` on it."""

    folder: str
    overlay: Mapping[str, Any] = field(default_factory=dict)
    release: ChartRelease | None = None


class Renderer:
    """Renders what the options allow. A failure is noted in the report, or raised if rendering is required."""

    def __init__(
        self, tree: FileTree, graph: KustomizationGraph, options: ReadingOptions, report: ReadingReport
    ) -> None:
        self._tree, self._graph, self._options, self._report = tree, graph, options, report
        self._charts: dict[str, Chart] = {}

    def chart_of(self, folder: str) -> Chart:
        """What is known of the chart of a directory."""
        place = self._tree.place_of(folder)
        if place not in self._charts:
            self._charts[place] = read_chart(self._tree, folder)
        return self._charts[place]

    def render(self, requests: Sequence[RenderRequest]) -> list[Text | None]:
        """What becomes of each, None for what is not rendered. Raises InputError if all has to be."""
        if self._options.render == "never" or not requests:
            return [None] * len(requests)
        problems = [self.problem_of(each) for each in requests]
        works = [self._work_of(each) for each, problem in zip(requests, problems, strict=True) if not problem]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(_MOST_AT_ONCE, (os.cpu_count() or 1) + 1)) as pool:
            done = iter(list(pool.map(_attempt, works)))
        texts: list[Text | None] = []
        for request, problem in zip(requests, problems, strict=True):
            outcome: Text | InputError = InputError(problem) if problem else next(done)
            if isinstance(outcome, Text):
                texts.append(outcome)
                self._report.built += request.release is None
                self._report.rendered += request.release is not None
                continue
            source = os.path.normpath(self._tree.display(request.folder))
            if self._options.render == "always":
                raise outcome if outcome.source else InputError(f"cannot be rendered: {problem}", source=source)
            self._report.not_rendered[source] = outcome.problem
            texts.append(None)
        return texts

    def problem_of(self, request: RenderRequest) -> str:
        """Why something cannot be rendered, as far as that can be known before; empty if it can."""
        if request.release is not None:
            return self.chart_of(request.folder).problem or ("" if is_helm_installed() else "helm is not installed")
        problem = self._graph.problem_of(request.folder)
        return problem or ("" if program_of_kustomize() else "neither kustomize nor kubectl is installed")

    def _work_of(self, request: RenderRequest) -> Callable[[], Text]:
        source = self._tree.display(request.folder)
        if request.release is not None:
            release, version = request.release, self._options.kubernetes_version
            return lambda: render_chart(request.folder, source, release, version)
        return lambda: build_kustomization(request.folder, source, request.overlay)


def _attempt(work: Callable[[], Text]) -> Text | InputError:
    try:
        return work()
    except InputError as error:
        return error
