"""ResourceSlice.

Upstream: pkg/apis/resource/validation/validation.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from kwhatif.admission.kinds.resource_claims import check_qualified
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import dns_subdomain
from kwhatif.admission.validation.metadata import object_table
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.rows import each_item, table
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


def _devices(problems: Problems, spec: Object, path: str) -> None:
    devices, sets = spec.get("devices"), spec.get("sharedCounters")
    if devices is not None and sets is not None:
        problems.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    most = _MOST_ADVANCED if any(map(_is_advanced, devices or ())) else _MOST_DEVICES
    if len(devices or ()) > most:
        problems.too_many("spec.devices", len(devices or ()), most)
        return
    for i, device in enumerate(devices or ()):
        where = f"spec.devices[{i}]"
        _DEVICE(problems, device, where)
        _device_place(problems, device, where, per_device=bool(spec.get("perDeviceNodeSelection")))
        _CONDITIONS(problems, device, where)
    _DIFFERENT_NAMES(problems, devices or (), "spec.devices")


def _pool_name(problems: Problems, name: str, path: str) -> None:
    if len(name.encode()) > 253:
        problems.too_long(path, 253)
    for part in name.split("/"):
        problems.invalid(path, part, *dns_subdomain(part))


def _is_advanced(device: Object) -> bool:
    """Of devices with taints, counters or lists among their attributes there may not be as many."""
    return bool(device.get("taints") or device.get("consumesCounters") or _lists_of(device))


# --- where devices are


def _places(problems: Problems, spec: Object, path: str) -> None:
    places = _place(problems, spec, "spec", "must be either unset or set to a non-empty string")
    selector, alone = spec.get("nodeSelector"), spec.get("perDeviceNodeSelection")
    if selector is not None and len(each(selector, "nodeSelectorTerms")) != 1:
        terms = selector.get("nodeSelectorTerms")
        problems.invalid("spec.nodeSelector.nodeSelectorTerms", terms, "must have exactly one node selector term")
    if alone:
        places.append("`perDeviceNodeSelection`")
    elif alone is not None:
        problems.invalid("spec.perDeviceNodeSelection", alone, "must be either unset or set to true")
    if not places:
        problems.required("spec", _ONE_PLACE)
    elif len(places) > 1:
        problems.invalid("spec", f"{{{', '.join(places)}}}", f"{_ONE_PLACE}, but multiple fields are set")


def _place(problems: Problems, owner: Object, path: str, no_name: str) -> list[str]:
    """The node selection of a slice or device, as words."""
    places = []
    name, selector, everywhere = owner.get("nodeName"), owner.get("nodeSelector"), owner.get("allNodes")
    if name:
        places.append("`nodeName`")
        problems.invalid(f"{path}.nodeName", name, *dns_subdomain(name))
    elif name is not None:
        problems.invalid(f"{path}.nodeName", name, no_name)
    if selector is not None:
        places.append("`nodeSelector`")
        check_node_selector(problems, selector, f"{path}.nodeSelector")
    if everywhere:
        places.append("`allNodes`")
    elif everywhere is not None:
        problems.invalid(f"{path}.allNodes", everywhere, "must be either unset or set to true")
    return places


# --- one device


def _device_place(problems: Problems, device: Object, path: str, *, per_device: bool) -> None:
    if per_device:
        places = _place(problems, device, path, "must not be empty")
        if not places:
            problems.required(path, _ONE_FOR_DEVICE)
        elif len(places) > 1:
            problems.invalid(path, f"{{{', '.join(places)}}}", _ONE_FOR_DEVICE)
    elif any(device.get(key) is not None for key in ("nodeName", "nodeSelector", "allNodes")):
        problems.invalid(path, None, _NONE_FOR_DEVICE)


def _fields(problems: Problems, device: Object, path: str) -> None:
    """Attributes and capacity, by name."""
    attributes, capacity = section(device, "attributes"), section(device, "capacity")
    if len(attributes) + len(capacity) > _MOST_FIELDS:
        why = f"the total number of attributes and capacities must not exceed {_MOST_FIELDS}"
        problems.invalid(path, len(attributes) + len(capacity), why)
    values = sum(max(1, sum(len(value.get(key) or ()) for key in _LISTS)) for value in attributes.values())
    if values > _MOST_VALUES:
        problems.invalid(path, values, f"the total number of attribute values must not exceed {_MOST_VALUES}")
    for key, value in sorted(attributes.items()):
        check_qualified(problems, key, f"{path}.attributes")
        _ATTRIBUTE(problems, value, f"{path}.attributes[{key}]")
    shared = bool(device.get("allowMultipleAllocations"))
    for key, value in sorted(capacity.items()):
        check_qualified(problems, key, f"{path}.capacity")
        _capacity(problems, value, f"{path}.capacity[{key}].requestPolicy", shared=shared)


def _one_value(problems: Problems, attribute: Object, path: str) -> None:
    number = sum(attribute.get(key) is not None for key in (*_SCALARS, *_LISTS))
    if number != 1:
        problems.invalid(path, attribute if number else "", "exactly one value must be specified")


def _version(value: str) -> list[str]:
    return [] if _VERSION.fullmatch(value) else ["must be a string compatible with semver.org spec 2.0.0"]


def _overlap(problems: Problems, device: Object, path: str) -> None:
    good = device.get("bindingConditions") or []
    for i, condition in enumerate(device.get("bindingFailureConditions") or ()):
        if condition in good:
            why = "bindingFailureConditions must not overlap with bindingConditions"
            problems.invalid(f"{path}.bindingFailureConditions[{i}]", condition, why)


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
        _ALL_DIFFERENT(problems, [str(value.value()) for value in values], path)
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


def _defaults(request: Request, spec: Object) -> None:
    """What the gate DRAListTypeAttributes is about is dropped, as it is off by default, unless it was set."""
    if any(_lists_of(device) for device in each((request.old or {}).get("spec"), "devices")):
        return
    for device in each(spec, "devices"):
        for attribute, key in _lists_of(device):
            del attribute[key]


def _lists_of(device: Object) -> list[tuple[Object, str]]:
    values = section(device, "attributes").values()
    return [(value, key) for value in values for key in _LISTS if value and value.get(key) is not None]


def _warnings(obj: Object, old: Object | None) -> Iterator[str]:
    driver = part_of(obj, "spec").get("driver") or ""
    if driver != driver.lower():
        yield f'spec.driver: driver names should be lowercase; "{driver}" contains uppercase characters'


_DIFFERENT_NAMES, _ALL_DIFFERENT = table(". all_unique name here"), table(". all_unique")
_ATTRIBUTE = table(
    f"""
    string                       longest {_LONGEST_VALUE}
    version                      _version
    version                      longest {_LONGEST_VALUE}
    bools                        not empty: must not be empty if specified
    ints                         not empty: must not be empty if specified
    strings                      not empty: must not be empty if specified
    strings[]                    longest {_LONGEST_VALUE}
    versions                     not empty: must not be empty if specified
    versions[]                   _version
    versions[]                   longest {_LONGEST_VALUE}
    .                            _one_value
    """,
    *(_version, _one_value),
    empty=lambda values: not values,
)
# A set of counters, or what a device takes of one.
_COUNTERS = f"""
    NAME                         required & dns_label
    counters                     required & most {_MOST_COUNTERS} & each dns_label
