"""What is asked, as values: where the cluster and the manifests are, and which scheduler decides.

A live cluster as what a question is asked of: it is read when its turn comes.

What is worth knowing but no part of an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from kwhatif.bounds import PODS

if TYPE_CHECKING:
    from kwhatif.simulation.edits.kind import ParsedEdit
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.snapshot.live.listing import Progress
    from kwhatif.snapshot.live.live_cluster import Connection


Files = Sequence[str | Mapping[str, Any]]
"""Manifests: paths of files and directories, ``-`` for standard input, or objects as plain values."""

Source: TypeAlias = "Sequence[str] | Snapshot | Callable[[Notes], Snapshot]"
"""A cluster: the files that make up a snapshot, a snapshot, or who takes one of a live cluster when its turn comes."""

NO_CLUSTER = (
    "name the cluster: with --snapshot FILE, in KWHATIF_SNAPSHOT, as 'snapshot' in .kwhatif.yaml, or take the live one "
    "with --live or by asking as kubectl whatif"
)


class Edits(Protocol):
    """What-if edits: files of them, and those that can be parsed only with the ``names`` of the nodes there are."""

    @property
    def edits(self) -> Sequence[str] | None: ...

    def parse_edits(self, names: Collection[str]) -> Iterable[ParsedEdit]: ...


PROVISION_SECONDS = 120.0
"""Seconds that a new node takes to come up, unless somebody says otherwise."""


@dataclass(frozen=True)
class ManifestOptions:
    """How manifests are read and what the API server makes of them.

    ``verb`` is how they are sent: one of ``admission.sent.VERBS``. No more than ``max_pods`` are made, of edits, too.
    """

    templates: Sequence[str] | None = None
    admission_plugins: Sequence[str] | None = None
    ignore_unknown: bool = False
    verb: str | None = None
    max_pods: int = PODS
    api_resources: str = ""
    """A file of what the cluster's API server serves."""
    exclude: Sequence[str] | None = None
    """Patterns of files and directories that are left out of directories."""
    variables: Sequence[str] | None = None
    """What Flux substitutes, as ``NAME=VALUE``."""
    render: str = "never"
    """Whether kustomizations of directories are built: ``never``, ``auto`` or ``always``."""


@dataclass(frozen=True)
class SchedulerOptions:
    """Which scheduler decides, and how.

    ``policy`` is a file, a KubeSchedulerConfiguration as plain values, or ``default`` for kube-scheduler's own; None is
    the cluster's, if the snapshot has it. ``plugin`` are classes, or name them as ``--plugin`` does.
    """

    policy: str | Mapping[str, Any] | None = None
    kubernetes_version: str | None = None
    feature_gates: Sequence[str] | None = None
    all_nodes: bool = False
    plugin: Sequence[Any] | None = None
    skip_unknown_plugins: bool = False
    call_extenders: bool = False
    call_extender_bind: bool = False
    strict: bool = False


@dataclass(frozen=True)
class Inputs:
    """Where the cluster and the manifests are. A snapshot that is given as an object stays as it is.

    ``namespace`` is that of manifests which name none; the age of the snapshot is that at ``now``, if not by the clock.
    ``mapped``: the answer comes with what a page draws: a map of the cluster, lines of manifests. ``autoscale`` are
    documents of autoscalers that help pods without a node; what they add is there ``provision`` seconds later.
    """

    snapshot: Source = ()
    manifests: Files = ()
    namespace: str = "default"
    edits: Edits | None = None
    manifest_options: ManifestOptions = ManifestOptions()
    now: datetime | None = None
    with_map: bool = False
    autoscale: Sequence[str] = ()
    provision: float = PROVISION_SECONDS


@dataclass(frozen=True)
class LiveSource:
    """A cluster and who asks it. What is known of it may be ``max_age`` seconds old.

    ``progress`` and ``tell`` hear how far reading it has come, and what is worth a word meanwhile.
    """

    connection: Connection
    max_age: float
    progress: Progress = lambda kind, count, total: None
    tell: Callable[[str], None] = lambda text: None

    def __call__(self, notes: Notes) -> Snapshot:
        """Read the cluster, unless it was a moment ago. Raises ClusterError and InputError."""
        from kwhatif.snapshot.live_cache import cached_snapshot

        snapshot, told = cached_snapshot(self.connection, self.max_age, progress=self.progress, tell=self.tell)
        for text in told:
            notes.note(text)
        return snapshot


class Notes:
    """Texts such as ``note: the snapshot is 3 days old`` in the order in which they came up, each once."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}

    def note(self, text: str) -> None:
        """Something to know."""
        self._texts[f"note: {text}"] = None

    def warn(self, text: str) -> None:
        """Something that may make the answer other than meant."""
        self._texts[f"warning: {text}"] = None

    def add(self, texts: Iterable[str]) -> None:
        """Texts that begin with what they are."""
        self._texts.update(dict.fromkeys(texts))

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)
