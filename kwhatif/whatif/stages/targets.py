"""Questions about single pods: which ones words mean, be it all those of manifests, or one by its name."""

from __future__ import annotations

import dataclasses
import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from kwhatif.api.core import Pod
from kwhatif.errors import UsageError
from kwhatif.results.parts import Result
from kwhatif.snapshot.load import load_manifests
from kwhatif.whatif.fidelity.ownership import Owners
from kwhatif.whatif.session import Asked
from kwhatif.whatif.stages.expansion import expanded, insist_on_pods
from kwhatif.whatif.stages.inputs import Files
from kwhatif.whatif.stages.pod_words import PodWord
from kwhatif.whatif.stages.question import Case, Question

R_co = TypeVar("R_co", bound=Result, covariant=True)


@dataclass(frozen=True)
class AboutPods(Question[R_co]):
    """The pods that are meant, each once.

    One of ``words`` that is the path of a file means its pods, one for each workload: the others are like it. Any other
    word means pods by a name, their own or that of their workload: of the files ``offered``, else of the snapshot, in
    any namespace if none is said.
    Without words those files are meant; without either, the pods that edits took their node from.
    """

    words: Files = ()
    offered: Files = ()
    namespace: str | None = None

    def load(self, case: Case) -> None:
        namespace = self.namespace or "default"
        case.manifests = load_manifests(self._files, namespace)
        case.aside = load_manifests(self.offered, namespace)

    def expand(self, case: Case) -> None:
        for files, manifests in ((self._files, case.manifests), (self.offered, case.aside)):
            insist_on_pods(files, manifests, case.inputs.reading)
        case.expanded, more = (
            expanded(case.snapshot, manifests, case.inputs.reading, case.engine.kubernetes_version)
            for manifests in (case.manifests, case.aside)
        )
        own, choice = list(case.expanded.asked()), list(more.asked())
        case.expanded.add(more)
        if self.words or self.offered:
            case.asked = self._meant(own, choice, case)
        else:
            case.asked = one_of_each(case.edited.asked)
            if not case.asked:
                raise self.nothing

    def pods(self, case: Case) -> list[Asked]:
        return case.asked

    @property
    @abstractmethod
    def nothing(self) -> UsageError:
        """The error for nobody to ask about."""

    @property
    def _files(self) -> Files:
        return split(self.words)[0]

    def _meant(self, own: Sequence[Asked], choice: Sequence[Asked], case: Case) -> list[Asked]:
        asked = one_of_each(own if self.words else choice)
        names = split(self.words)[1]
        if names:
            there = [Asked(pod, case.snapshot.source) for pod in case.snapshot.objects.of(Pod)]
            for name in names:
                asked += found(PodWord(name, self.namespace or ""), (choice, there), Owners(case.snapshot))
        once: dict[str, Asked] = {}
        for item in asked:
            once.setdefault(item.pod.key, item)
        return list(once.values())


def split(words: Files) -> tuple[Files, list[str]]:
    """The words that are manifests, and those that are names."""
    names = [word for word in words if isinstance(word, str) and word != "-" and not os.path.exists(word)]
    return [word for word in words if word not in names], names


def found(word: PodWord, where: Sequence[Sequence[Asked]], owners: Owners) -> list[Asked]:
    """The pods that a word means, of the first of these lists that has any. Those of a workload know whose they are.

    Raises UsageError or InputError if none has.
    """
    for among in where:
        meant = {id(pod) for pod in word.meant((item.pod for item in among), owners)}
        if meant:
            mine = [item for item in among if id(item.pod) in meant]
            return [dataclasses.replace(item, owner=word.text) for item in mine] if word.several else mine
    raise word.unknown([item.pod for among in where for item in among], owners)


def one_of_each(asked: Sequence[Asked]) -> list[Asked]:
    """All pods that stand for themselves, and the first of each workload."""
    seen: set[str] = set()
    first = []
    for item in asked:
        if not item.owner or item.owner not in seen:
            first.append(item)
        seen.add(item.owner)
    return first
