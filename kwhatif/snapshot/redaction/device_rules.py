"""Devices and claims for them. What only drivers read, their configuration, goes.

An expression keeps its meaning as long as it compares: texts in it are replaced like the values they are compared with.
Functions that look into a text (``matches``, ``startsWith``) see a pseudonym.
"""

from __future__ import annotations

from typing import Any

from kwhatif.snapshot.redaction.pseudonyms import Names
from kwhatif.snapshot.redaction.shared_rules import (
    CONDITIONS,
    METADATA,
    NAME,
    NODE,
    NODE_SELECTOR,
    TAINT,
    TOLERATIONS,
    UID,
    object_of,
)
from kwhatif.snapshot.redaction.treatments import GONE, amount, each, fields, flag, named, number, one_of, table, time

__all__ = ["CLAIM_KIND", "CLAIM_TEMPLATE_KIND", "DEVICE_CLASS", "SLICE", "TAINT_RULE"]

_DRIVER = named(Names.driver)
_POOL = named(Names.pool)
_FREE = named(Names.free)
_ATTRIBUTE = named(Names.attribute)
_CONDITION = named(Names.qualified)
_AMOUNTS = table(Names.attribute, amount)

# --- what is there

_COUNTERS = table(Names.name, fields(value=amount))
_BODY = fields(
    attributes=table(
        Names.attribute,
        fields(
            {"int": number, "bool": flag, "string": _FREE, "version": _FREE},
            ints=each(number),
            bools=each(flag),
            strings=each(_FREE),
            versions=each(_FREE),
        ),
    ),
    capacity=table(
        Names.attribute,
        fields(
            value=amount,
            requestPolicy=fields(
                default=amount, validValues=each(amount), validRange=fields(min=amount, max=amount, step=amount)
            ),
        ),
    ),
    consumesCounters=each(fields(counterSet=NAME, counters=_COUNTERS)),
    nodeName=NODE,
    nodeSelector=NODE_SELECTOR,
    allNodes=flag,
    taints=each(TAINT),
    bindsToNode=flag,
    bindingConditions=each(_CONDITION),
    bindingFailureConditions=each(_CONDITION),
    allowMultipleAllocations=flag,
)
_SLICE = object_of(
    {
        "spec": fields(
            driver=_DRIVER,
            pool=fields(name=_POOL, generation=number, resourceSliceCount=number),
            nodeName=NODE,
            nodeSelector=NODE_SELECTOR,
            allNodes=flag,
            devices=each(fields(_BODY.rules, name=NAME, basic=_BODY)),
            perDeviceNodeSelection=flag,
            sharedCounters=each(fields(name=NAME, counters=_COUNTERS)),
        )
    }
)


def SLICE(value: Any, names: Names) -> Any:
    """Drivers have slices of their nodes called after the node and themselves."""
    kept = _SLICE(value, names)
    name, node = (value.get("metadata") or {}).get("name") or "", (value.get("spec") or {}).get("nodeName")
    if node and name.startswith(f"{node}-") and kept is not GONE:
        kept["metadata"]["name"] = f"{names.node(node)}-{names.name(name.removeprefix(f'{node}-'))}"
    return kept


_RULE_SELECTOR = fields(driver=_DRIVER, pool=_POOL, device=NAME)
TAINT_RULE = object_of({"spec": fields(deviceSelector=_RULE_SELECTOR, taint=TAINT)})

# --- what is asked for

_SELECTORS = each(fields(cel=fields(expression=named(Names.expression))))
_REQUEST = fields(
    name=NAME,
    deviceClassName=NAME,
    selectors=_SELECTORS,
    allocationMode=one_of("ExactCount", "All"),
    count=number,
    tolerations=TOLERATIONS,
    capacity=fields(requests=_AMOUNTS),
    adminAccess=flag,
)
_SPEC = fields(
    devices=fields(
        requests=each(fields(_REQUEST.rules, exactly=_REQUEST, firstAvailable=each(_REQUEST))),
        constraints=each(fields(requests=each(NAME), matchAttribute=_ATTRIBUTE, distinctAttribute=_ATTRIBUTE)),
    )
)
_RESULT = fields(
    request=NAME,
    driver=_DRIVER,
    pool=_POOL,
    device=NAME,
    adminAccess=flag,
    tolerations=TOLERATIONS,
    bindingConditions=each(_CONDITION),
    bindingFailureConditions=each(_CONDITION),
    shareID=UID,
    consumedCapacity=_AMOUNTS,
)
_CONSUMER = fields(apiGroup=NAME, resource=one_of("pods", "podgroups"), name=NAME, uid=UID)

CLAIM_KIND = object_of(
    {
        "spec": _SPEC,
        "status": fields(
            allocation=fields(
                devices=fields(results=each(_RESULT)), nodeSelector=NODE_SELECTOR, allocationTimestamp=time
            ),
            reservedFor=each(_CONSUMER),
            devices=each(fields(driver=_DRIVER, pool=_POOL, device=NAME, conditions=CONDITIONS)),
        ),
    }
)
CLAIM_TEMPLATE_KIND = object_of({"spec": fields(metadata=METADATA, spec=_SPEC)})
DEVICE_CLASS = object_of({"spec": fields(selectors=_SELECTORS, extendedResourceName=named(Names.resource))})
