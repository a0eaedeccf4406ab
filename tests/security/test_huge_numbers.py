"""Numbers of others that no machine's number holds: read as the program reads them, or refused with their place.

Python takes no more than 4,300 digits at once, and makes no whole number of infinity.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kwhatif.admission.policies.patching import PatchError, _bad_index, _index
from kwhatif.admission.validation import jobs
from kwhatif.api.kueue import FairSharing
from kwhatif.api.quantity import Quantity
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import flags_of
from kwhatif.commands.rightsize import horizontal
from kwhatif.commands.upgrade.strategies import nodes_of
from kwhatif.errors import InputError, UsageError
from kwhatif.golang import cron
from kwhatif.golang.parsing import finite, parse_int
from kwhatif.kueue.quota_tree import QuotaNode
from kwhatif.results.amounts import format_amount
from kwhatif.simulation.autoscalers import ec2_machines
from kwhatif.snapshot.kustomize import replacements
from kwhatif.workloads import replica_set
from kwhatif.workloads.controllers import TemplatePath
from kwhatif.workloads.operators import deliveries, spark_applications
from tests.cli.running import run
from tests.fuzz.good_files import good_files

LONG, LARGE = "9" * 5000, "9" * 400
TEXTS = (LONG, f"-{LONG}", f"+{LONG}", LARGE, "inf", "-inf", "nan", "1e999", "", " ", "x", "٣", "1_0", "0x10")


@pytest.mark.parametrize("text", TEXTS)
def test_a_number_is_finite_and_of_64_bits_or_none(text: str) -> None:
    assert parse_int(text) is None
    number = finite(text)
    assert number is None or text in ("٣", "1_0")
    assert finite(10**400) is finite(True) is finite(None) is finite([1]) is None


def _cost(text: str) -> Any:
    return replica_set._cost({"metadata": {"annotations": {replica_set.DELETION_COST: text}}})


def _scale(text: str) -> Any:
    return deliveries._scale({"metadata": {"annotations": {"autoscaling.knative.dev/min-scale": text}}}, "min-scale")


READERS: dict[str, Callable[[str], Any]] = {
    "the deletion cost of a pod": _cost,
    "the scale of a Knative service": _scale,
    "the memory of a Spark application": lambda text: spark_applications._mebibytes(text, "$.spec"),
    "Spark's overhead": lambda text: spark_applications._memory({"spec": {"memoryOverheadFactor": text}}, {}, "driver"),
    "an index of a Job": lambda text: jobs._index(text, 3),
    "an index of a patch": lambda text: (_index([1], text), _bad_index(text)),
    "an index of a replacement": lambda text: replacements._indices_of([1], text, [], creates=False),
    "a minute of a schedule": lambda text: cron.parse(f"{text} * * * *"),
    "an amount before eviction": lambda text: ec2_machines._threshold(Quantity.parse("1Gi"), text),
    "a share before eviction": lambda text: ec2_machines._threshold(Quantity.parse("1Gi"), f"{text}%"),
    "the target of an autoscaler": lambda text: list(horizontal._metrics({"targetCPUUtilizationPercentage": text})),
    "a number of nodes": lambda text: nodes_of(text, 3, up=True, option="--surge"),
    "a share of nodes": lambda text: nodes_of(f"{text}%", 3, up=True, option="--surge"),
    "a number of pods": lambda text: TemplatePath.parse(f"example.com/Job=$.spec.template,count={text}"),
    "a whole number of a flag": lambda text: flags_of({"max-nodes-total": text}),
    "bounds of a flag": lambda text: flags_of({"cores-total": f"0:{text}"}),
    "a fraction of a flag": lambda text: flags_of({"scale-down-utilization-threshold": text}),
}
SAID: tuple[type[Exception], ...] = (InputError, UsageError, PatchError, jobs._BadIndexes, cron.CronError)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_number_is_refused_or_counts_as_none(reader: str, text: str) -> None:
    with contextlib.suppress(*SAID):
        READERS[reader](text)


def test_amounts_and_weights_beyond_floating_point_are_written_and_infinite() -> None:
    assert format_amount("cpu", 10**400).startswith("10,000,000")
    assert format_amount("memory", 1024**200).endswith("Ei")
    weight = FairSharing(weight=Quantity.parse("1e999"))
    assert QuotaNode("a", (), weight).fair_weight == float("inf")


def test_a_pod_with_a_number_of_401_digits_in_its_status_is_expanded(tmp_path: Path) -> None:
    spec = {"containers": [{"name": "a", "image": "a"}]}
    status = {"allocatedResources": {"cpu": 10**400}}
    (tmp_path / "pod.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec, "status": status})
    )
    ran = run("expand", str(tmp_path / "pod.json"))
    assert (ran.code, "internal error" in ran.err) == (0, False)


@pytest.mark.parametrize("value", [10**400, -(10**400), LONG, [1], {}, True, None])
def test_a_flag_that_is_no_number_is_refused_with_its_place(tmp_path: Path, value: Any) -> None:
    files = {name: tmp_path / f"{name}.json" for name in ("cluster", "release", "groups")}
    good = good_files()
    flags = {"scale-down-utilization-threshold": value}
    for name, file in files.items():
        file.write_text(json.dumps({**good[name], "flags": flags} if name == "groups" else good[name]))
    ran = run("place", str(files["release"]), "--snapshot", str(files["cluster"]), "--autoscale", str(files["groups"]))
    assert ran.code == 2
    assert "groups.json: " in ran.err
    assert "internal error" not in ran.err
