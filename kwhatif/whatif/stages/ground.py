"""What the worlds of a study have in common, as a value that travels to workers: a cluster, and who schedules there."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import msgspec

from kwhatif.admission.answer import Doubts
from kwhatif.api.quantity import plain_quantity
from kwhatif.errors import UsageError
from kwhatif.scheduling.driver import Options
from kwhatif.scheduling.setup import Setup
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.session import Asked, Session
from kwhatif.whatif.stages.question import Case


@dataclass(frozen=True, eq=False)
class Ground:
    """A case after all stages up to ``session``. Every world is a ``fork`` of it.

    What is sent is the objects: columns are made of them once a worker, which takes as long as sending columns would.
    ``plugin`` are the plugins from outside, which a worker looks for by itself.
    """

    snapshot: Snapshot
    setup: Setup
    covered: frozenset[str]
    doubts: Sequence[Doubts]
    asked: Sequence[Asked]
    others: Sequence[str]
    plugin: Sequence[Any]

    @classmethod
    def of(cls, case: Case) -> Ground:
        """The ground of a case. Raises UsageError where extenders are to be called, which a study would flood."""
        if case.engine.call_extenders:
            raise UsageError("--call-extenders: extenders are not called for many worlds")
        covered, doubts, plugin = case.edited.covered, case.expanded.doubts, case.engine.plugin or ()
        return cls(case.snapshot, case.setup, covered, doubts, case.asked, case.others, plugin)

    @cached_property
    def session(self) -> Session:
        """The cluster as columns, made once a process. It is to stay as it is. Raises InputError."""
        return Session(self.snapshot, self.setup, covered=self.covered, doubts=self.doubts)

    def fork(self, setup: Setup | None = None, **options: Unpack[Options]) -> Session:
        """A world of its own: the cluster as it is, with a scheduler process that has done nothing yet."""
        return self.session.fork(setup, **options)

    @cached_property
    def digest(self) -> str:
        """The same for the same cluster, scheduler and pods."""
        encode = msgspec.json.Encoder(enc_hook=plain_quantity, order="deterministic").encode
        digest = hashlib.sha256()
        for kind, objects in self.snapshot.by_kind().items():
            digest.update(kind.encode() + encode(objects))
        digest.update(encode([asked.pod for asked in self.asked]))
        digest.update(repr((self.setup.configuration, str(self.setup.features), self.setup.all_nodes)).encode())
        return digest.hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        state = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        # Classes from files have no name that another process could import them by.
        return state | {"setup": dataclasses.replace(self.setup, outside={}), "outside": bool(self.setup.outside)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        outside = state.pop("outside")
        self.__dict__.update(state)
        if outside:
            from kwhatif.framework.outside import load_outside

            self.setup.outside = load_outside(self.plugin)
