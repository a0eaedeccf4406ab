"""A secret in every text of every kind: a dump leaves those that its page lists, and redaction none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from kwhatif.api.kinds import READ_KINDS, kind_named
from kwhatif.redaction import redact_documents
from kwhatif.redaction.redact import LineRedactor
from tests.planted import SCHEMAS, left_in_dumps, planted


def test_schemas_of_definitions_are_dumped_without_what_explains_them() -> None:
    found = {place.rpartition(".")[2] for _, place in left_in_dumps() if place.startswith(SCHEMAS)}
    assert "pattern" in found
    assert not found & {"description", "title", "example", "externalDocs", "url", "id"}


FORMS: dict[str, tuple[Callable[[int], str], str]] = {
    "a word": (lambda n: f"zqx{n}zqx", r"zqx\d+zqx"),
    "words": (lambda n: f"Zqx secret {40_000_000 + n}, n.zqx", r"(?i)zqx|secret|4\d{7}"),
    "an address": (lambda n: f"10.{n // 250}.{n % 250}.77", r"10\.\d+\.\d+\.77"),
    "an address in a name of EC2's": (lambda n: f"ec2-10-{n // 250}-{n % 250}-77.zqx", r"10-\d+-\d+-77|zqx"),
    "an address in any name": (lambda n: f"10-{n // 250}-{n % 250}-77.zqx", r"10-\d+-\d+-77|zqx"),
    "a serial number": (lambda n: str(40_000_000 + n), r"4\d{7}"),
    "an amount": (lambda n: f"{40_000_000 + n}Gi", r"4\d{7}"),
    "a version": (lambda n: f"12.{40_000_000 + n}.9", r"4\d{7}"),
}

STAYS = {
    "a serial number": {
        "maxSurge",
        "maxUnavailable",
        "minAvailable",
        "resourceVersion",
        "schedule",
    },  # numbers, in the words of the page
    "a version": {"version", "versions[]"},
}


@pytest.mark.parametrize("form", FORMS)
def test_redaction_leaves_no_secret_of_any_form_but_those_that_its_page_names(form: str) -> None:
    make, hunted = FORMS[form]
    places: dict[str, str] = {}

    def secret(place: str) -> str:
        text = make(len(places))
        places[text] = place
        return f'device.driver == "{text}"' if place.endswith("cel.expression") else text

    objects = [obj for kind in READ_KINDS if (obj := planted(kind, secret)) is not None]
    redacted, _ = redact_documents(objects)
    left = {
        next((place.rpartition(".")[2] for text, place in places.items() if found in text), found)
        for found in re.findall(hunted, json.dumps(redacted))
    }
    assert left == STAYS.get(form, set())


@pytest.mark.parametrize("form", FORMS)
def test_redacted_lines_of_a_recording_hold_no_secret_that_a_redacted_snapshot_does_not(form: str) -> None:
    make, hunted = FORMS[form]
    places: dict[str, str] = {}

    def secret(place: str) -> str:
        text = make(len(places))
        places[text] = place
        return f'device.driver == "{text}"' if place.endswith("cel.expression") else text

    lines: list[dict[str, Any]] = [
        {"kind": "ClusterSnapshot", "cluster": {"source": secret("source"), "unreadable": {"Pod": secret("why")}}},
    ]
    for kind in (*READ_KINDS, kind_named("Event")):
        obj = planted(kind, secret)
        if obj is None:
            continue
        path = f"{obj['apiVersion']}/{kind.plural}"
        lines.append({"kind": path, "list": {"metadata": {"resourceVersion": secret("list")}, "items": [obj]}})
        lines += [{"kind": path, "event": {"type": type_, "object": obj}} for type_ in ("ADDED", "DELETED")]
        lines.append({"kind": path, "missing": {"since": 1.0, "why": secret("why")}})
    texts = [json.dumps({"at": 1.0, **line}).encode() for line in lines]
    redactor = LineRedactor(None, lambda translation: None)
    # Some at a time, so that they meet names that those before did not know.
    told = b"".join(text for i in range(0, len(texts), 40) for text in redactor.lines(texts[i : i + 40])).decode()
    assert told.count("\n") == len(texts)
    left = {
        next((place.rpartition(".")[2] for text, place in places.items() if found in text), found)
        for found in re.findall(hunted, told)
    }
    # Versions are numbers that order all changes.
    assert left - {"list"} == STAYS.get(form, set()) | ({"resourceVersion"} & left)


SAID = [
    (
        "0/5 nodes are available: 1 Insufficient zqx.com/gpu, 2 node(s) had untolerated taint {zqx: zqx2}. preemption: "
        "0/5 nodes are available: 5 Preemption is not helpful for scheduling.",
        True,
    ),
    ('0/120000 nodes are available: persistentvolumeclaim "zqx-5" not found.', True),
    ("Successfully assigned zqx/zqx-0 to zqx-node", True),
    ("Preempted by pod 1a2b-zqx on node zqx-node", True),
    ("waiting for scheduling gates: [zqx.com/hold]", True),
    ('running "ZqxPlugin" filter plugin: zqx cannot be reached at 10.1.2.3:4433 with token hunter2', False),
]


@pytest.mark.parametrize(("text", "known"), SAID)
def test_what_a_scheduler_says_keeps_its_own_words_and_loses_all_names(text: str, known: bool) -> None:
    obj = {"metadata": {"name": "e"}, "reason": "FailedScheduling", "message": text, "involvedObject": {"kind": "Pod"}}
    line = json.dumps({"at": 1.0, "kind": "v1/events", "event": {"type": "ADDED", "object": obj}}).encode()
    (told,) = LineRedactor(None, lambda translation: None).lines([line])
    said = json.loads(told)["event"]["object"]["message"]
    assert not re.search("(?i)zqx|hunter2|token|10.1.2.3|1a2b", said)
    if known:
        own = re.compile(r"[a-z]*zqx[-.a-z0-9]*(/[-a-z0-9]+)?|1a2b-zqx")
        pseudonym = re.compile(r"\b[a-z]{1,2}[0-9]{3,}([-.][a-z0-9]+)*(/[-a-z0-9]+)?|node-[0-9]{4,}|[0-9]{8}-[-0-9]+")
        assert pseudonym.sub("*", said) == own.sub("*", text)


def test_texts_that_expressions_measure_stay_and_others_go() -> None:
    expression = 'quantity("40Gi").compareTo(x) > 0 && semver( "1.20304.3" ) == v && s != "40Gi" && t == "1.20304.3"'
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    device_class = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "c"}, "spec": spec}
    (redacted,), _ = redact_documents([device_class])
    text = redacted["spec"]["selectors"][0]["cel"]["expression"]
    assert (text.count("40Gi"), text.count("1.20304.3")) == (1, 1)
    assert text.startswith('quantity("40Gi").compareTo(')
