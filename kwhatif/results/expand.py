"""The pods that manifests become."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from kwhatif.results.base import Gap, Result, ResultStruct
from kwhatif.results.place import FailedCreate, Refusal, RequestWarning, RolloutPlan


class ChangeRecord(ResultStruct, frozen=True):
    """A field that a step of admission filled in or altered: its ``path`` in the object, and the change in words."""

    step: str
    path: str
    text: str


class ExpandedPod(ResultStruct, frozen=True, kw_only=True):
    """A pod as it would be stored, who made it, where that stands, and the trail of what was done to it."""

    pod: str
    owner: str
    origin: str
    changes: tuple[ChangeRecord, ...]
    object: dict[str, Any]


class ExpandResult(Result, frozen=True, kw_only=True):
    """What manifests become. ``unknown`` counts unknown kinds; ``not_modelled`` says what was left out.

    ``warnings`` are the API server's, also about what it refuses.

    ``edits`` are what-if edits of the cluster, in words, ``gaps`` what it depends on and is missing. The pods of an
    update are those of a rollout in which every new pod becomes ready.
    """

    rows: ClassVar[str] = "pods"
    schema: ClassVar[str] = "expand-result"
    about: ClassVar[str] = "What manifests become, by kwhatif expand"
    view: ClassVar[str] = "expand.text:VIEW"

    kind: str = "ExpandResult"
    pods: tuple[ExpandedPod, ...]
    claims: tuple[dict[str, Any], ...] = ()
    refusals: tuple[Refusal, ...] = ()
    warnings: tuple[RequestWarning, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    rollouts: tuple[RolloutPlan, ...] = ()
    unknown: dict[str, int] = msgspec.field(default_factory=dict)
    not_modelled: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()

    @property
    def exit_code(self) -> int:
        return 1 if self.refusals or self.failed or any(rollout.unfinished for rollout in self.rollouts) else 0
