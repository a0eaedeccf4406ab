"""Which pods the words of ``kwhatif explain`` mean: all those of manifests, or single ones by name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches

from kwhatif.api.core import Pod
from kwhatif.cli.inputs import no_pods
from kwhatif.errors import InputError, UsageError
from kwhatif.snapshot.files import called
from kwhatif.snapshot.load import Manifest, load_manifests
from kwhatif.snapshot.model import Snapshot
from kwhatif.whatif.session import Asked, asked_pods

__all__ = ["targets"]

_FILE_SUFFIXES = (".yaml", ".yml", ".json", ".gz", ".zst")
_PREFIXES = ("pod/", "pods/", "po/")


def targets(
    words: Sequence[str], offered: Sequence[str], snapshot: Snapshot, namespace: str | None
) -> tuple[list[Asked], list[Manifest]]:
    """The pods that are meant, each once, and the other objects of all the manifests.

    A word that is the path of a file means its pods, any other word one pod by its name: of the files
    ``offered``, else of the snapshot. Without words all pods of the files offered are meant.
    """
    files = [word for word in words if word == "-" or os.path.exists(word)]
    asked, others = _read(files, namespace, snapshot)
    choice, more = _read(offered, namespace, snapshot)
    if not words:
        asked = choice
    names = [word for word in words if word not in files]
    if names:
        there = [Asked(pod, snapshot.source) for pod in snapshot.objects.of(Pod)]
        for name in names:
            asked.append(_named(name, choice, namespace) or _named(name, there, namespace) or _nobody(name, there))
    once: dict[str, Asked] = {}
    for item in asked:
        once.setdefault(item.pod.key, item)
    return list(once.values()), [*others, *more]


def _read(files: Sequence[str], namespace: str | None, snapshot: Snapshot) -> tuple[list[Asked], list[Manifest]]:
    if not files:
        return [], []
    manifests = load_manifests(files, namespace or "default")
    asked, others = asked_pods(manifests, snapshot)
    if not asked:
        raise no_pods(files, manifests)
    return asked, others


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
    alike = get_close_matches(f"{namespace or 'default'}/{name}", [item.pod.key for item in there], cutoff=0.7)
    hint = f"; there is {', '.join(alike)}" if alike else ""
    raise UsageError(f"{word} is neither a file nor a pod of the snapshot{hint}")
