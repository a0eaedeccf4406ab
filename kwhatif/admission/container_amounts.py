"""Amounts of resources over the containers of a pod, from plain values.

Upstream: component-helpers/resource/helpers.go. The scheduler's own sums are in ``cluster/pod_requests.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.api.objects import section
from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.errors import InputError

Amounts = dict[str, Quantity]


def amounts(listed: Mapping[str, Any] | None) -> Amounts:
    """A resource list as quantities. Raises InputError, though only of objects that no API server ever saw."""
    quantities: Amounts = {}
    for name, value in (listed or {}).items():
        try:
            quantities[name] = Quantity.from_json(value)
        except QuantityError as error:
            raise InputError(str(error), place=f"resource {name}") from None
    return quantities


def pod_level_resource(name: str) -> bool:
    """Whether a pod as a whole can ask for it."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def of_containers(spec: Object, which: str) -> Amounts:
    """What the containers need together: ``which`` is ``requests`` or ``limits``.

    Containers and sidecars run side by side; each other init container runs alone with the sidecars before it.
    """
    total: Amounts = {}
    for container in each(spec, "containers"):
        _add(total, _amounts_of(container, which))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in each(spec, "initContainers"):
        own = _amounts_of(container, which)
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(sidecars, own)
            _raise_to(peak, sidecars)
        else:
            _add(own, sidecars)
            _raise_to(peak, own)
    _raise_to(total, peak)
    return total


def of_pod(spec: Object, which: str) -> Amounts:
    """As ``of_containers``, with what the pod says as a whole in its place and the overhead on top."""
    total = of_containers(spec, which)
    whole = amounts(section(spec, "resources").get(which))
    total.update({name: amount for name, amount in whole.items() if pod_level_resource(name)})
    for name, amount in amounts(spec.get("overhead")).items():
        if which == "requests":
            _add(total, {name: amount})
        elif name in total and not total[name].is_zero:
            total[name] += amount
    return total


def _amounts_of(container: Object, which: str) -> Amounts:
    return amounts(section(container, "resources").get(which))


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: Amounts, other: Amounts) -> None:
    for name, amount in other.items():
        if name not in total or amount > total[name]:
            total[name] = amount
