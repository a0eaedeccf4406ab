"""A pod from a template, as every controller makes it.

Upstream: pkg/controller/controller_utils.go (GetPodFromTemplate).
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.answer import Object
from kwhatif.admission.world import World
from kwhatif.workloads.claims_from_templates import plain_device_claims
from kwhatif.workloads.naming import pod_prefix
from kwhatif.workloads.objects import claim_template, copied, name_of, namespace_of, owner_reference, section, uid_of


def pod_from_template(template: Object, owner: Object, prefix: str = "") -> Object:
    """A pod that ``owner`` controls and that shares nothing with the template; it has no name of its own yet."""
    metadata: Object = {"generateName": prefix or pod_prefix(name_of(owner)), "namespace": namespace_of(owner)}
    for key in ("labels", "annotations", "finalizers"):
        if given := (template.get("metadata") or {}).get(key):
            metadata[key] = copied(given)
    metadata["ownerReferences"] = [owner_reference(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": copied(section(template, "spec"))}


def template_of(pod: Object) -> Object:
    """The template that a pod may have been made from: what is left when its place is taken away."""
    metadata = {key: copied(section(pod, "metadata", key)) for key in ("labels", "annotations")}
    spec = copied(section(pod, "spec"))
    spec.pop("nodeName", None)
    return {"metadata": metadata, "spec": spec}


def device_claims(pod: Object, world: World) -> Iterator[Object]:
    """The claims of a pod that device templates are for; the pod's status is completed as they are taken."""
    namespace = namespace_of(pod)
    return plain_device_claims(
        pod,
        lambda name: world.get("ResourceClaimTemplate", namespace, name),
        lambda name: world.get("ResourceClaim", namespace, name) is not None,
    )


def ephemeral_claims(pod: Object) -> Iterator[Object]:
    """The claims of a pod's generic ephemeral volumes, named after pod and volume and owned by the pod.

    Upstream: pkg/controller/volume/ephemeral/controller.go.
    """
    for volume in section(pod, "spec").get("volumes") or ():
        template = section(volume, "ephemeral", "volumeClaimTemplate")
        if not template:
            continue
        claim = claim_template(f"{name_of(pod)}-{volume['name']}", namespace_of(pod), template)
        owner = {"apiVersion": "v1", "kind": "Pod", "metadata": section(pod, "metadata") | {"uid": uid_of(pod)}}
        claim["metadata"]["ownerReferences"] = [owner_reference(owner)]
        yield claim
