"""A question about a change: manifests as they are to be, beside those as they were, on a cluster.

The nearest rules file names what options do not: the cluster, the scheduler's policy and version, autoscalers, and the
files that are left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from msgspec import structs

from kwhatif.errors import InputError, UsageError
from kwhatif.results.base import INPUT, Gap, Result
from kwhatif.simulation.flag import Argument, Flag, InputFile, flags_of
from kwhatif.simulation.inputs import NO_CLUSTER, Files, Notes, Rendering, SchedulerOptions
from kwhatif.simulation.question import Question
from kwhatif.simulation.scenario import LoadedScenario, ReadManifests, Scenario
from kwhatif.simulation.scenario_options import AutoscaledOptions
from kwhatif.snapshot.read.files import STDIN, exists, may_read_disk
from kwhatif.snapshot.read.git_objects import repository_around
from kwhatif.snapshot.read.git_revisions import has_repository, is_revision, tree_named, tree_of_path

if TYPE_CHECKING:
    from kwhatif.commands.gate.proposal import ChangeScenario
    from kwhatif.simulation.repository_policy import ReadPolicy
    from kwhatif.snapshot.load import Manifest
    from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport

R_co = TypeVar("R_co", bound=Result, covariant=True)

_POLICY = replace(
    next(flag for name, _, flag in flags_of(SchedulerOptions) if name == "policy"), variable="KWHATIF_POLICY"
)


_BEARING_ON_PODS = frozenset({"LimitRange", "PodDisruptionBudget", "PriorityClass", "ResourceQuota"})
"""Kinds that make no pods, and whose change alone is a question."""


@dataclass(frozen=True, kw_only=True)
class ChangeQuestion(Question[R_co]):
    """What the questions about a change have in common."""

    takes = AutoscaledOptions
    lacks: ClassVar[frozenset[str]] = frozenset()
    renames: ClassVar[Mapping[str, Flag]] = {"policy": _POLICY}
    needs_cluster = False
    tells_merged = False

    manifests: Annotated[
        Files,
        Argument(
            metavar="DIR|FILE",
            file="manifests",
            repeats=True,
            help="Manifests after the change: directories, files, REVISION:PATH of git, or '-'. Default with --base: "
            "the working directory.",
        ),
    ] = ()
    base: Annotated[
        Files | None,
        Flag(
            "--base",
            type=list[str] | None,
            file="manifests",
            metavar="DIR|FILE",
            help="Manifests before the change, or a revision of git: only differences are judged. Default: everything "
            "is judged (repeatable).",
        ),
    ] = None
    config: Annotated[
        str | None,
        InputFile(
            "--config",
            "The rules: a GatePolicy. Default: .kwhatif.yaml here or above, up to the top of the repository.",
            variable="KWHATIF_CONFIG",
        ),
    ] = None
    accept: Annotated[
        Sequence[str],
        Flag(
            "--accept",
            metavar="GLOB",
            help="Judge without these files though they changed and could not be read: a name, or the end of a path "
            "(repeatable).",
        ),
    ] = ()
    recursive: Annotated[bool, Flag("--recursive/--no-recursive", short="-R", help="Descend into subdirectories.")] = (
        True
    )
    with_pending: Annotated[bool, Flag("--with-pending", help="Also place the snapshot's pending pods.")] = False

    def build_scenarios(self, options: Any) -> Sequence[Scenario]:
        """The scenario, with defaults from the rules file."""
        if not self.manifests and not self.base:
            raise UsageError("missing argument 'DIR|FILE': the manifests of the change")
        scenario: Scenario = options.build_scenario(self.manifests or [os.curdir])
        inputs, engine = scenario.inputs, scenario.scheduler_options
        self.check_rules()
        policy = self.rules_file.policy
        snapshot = inputs.snapshot or self.rules_file.cluster
        if not snapshot:
            raise UsageError(NO_CLUSTER)
        version = engine.kubernetes_version or policy.kubernetes_version
        reading = inputs.manifest_options
        excluded = [*(reading.exclude or ()), *(policy.exclude or ())]
        # Whoever proposes a change need not be trusted with programs that run here.
        render = reading.render or Rendering.never
        return [
            Scenario(
                replace(
                    inputs,
                    snapshot=snapshot,
                    manifest_options=replace(reading, exclude=excluded, render=render),
                    autoscale=inputs.autoscale or policy.autoscale or (),
                ),
                replace(engine, policy=engine.policy or policy.policy, kubernetes_version=version),
            )
        ]

    def read_rules(self) -> ReadPolicy:
        self.check_rules()
        return self.rules_file

    def check_rules(self) -> None:
        """Raise an error for rules that make no sense, before anything else is looked at."""

    @cached_property
    def rules_file(self) -> ReadPolicy:
        from kwhatif.simulation.repository_policy import find_policy, read_policy

        return read_policy(self.config or find_policy(os.curdir))

    def repository(self) -> AbstractContextManager[None]:
        """Revisions are those of the repository that the manifests are in; if they are in none, of the one here."""
        words = [manifest for manifest in self.manifests if isinstance(manifest, str) and may_read_disk()]
        paths = (path for word in words for path in (word, _path_elsewhere(word)))
        return repository_around(next(filter(has_repository, paths), ""))

    def load(self, scenario: Scenario, notes: Notes) -> ReadManifests:
        """Read the manifests of head and base."""
        from kwhatif.commands.gate.files import account_files, gaps_of
        from kwhatif.simulation.manifest_loading import note_report, reading_options
        from kwhatif.snapshot.read.yaml_memory import remember_yaml

        before: list[Manifest] | None = None
        of_base: ReadingReport | None = None
        named = None if self.base is None else _named_in_repository(self.base)
        heads = _named_in_repository(scenario.inputs.manifests)
        options = reading_options(scenario)
        with self.repository(), remember_yaml():
            base, head = sides_of(named, heads)
            # With a base, a head without manifests is a change, too: all of them go.
            manifests, report = self._read_side(scenario, options, head, is_compared=base is not None)
            if base is not None:
                before, of_base = self._read_side(scenario, options, base, is_compared=True)
                report.leave_out_known(of_base)
        before_files = None if of_base is None else of_base.files
        files = account_files(report.files, before_files, head, base, self.patterns_to_accept)
        gaps = [*note_report(report, notes), *_alternatives(manifests, before or ()), *gaps_of(files)]
        return ReadManifests(manifests, base=before, gaps=gaps, files=files)

    def _read_side(
        self, scenario: Scenario, options: ReadingOptions, files: Files, *, is_compared: bool
    ) -> tuple[list[Manifest], ReadingReport]:
        from kwhatif.snapshot.load import load_manifests
        from kwhatif.snapshot.read.directories import gather_directories
        from kwhatif.snapshot.read.files import STDIN
        from kwhatif.snapshot.repository.reading_report import ReadingReport

        paths = gather_directories(
            [file for file in files if isinstance(file, str)], recursive=self.recursive, may_be_empty=is_compared
        )
        given: Files = [*paths, *(file for file in files if not isinstance(file, str))]
        options = replace(
            options,
            exclude=(*options.exclude, *self._patterns_of_settings(scenario, files)),
            may_be_empty=is_compared,
            recursive=self.recursive,
            roots=[file for file in files if isinstance(file, str) and file != STDIN],
        )
        report = ReadingReport()
        return load_manifests(given, scenario.inputs.namespace, options, report), report

    def files_of_settings(self, scenario: Scenario) -> Files:
        """The files that say how the question is asked: no manifests, wherever they lie."""
        inputs, policy = scenario.inputs, scenario.scheduler_options.policy
        snapshot = inputs.snapshot if isinstance(inputs.snapshot, list | tuple) else ()
        return [*self.rules_file.named_files, *snapshot, *inputs.autoscale, policy or ""]

    def _patterns_of_settings(self, scenario: Scenario, files: Files) -> Iterator[str]:
        in_revision = any(isinstance(file, str) and tree_named(file) is not None for file in files)
        for path in self.files_of_settings(scenario):
            if not isinstance(path, str) or not os.path.isfile(path):
                continue
            # What lies outside of the repository is in none of its revisions.
            with suppress(InputError):
                yield f"./{tree_of_path('', path).path if in_revision else path}"

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return not any(manifest.obj.kind in _BEARING_ON_PODS for manifest in scenario.manifests)

    def expand(self, scenario: LoadedScenario, scenarios: Sequence[LoadedScenario]) -> ChangeScenario:
        from kwhatif.commands.gate.change import find_unlisted
        from kwhatif.commands.gate.proposal import ChangeScenario, apply_change
        from kwhatif.simulation.expansion.pods import expand_manifests, require_pods

        before = scenario.snapshot
        changes, scenario = apply_change(scenario)
        standing = find_unlisted(changes.unchanged, before.covered_kinds())
        as_asked = partial(
            expand_manifests,
            manifests=[*standing, *changes.apply],
            reading=scenario.inputs.manifest_options,
            version=scenario.scheduler_options.kubernetes_version,
            gates=scenario.gates,
            resumes=self.with_pending,
        )
        expanded = as_asked(scenario.snapshot)
        more_than_once = scenario.snapshot.copy() if expanded.rollouts or expanded.scaled else None
        if expanded.unreadable:
            scenario = replace(scenario, read=self._without_unreadable(scenario.read, expanded.unreadable))
        if scenario.read.base is None and self.needs_pods(scenario) and not expanded.refusals:
            reading = scenario.inputs.manifest_options
            require_pods(scenario.inputs.manifests, scenario.manifests, reading, scenario.snapshot)
        return ChangeScenario.from_loaded(
            scenario,
            expanded,
            expand_again=None if more_than_once is None else partial(as_asked, more_than_once),
            changes=changes,
            before=before,
            before_change=more_than_once,
        )

    def _without_unreadable(self, read: ReadManifests, unreadable: Mapping[str, InputError]) -> ReadManifests:
        from kwhatif.commands.gate.files import without_unreadable
        from kwhatif.snapshot.repository.reading_report import problem_in

        problems = {file: problem_in(file, error) for file, error in unreadable.items()}
        files = without_unreadable(read.files, problems, self.patterns_to_accept, is_compared=read.base is not None)
        return structs.replace(read, files=files)

    @property
    def patterns_to_accept(self) -> Sequence[str]:
        return [*self.accept, *(self.rules_file.policy.accept or ())]


def _alternatives(manifests: Sequence[Manifest], base: Sequence[Manifest]) -> Iterator[Gap]:
    """Objects that the change defines more than once: it is not known which version the cluster gets."""
    from kwhatif.simulation.manifest_loading import describe_alternatives

    before = {base_file.key: base_file for base_file in base}
    for manifest in manifests:
        text = describe_alternatives(manifest)
        known = before.get(manifest.key)
        if text and (known is None or known.replaces is None or known.raw != manifest.raw):
            effect = "the last one is judged, and the other may be what the cluster gets"
            yield Gap(what=text, effect=effect, pods=(INPUT,))


def sides_of(base: Files | None, head: Files) -> tuple[Files | None, Files]:
    """Base and head, in which a revision stands for its manifests. Raises UsageError and InputError."""
    if (
        base is None
        and len(head) == 2
        and all(isinstance(head_file, str) and is_revision(head_file) for head_file in head)
    ):
        return [f"{head[0]}:"], [f"{head[1]}:"]
    heads = [
        f"{head_file}:" if isinstance(head_file, str) and is_revision(head_file) else head_file for head_file in head
    ]
    if base is None:
        return None, heads
    return [one for base_file in base for one in _base_of(base_file, heads)], heads


def _path_elsewhere(text: str) -> str:
    """The path of ``REVISION:PATH`` as it is seen from here, where that is outside of the repository; else empty."""
    revision, _, path = text.partition(":")
    is_elsewhere = may_read_disk() and os.path.exists(path) and not os.path.exists(text) and not is_revision(revision)
    return path if is_elsewhere else ""


def _named_in_repository(files: Files) -> Files:
    """What is named, where each ``REVISION:PATH`` of another repository begins at the top of that, as git has it."""
    entries: list[str | Mapping[str, Any]] = []
    for file in files:
        path = _path_elsewhere(file) if isinstance(file, str) else ""
        with repository_around(path):
            entries.append(str(tree_of_path(str(file).partition(":")[0], path)) if path else file)
    return entries


def _base_of(file: str | Mapping[str, Any], heads: Files) -> Files:
    if not isinstance(file, str) or not is_revision(file):
        if isinstance(file, str) and file != STDIN and not exists(file) and tree_named(file) is None:
            problem = "no such file or directory, and no such git revision here; fetch it (in CI: fetch-depth: 0)"
            raise InputError(problem, source=file)
        return [file]
    repositories: list[str] = []
    for path in heads:
        if not isinstance(path, str) or path == STDIN:
            raise UsageError(f"--base {file}: a revision is that of files and directories, which the manifests are not")
        tree = tree_named(path) if not os.path.exists(path) else None
        repositories.append(f"{file}:{tree.path}" if tree is not None else str(tree_of_path(file, path)))
    return repositories
