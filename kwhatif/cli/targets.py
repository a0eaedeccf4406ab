"""Which pods the words of ``kwhatif explain`` mean: all those of manifests, or single ones by name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches

from kwhatif.api.core import Pod
from kwhatif.cli.inputs import expanded_from
from kwhatif.cli.options import InputOptions
from kwhatif.errors import InputError, UsageError
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.read.files import called
from kwhatif.whatif.expand.expand import Expanded
from kwhatif.whatif.session import Asked

__all__ = ["one_of_each", "targets"]

_FILE_SUFFIXES = (".yaml", ".yml", ".json", ".gz", ".zst")
_PREFIXES = ("pod/", "pods/", "po/")


def targets(
    words: Sequence[str],
    offered: Sequence[str],
    snapshot: Snapshot,
    namespace: str | None,
    options: InputOptions,
) -> tuple[list[Asked], Expanded]:
    """The pods that are meant, each once, and all that came of the manifests.

    A word that is the path of a file means its pods, one for each workload: the others are like it. Any other word
    means one pod by its name: of the files ``offered``, else of the snapshot. Without words those files are meant.
    """
    files = [word for word in words if word == "-" or os.path.exists(word)]
    expanded, more = (expanded_from(paths, namespace or "default", snapshot, options) for paths in (files, offered))
    asked, choice = list(expanded.asked()), list(more.asked())
    expanded.add(more)
    asked = one_of_each(asked if words else choice)
    names = [word for word in words if word not in files]
    if names:
        there = [Asked(pod, snapshot.source) for pod in snapshot.objects.of(Pod)]
        for name in names:
            asked.append(_named(name, choice, namespace) or _named(name, there, namespace) or _nobody(name, there))
    once: dict[str, Asked] = {}
    for item in asked:
        once.setdefault(item.pod.key, item)
    return list(once.values()), expanded


def one_of_each(asked: Sequence[Asked]) -> list[Asked]:
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
    alike = get_close_matches(f"{namespace or 'default'}/{name}", [item.pod.key for item in there], cutoff=0.7)
    hint = f"; there is {', '.join(alike)}" if alike else ""
    raise UsageError(f"{word} is neither a file nor a pod of the snapshot{hint}")
