"""What a word that is no file means: one pod, or the pods of a workload, by name, as kubectl has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kwhatif.api.alike import did_you_mean
from kwhatif.api.core import Pod
from kwhatif.api.kinds import TEMPLATES, called_kind, is_kind
from kwhatif.errors import InputError, UsageError
from kwhatif.snapshot.read.files import called
from kwhatif.whatif.fidelity.ownership import Owners

FILE_SUFFIXES = (".yaml", ".yml", ".json", ".gz", ".zst")


@dataclass(frozen=True)
class PodWord:
    """``NAME``, ``NAMESPACE/NAME``, ``KIND/NAME`` or ``KIND/NAMESPACE/NAME``; the kind is ``pod`` or a workload's.

    ``namespace`` is that of words which say none; empty is any. Where a word may mean either, a workload goes before a
    pod in a namespace that is called like the kind.
    """

    text: str
    namespace: str = ""

    def means(self, pod: Pod, owners: Owners) -> bool:
        """Whether it may mean this pod."""
        return any(_is(pod, reading, owners) for reading in self._readings())

    def meant(self, among: Iterable[Pod], owners: Owners) -> list[Pod]:
        """The pods that it means of those there are. Raises UsageError if they are in several namespaces."""
        there = list(among)
        for reading in self._readings():
            found = [pod for pod in there if _is(pod, reading, owners)]
            places = {pod.namespace for pod in found}
            if len(places) > 1 and "default" not in places:
                what = "pod " + reading[2] if is_kind(reading[0], "Pod") else self.text
                named = f"{'' if len(self.text.split('/')) == 1 else reading[0] + '/'}NAMESPACE/NAME"
                places_ = ", ".join(sorted(places))
                raise UsageError(f"{what} is in several namespaces ({places_}): name one with -n or as {named}")
            if found:
                return [pod for pod in found if len(places) == 1 or pod.namespace == "default"]
        return []

    @property
    def several(self) -> bool:
        """Whether it says of which kind its pods are, and that kind makes several."""
        kind, slash, _ = self.text.partition("/")
        return bool(slash) and any(is_kind(kind, each) for each in TEMPLATES)

    def unknown(self, among: Sequence[Pod], owners: Owners, where: str = "the snapshot") -> InputError | UsageError:
        """The error for a word that means nothing."""
        if self.text.endswith(FILE_SUFFIXES) or self.text.startswith((".", "/")):
            return InputError("no such file or directory", source=called(self.text))
        if self.several:
            kind, _, name = self.text.partition("/")
            known = {_spelt(owners, pod, kind, name) for pod in among} - {""}
            return UsageError(f"{self.text} has no pods in {where}{did_you_mean(name, known)}")
        kind, slash, rest = self.text.partition("/")
        name = self.text.removeprefix("pod/")
        hint = did_you_mean(name, [pod.key if "/" in name else pod.name for pod in among])
        if not hint and slash:
            kinds = (each for known in ("Pod", *TEMPLATES) for each in called_kind(known))
            hint = did_you_mean(kind, kinds).replace("?", f"/{rest}?")
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
    return any(each == name and is_kind(kind, of) for of, each in _above(pod, owners))


def _above(pod: Pod, owners: Owners) -> Iterator[tuple[str, str]]:
    """Kind and name of who made a pod, and of the workload at the top."""
    if pod.controller is not None:
        yield pod.controller.kind or "", pod.controller.name or ""
        top = owners.workload_of(pod)
        yield top.kind, top.name


def _spelt(owners: Owners, pod: Pod, kind: str, name: str) -> str:
    """The name of the workload of this kind that a pod belongs to, written as ``name`` is; nothing if there is none."""
    found = next((each for of, each in _above(pod, owners) if is_kind(kind, of)), "")
    return f"{pod.namespace}/{found}" if found and "/" in name else found
