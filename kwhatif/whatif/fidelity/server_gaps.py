"""What an answer lacks since nobody here can tell what the API server, or a controller, would have done.

``assess.py`` tells of the kinds that plugins read; here are those that admission and the controllers look up, and the
webhooks and policies that would have been asked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from kwhatif.admission.answer import Doubt, Doubts
from kwhatif.api.kinds import TEMPLATES
from kwhatif.results.parts import Gap
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.expand.expand import Rollout
from kwhatif.whatif.fidelity.closing import closed_by
from kwhatif.whatif.session import Asked

Touches = Callable[[Asked], bool]


def _always(item: Asked) -> bool:
    return True


def _has_account(item: Asked) -> bool:
    """Whether the pod runs as another account than the one that every namespace has."""
    return item.account not in ("", "default")


def _has_runtime_class(item: Asked) -> bool:
    return bool(item.pod.spec.runtime_class_name)


def _has_claim_template(item: Asked) -> bool:
    return any(claim.resource_claim_template_name for claim in item.pod.spec.resource_claims or ())


def _of_cron_job(item: Asked) -> bool:
    return item.owner.startswith("CronJob ")


_POLICY = "what a policy would set, refuse or warn of is not known"
_WEBHOOK = "which webhooks would be asked is not known"

LOOKED_UP: dict[str, tuple[Touches, str]] = {
    "CronJob": (_of_cron_job, "one that is in the cluster is taken to be new, and to have a run"),
    "LimitRange": (
        _always,
        "limits and requests by default are not filled in, and nothing is refused for its size",
    ),
    **{
        f"{verb}AdmissionPolicy{binding}": (_always, _POLICY)
        for verb in ("Mutating", "Validating")
        for binding in ("", "Binding")
    },
    **{f"{verb}WebhookConfiguration": (_always, _WEBHOOK) for verb in ("Mutating", "Validating")},
    "Namespace": (_always, "whether a namespace is there, and which Pod Security level it has, is not known"),
    "ResourceClaimTemplate": (_has_claim_template, "claims that are made of it are left out"),
    "ResourceQuota": (_always, "nothing is refused for being more than the quota"),
    "RuntimeClass": (_has_runtime_class, "its overhead and nodes are left out"),
    "ServiceAccount": (_has_account, "whether the account is there is not known"),
}
"""Kind -> which pods it matters to, of those that come through the API server, and what follows if it is missing."""


def absence(snapshot: Snapshot, covered: Collection[str], kind: str) -> str:
    """Why nothing is known of a kind: it could not be read, or nobody says it was."""
    if kind in snapshot.unreadable:
        return f"{kind} could not be read: {snapshot.unreadable[kind]}"
    return "" if kind in covered else f"the snapshot holds no {kind}"


def made_anew(item: Asked, snapshot: Snapshot) -> bool:
    """Whether the API server has still to take a pod."""
    return item.origin != snapshot.source and not item.again


def priority_gaps(snapshot: Snapshot, covered: Collection[str], asked: Sequence[Asked]) -> Iterator[Gap]:
    """Classes that pods name in vain, and those that nobody knows whether pods would get."""
    why = absence(snapshot, covered, "PriorityClass")
    if why:
        touched = (
            item.pod.key
            for item in asked
            if item.unknown_class or (not item.pod.spec.priority_class_name and made_anew(item, snapshot))
        )
        yield Gap(
            what=why,
            effect="pods get their priority from it",
            pods=tuple(touched),
            closed_by=closed_by(snapshot, "PriorityClass"),
        )
        return
    for item in asked:
        if item.unknown_class:
            yield Gap(
                what=f"PriorityClass {item.unknown_class} is not in the snapshot",
                effect="the pod is taken to have priority 0; the API server would refuse it",
                pods=(item.pod.key,),
            )


def update_gaps(snapshot: Snapshot, covered: Collection[str], rollouts: Sequence[Rollout]) -> Iterator[Gap]:
    """What is not known of the pods that updates replace: themselves, and the replica sets between."""
    for kind in ("Pod", "ReplicaSet"):
        of_kind = [one.name for one in rollouts if kind == "Pod" or one.name.startswith("Deployment ")]
        # Of a list that may lack some, those of the workload's own namespace are there.
        if of_kind and kind not in covered:
            what = absence(snapshot, covered, kind)
            yield Gap(
                what=what,
                effect="which pods an update replaces is not known",
                pods=tuple(of_kind),
                closed_by=closed_by(snapshot, kind),
            )


def server_gaps(snapshot: Snapshot, covered: Collection[str], asked: Sequence[Asked]) -> Iterator[Gap]:
    """What is not known of the kinds that admission and the controllers look up for these pods.

    Kinds that nobody has looked at are told together, where they touch the same pods, and not at all where they touch
    none: they are many.
    """
    new = [item for item in asked if made_anew(item, snapshot)]
    missing: dict[tuple[str, ...], list[str]] = {}
    for kind, (touches, effect) in sorted(LOOKED_UP.items()):
        pods = tuple(item.pod.key for item in new if touches(item))
        if kind in snapshot.unreadable:
            yield Gap(what=absence(snapshot, covered, kind), effect=effect, pods=pods)
        elif kind not in covered and pods:
            missing.setdefault(pods, []).append(kind)
    for pods, kinds in missing.items():
        effect = "what the API server would fill in, change or refuse by them is not known"
        if len(kinds) == 1:
            effect = LOOKED_UP[kinds[0]][1]
        yield Gap(
            what=f"the snapshot holds no {', '.join(kinds)}",
            effect=effect,
            pods=pods,
            closed_by=closed_by(snapshot, *kinds),
        )
    for kind, why in sorted(snapshot.unreadable.items()):
        if kind in TEMPLATES.keys() - LOOKED_UP.keys():
            pods = tuple(item.pod.key for item in asked if item.owner.startswith(f"{kind} "))
            effect = "one that is in the cluster is taken to be new: its pods are there twice"
            yield Gap(what=f"{kind} could not be read: {why}", effect=effect, pods=pods)
    for text in snapshot.inconsistencies:
        yield Gap(what=f"the cluster changed while it was read: {text}", effect="what has moved may count twice or not")


def doubt_gaps(doubts: Sequence[Doubts], asked: Collection[str]) -> Iterator[Gap]:
    """A gap for each webhook and policy that would have been asked, with the objects it would have been asked about: of
    pods only those ``asked`` here, by ``namespace/name``.
    """
    found: dict[Doubt, dict[str, None]] = {}
    for each in doubts:
        for doubt, subjects in each.items():
            names = found.setdefault(doubt, {})
            for kind, namespace, name in subjects:
                key = f"{namespace}/{name}" if namespace else name
                if kind != "Pod":
                    names[f"{kind} {key}"] = None
                elif key in asked:
                    names[key] = None
    for doubt, names in found.items():
        yield Gap(what=doubt.what, effect=doubt.effect, pods=tuple(names))
