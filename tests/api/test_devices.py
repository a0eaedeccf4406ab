"""Device objects of older API versions read as those of the newest."""

from __future__ import annotations

import pytest

from kwhatif.api.decode import convert
from kwhatif.api.devices import DeviceClass, ResourceClaim, ResourceSlice
from tests.builders import Json

BODY: Json = {"attributes": {"model": {"string": "x"}}, "capacity": {"memory": {"value": "1Gi"}}}
SELECTOR: Json = {"cel": {"expression": "true"}}


def slice_with(version: str, device: Json) -> ResourceSlice:
    spec = {"driver": "d", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "devices": [device]}
    return convert(
        {"apiVersion": f"resource.k8s.io/{version}", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec},
        ResourceSlice,
    )


def claim_with(version: str, request: Json) -> ResourceClaim:
    return convert(
        {
            "apiVersion": f"resource.k8s.io/{version}",
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "default"},
            "spec": {"devices": {"requests": [request]}},
        },
        ResourceClaim,
    )


def test_devices_used_to_have_a_body() -> None:
    newest = slice_with("v1", {"name": "g", **BODY})
    assert slice_with("v1beta2", {"name": "g", **BODY}) == newest
    assert slice_with("v1beta1", {"name": "g", "basic": BODY}) == newest
    assert newest.spec.devices is not None
    assert newest.spec.devices[0].basic is None


@pytest.mark.parametrize("version", ["v1", "v1beta2"])
def test_requests_used_to_be_exact_without_saying_so(version: str) -> None:
    exactly = {"deviceClassName": "gpu", "selectors": [SELECTOR], "allocationMode": "ExactCount", "count": 2}
    newest = claim_with(version, {"name": "r", "exactly": exactly})
    assert claim_with("v1beta1", {"name": "r", **exactly}) == newest
    assert newest.api_version == "resource.k8s.io/v1"


def test_a_list_of_alternatives_is_not_an_exact_request() -> None:
    alternatives = {"name": "r", "firstAvailable": [{"name": "one", "deviceClassName": "gpu"}]}
    newest = claim_with("v1", alternatives)
    assert claim_with("v1beta1", alternatives) == newest
    assert newest.spec.devices.requests is not None
    assert newest.spec.devices.requests[0].exactly is None


def test_classes_did_not_change() -> None:
    def made(version: str) -> DeviceClass:
        return convert(
            {
                "apiVersion": f"resource.k8s.io/{version}",
                "kind": "DeviceClass",
                "metadata": {"name": "gpu"},
                "spec": {"selectors": [SELECTOR], "extendedResourceName": "example.com/gpu"},
            },
            DeviceClass,
        )

    assert made("v1beta1") == made("v1beta2") == made("v1")
