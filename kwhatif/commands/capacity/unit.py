"""What ``capacity`` counts: all pods of the manifests together, or one of their template; and copies of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import PodSchedulingGroup, PodSpec, Volume
from kwhatif.api.pod_groups import PodGroupStatus
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim
from kwhatif.cluster.pod_group_states import GroupKey
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.storage import claim_names
from kwhatif.errors import UsageError
from kwhatif.results.amounts import format_count
from kwhatif.scheduling.round_queue import takes_groups
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.simulation.placement.placements import skip_reason_of
from kwhatif.simulation.queueing.queued_pods import QueuedCopies
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.workloads.volumes import provision_claim


class Unit(msgspec.Struct, frozen=True):
    """What is counted: ``pods`` that have to fit together, in the scheduler's order. No scheduler here knows the one
    that is ``unclaimed``.
    """

    name: str
    pods: Sequence[PodToSchedule]
    is_release: bool
    by_group: bool
    unclaimed: PodToSchedule | None


def unit_of(session: Session, expanded: ExpandedManifests, *, single: bool) -> Unit:
    """All pods of the manifests, or one of their template. Raises UsageError for what has no number."""
    # The scheduler's order; only the first copies of a release may depend on it.
    pods: Sequence[PodToSchedule] = sorted(expanded.all_pods(), key=lambda item: -(item.pod.spec.priority or 0))
    if not pods and not expanded.refusals and not expanded.failed:
        hint = "; --at max counts what their autoscalers allow" if expanded.scaled else ""
        raise UsageError(f"nothing to count: the workloads of the manifests need no new pods{hint}")
    templates = {item.owner or item.pod.key: item for item in reversed(pods)}
    if single and len(templates) > 1:
        raise UsageError(f"--pod: there are {len(templates)} kinds of pods: they are counted together")
    by_group = takes_groups(session.driver)
    groups = {_group_of(item) for item in pods} if by_group else {None}
    if single and groups != {None}:
        raise UsageError("--pod: pods of a group are counted with all of their group")
    # What was refused belongs to a release, too.
    wanted = len(pods) + sum(failed_create.pods for failed_create in expanded.failed)
    is_release = not single and wanted + len(expanded.refusals) > 1
    pods = pods if is_release else list(templates.values())
    _check(session, pods)
    unclaimed = next((item for item in pods if session.driver.scheduler(item.pod.spec.scheduler_name) is None), None)
    number = wanted if is_release else len(pods)
    return Unit(_name_of_unit(session, templates, groups, is_release, number), pods, is_release, by_group, unclaimed)


def _group_of(item: PodToSchedule) -> GroupKey | None:
    named = item.pod.spec.scheduling_group
    return None if named is None else (item.pod.namespace, named.pod_group_name or "")


def _name_of_unit(
    session: Session,
    templates: dict[str, PodToSchedule],
    groups: Collection[GroupKey | None],
    release: bool,
    pods: int,
) -> str:
    """What is counted: ``pod of Deployment shop/web``, ``release of 12 pods``, ``gang ml/train of 8 pods``."""
    if not templates:
        return "nothing"
    if len(groups) == 1 and (key := next(iter(groups))) is not None:
        group = session.cluster.pod_groups.objects.get(key)
        is_gang = group is not None and group.min_count is not None
        return f"{'gang' if is_gang else 'group'} {'/'.join(key)} of {format_count(pods, 'pod')}"
    if release:
        return f"release of {pods} {'pod' if pods == 1 else 'pods'}"
    return "".join(f"pod of {item.owner}" if item.owner else f"pod {item.pod.key}" for item in templates.values())


def _check(session: Session, pods: Sequence[PodToSchedule]) -> None:
    for item in pods:
        if item.owner.startswith("DaemonSet "):
            raise UsageError(f"{item.owner} has one pod on each node: there is no number of its pods to find out")
        reason = skip_reason_of(session, item)
        # One that runs already may have copies all the same.
        known = session.driver.scheduler(item.pod.spec.scheduler_name) is not None
        if reason and known and session.running(item.pod) is None:
            raise UsageError(f"pod {item.pod.key}: {reason}")


_POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"


class Copier:
    """Makes the pods that would come after one, each with claims of its own where the first one has some.

    ``in_group``: pods that name a group are counted with their group, of which each unit has one of its own; else a pod
    is counted alone, and is of no group. ``copies`` are those of its whole job that Kueue lets in.
    """

    def __init__(
        self,
        asked: PodToSchedule,
        claims: Sequence[PersistentVolumeClaim],
        *,
        in_group: bool,
        copies: QueuedCopies | None,
    ) -> None:
        self._asked, self._claims = asked, {claim.name: claim for claim in claims}
        self._in_group, self._copies = in_group, copies

    def __call__(self, session: Session, number: int) -> PodInfo:
        pod, suffix = self._asked.pod, f"-copy-{number}"
        name = pod.name + suffix
        metadata = replace(pod.metadata, name=name, uid=f"{pod.namespace}/{name}")
        if (pod.metadata.labels or {}).get(_POD_NAME_LABEL) == pod.name:
            metadata = replace(metadata, labels={**(pod.metadata.labels or {}), _POD_NAME_LABEL: name})
        spec = pod.spec
        if self._copies is not None and (domain := self._copies.domain_of(pod.key, number)):
            spec = replace(spec, node_selector={**(spec.node_selector or {}), **domain})
        if self._claims:
            if number == 1 and all(info.pod.key != pod.key for info, _ in session.cluster.pods()):
                # It stands for the pod itself, whose claims may have their volumes already.
                suffix = ""
            for claim in self._claims.values():
                renamed = replace(claim.metadata, name=claim.name + suffix, uid=None)
                provision_claim(session.cluster.storage, replace(claim, metadata=renamed))
            spec = replace(spec, volumes=[self._with_own_claim(volume, suffix) for volume in spec.volumes or ()])
        if spec.scheduling_group is not None:
            alone = replace(spec, scheduling_group=None)
            spec = self._with_own_group(session, spec, f"-copy-{number}") if self._in_group else alone
        # Device claims made from templates are each pod's own.
        status = replace(pod.status, resource_claim_statuses=None, extended_resource_claim_status=None)
        copy = replace(pod, metadata=metadata, spec=spec, status=status)
        return session.info(PodToSchedule(copy, self._asked.origin))

    def _with_own_group(self, session: Session, spec: PodSpec, suffix: str) -> PodSpec:
        """The copy's group is a copy of the pod's. Nobody is evicted for copies, be it one by one or as a whole."""
        key = self._asked.pod.namespace, (spec.scheduling_group or PodSchedulingGroup()).pod_group_name or ""
        groups = session.cluster.pod_groups.objects
        name = key[1] + suffix
        group = groups.get(key)
        if group is not None and (key[0], name) not in groups:
            metadata = replace(group.metadata, name=name, uid=f"{key[0]}/{name}")
            groups[key[0], name] = replace(group, metadata=metadata, status=PodGroupStatus())
        named = PodSchedulingGroup(pod_group_name=name)
        return replace(spec, scheduling_group=named, preemption_policy="Never")

    def _with_own_claim(self, volume: Volume, suffix: str) -> Volume:
        source = volume.persistent_volume_claim
        if source is None or source.claim_name not in self._claims:
            return volume
        return replace(volume, persistent_volume_claim=replace(source, claim_name=source.claim_name + suffix))


def copier_of(
    asked: PodToSchedule, objects: Iterable[object], *, in_group: bool = False, copies: QueuedCopies | None = None
) -> Copier:
    """Only a stateful set's claims, of which each pod has its own, are created for each copy; others are shared."""
    pod, made = asked.pod, []
    if asked.owner.startswith("StatefulSet "):
        mine = {name for name, _ in claim_names(pod)}
        claims = (obj for obj in objects if isinstance(obj, PersistentVolumeClaim))
        made = [claim for claim in claims if claim.namespace == pod.namespace and claim.name in mine]
    return Copier(asked, made, in_group=in_group, copies=copies)
