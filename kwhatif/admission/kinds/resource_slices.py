"""ResourceSlice.

Upstream: pkg/apis/resource/validation/validation.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from kwhatif.admission.kinds.resource_claims import check_few, check_qualified, check_unique
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import (
    check_choice,
    check_label_key,
    dns_label,
    dns_subdomain,
    label_value,
)
from kwhatif.admission.validation.metadata import check_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.scheduling_constraints import check_node_selector
from kwhatif.admission.validation.volume_sources import check_driver_name
from kwhatif.api.objects import part_of, section
from kwhatif.api.quantity import Quantity

_MOST_DEVICES, _MOST_ADVANCED, _MOST_SETS, _MOST_COUNTERS, _MOST_CONSUMED = 128, 64, 8, 32, 2
_MOST_FIELDS, _MOST_VALUES, _MOST_TAINTS, _MOST_CONDITIONS, _LONGEST_VALUE = 32, 48, 16, 4, 64
_MOST_OPTIONS = 10
_LISTS = ("bools", "ints", "strings", "versions")
_SCALARS = ("bool", "int", "string", "version")
_NUMBER, _MORE = r"(0|[1-9]\d*)", r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_MORE}(\.{_MORE})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?", re.ASCII
)
_ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_ONE_FOR_DEVICE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
_NONE_FOR_DEVICE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
    "ResourceSlice spec"
)


def _check(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    spec = part_of(obj, "spec")
    check_driver_name(problems, spec.get("driver") or "", "spec.driver")
    _pool(problems, section(spec, "pool"), "spec.pool")
    _places(problems, spec)
    devices, sets = spec.get("devices"), spec.get("sharedCounters")
    if devices is not None and sets is not None:
        problems.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    advanced = any(map(_is_advanced, devices or ()))
    alone = bool(spec.get("perDeviceNodeSelection"))
    if check_few(problems, devices or [], "spec.devices", _MOST_ADVANCED if advanced else _MOST_DEVICES):
        for i, device in enumerate(devices or ()):
            _device(problems, device, f"spec.devices[{i}]", alone=alone)
        check_unique(problems, [device.get("name") or "" for device in devices or ()], "spec.devices")
    if check_few(problems, sets or [], "spec.sharedCounters", _MOST_SETS):
        for i, counters in enumerate(sets or ()):
            _counters(problems, counters, f"spec.sharedCounters[{i}]", "name")
        check_unique(problems, [counters.get("name") or "" for counters in sets or ()], "spec.sharedCounters")


def _pool(problems: Problems, pool: Object, path: str) -> None:
    name, count, generation = pool.get("name") or "", pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if not name:
        problems.required(f"{path}.name")
    else:
        if len(name.encode()) > 253:
            problems.too_long(f"{path}.name", 253)
        for part in name.split("/"):
            problems.invalid(f"{path}.name", part, *dns_subdomain(part))
    if count <= 0:
        problems.invalid(f"{path}.resourceSliceCount", count, "must be greater than zero")
    if generation < 0:
        problems.invalid(f"{path}.generation", generation, "must be greater than or equal to zero")


def _is_advanced(device: Object) -> bool:
    """Of devices with taints, counters or lists among their attributes there may not be as many."""
    values = section(device, "attributes").values()
    lists = any((value or {}).get(key) is not None for value in values for key in _LISTS)
    return bool(device.get("taints") or device.get("consumesCounters") or lists)


# --- where devices are


def _places(problems: Problems, spec: Object) -> None:
    found = _place(problems, spec, "spec", "must be either unset or set to a non-empty string")
    selector, alone = spec.get("nodeSelector"), spec.get("perDeviceNodeSelection")
    if selector is not None and len(each(selector, "nodeSelectorTerms")) != 1:
        terms = selector.get("nodeSelectorTerms")
        problems.invalid("spec.nodeSelector.nodeSelectorTerms", terms, "must have exactly one node selector term")
    if alone:
        found.append("`perDeviceNodeSelection`")
    elif alone is not None:
        problems.invalid("spec.perDeviceNodeSelection", alone, "must be either unset or set to true")
    if not found:
        problems.required("spec", _ONE_PLACE)
    elif len(found) > 1:
        problems.invalid("spec", f"{{{', '.join(found)}}}", f"{_ONE_PLACE}, but multiple fields are set")


def _place(problems: Problems, owner: Object, path: str, no_name: str) -> list[str]:
    """The node selection of a slice or device, as words."""
    found = []
    name, selector, everywhere = owner.get("nodeName"), owner.get("nodeSelector"), owner.get("allNodes")
    if name:
        found.append("`nodeName`")
        problems.invalid(f"{path}.nodeName", name, *dns_subdomain(name))
    elif name is not None:
        problems.invalid(f"{path}.nodeName", name, no_name)
    if selector is not None:
        found.append("`nodeSelector`")
        check_node_selector(problems, selector, f"{path}.nodeSelector")
    if everywhere:
        found.append("`allNodes`")
    elif everywhere is not None:
        problems.invalid(f"{path}.allNodes", everywhere, "must be either unset or set to true")
    return found


# --- one device


def _device(problems: Problems, device: Object, path: str, *, alone: bool) -> None:
    name, attributes, capacity = device.get("name") or "", section(device, "attributes"), section(device, "capacity")
    problems.invalid(f"{path}.name", name, *dns_label(name))
    if len(attributes) + len(capacity) > _MOST_FIELDS:
        why = f"the total number of attributes and capacities must not exceed {_MOST_FIELDS}"
        problems.invalid(path, len(attributes) + len(capacity), why)
    values = sum(max(1, sum(len(value.get(key) or ()) for key in _LISTS)) for value in attributes.values())
    if values > _MOST_VALUES:
        problems.invalid(path, values, f"the total number of attribute values must not exceed {_MOST_VALUES}")
    for key, value in sorted(attributes.items()):
        check_qualified(problems, key, f"{path}.attributes")
        _attribute(problems, value, f"{path}.attributes[{key}]")
    for key, value in sorted(capacity.items()):
        check_qualified(problems, key, f"{path}.capacity")
        _capacity(
            problems,
            value,
            f"{path}.capacity[{key}].requestPolicy",
            shared=bool(device.get("allowMultipleAllocations")),
        )
    _taints(problems, each(device, "taints"), f"{path}.taints")
    consumed = each(device, "consumesCounters")
    if check_few(problems, consumed, f"{path}.consumesCounters", _MOST_CONSUMED):
        for i, counters in enumerate(consumed):
            _counters(problems, counters, f"{path}.consumesCounters[{i}]", "counterSet")
        names = [counters.get("counterSet") or "" for counters in consumed]
        check_unique(problems, names, f"{path}.consumesCounters")
    if alone:
        found = _place(problems, device, path, "must not be empty")
        if not found:
            problems.required(path, _ONE_FOR_DEVICE)
        elif len(found) > 1:
            problems.invalid(path, f"{{{', '.join(found)}}}", _ONE_FOR_DEVICE)
    elif any(device.get(key) is not None for key in ("nodeName", "nodeSelector", "allNodes")):
        problems.invalid(path, None, _NONE_FOR_DEVICE)
    _conditions(problems, device, path)


def _attribute(problems: Problems, attribute: Object, path: str) -> None:
    judge: dict[str, Callable[[Problems, str, str], None]] = {"string": _text, "version": _version}
    number = 0
    for key in _SCALARS:
        value = attribute.get(key)
        if value is not None:
            number += 1
            if key in judge:
                judge[key](problems, value, f"{path}.{key}")
    for key in _LISTS:
        values = attribute.get(key)
        if values is None:
            continue
        number += 1
        if not values:
            problems.invalid(f"{path}.{key}", values, "must not be empty if specified")
        if key[:-1] in judge:
            for i, value in enumerate(values):
                judge[key[:-1]](problems, value, f"{path}.{key}[{i}]")
    if number != 1:
        problems.invalid(path, attribute if number else "", "exactly one value must be specified")


def _text(problems: Problems, value: str, path: str) -> None:
    if len(value.encode()) > _LONGEST_VALUE:
        problems.too_long(path, _LONGEST_VALUE)


def _version(problems: Problems, value: str, path: str) -> None:
    if not _VERSION.fullmatch(value):
        problems.invalid(path, value, "must be a string compatible with semver.org spec 2.0.0")
    _text(problems, value, path)


def _taints(problems: Problems, taints: list[Object], path: str) -> None:
    if not check_few(problems, taints, path, _MOST_TAINTS):
        return
    for i, taint in enumerate(taints):
        value, effect = taint.get("value") or "", taint.get("effect") or ""
        check_label_key(problems, taint.get("key") or "", f"{path}[{i}].key")
        problems.invalid(f"{path}[{i}].value", value, *label_value(value))
        if not effect:
            problems.required(f"{path}[{i}].effect")
        else:
            check_choice(problems, effect, f"{path}[{i}].effect", ("NoExecute", "NoSchedule", "None"))


def _counters(problems: Problems, counters: Object, path: str, called: str) -> None:
    """A set of counters, or what a device takes of one."""
    name, listed = counters.get(called) or "", section(counters, "counters")
    if not name:
        problems.required(f"{path}.{called}")
    else:
        problems.invalid(f"{path}.{called}", name, *dns_label(name))
    if not listed:
        problems.required(f"{path}.counters")
    elif len(listed) > _MOST_COUNTERS:
        problems.too_many(f"{path}.counters", len(listed), _MOST_COUNTERS)
    else:
        for key in sorted(listed):
            problems.invalid(f"{path}.counters", key, *dns_label(key))


def _conditions(problems: Problems, device: Object, path: str) -> None:
    """What has to become true before a pod is bound, and what ends the wait."""
    good, bad = device.get("bindingConditions") or [], device.get("bindingFailureConditions") or []
    for key, conditions in (("bindingConditions", good), ("bindingFailureConditions", bad)):
        if len(conditions) > _MOST_CONDITIONS:
            problems.too_many(f"{path}.{key}", len(conditions), _MOST_CONDITIONS)
            continue
        for i, condition in enumerate(conditions):
            check_label_key(problems, condition, f"{path}.{key}[{i}]")
    check_unique(problems, good, f"{path}.bindingConditions")
    check_unique(problems, bad, f"{path}.bindingFailureConditions")
    for i, condition in enumerate(bad):
        if condition in good:
            why = "bindingFailureConditions must not overlap with bindingConditions"
            problems.invalid(f"{path}.bindingFailureConditions[{i}]", condition, why)
    if bad and not good:
        why = "bindingConditions are required to use bindingFailureConditions"
        problems.invalid(f"{path}.bindingConditions", device.get("bindingConditions"), why)
    if good and not bad:
        why = "bindingFailureConditions are required to use bindingConditions"
        problems.invalid(f"{path}.bindingFailureConditions", device.get("bindingFailureConditions"), why)


# --- capacity that several may have a part of


def _capacity(problems: Problems, capacity: Object, path: str, *, shared: bool) -> None:
    policy = capacity.get("requestPolicy")
    if policy is None:
        return
    if not shared:
        problems.forbidden(path, "allowMultipleAllocations must be true")
        return
    values, range_, default = policy.get("validValues") or [], policy.get("validRange"), policy.get("default")
    whole = Quantity.from_json(capacity.get("value") or 0)
    if values and range_ is not None:
        both = 'cannot specify "validValues" and "validRange" at the same time'
        problems.forbidden(path, f"exactly one policy can be specified, {both}")
    elif default is None and (values or range_ is not None):
        problems.required(f"{path}.default", f"required when {'validValues' if values else 'validRange'} is defined")
    elif values:
        _values(problems, [Quantity.from_json(value) for value in values], Quantity.from_json(default), whole, path)
    elif range_ is not None:
        _range(problems, range_, Quantity.from_json(default), whole, f"{path}.validRange")


def _values(problems: Problems, values: list[Quantity], default: Quantity, whole: Quantity, path: str) -> None:
    path = f"{path}.validValues"
    for i, (one, other) in enumerate(pairwise(values), 1):
        if one > other:
            problems.invalid(f"{path}[{i}]", str(other), "values must be sorted in ascending order")
    if len(values) > _MOST_OPTIONS:
        problems.too_many(path, len(values), _MOST_OPTIONS)
    else:
        for i, value in enumerate(values):
            if value > whole:
                problems.invalid(f"{path}[{i}]", str(value), f"option is larger than capacity value: {whole}")
        check_unique(problems, [str(value.value()) for value in values], path)
    if default not in values:
        problems.invalid(path, str(default), "default value is not valid according to the requestPolicy")


def _range(problems: Problems, range_: Object, default: Quantity, whole: Quantity, path: str) -> None:
    least, most, step = (
        None if range_.get(key) is None else Quantity.from_json(range_[key]) for key in ("min", "max", "step")
    )
    if least is None:
        problems.required(f"{path}.min", "required when validRange is defined")
        return
    if least > whole:
        problems.invalid(f"{path}.min", str(least), f"min is larger than capacity value: {whole}")
    if default < least:
        problems.invalid(f"{path}.min", str(default), f"default is less than min: {least}")
    if most is not None and least > most:
        problems.invalid(f"{path}.max", str(least), f"min is larger than max: {most}")
    if most is not None and most > whole:
        problems.invalid(f"{path}.max", str(most), f"max is larger than capacity value: {whole}")
    if most is not None and default > most:
        problems.invalid(f"{path}.max", str(default), f"default is more than max: {most}")
    if step is None:
        return
    if least + step > whole:
        problems.invalid(f"{path}.step", str(step), f"one step {least + step} is larger than capacity value: {whole}")
    for value in (default, *([] if most is None else [most])):
        if step.value() and (value.value() - least.value()) % step.value():
            why = f"value is not a multiple of a given step ({step}) from ({least})"
            problems.invalid(f"{path}.step", str(value), why)


def _warnings(obj: Object, old: Object | None) -> Iterator[str]:
    driver = part_of(obj, "spec").get("driver") or ""
    if driver != driver.lower():
        yield f'spec.driver: driver names should be lowercase; "{driver}" contains uppercase characters'


STRATEGIES = {"ResourceSlice": Strategy(check=_check, warnings=_warnings)}