"""
_DEVICE = table(
    f"""
    name                         text & dns_label
    .                            _fields
    taints[]                     most {_MOST_TAINTS}
    taints[].key                 text & label_key
    taints[].value               text & label_value
    taints[].effect              required & one_of NoExecute NoSchedule None
    consumesCounters             most {_MOST_CONSUMED} & consumed & all_unique counterSet here
    """,
    _fields,
    consumed=each_item(table(_COUNTERS.replace("NAME", "counterSet"))),
)
# What has to become true before a pod is bound, and what ends the wait.
_CONDITIONS = table(
    f"""
    bindingConditions[]          most {_MOST_CONDITIONS}
    bindingConditions[]          label_key
    bindingFailureConditions[]   most {_MOST_CONDITIONS}
    bindingFailureConditions[]   label_key
    bindingConditions            all_unique
    bindingFailureConditions     all_unique
    .                            _overlap
    bindingConditions            any & invalid if bindingFailureConditions and no_conditions:
            bindingConditions are required to use bindingFailureConditions
    bindingFailureConditions     any & invalid if bindingConditions and no_failure_conditions:
            bindingFailureConditions are required to use bindingConditions
    """,
    _overlap,
    no_conditions=lambda device: not device.get("bindingConditions"),
    no_failure_conditions=lambda device: not device.get("bindingFailureConditions"),
)
_SLICE = object_table(
    f"""
    spec.driver                  text & check_driver_name
    spec.pool.name               required & _pool_name
    spec.pool.resourceSliceCount    number & at_least 1: must be greater than zero
    spec.pool.generation         at_least 0: must be greater than or equal to zero
    spec                         part & _places
    spec                         part & _devices
    spec.sharedCounters          most {_MOST_SETS} & counters & all_unique name here
    """,
    *(check_driver_name, _pool_name, _places, _devices),
    counters=each_item(table(_COUNTERS.replace("NAME", "name"))),
)
STRATEGIES = {"ResourceSlice": Strategy(_defaults, _SLICE, warnings=_warnings)}
