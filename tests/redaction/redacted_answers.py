"""Recorded scenarios, redacted, and what becomes of the answer to one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from kwhatif.commands.conformance.scheduler_replay import SchedulerScenario
from kwhatif.redaction.pseudonyms import Pseudonyms
from kwhatif.redaction.redact import CONFIGURATION_KIND, redact_documents
from kwhatif.redaction.translation import Translation

__all__ = ["redacted_answer", "redacted_scenario"]

# Where a message names something, and what that is.
_IN_MESSAGES: tuple[tuple[str, Callable[[Pseudonyms, str], str]], ...] = (
    (r"(?<=Insufficient )\S+?(?=[,.]? |[,.]?$)", Pseudonyms.resource),
    (r'(?<=persistentvolumeclaim ")[^"]+(?=")', Pseudonyms.name),
    (r'(?<=storageclass.storage.k8s.io ")[^"]+(?=")', Pseudonyms.name),
    (r'(?<=StorageClass ")[^"]+(?=")', Pseudonyms.name),
    (r'(?<=PersistentVolume ")[^"]+(?=")', Pseudonyms.name),
    (r"(?<=looking up PVC )\S+(?=:)", Pseudonyms.name),
    (r'(?<=could not find ResourceClaim ")[^"]+(?=")', Pseudonyms.name),
    (r'(?<=pod ")[^"]+(?=": ResourceClaim)', Pseudonyms.name),
    (r"(?<=filter plugin: claim )[^,:]+(?=[,:])", Pseudonyms.name),
    (r"(?<=, request )[^:]+(?=: )", Pseudonyms.name),
    (r"(?<=no such key: )\S+", Pseudonyms.free),
    (r"(?<=cannot add device )\S+", lambda names, found: _device(found, names)),
    (r"(?<=resource pool )\S+", lambda names, found: _pool(found, names)),
    (r"(?<=scheduling gates: \[)[^]]*", lambda names, found: " ".join(map(names.qualified_name, found.split()))),
)


def redacted_scenario(scenario: SchedulerScenario) -> tuple[SchedulerScenario, Translation]:
    """The scenario under pseudonyms, its configuration too."""
    objects, pods = ([msgspec.json.decode(raw) for raw in raws] for raws in (scenario.objects, scenario.pods))
    configuration = scenario.config and [scenario.config | {"kind": CONFIGURATION_KIND}]
    redacted, translation = redact_documents([*(configuration or ()), *objects, *pods])
    config = redacted.pop(0) if configuration else None
    raws = [msgspec.Raw(msgspec.json.encode(document)) for document in redacted]
    assert len(raws) == len(objects) + len(pods)
    made = SchedulerScenario(scenario.name, raws[: len(objects)], raws[len(objects) :], config)
    made.ties, made.gates = scenario.ties, scenario.gates
    return made, translation


def redacted_answer(answer: dict[str, Any], translation: Translation) -> dict[str, Any]:
    """The answer with each name in it replaced by its pseudonym, field by field."""
    names = Pseudonyms(translation)
    queue = {"queueOrder": [names.name(key) for key in answer["queueOrder"]]} if "queueOrder" in answer else {}
    return {
        **answer,
        **queue,
        "nodeOrder": [names.node(name) for name in answer["nodeOrder"]],
        "pods": [
            {"pod": names.name(pod["pod"]), "attempts": [_attempt(one, names) for one in pod["attempts"]]}
            for pod in answer["pods"]
        ],
    }


def _attempt(attempt: dict[str, Any], names: Pseudonyms) -> dict[str, Any]:
    made = dict(attempt)
    for field in ("feasible", "sampled", "winners", "preFilterNodes"):
        if field in made:
            made[field] = [names.node(name) for name in made[field]]
    for field in ("selected", "nominated", "hint"):
        if made.get(field):
            made[field] = names.node(made[field])
    for field in ("scores", "totals"):
        if field in made:
            made[field] = {names.node(name): value for name, value in made[field].items()}
    if "victims" in made:
        made["victims"] = [names.name(key) for key in made["victims"]]
    if "rejected" in made:
        made["rejected"] = {names.node(name): _status(status, names) for name, status in made["rejected"].items()}
    if "preFilter" in made:
        made["preFilter"] = _status(made["preFilter"], names)
    if "allocations" in made:
        made["allocations"] = {
            claim if claim == "extended" else names.name(claim): [_device(text, names) for text in devices]
            for claim, devices in made["allocations"].items()
        }
    for field in ("message", "error"):
        if field in made:
            made[field] = _message(made[field], names)
    return made


def _device(text: str, names: Pseudonyms) -> str:
    """``request=driver/pool/device[capacity=amount,...]``"""
    device, bracket, consumed = text.partition("[")
    request, equals, device = device.rpartition("=")
    pool, _, device = device.rpartition("/")
    pairs = (part.partition("=") for part in consumed.removesuffix("]").split(",")) if bracket else ()
    said = ",".join(f"{names.attribute(key)}={amount}" for key, _, amount in pairs)
    device = f"{_pool(pool, names)}/{names.name(device)}"
    return f"{names.name(request)}{equals}{device}{bracket}{said}{']' if bracket else ''}"


def _pool(text: str, names: Pseudonyms) -> str:
    """``driver/pool``"""
    driver, _, pool = text.partition("/")
    return f"{names.driver(driver)}/{names.pool(pool)}"


def _status(status: dict[str, Any], names: Pseudonyms) -> dict[str, Any]:
    return {**status, "reasons": [_message(reason, names) for reason in status["reasons"]]}


def _message(text: str, names: Pseudonyms) -> str:
    for pattern, method in _IN_MESSAGES:
        text = re.sub(pattern, lambda found, method=method: method(names, found[0]), text)  # type: ignore[misc]
    return text
