"""What the worlds of a study have in common, as a value that travels to workers: a cluster, and who schedules there."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Unpack

import msgspec

from kwhatif.api.quantity import plain_quantity
from kwhatif.errors import UsageError
from kwhatif.scheduling.driver import Options
from kwhatif.scheduling.setup import Setup
from kwhatif.whatif.expand.expand import Expanded
from kwhatif.whatif.session import Session
from kwhatif.whatif.stages.inputs import Engine, Inputs
from kwhatif.whatif.stages.question import Case


@dataclass(frozen=True, eq=False)
class Ground:
    """A case after all stages up to ``session``, without what only those need. Every world is a ``fork`` of it.

    What is sent is the objects: columns are made of them once a worker, which takes as long as sending columns would.
    Plugins from outside are looked for by each worker.
    """

    case: Case

    @classmethod
    def of(cls, case: Case) -> Ground:
        """The ground of a case. Raises UsageError where extenders are to be called, which a study would flood."""
        if case.engine.call_extenders:
            raise UsageError("--call-extenders: extenders are not called for many worlds")
        bare = Case(Inputs(), Engine(plugin=case.engine.plugin))
        bare.edited, bare.setup, bare.asked, bare.others = case.edited, case.setup, case.asked, case.others
        bare.expanded = Expanded(doubts=case.expanded.doubts)
        return cls(bare)

    @cached_property
    def session(self) -> Session:
        """The cluster as columns, made once a process. It is to stay as it is. Raises InputError."""
        return self.case.new_session()

    def fork(self, setup: Setup | None = None, **options: Unpack[Options]) -> Session:
        """A world of its own: the cluster as it is, with a scheduler process that has done nothing yet."""
        return self.session.fork(setup, **options)

    @cached_property
    def digest(self) -> str:
        """The same for the same cluster, scheduler and pods."""
        encode = msgspec.json.Encoder(enc_hook=plain_quantity, order="deterministic").encode
        digest = hashlib.sha256()
        for kind, objects in self.case.snapshot.by_kind().items():
            digest.update(kind.encode() + encode(objects))
        digest.update(encode([asked.pod for asked in self.case.asked]))
        setup = self.case.setup
        digest.update(repr((setup.configuration, str(setup.features), setup.all_nodes)).encode())
        return digest.hexdigest()

    def __getstate__(self) -> tuple[Case, bool]:
        # Classes from files have no name that another process could import them by.
        bare, outside = copy.copy(self.case), bool(self.case.setup.outside)
        bare.setup = dataclasses.replace(bare.setup, outside={})
        return bare, outside

    def __setstate__(self, state: tuple[Case, bool]) -> None:
        case, outside = state
        if outside:
            from kwhatif.framework.outside import load_outside

            case.setup.outside = load_outside(case.engine.plugin or ())
        self.__dict__.update({"case": case})
