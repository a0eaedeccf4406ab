"""StatefulSet: pods with an ordinal, a name and claims of their own, made one after the other or all at once.

Upstream: pkg/controller/statefulset/stateful_set_control.go, stateful_set_utils.go, stateful_pod_control.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.answer import Object
from kwhatif.bounds import make_room
from kwhatif.workloads.making import Making
from kwhatif.workloads.naming import template_hash
from kwhatif.workloads.objects import claim_template, copied, integer, name_of, namespace_of, section
from kwhatif.workloads.pods import pod_from_template

REVISION = "controller-revision-hash"
POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"


def make_stateful_set(stateful_set: Object, making: Making, *, ready: bool) -> None:
    """All pods, each as soon as the one before is ready; if none ever is, those made without waiting."""
    spec = section(stateful_set, "spec")
    replicas = integer(spec.get("replicas"), 1)
    make_room(replicas, f"StatefulSet {name_of(stateful_set)}")
    ordinals = range(start_of(stateful_set), start_of(stateful_set) + replicas)
    patient = one_by_one(stateful_set)
    template, revision = section(spec, "template"), revision_of(stateful_set)
    for batch in _batches(ordinals, 1 if patient else replicas):
        failures = []
        for ordinal in batch:
            pod = stateful_pod(stateful_set, template, revision, ordinal)
            problem = _claims_problem(stateful_set, pod, ordinal, making)
            if not problem and (refused := making.pod(pod)):
                problem = refused.message
            if problem:
                failures.append(
                    f"Create Pod {name_of(pod)} in StatefulSet {name_of(stateful_set)} failed error: {problem}"
                )
        for text in failures:
            never_tried = len(ordinals[batch.stop - ordinals.start :]) if text is failures[-1] else 0
            making.failed(stateful_set, text, 1 + never_tried)
        if failures or (patient and not ready):
            return


def stateful_pod(stateful_set: Object, template: Object, revision: str, ordinal: int) -> Object:
    """The pod of an ordinal at a revision; volumes of the template yield to the claims of the same name."""
    pod = pod_from_template(template, stateful_set)
    name = f"{name_of(stateful_set)}-{ordinal}"
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["name"] = name
    metadata["labels"] = {
        **metadata.get("labels", {}),
        POD_NAME: name,
        POD_INDEX: str(ordinal),
        REVISION: revision,
    }
    spec["hostname"] = name
    if service := section(stateful_set, "spec").get("serviceName"):
        spec["subdomain"] = service
    names = [name_of(claim) for claim in _claim_templates(stateful_set)]
    volumes = [{"name": own, "persistentVolumeClaim": {"claimName": f"{own}-{name}"}} for own in names]
    volumes += [volume for volume in spec.get("volumes") or () if volume.get("name") not in names]
    if volumes:
        spec["volumes"] = volumes
    return pod


def claims_of(stateful_set: Object, ordinal: int) -> Iterator[Object]:
    """The claims of an ordinal's pod; they carry the labels of the selector."""
    labels = section(stateful_set, "spec", "selector", "matchLabels")
    for template in _claim_templates(stateful_set):
        name = f"{name_of(template)}-{name_of(stateful_set)}-{ordinal}"
        claim = claim_template(name, namespace_of(stateful_set), template)
        if labels:
            claim["metadata"]["labels"] = section(claim, "metadata", "labels") | copied(labels)
        yield claim


def start_of(stateful_set: Object) -> int:
    """The first ordinal."""
    return integer(section(stateful_set, "spec", "ordinals").get("start"), 0)


def one_by_one(stateful_set: Object) -> bool:
    """Whether each pod waits for those before it."""
    return section(stateful_set, "spec").get("podManagementPolicy") != "Parallel"


def revision_of(stateful_set: Object) -> str:
    """The name of the revision that the set's template is."""
    return f"{name_of(stateful_set)}-{template_hash(section(stateful_set, 'spec', 'template'))}"


def _claim_templates(stateful_set: Object) -> list[Object]:
    return list(section(stateful_set, "spec").get("volumeClaimTemplates") or ())


def _claims_problem(stateful_set: Object, pod: Object, ordinal: int, making: Making) -> str:
    """What keeps the claims of a pod from being made; empty if nothing does."""
    problems = []
    for claim in claims_of(stateful_set, ordinal):
        refused = making.claim(claim)
        if refused:
            what = f"Create Claim {name_of(claim)} for Pod {name_of(pod)} in StatefulSet {name_of(stateful_set)}"
            making.failed(stateful_set, f"{what} failed error: {refused.message}", 0)
            problems.append(f"failed to create PVC {name_of(claim)}: {refused.message}")
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]" if problems else ""


def _batches(ordinals: range, largest: int) -> Iterator[range]:
    """Twice as many at a time as before, up to a largest number."""
    size = 1
    while ordinals:
        yield ordinals[:size]
        ordinals = ordinals[size:]
        size = min(2 * size, largest)
