"""Which missing kinds touch a pod: those that the plugins which decide about it read for its sake."""

from __future__ import annotations

import pytest

from kwhatif.api.core import Pod
from kwhatif.api.devices import DeviceClass
from tests.builders import Json, node, pod, profile_document, spread
from tests.commands.answers import place
from tests.device_builders import device_class, pod_with
from tests.simulation.sessions import asking, session_of
from tests.storage_builders import claiming, ebs, ephemeral, mounting

STORAGE = {
    *("CSIDriver", "CSINode", "CSIStorageCapacity", "PersistentVolume", "PersistentVolumeClaim", "StorageClass"),
    "VolumeAttachment",
}
DEVICES = {"DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"}
OWN = [spread({"matchLabels": {"app": "web"}})]
ANYWHERE: Json = {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": {"matchLabels": {"team": "red"}}}
AT_HOME: Json = {"topologyKey": "zone", "labelSelector": {}}


def touching(asked: Pod, config: Json | None = None, *objects: DeviceClass) -> set[str]:
    """The kinds whose lack touches the pod, in a snapshot that has nodes alone."""
    fidelity = place(session_of([node("a")], objects=objects, config=config), asking(asked)).fidelity
    kinds = {gap.what.removeprefix("the snapshot holds no ") for gap in fidelity.touching}
    return kinds - {"Pod"}


@pytest.mark.parametrize(
    ("asked", "kinds"),
    [
        pytest.param(pod(), {"Service"}, id="a bare pod is spread by services"),
        pytest.param(pod(constraints=OWN), set(), id="one with constraints of its own by nothing else"),
        pytest.param(
            pod(owner=("apps/v1", "ReplicaSet", "web")), {"Service", "ReplicaSet"}, id="a controlled pod by both"
        ),
        pytest.param(pod(owner=("batch/v1", "Job", "once")), {"Service"}, id="jobs do not spread their pods"),
        pytest.param(pod(constraints=OWN, near=[ANYWHERE]), {"Namespace"}, id="a selector of namespaces"),
        pytest.param(pod(constraints=OWN, prefers_far=[(1, ANYWHERE)]), {"Namespace"}, id="also one that is a wish"),
        pytest.param(pod(constraints=OWN, near=[AT_HOME]), set(), id="affinity within the pod's own namespace"),
        pytest.param(claiming("data", constraints=OWN), STORAGE, id="a claim"),
        pytest.param(pod(spec={"volumes": [ephemeral()]}, constraints=OWN), STORAGE, id="a claim yet to be made"),
        pytest.param(mounting(ebs("disk"), constraints=OWN), set(), id="a disk that is named in the pod"),
        pytest.param(pod_with("gpu", constraints=OWN), DEVICES, id="a device claim"),
    ],
)
def test_kinds_touch_the_pods_that_plugins_read_them_for(asked: Pod, kinds: set[str]) -> None:
    assert touching(asked) == kinds


def test_devices_matter_to_pods_that_ask_for_them_as_for_any_resource() -> None:
    asked, served = (
        pod(constraints=OWN, requests={"acme.com/gpu": "1"}),
        device_class(extendedResourceName="acme.com/gpu"),
    )
    assert touching(asked) == set()
    assert touching(asked, None, served) == DEVICES - {"DeviceClass"}


def test_what_only_disabled_plugins_read_is_no_gap() -> None:
    off = profile_document(
        plugins={"multiPoint": {"disabled": [{"name": "VolumeBinding"}, {"name": "NodeVolumeLimits"}]}}
    )
    assert touching(claiming("data", constraints=OWN), off) == {
        *("PersistentVolume", "PersistentVolumeClaim", "StorageClass")
    }


def test_pods_that_no_scheduler_takes_up_lack_nothing() -> None:
    found = touching(pod(spec={"schedulerName": "other", "volumes": [ephemeral()]}))
    assert found == {"schedulerName other is none of the configuration's profiles"}
