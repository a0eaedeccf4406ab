"""Questions about single pods: which ones words mean, be it all those of manifests, or one by its name."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from kwhatif.api.alike import did_you_mean
from kwhatif.api.core import Pod
from kwhatif.errors import InputError, UsageError
from kwhatif.results.parts import Result
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.files import called
from kwhatif.whatif.session import Asked
from kwhatif.whatif.stages.expansion import expanded, insist_on_pods
from kwhatif.whatif.stages.inputs import Files
from kwhatif.whatif.stages.question import Case, Question

R_co = TypeVar("R_co", bound=Result, covariant=True)

_FILE_SUFFIXES = (".yaml", ".yml", ".json", ".gz", ".zst")
_PREFIXES = ("pod/", "pods/", "po/")


@dataclass(frozen=True)
class AboutPods(Question[R_co]):
    """The pods that are meant, each once.

    One of ``words`` that is the path of a file means its pods, one for each workload: the others are like it. Any other
    word means one pod by its name: of the files ``offered``, else of the snapshot, in any namespace if none is said.
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
            case.asked = _one_of_each(case.edited.asked)
            if not case.asked:
                raise self.nothing

    def pods(self, case: Case) -> list[Asked]:
        return case.asked

    @property
    @abstractmethod
    def nothing(self) -> UsageError:
        """The error for nobody to ask about."""

    @property
    def _files(self) -> list[str | Mapping[str, Any]]:
        return [word for word in self.words if not isinstance(word, str) or word == "-" or os.path.exists(word)]

    def _meant(self, own: Sequence[Asked], choice: Sequence[Asked], case: Case) -> list[Asked]:
        asked = _one_of_each(own if self.words else choice)
        names = [word for word in self.words if isinstance(word, str) and word not in self._files]
        if names:
            there = [Asked(pod, case.snapshot.source) for pod in case.snapshot.objects.of(Pod)]
            for name in names:
                named = _named(name, choice, self.namespace) or _named(name, there, self.namespace)
                asked.append(named or _nobody(name, there))
        once: dict[str, Asked] = {}
        for item in asked:
            once.setdefault(item.pod.key, item)
        return list(once.values())


def _one_of_each(asked: Sequence[Asked]) -> list[Asked]:
    """All pods that stand for themselves, and the first of each workload."""
    seen: set[str] = set()
    first = []
    for item in asked:
        if not item.owner or item.owner not in seen:
            first.append(item)
        seen.add(item.owner)
    return first


def _parts(word: str) -> tuple[str, str]:
    """Namespace (or nothing) and name of ``NAME``, ``NAMESPACE/NAME``, ``pod/NAME`` and ``pod/NAMESPACE/NAME``."""
    prefix = next((prefix for prefix in _PREFIXES if word.startswith(prefix)), "")
    word = word.removeprefix(prefix)
    namespace, _, name = word.rpartition("/")
    return namespace, name


def _named(word: str, among: Sequence[Asked], namespace: str | None) -> Asked | None:
    """The pod of this name. One that names no namespace may be in any, if only one has such a pod."""
    wanted, name = _parts(word)
    found = {item.pod.namespace: item for item in among if item.pod.name == name}
    if wanted or namespace:
        return found.get(wanted or namespace or "")
    if "default" in found or len(found) == 1:
        return found.get("default") or next(iter(found.values()))
    if found:
        places = ", ".join(sorted(found))
        raise UsageError(f"pod {name} is in several namespaces ({places}): name one with -n or as NAMESPACE/NAME")
    return None


def _nobody(word: str, there: Sequence[Asked]) -> Asked:
    """Raises the error for a word that means nothing."""
    if word.endswith(_FILE_SUFFIXES) or word.startswith((".", "/")):
        raise InputError("no such file or directory", source=called(word))
    namespace, name = _parts(word)
    hint = did_you_mean(f"{namespace or 'default'}/{name}", [item.pod.key for item in there])
    raise UsageError(f"{word} is neither a file nor a pod of the snapshot{hint}")
