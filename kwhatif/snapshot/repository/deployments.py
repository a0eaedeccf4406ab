"""What an object of Argo CD or Flux deploys from the repository that it is in."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kwhatif.api.objects import section
from kwhatif.snapshot.read.objects import Item, Origin
from kwhatif.snapshot.repository.chart_library import ChartLibrary, ChartReference, PulledChart
from kwhatif.snapshot.repository.charts import ChartRelease
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.substitutions import NO_VARIABLES, EncryptedValue, Variables


@dataclass(frozen=True)
class Deployment:
    """A directory that an ``owner`` (``Application argocd/web``) deploys, and how.

    ``namespace`` is for objects that name none or, if it ``replaces_namespaces``, for all. ``variables`` are those that
    Flux puts in place of ``${NAME}``. ``overlay`` has the fields of a kustomization that are laid over the directory's
    own. With a ``release`` the directory is a chart. Files of directories below count only if ``is_recursive``;
    ``include`` and ``exclude`` are patterns of names. ``lost`` names what is asked for and not done here.
    ``restricted`` kustomizations read no files but those in their directories, as kubectl has it and Flux has not.
    ``settings`` are hidden files that say how it is deployed. ``kept_because`` is why objects stay in the cluster that
    git has no more; empty where they go. ``assumed`` is the source that is taken for this repository, though no file
    says so.
    """

    owner: str
    source: Origin
    path: str
    namespace: str = ""
    replaces_namespaces: bool = False
    is_recursive: bool = True
    variables: Variables = NO_VARIABLES
    overlay: Mapping[str, Any] = field(default_factory=dict)
    release: ChartRelease | None = None
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    lost: Sequence[str] = ()
    restricted: bool = True
    settings: Sequence[str] = ()
    kept_because: str = ""
    pulled: PulledChart | None = None
    assumed: str = ""


@dataclass(frozen=True)
class NotFollowed:
    """Why what an object deploys is not known: ``reason`` stands in brackets behind the number of such objects. It may
    be a ``chart`` that nobody has pulled, or values that are ``encrypted``. ``problem`` is what is wrong with this one.
    """

    reason: str
    chart: ChartReference | None = None
    encrypted: Sequence[EncryptedValue] = ()
    problem: str = ""


Deployed = Sequence[Deployment | NotFollowed]


def absent_chart(reference: ChartReference, library: ChartLibrary) -> NotFollowed:
    """That a chart is somewhere else, or in an archive that is not read."""
    refusal = library.refusal_of(reference)
    return NotFollowed(refusal) if refusal else NotFollowed("charts that are not here", reference)


NOT_HERE = NotFollowed("not in this repository")
NO_VALUES = NotFollowed("values of files that are not there")


def owner_of(item: Item, value: Mapping[str, Any]) -> str:
    """``Kustomization flux-system/apps``."""
    metadata = section(value, "metadata")
    names = [str(metadata[key]) for key in ("namespace", "name") if metadata.get(key)]
    return f"{item.kind} {'/'.join(names)}"


def is_here(tree: FileTree, url: str) -> bool:
    """Whether a URL may be that of the tree's repository.

    Mirrors, forks and other protocols differ in all but the last part of the URL, so only that is compared. If the
    tree's own URL is unknown, any URL matches.
    """
    own, other = repository_of(tree.url), repository_of(url)
    return not own or not other or own == other


def repository_of(url: str) -> str:
    """The name of a URL's repository."""
    return re.split(r"[/:]", url.rstrip("/"))[-1].removesuffix(".git").lower()


def existing_path(tree: FileTree, path: str) -> str:
    """Where a directory of the repository is in a tree; empty if there is none."""
    if not path or "${" in path:
        return ""
    path_at_top = tree.at_top(os.path.normpath(path.lstrip("/")))
    return path_at_top if path_at_top and tree.is_folder(path_at_top) else ""
