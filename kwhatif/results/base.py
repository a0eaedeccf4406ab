"""What results of several questions share: the base class, fidelity and gaps, and the map of a cluster."""

from __future__ import annotations

import shlex
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import msgspec

from kwhatif.results.amounts import format_count


class MappedNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node. ``room`` is what it has for pods, by the map's ``resources``; ``closed`` says why it takes no pods."""

    node: str
    pool: str
    zone: str
    room: tuple[int, ...]
    closed: str = ""
    taints: tuple[str, ...] = ()


class MappedPod(msgspec.Struct, frozen=True, kw_only=True):
    """One pod. ``asks`` is its row among the map's, and ``at`` the place of its node among the nodes, by state.

    -1 stands for no node, or for a pod that is not there.
    """

    pod: str
    asks: int
    at: tuple[int, ...]


class ClusterMap(msgspec.Struct, frozen=True, kw_only=True):
    """Who is where in each of the ``states`` (``before`` and ``after``, ``A`` and ``B``), or in the only one.

    ``asks`` are the distinct requests of pods, by resource: cpu in millicores, all else in bytes or pieces. ``pods`` is
    a resource like the others, of which each pod asks for one.
    """

    states: tuple[str, ...]
    resources: tuple[str, ...]
    nodes: tuple[MappedNode, ...]
    asks: tuple[tuple[int, ...], ...]
    pods: tuple[MappedPod, ...]


API_VERSION = "kwhatif.dev/v1"


class ResultStruct(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A part of a result."""


class Gap(ResultStruct, frozen=True, kw_only=True):
    """Something the answer stands on that is missing or not modelled, and the pods it touches.

    ``effect`` says what was assumed instead; ``closed_by`` are commands whose output, read besides the snapshot, would
    tell.
    """

    what: str
    effect: str
    pods: tuple[str, ...] = ()
    closed_by: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.what}: {self.consequence}"

    @property
    def consequence(self) -> str:
        """What was assumed, and how to know better; of several commands the first."""
        if not self.closed_by:
            return self.effect
        first, *others = self.closed_by
        alike = f", and the like for {format_count(len(others), 'other kind')}" if others else ""
        return f"{self.effect}; closed by {first}{alike}"


class Fidelity(ResultStruct, frozen=True, kw_only=True):
    """What an answer stands on.

    ``rules`` is the Kubernetes minor whose rules were used, ``cluster`` the snapshot's own version, ``taken_at``
    when it was taken; either may be unknown. ``age_seconds`` is how old that of a live cluster was. ``edits`` are
    what-if edits of it, in words.
    """

    rules: str
    cluster: str | None = None
    taken_at: str | None = None
    age_seconds: int | msgspec.UnsetType = msgspec.UNSET
    source: str = ""
    edits: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()

    @property
    def touching(self) -> tuple[Gap, ...]:
        """The gaps that touch one of the pods that were asked about."""
        return tuple(gap for gap in self.gaps if gap.pods)


class Result(ResultStruct, frozen=True, kw_only=True, dict=True):
    """An answer. ``notes`` are beside it, and no part of what it is printed or compared by."""

    rows: ClassVar[str] = ""
    """The field that ``to_dicts`` takes apart."""

    api_version: str = API_VERSION

    @property
    @abstractmethod
    def exit_code(self) -> int:
        """0 the answer is good, 1 it is "no"."""

    @property
    def lacks_nodes(self) -> bool:
        """Whether pods were asked about for which no scheduler found a node."""
        return False

    @property
    def fidelities(self) -> tuple[Fidelity, ...]:
        """The fidelity of all that was asked for this answer."""
        return tuple(found for found in (getattr(self, "fidelity", None),) if found is not None)

    def with_refusals(self, **refused: Sequence[Any]) -> Self:
        """The answer with the API server's ``refusals`` and the pods that controllers ``failed`` to make, if it has
        these fields.
        """
        return self

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes and warnings beside the answer, as a command prints them on standard error: ``note: ...``, ``warning:
        ...``.
        """
        return tuple(self.__dict__.get("notes", ()))

    def set_notes(self, notes: Iterable[str]) -> None:
        """Attach notes to this value."""
        self.__dict__["notes"] = tuple(notes)

    @property
    def command(self) -> str:
        """The command that was answered, without output options; no part of the answer."""
        return str(self.__dict__.get("again", ""))

    def set_command(self, command: str) -> None:
        """Attach the command to this value."""
        self.__dict__["again"] = command

    def explain_command_of(self, pod: str) -> str:
        """The command that explains a pod in the state in which it was tried; nothing where no command was asked."""
        return f"{self.command} --explain {shlex.quote(pod)}" if self.command and pod else ""

    @property
    def cluster_map(self) -> ClusterMap | None:
        """A map of the cluster, if one was requested; no part of the answer."""
        found: ClusterMap | None = self.__dict__.get("cluster_map")
        return found

    def set_cluster_map(self, found: ClusterMap) -> None:
        """Attach a map to this value."""
        self.__dict__["cluster_map"] = found

    @property
    def explanations(self) -> tuple[ResultStruct, ...]:
        """Reports of ``explain`` about pods without a node, for a page; no part of the answer."""
        return tuple(self.__dict__.get("explained", ()))

    def set_explanations(self, reports: Iterable[ResultStruct]) -> None:
        """Attach explanations to this value."""
        self.__dict__["explained"] = tuple(reports)

    def to_dict(self) -> dict[str, Any]:
        """The whole answer as plain values, with the keys of ``-o json``."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found

    def to_dicts(self) -> list[dict[str, Any]]:
        """The main rows of the answer as plain values: pods, nodes, differences or findings."""
        rows: list[dict[str, Any]] = msgspec.to_builtins(list(getattr(self, self.rows)))
        return rows


class ManifestResult(Result, frozen=True, kw_only=True):
    """An answer about pods of manifests; some may never have come to be, as its ``refusals`` and ``failed`` say."""

    def with_refusals(self, **refused: Sequence[Any]) -> Self:
        return msgspec.structs.replace(self, **refused)
