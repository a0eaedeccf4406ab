"""Charts of a repository, rendered by helm if it is installed, several at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text, text_of
from kwhatif.snapshot.read.other_documents import CHART
from kwhatif.snapshot.read.programs import ProgramFailureError, end_programs
from kwhatif.snapshot.repository.chart_dependencies import Chart, ChartReader
from kwhatif.snapshot.repository.chart_library import PulledChart
from kwhatif.snapshot.repository.charts import CHART as CHART_FILE
from kwhatif.snapshot.repository.charts import ChartCopy, ChartRelease, is_helm_installed
from kwhatif.snapshot.repository.file_account import FileUse, TreeFiles
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport
from kwhatif.snapshot.repository.scratch_directories import scratch_directory

_MOST_AT_ONCE = 8
_TESTS = f"ci{os.sep}"
"""Where chart-testing has values that it installs a chart with."""
_OF_CHARTS = (f"templates{os.sep}", f"charts{os.sep}", f"crds{os.sep}", f"files{os.sep}")
_MOST_KEPT = 64 * bounds.MIB


@dataclass(frozen=True)
class RenderRequest:
    """The directory of a chart to render, or the chart that somebody has pulled, and with what."""

    folder: str
    release: ChartRelease
    pulled: PulledChart | None = None


class Renderer:
    """Renders what the options allow. A failure is noted in the report, or raised if rendering is required."""

    def __init__(self, tree: FileTree, options: ReadingOptions, report: ReadingReport) -> None:
        self._tree, self._options, self._report = tree, options, report
        self._reader = ChartReader(tree, options.charts)
        self._account = TreeFiles(tree, report.files)
        self._seconds = 0.0

    def chart_of(self, folder: str) -> Chart:
        """What is known of the chart of a directory."""
        return self._reader.chart_of(folder)

    def folders_of(self, folder: str) -> set[str]:
        """The directories of a chart and of those that it depends on."""
        return self._reader.folders_of(self.chart_of(folder))

    def render(self, requests: Sequence[RenderRequest]) -> list[Text | None]:
        """What becomes of each, None for what is not rendered. Raises InputError if all has to be."""
        if self._options.render == "never":
            texts: list[Text | None] = [None] * len(requests)
        else:
            texts = self._render(requests)
        for request, text in zip(requests, texts, strict=True):
            self._note(request, text)
        return texts

    def _render(self, requests: Sequence[RenderRequest]) -> list[Text | None]:
        outcomes: list[Text | InputError] = []
        for some in (requests[at : at + _MOST_AT_ONCE] for at in range(0, len(requests), _MOST_AT_ONCE)):
            outcomes += self._attempt_all(some)
        texts: list[Text | None] = []
        for request, outcome in zip(requests, outcomes, strict=True):
            if isinstance(outcome, Text):
                texts.append(outcome)
                self._report.rendered += 1
                continue
            source = self.name_of(request)
            if self._options.render == "always":
                rendered = InputError(f"cannot be rendered: {outcome.problem}", source=source)
                raise outcome if isinstance(outcome, ProgramFailureError) else rendered
            self._report.not_rendered[source] = outcome.problem
            texts.append(None)
        return texts

    def _note(self, request: RenderRequest, text: Text | None) -> None:
        """Say what became of the files of a chart."""
        folders = () if request.pulled is not None else sorted(self.folders_of(request.folder))
        files = [file for file in request.release.value_files if isinstance(file, str)]
        values: list[str] = []
        for folder in folders:
            for file in self._tree.files_below(folder):
                place = os.path.relpath(file, folder)
                if place.startswith(_TESTS):
                    self._account.note([file], FileUse.passed_over, "values for tests of a chart")
                elif _is_of_values(place):
                    values.append(file)
                elif not file.endswith(".md"):
                    files.append(file)
        if text is not None:
            self._account.note(files, FileUse.rendered)
            self._account.note(values, FileUse.unread, "nothing here deploys a chart with these values")
            return
        file = self._tree.display(self._tree.path_in(request.folder, CHART_FILE))
        self._report.pass_over(CHART, file if request.pulled is None else request.pulled.place)
        self._account.note([*files, *values], FileUse.unread, f"its chart was not rendered: {self.reason_of(request)}")

    def reason_of(self, request: RenderRequest) -> str:
        """Why something was not rendered."""
        return self._report.not_rendered.get(self.name_of(request), "--render auto has charts rendered")

    def _attempt_all(self, requests: Sequence[RenderRequest]) -> list[Text | InputError]:
        """What becomes of a few, at the same time. All copies are made before the first program runs."""
        from concurrent.futures import ThreadPoolExecutor

        with ExitStack() as stack:
            began = time.monotonic()
            works = [self._work_of(request, stack) for request in requests]
            self._seconds += time.monotonic() - began
            pool = ThreadPoolExecutor(min(len(works), (os.cpu_count() or 1) + 1))
            try:
                return list(pool.map(_attempt, works))
            except BaseException:
                end_programs()
                raise
            finally:
                pool.shutdown(cancel_futures=True)

    def name_of(self, request: RenderRequest) -> str:
        """What messages call the chart of a request."""
        if request.pulled is not None:
            return request.pulled.place
        return os.path.normpath(self._tree.display(request.folder))

    def problem_of(self, request: RenderRequest) -> str:
        """Why something cannot be rendered, as far as that can be known before; empty if it can."""
        problem = self._reader.problem_of(request.pulled or self.chart_of(request.folder))
        return problem or ("" if is_helm_installed() else "helm is not installed")

    def _work_of(self, request: RenderRequest, stack: ExitStack) -> Callable[[], Text]:
        """What renders something, once it is written where programs may read it."""
        source = self.name_of(request)
        problem = self.problem_of(request) or self._problem_of_time()
        try:
            if problem:
                raise InputError(problem)
            files = self._reader.files_of(request.pulled or self.chart_of(request.folder))
            chart = ChartCopy(self._tree, files, request.release)
            named = f"{source} (rendered)"
            if chart.identity in self._options.printed:
                return partial(text_of, named, self._options.printed[chart.identity], bounds.MANIFEST_BYTES)
            scratch = stack.enter_context(scratch_directory())
            chart.write(scratch)
        except InputError as error:
            return partial(_refuse, error)

        def work() -> Text:
            printed = chart.render(scratch, source, self._options.kubernetes_version)
            known = self._options.printed
            if sum(map(len, known.values())) + len(printed) <= _MOST_KEPT:
                known[chart.identity] = printed
            return text_of(named, printed, bounds.MANIFEST_BYTES)

        return self._measure(work)

    def _problem_of_time(self) -> str:
        most = bounds.RENDER_SECONDS
        return f"programs have taken more than {most:,} seconds together" if self._seconds > most else ""

    def _measure(self, work: Callable[[], Text]) -> Callable[[], Text]:
        def run() -> Text:
            began = time.monotonic()
            try:
                return work()
            finally:
                self._seconds += time.monotonic() - began

        return run


def _is_of_values(place: str) -> bool:
    """Whether a file of a chart has values for some of its releases, by its name and its place in the chart."""
    name = os.path.basename(place).casefold()
    is_own = place.startswith(_OF_CHARTS) or name in ("values.yaml", "values.yml")
    return "values" in name and name.endswith((".yaml", ".yml")) and not is_own


def _refuse(error: InputError) -> Text:
    raise error


def _attempt(work: Callable[[], Text]) -> Text | InputError:
    try:
        return work()
    except InputError as error:
        return error
