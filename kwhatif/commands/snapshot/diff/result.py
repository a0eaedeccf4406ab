"""Results of ``snapshot diff``."""

from __future__ import annotations

from typing import Any, ClassVar

from kwhatif.results.base import Result, ResultStruct


class FieldChange(ResultStruct, frozen=True, kw_only=True):
    """A field that has another value; None where it is absent."""

    path: str
    before: Any = None
    after: Any = None


class ObjectChange(ResultStruct, frozen=True, kw_only=True):
    """An object that is new, gone or different.

    ``change`` is ``added``, ``removed`` or ``changed``; of pods also ``bound`` (it got its node), ``moved`` (a pod of
    this name is on another one) or ``finished``. ``note`` says where a pod runs or ran.
    """

    kind: str
    object: str
    change: str
    note: str = ""
    fields: tuple[FieldChange, ...] = ()


class Replaced(ResultStruct, frozen=True, kw_only=True):
    """Pods whose controller made others of the same template in their place; ``moved`` of them on other nodes."""

    controller: str
    pods: int
    moved: int


class DiffResult(Result, frozen=True, kw_only=True):
    """What changed that scheduling can see. ``only_before`` and ``only_after`` are kinds that one side does not cover.

    ``totals`` counts changes by kind: {"Node": {"added": 1}}.
    """

    schema: ClassVar[str] = "snapshot-diff"
    about: ClassVar[str] = "What changed between two snapshots, by kwhatif snapshot diff"
    view: ClassVar[str] = "snapshot.diff.text:VIEW"

    kind: str = "SnapshotDiff"
    before: str
    after: str
    totals: dict[str, dict[str, int]]
    changes: tuple[ObjectChange, ...]
    replaced: tuple[Replaced, ...] = ()
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    version_before: str | None = None
    version_after: str | None = None

    @property
    def exit_code(self) -> int:
        return 1 if self.changes or self.replaced else 0
