"""The pods that a question's words select: all pods of manifest files, or pods and workloads by name, as kubectl names
them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from msgspec import structs

from kwhatif.api.core import Pod
from kwhatif.api.kinds import TEMPLATES, is_kind, parse_kind
from kwhatif.api.kueue import KueueWorkload
from kwhatif.api.pod_groups import PodGroup
from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.errors import InputError, UsageError
from kwhatif.results.base import Result
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.simulation.expansion.pods import expand_manifests, require_pods
from kwhatif.simulation.inputs import Files, Notes
from kwhatif.simulation.manifest_loading import read_manifests
from kwhatif.simulation.ownership import Owners
from kwhatif.simulation.question import Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, ReadManifests, Scenario
from kwhatif.simulation.scenario_options import PodOptions
from kwhatif.simulation.session import PodToSchedule
from kwhatif.snapshot.load import Manifest
from kwhatif.snapshot.read.files import display_path, exists

FILE_SUFFIXES = (".yaml", ".yml", ".json", ".gz", ".zst")

_OF_SEVERAL = (*TEMPLATES, PodGroup.__name__)
"""The kinds that have several pods."""


class PodReference(msgspec.Struct, frozen=True):
    """``NAME``, ``NAMESPACE/NAME``, ``KIND/NAME`` or ``KIND/NAMESPACE/NAME``; the kind is ``pod``, ``podgroup`` or a
    workload's.

    ``namespace`` is the default; empty is any. Where a word is ambiguous, a workload takes precedence over a pod in a
    namespace that is called like the kind.
    """

    text: str
    namespace: str = ""

    def means(self, pod: Pod, owners: Owners) -> bool:
        """Whether it may refer to this pod."""
        return any(_is(pod, reading, owners) for reading in self._readings())

    def select(self, among: Iterable[Pod], owners: Owners) -> list[Pod]:
        """Those of the pods that it refers to. Raises UsageError if they are in several namespaces."""
        there = list(among)
        for reading in self._readings():
            pods = [pod for pod in there if _is(pod, reading, owners)]
            places = {pod.namespace for pod in pods}
            if len(places) > 1 and "default" not in places:
                what = "pod " + reading[2] if is_kind(reading[0], "Pod") else self.text
                named = f"{'' if len(self.text.split('/')) == 1 else reading[0] + '/'}NAMESPACE/NAME"
                places_ = ", ".join(sorted(places))
                raise UsageError(f"{what} is in several namespaces ({places_}): name one with -n or as {named}")
            if pods:
                return [pod for pod in pods if len(places) == 1 or pod.namespace == "default"]
        return []

    def names(self, kind: str, namespace: str, name: str) -> bool:
        """Whether it may refer to a workload."""
        return any(
            is_kind(own, kind) and called == name and place in ("", namespace)
            for own, place, called in self._readings()
        )

    @property
    def several(self) -> bool:
        """Whether it names a kind that makes several pods."""
        kind, slash, _ = self.text.partition("/")
        return bool(slash) and any(is_kind(kind, plural) for plural in _OF_SEVERAL)

    def unknown(self, among: Sequence[Pod], owners: Owners, where: str = "the snapshot") -> InputError | UsageError:
        """The error for a word that selects nothing."""
        if self.text.endswith(FILE_SUFFIXES) or self.text.startswith((".", "/")):
            return InputError("no such file or directory", source=display_path(self.text))
        if self.several:
            kind, _, name = self.text.partition("/")
            names = {_workload_name_of(owners, pod, kind, name) for pod in among} - {""}
            hint = suggest_spelling(self.text, {f"{kind}/{plural}" for plural in names})
            if not hint and (workload := _kind_called(name, among, owners)):
                hint = f"; did you mean {workload.lower()}/{name}?"
            return UsageError(f"{self.text} has no pods in {where}{hint}")
        kind, slash, rest = self.text.partition("/")
        name = self.text.removeprefix("pod/")
        hint = suggest_spelling(name, [pod.key if "/" in name else pod.name for pod in among])
        workload = _kind_called(name, among, owners)
        if workload:
            hint = f"; did you mean {workload.lower()}/{name}?"
        elif not hint and slash and not any(is_kind(kind, known) for known in ("Pod", *_OF_SEVERAL)):
            kinds = (part for known in ("Pod", *_OF_SEVERAL) for part in parse_kind(known))
            hint = suggest_spelling(kind, kinds).replace("?", f"/{rest}?")
        return UsageError(f"{self.text} is neither a file nor a pod of {where}{hint}")

    def _readings(self) -> Iterator[tuple[str, str, str]]:
        """Kind, namespace (or nothing) and name."""
        first, *rest = self.text.split("/")
        if 1 <= len(rest) <= 2:
            yield first, rest[0] if len(rest) == 2 else self.namespace, rest[-1]
        if len(rest) <= 1:
            yield "pod", first if rest else self.namespace, rest[0] if rest else first


def _is(pod: Pod, reading: tuple[str, str, str], owners: Owners) -> bool:
    kind, namespace, name = reading
    if namespace and pod.namespace != namespace:
        return False
    if is_kind(kind, "Pod"):
        return pod.name == name
    return any(owner == name and is_kind(kind, of) for of, owner in _above(pod, owners))


def _above(pod: Pod, owners: Owners) -> Iterator[tuple[str, str]]:
    """Kind and name of a pod's group, of who made it, and of the workload at the top."""
    if pod.spec.scheduling_group is not None:
        yield PodGroup.__name__, pod.spec.scheduling_group.pod_group_name or ""
    if pod.controller is not None:
        yield pod.controller.kind or "", pod.controller.name or ""
        top = owners.workload_of(pod)
        yield top.kind, top.name


