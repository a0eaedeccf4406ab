"""Which kinds a trimmed snapshot still has to cover, though nothing is left of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from kwhatif.api.kinds import Objects
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.fidelity.assess import assess
from kwhatif.whatif.place.place import placed
from kwhatif.whatif.session import Asked, Session


def without_empty_kinds(snapshot: Snapshot, session: Session, asked: Sequence[Asked]) -> Snapshot:
    """The snapshot without the lists that are empty, but for those that an answer about these pods would miss.

    What is not covered cannot be referred to in vain: a pod in a Namespace that was cut away is no mistake then.
    """
    # They wait in the snapshot by now: nobody asks the API server about them any more.
    asked = [dataclasses.replace(item, again=True) for item in asked]
    # What will be in the file is what it will be trusted to know.
    session = session.anew(snapshot, covered=snapshot.covered())
    run = placed(session, asked)
    covered = snapshot.objects.covered()
    gaps = assess(run.basis).touching
    for kind in sorted(covered):
        if not snapshot.objects.called(kind):
            session.covered = covered - {kind}
            if assess(run.basis).touching == gaps:
                covered = session.covered
    kept = {kind: objs for kind, objs in snapshot.objects.by_kind().items() if kind in covered}
    return dataclasses.replace(snapshot, objects=Objects(kept))
