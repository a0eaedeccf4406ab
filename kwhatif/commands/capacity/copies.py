"""Copies of the pods that are counted, each with a name, claims and a group of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from kwhatif.api.core import PodSchedulingGroup, PodSpec, Volume
from kwhatif.api.pod_groups import PodGroupStatus
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.storage import claim_names
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.workloads.volumes import provision_claim

_POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"


class Copier:
    """Makes the pods that would come after one, each with claims of its own where the first one has some.

    ``in_group``: pods that name a group are counted with their group, of which each unit has one of its own; else a pod
    is counted alone, and is of no group.
    """

    def __init__(self, asked: PodToSchedule, claims: Sequence[PersistentVolumeClaim], *, in_group: bool) -> None:
        self._asked, self._claims = asked, {claim.name: claim for claim in claims}
        self._in_group = in_group

    def __call__(self, session: Session, number: int) -> PodInfo:
        pod, suffix = self._asked.pod, f"-copy-{number}"
        name = pod.name + suffix
        metadata = replace(pod.metadata, name=name, uid=f"{pod.namespace}/{name}")
        if (pod.metadata.labels or {}).get(_POD_NAME_LABEL) == pod.name:
            metadata = replace(metadata, labels={**(pod.metadata.labels or {}), _POD_NAME_LABEL: name})
        spec = pod.spec
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


def copier_of(asked: PodToSchedule, objects: Iterable[object], *, in_group: bool = False) -> Copier:
    """Only a stateful set's claims, of which each pod has its own, are created for each copy; others are shared."""
    pod, made = asked.pod, []
    if asked.owner.startswith("StatefulSet "):
        mine = {name for name, _ in claim_names(pod)}
        claims = (obj for obj in objects if isinstance(obj, PersistentVolumeClaim))
        made = [claim for claim in claims if claim.namespace == pod.namespace and claim.name in mine]
    return Copier(asked, made, in_group=in_group)