def _kind_called(name: str, among: Sequence[Pod], owners: Owners) -> str:
    """The kind of workload with this name that has pods here; of several the one that makes the others."""
    kinds = sorted(TEMPLATES, key=lambda kind: kind == "ReplicaSet")
    there = (kind for kind in kinds if any(_workload_name_of(owners, pod, kind, name) == name for pod in among))
    return next(there, "")


def _workload_name_of(owners: Owners, pod: Pod, kind: str, name: str) -> str:
    """The name of the workload of this kind that a pod belongs to, written as ``name`` is; nothing if there is none."""
    owner_name = next((owner for of, owner in _above(pod, owners) if is_kind(kind, of)), "")
    return f"{pod.namespace}/{owner_name}" if owner_name and "/" in name else owner_name


R_co = TypeVar("R_co", bound=Result, covariant=True)


@dataclass(frozen=True, kw_only=True)
class PodQuestion(PodOptions, Question[R_co]):
    """A question about selected pods, each once.

    One of ``pods`` that is the path of a file selects all its pods. Any other word selects pods by name, their own or
    that of their workload: of the ``files``, else of the snapshot, in any namespace if none is named. Without words
    those files are selected; without either, the pods that edits took their node from.
    """

    def load(self, scenario: Scenario, notes: Notes) -> ReadManifests:
        namespace = self.namespace or "default"
        own = read_manifests(scenario, self._files, notes, namespace=namespace)
        more = read_manifests(scenario, self._only_offered, notes, namespace=namespace)
        return ReadManifests(own.manifests, more.manifests, gaps=[*own.gaps, *more.gaps])

    def expand(self, scenario: LoadedScenario, scenarios: Sequence[LoadedScenario]) -> PreparedScenario:
        expanded = self._expand(scenario, self._files, scenario.manifests)
        more = self._expand(scenario, self._only_offered, scenario.read.supporting)
        prepared = PreparedScenario.from_loaded(scenario, expanded, beside=more)
        prepared = self.select(prepared, split_words(self.pods)[1], list(more.all_pods()))
        expanded.add(more)
        if not (self.pods or self.files or scenario.edited.waiting_pods or prepared.named_pods):
            raise self.nothing
        return prepared

    @abstractmethod
    def select(
        self, scenario: PreparedScenario, names: Sequence[str], choice: Sequence[PodToSchedule]
    ) -> PreparedScenario:
        """Set the pods of a scenario: those of its manifests, and those that are named, of manifests or of the
        snapshot.
        """

    def find_named(
        self, scenario: LoadedScenario, names: Sequence[str], choice: Sequence[PodToSchedule]
    ) -> list[PodToSchedule]:
        """The pods that are named, each once. Raises UsageError or InputError for a name that selects none."""
        if not names:
            return []
        there = [PodToSchedule(pod, scenario.snapshot.source) for pod in scenario.snapshot.objects.list_all(Pod)]
        owners, once = Owners(scenario.snapshot), dict[str, PodToSchedule]()
        for name in names:
            word = PodReference(name, self.namespace or "")
            try:
                pods = find_pods(word, (choice, there), owners)
            except UsageError:
                if hint := _hint_of_queue(word, scenario):
                    raise UsageError(f"{word.text} has no pods in the snapshot{hint}") from None
                raise
            for item in pods:
                once.setdefault(item.pod.key, item)
        return list(once.values())

    def select_pods(self, scenario: PreparedScenario) -> Sequence[PodToSchedule]:
        return scenario.pods_to_schedule

    def _expand(self, scenario: LoadedScenario, files: Files, manifests: Sequence[Manifest]) -> ExpandedManifests:
        require_pods(files, manifests, scenario.inputs.manifest_options, scenario.snapshot)
        return expand_manifests(
            scenario.snapshot,
            manifests,
            scenario.inputs.manifest_options,
            scenario.scheduler_options.kubernetes_version,
            gates=scenario.gates,
        )

    @property
    @abstractmethod
    def nothing(self) -> UsageError:
        """The error for an empty selection."""

    @property
    def _files(self) -> Files:
        return split_words(self.pods)[0] if self.pods else self.files

    @property
    def _only_offered(self) -> Files:
        return self.files if self.pods else ()


def _hint_of_queue(word: PodReference, scenario: LoadedScenario) -> str:
    """For a job without pods that Kueue holds: who says why."""
    for workload in scenario.snapshot.objects.list_all(KueueWorkload):
        for owner in workload.metadata.owner_references or ():
            if word.names(owner.kind or "", workload.namespace, owner.name or "") and workload.status.admission is None:
                reserved = [
                    condition.message
                    for condition in workload.status.conditions or ()
                    if condition.type == "QuotaReserved"
                ]
                why = f" ({reserved[0]})" if reserved and reserved[0] else ""
                return f": Kueue lets its workload {workload.key} wait{why}; kwhatif queue says for what"
    return ""


def split_words(words: Files) -> tuple[Files, list[str]]:
    """The words that are manifests, and those that are names."""
    names = [word for word in words if isinstance(word, str) and word != "-" and not exists(word)]
    return [word for word in words if word not in names], names


def find_pods(word: PodReference, where: Sequence[Sequence[PodToSchedule]], owners: Owners) -> list[PodToSchedule]:
    """The pods that a word selects, from the first of these lists that has any, with their workload if one was named.

    Raises UsageError or InputError if none has.
    """
    for among in where:
        meant = {id(pod) for pod in word.select((item.pod for item in among), owners)}
        if meant:
            mine = [item for item in among if id(item.pod) in meant]
            return [structs.replace(item, owner=word.text) for item in mine] if word.several else mine
    raise word.unknown([item.pod for among in where for item in among], owners)
