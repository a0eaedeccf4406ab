"""What our API server makes of pods and claims, and what it refuses, agrees with a real API server 1.36."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import StoredObject
from kwhatif.admission.server import ApiServer
from tests.simulation.expansion import recorded

Json = dict[str, Any]

FOUND, CASES = recorded.load()
PLAIN = [case for case in CASES if {obj["kind"] for obj in case["manifests"]} <= {"Pod", "PersistentVolumeClaim"}]
REFUSED = [case for case in CASES if any(answer["code"] >= 400 for answer in case["responses"])]


def names(cases: list[Json]) -> list[str]:
    return [case["name"] for case in cases]


def server_for(case: Json) -> ApiServer:
    server = ApiServer(ObjectStore([*FOUND["global"], *FOUND["nodes"]]))
    for obj in case["context"]:
        assert isinstance(server.create(recorded.in_namespace(obj)), StoredObject)
    return server


@pytest.mark.parametrize("case", PLAIN, ids=names(PLAIN))
def test_pods_and_claims_agree(case: Json) -> None:
    server = server_for(case)
    for manifest in case["manifests"]:
        server.create(recorded.in_namespace(manifest))
    assert recorded.pods_of(list(server.world.all("Pod"))) == recorded.recorded_pods(case["pods"])
    if any(obj["kind"] == "PersistentVolumeClaim" for obj in case["manifests"]):
        claims = list(server.world.all("PersistentVolumeClaim"))
        assert recorded.claims_of(claims) == recorded.recorded_claims(case["claims"])


@pytest.mark.parametrize("case", REFUSED, ids=names(REFUSED))
def test_refusals_agree_word_for_word(case: Json) -> None:
    server = server_for(case)
    for manifest, expected in zip(case["manifests"], case["responses"], strict=True):
        answer = server.create(recorded.in_namespace(manifest))
        if isinstance(answer, StoredObject):
            assert expected["code"] == 201
            continue
        assert (answer.code, answer.reason, answer.message) == tuple(
            expected[key] for key in ("code", "reason", "message")
        )
        causes = [{"field": cause.field, "message": cause.message} for cause in answer.causes]
        recorded_causes = expected["causes"] or []
        assert causes == [{key: cause[key] for key in ("field", "message")} for cause in recorded_causes]


def test_a_manifest_is_not_altered() -> None:
    case = next(case for case in CASES if case["name"] == "limit range fills a container")
    server, manifest = server_for(case), recorded.in_namespace(case["manifests"][0])
    before = repr(manifest)
    assert isinstance(server.create(manifest), StoredObject)
    assert repr(manifest) == before


def test_the_recording_was_used_in_full() -> None:
    assert (len(PLAIN), len(REFUSED)) == (55, 34)
