"""What results of several questions share: the base class, fidelity and gaps, and the map of a cluster."""

from __future__ import annotations

import shlex
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self

import msgspec

from kwhatif.results.amounts import format_count


class MappedNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node. ``room`` is what it has for pods, by the map's ``resources``; ``closed`` says why it takes no pods.

    ``there``: whether it exists, by state.
    """

    node: str
    pool: str
    zone: str
    room: tuple[int, ...]
    closed: str = ""
    taints: tuple[str, ...] = ()
    there: tuple[bool, ...]


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
    a resource like the others, of which each pod asks for one. A map that stands on a ``base``, whose rows of ``asks``
    come first, has only the pods that are not as there in every state, and names those that are ``gone`` in all.
    """

    states: tuple[str, ...]
    resources: tuple[str, ...]
    nodes: tuple[MappedNode, ...]
    asks: tuple[tuple[int, ...], ...]
    pods: tuple[MappedPod, ...]
    base: ClusterMap | None = None
    gone: tuple[str, ...] = ()


API_VERSION = "kwhatif.dev/v1"


class ResultStruct(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A part of a result."""


# Stands for the pods that a gap touches where nobody knows them: those of manifests that were not read.
INPUT = "<input>"


class Gap(ResultStruct, frozen=True, kw_only=True):
    """Something the answer depends on that is missing or not modelled, and the pods it touches.

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
        what = "other chart" if first.startswith("helm ") else "other kind"
        alike = f", and the like for {format_count(len(others), what)}" if others else ""
        return f"{self.effect}; closed by {first}{alike}"


VERSION_IS_GUESSED = "the snapshot does not say which Kubernetes it is of"
"""How the warning begins that the rules follow the kubelets."""

GUESSED_FROM = "guessed from kubelets"
"""What an answer says of it itself; one that does needs no warning."""


def notes_beside(text: str, notes: Iterable[str]) -> list[str]:
    """The notes that the text of an answer does not have already."""
    notes = list(notes)
    guesses = [note for note in notes if VERSION_IS_GUESSED in note]
    # Answers may be large, so that they are searched only where it matters.
    if not guesses or GUESSED_FROM not in " ".join(text.split()):
        return notes
    return [note for note in notes if note not in guesses]


class Fidelity(ResultStruct, frozen=True, kw_only=True):
    """What an answer is based on.

    ``rules`` is the Kubernetes minor whose rules were used, ``cluster`` the snapshot's own version, ``taken_at``
    when it was taken; either may be unknown. ``guessed_from`` is the kubelet's version that the rules follow, if any.
    ``age_seconds`` is how old that of a live cluster was. ``edits`` are what-if edits of it, in words.
    """

    rules: str
    cluster: str | None = None
    guessed_from: str | msgspec.UnsetType = msgspec.UNSET
    taken_at: str | None = None
    age_seconds: int | msgspec.UnsetType = msgspec.UNSET
    source: str = ""
    edits: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()

    @property
    def touching(self) -> tuple[Gap, ...]:
        """The gaps that touch one of the pods that were asked about."""
        return tuple(gap for gap in self.gaps if gap.pods)


class ResultContext:
    """What goes with an answer and is no part of it: it is neither printed as JSON nor compared.

    ``notes`` are what is worth knowing besides, ``command`` is the command that was answered without what is about its
    output, ``cluster_map`` the cluster that the answer is about, ``explanations`` why pods have no node, as reports of
    ``explain``, and ``excerpts`` what stands in manifests where findings point. The last three are there for a page.
    """

    def __init__(
        self,
        notes: tuple[str, ...] = (),
        command: str = "",
        cluster_map: ClusterMap | None = None,
        explanations: tuple[ResultStruct, ...] = (),
        excerpts: Mapping[Any, Any] = MappingProxyType({}),
    ) -> None:
        self.notes, self.command, self.cluster_map = notes, command, cluster_map
        self.explanations, self.excerpts = explanations, excerpts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResultContext)

    __hash__ = None  # type: ignore[assignment]


_NO_CONTEXT = ResultContext()


class Result(ResultStruct, frozen=True, kw_only=True):
    """An answer, and its ``context`` once a question was asked."""

    rows: ClassVar[str] = ""
    """The field that ``to_dicts`` takes apart."""

    schema: ClassVar[str] = ""
    """The name of its JSON Schema; an answer without one is printed in no format for programs."""

    about: ClassVar[str] = ""
    """What the schema says that it is."""

    view: ClassVar[str] = ""
    """How it is shown: the ``View`` as ``module:name`` below the commands."""

    api_version: str = API_VERSION
    context: ResultContext | msgspec.UnsetType = msgspec.UNSET

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
        return tuple(fidelity for fidelity in (getattr(self, "fidelity", None),) if fidelity is not None)

    def with_refusals(self, **refused: Sequence[Any]) -> Self:
        """The answer with the API server's ``refusals`` and the pods that controllers ``failed`` to make, if it has
        these fields.
        """
        return self

    def with_context(self, **fields: Any) -> Self:
        """The answer with more of its context."""
        return msgspec.structs.replace(self, context=ResultContext(**{**vars(self._context), **fields}))

    @property
    def _context(self) -> ResultContext:
        return _NO_CONTEXT if isinstance(self.context, msgspec.UnsetType) else self.context

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing besides, as a command has it on standard error: ``note: ...``, ``warning: ...``."""
        return self._context.notes

    @property
    def command(self) -> str:
        """The command that was answered, without what is about its output, if it was one."""
        return self._context.command

    def explain_command_of(self, pod: str) -> str:
        """The command that explains a pod in the state in which it was tried; nothing where no command was asked."""
        return f"{self.command} --explain {shlex.quote(pod)}" if self.command and pod else ""

    @property
    def cluster_map(self) -> ClusterMap | None:
        """The cluster that this is about, if a map was asked for."""
        return self._context.cluster_map

    @property
    def explanations(self) -> tuple[ResultStruct, ...]:
        """Why pods have no node, as reports of ``explain``, where a page is to show it."""
        return self._context.explanations

    def to_dict(self) -> dict[str, Any]:
        """The whole answer as plain values, with the keys of ``-o json``."""
        fields: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(self, context=msgspec.UNSET))
        return fields

    def to_dicts(self) -> list[dict[str, Any]]:
        """The main rows of the answer as plain values: pods, nodes, differences or findings."""
        rows: list[dict[str, Any]] = msgspec.to_builtins(list(getattr(self, self.rows)))
        return rows


class ManifestResult(Result, frozen=True, kw_only=True):
    """An answer about pods of manifests. Each has the fields ``refusals`` and ``failed``, for those never created."""

    def with_refusals(self, **refused: Sequence[Any]) -> Self:
        return msgspec.structs.replace(self, **refused)
