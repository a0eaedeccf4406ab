"""Recorded scenarios, redacted, and what becomes of the answer to one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from kwhatif.redaction.pseudonyms import Names
from kwhatif.redaction.redact import CONFIGURATION_KIND, redact_documents
from kwhatif.redaction.translation_file import Translation
from kwhatif.whatif.conformance.scenario_answers import Scenario

__all__ = ["redacted_answer", "redacted_scenario"]

# Where a message names something, and what that is.
_IN_MESSAGES: tuple[tuple[str, Callable[[Names, str], str]], ...] = (
    (r"(?<=Insufficient )\S+?(?=[,.]? |[,.]?$)", Names.resource),
    (r'(?<=persistentvolumeclaim ")[^"]+(?=")', Names.name),
    (r'(?<=storageclass.storage.k8s.io ")[^"]+(?=")', Names.name),
    (r'(?<=StorageClass ")[^"]+(?=")', Names.name),
    (r'(?<=PersistentVolume ")[^"]+(?=")', Names.name),
    (r"(?<=looking up PVC )\S+(?=:)", Names.name),
    (r'(?<=could not find ResourceClaim ")[^"]+(?=")', Names.name),
    (r'(?<=pod ")[^"]+(?=": ResourceClaim)', Names.name),
    (r"(?<=filter plugin: claim )[^,:]+(?=[,:])", Names.name),
    (r"(?<=, request )[^:]+(?=: )", Names.name),
    (r"(?<=no such key: )\S+", Names.free),
    (r"(?<=cannot add device )\S+", lambda names, found: _device(found, names)),
    (r"(?<=resource pool )\S+", lambda names, found: _pool(found, names)),
    (r"(?<=scheduling gates: \[)[^]]*", lambda names, found: " ".join(map(names.qualified, found.split()))),
)


def redacted_scenario(scenario: Scenario) -> tuple[Scenario, Translation]:
    """The scenario under pseudonyms, its configuration too."""
    objects, pods = ([msgspec.json.decode(raw) for raw in raws] for raws in (scenario.objects, scenario.pods))
    configuration = scenario.config and [scenario.config | {"kind": CONFIGURATION_KIND}]
    redacted, translation = redact_documents([*(configuration or ()), *objects, *pods])
    config = redacted.pop(0) if configuration else None
    raws = [msgspec.Raw(msgspec.json.encode(document)) for document in redacted]
    assert len(raws) == len(objects) + len(pods)
    return Scenario(scenario.name, raws[: len(objects)], raws[len(objects) :], config), translation


def redacted_answer(answer: dict[str, Any], translation: Translation) -> dict[str, Any]:
    """The answer with each name in it replaced by its pseudonym, field by field."""
    names = Names(translation)
    return {
        **answer,
        "nodeOrder": [names.node(name) for name in answer["nodeOrder"]],
        "pods": [
            {"pod": names.name(pod["pod"]), "attempts": [_attempt(one, names) for one in pod["attempts"]]}
            for pod in answer["pods"]
        ],
    }


def _attempt(attempt: dict[str, Any], names: Names) -> dict[str, Any]:
    made = dict(attempt)
    for field in ("feasible", "sampled", "winners", "preFilterNodes"):
        if field in made:
            made[field] = [names.node(name) for name in made[field]]
    for field in ("selected", "nominated"):
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


def _device(text: str, names: Names) -> str:
    """``request=driver/pool/device[capacity=amount,...]``"""
    device, bracket, consumed = text.partition("[")
    request, equals, device = device.rpartition("=")
    pool, _, device = device.rpartition("/")
    pairs = (part.partition("=") for part in consumed.removesuffix("]").split(",")) if bracket else ()
    said = ",".join(f"{names.attribute(key)}={amount}" for key, _, amount in pairs)
    device = f"{_pool(pool, names)}/{names.name(device)}"
    return f"{names.name(request)}{equals}{device}{bracket}{said}{']' if bracket else ''}"


def _pool(text: str, names: Names) -> str:
    """``driver/pool``"""
    driver, _, pool = text.partition("/")
    return f"{names.driver(driver)}/{names.pool(pool)}"


def _status(status: dict[str, Any], names: Names) -> dict[str, Any]:
    return {**status, "reasons": [_message(reason, names) for reason in status["reasons"]]}


def _message(text: str, names: Names) -> str:
    for pattern, method in _IN_MESSAGES:
        text = re.sub(pattern, lambda found, method=method: method(names, found[0]), text)  # type: ignore[misc]
    return text
