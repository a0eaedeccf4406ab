"""``--quota`` and ``--stop-queue``: what Kueue does with another quota, and with a queue that is stopped."""

from __future__ import annotations

from typing import Any

import pytest

import kwhatif
from kwhatif.cli.edit_options import EditOptions
from kwhatif.errors import KwhatifError
from tests.simulation.queueing.test_queued_scenario import EVALUATE, TRAIN, cluster


def gpus(amount: int | str, name: str = "vision", flavor: str = "a100") -> dict[str, Any]:
    return {"quota": {"name": name, "flavor": flavor, "resource": "nvidia.com/gpu", "nominal": amount}}


def stop(name: str = "vision", policy: str = "Hold", **more: str) -> dict[str, Any]:
    return {"stopQueue": {"name": name, "policy": policy, **more}}


@pytest.mark.parametrize(
    ("edits", "status"),
    [
        ([], "pending"),
        ([gpus(20)], "admitted"),
        ([gpus(19)], "pending"),
        ([gpus(20), stop()], "pending"),
    ],
    ids=["as it is", "with 12 more, of which another takes 8", "with one less", "in a queue that is stopped"],
)
def test_a_job_is_admitted_with_the_quota_that_an_edit_gives(edits: list[dict[str, Any]], status: str) -> None:
    result = kwhatif.queue([EVALUATE], snapshot=cluster(), edits=edits)
    assert [each.status for each in result.workloads] == [status]


def test_all_of_a_drained_queue_lose_their_nodes() -> None:
    result = kwhatif.place([TRAIN], snapshot=cluster(), edits=stop(policy="HoldAndDrain"))
    assert {each.pod for each in result.outcome.victims} == {"vision/segment-0", "vision/segment-1", "vision/tune-0"}
    assert [each.outcome for each in result.placements] == ["placed", "placed"]


def test_the_edits_are_told_in_words() -> None:
    edits = [gpus(9), stop("jobs", kind="LocalQueue", namespace="vision"), stop("vision", "None")]
    assert kwhatif.queue(snapshot=cluster(), edits=edits).edits == (
        "set the quota of nvidia.com/gpu in a100 of ClusterQueue vision from 8 to 9",
        "stop LocalQueue vision/jobs (Hold)",
        "let go on ClusterQueue vision (None)",
    )


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (gpus(-1), "expected no less than 0, found -1"),
        (gpus("many"), "many"),
        (gpus(1, "visoin"), 'there is no ClusterQueue "visoin"; did you mean vision?'),
        ({"quota": {**gpus(1, "reserch")["quota"], "kind": "Cohort"}}, 'there is no Cohort "reserch"'),
        (gpus(1, flavor="b100"), "ClusterQueue vision has no quota for nvidia.com/gpu in flavor b100"),
        (stop(policy="Stop"), "Hold"),
        (stop("jobs", kind="LocalQueue"), 'there is no LocalQueue "jobs"'),
    ],
)
def test_an_edit_that_makes_no_sense_is_refused(edit: dict[str, Any], problem: str) -> None:
    with pytest.raises(KwhatifError) as refused:
        kwhatif.queue(snapshot=cluster(), edits=edit)
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"quota": ["clusterqueue/a:gpu:nvidia.com/gpu=16"]}, ("ClusterQueue", "a", "gpu", "nvidia.com/gpu", "16")),
        ({"quota": ["cohort/all:spot:cpu=1500m"]}, ("Cohort", "all", "spot", "cpu", "1500m")),
        ({"stop_queue": ["clusterqueue/a"]}, ("ClusterQueue", "a", "", "Hold")),
        ({"stop_queue": ["localqueue/ml/jobs=HoldAndDrain"]}, ("LocalQueue", "jobs", "ml", "HoldAndDrain")),
    ],
)
def test_options_are_read(options: dict[str, list[str]], value: tuple[str, ...]) -> None:
    (edit,) = EditOptions(**options).parse_edits(())
    what = edit.what
    found: tuple[str, ...]
    if "quota" in options:
        found = (what.kind, what.name, what.flavor, what.resource, str(what.nominal))
    else:
        found = (what.kind, what.name, what.namespace, what.policy)
    assert found == value


@pytest.mark.parametrize(
    "options",
    [{"quota": ["vision=3"]}, {"quota": ["clusterqueue/a:b=1"]}, {"stop_queue": ["localqueue/jobs"]}],
)
def test_an_option_of_another_form_is_refused(options: dict[str, list[str]]) -> None:
    with pytest.raises(KwhatifError, match="expected clusterqueue/NAME"):
        EditOptions(**options).parse_edits(())
