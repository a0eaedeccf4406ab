"""Whether two pod templates mean the same: an object as stored has defaults that its manifest leaves out.

Upstream: pkg/controller/deployment/util/deployment_util.go (EqualIgnoreHash); defaults: pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

import json
from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.workloads.objects import copied, section

__all__ = ["HASH_LABEL", "canonical", "covers", "same_template"]

HASH_LABEL = "pod-template-hash"

_DEFAULTS: dict[str, Any] = {
    "apiVersion": "v1",
    "defaultMode": 420,
    "dnsPolicy": "ClusterFirst",
    "failureThreshold": 3,
    "periodSeconds": 10,
    "preemptionPolicy": "PreemptLowerPriority",
    "protocol": "TCP",
    "restartPolicy": "Always",
    "scheme": "HTTP",
    "schedulerName": "default-scheduler",
    "successThreshold": 1,
    "terminationGracePeriodSeconds": 30,
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "timeoutSeconds": 1,
}
_AMOUNTS = ("limits", "requests", "overhead")


def same_template(one: Object, other: Object) -> bool:
    """Whether two templates make the same pods; the label that tells replica sets apart does not count."""
    return canonical(one) == canonical(other)


def canonical(template: Object) -> str:
    """A text that two templates share if they mean the same."""
    plain = copied(template)
    section(plain, "metadata", "labels").pop(HASH_LABEL, None)
    section(plain, "metadata").pop("creationTimestamp", None)
    section(plain, "metadata").pop("name", None)
    section(plain, "spec").pop("serviceAccount", None)
    return json.dumps(_plain(plain), sort_keys=True, separators=(",", ":"))


def covers(wide: object, narrow: object) -> bool:
    """Whether all that ``narrow`` says is also in ``wide``; items of a list may be in any place."""
    if isinstance(narrow, dict):
        return isinstance(wide, dict) and all(covers(wide.get(key), item) for key, item in narrow.items())
    if isinstance(narrow, list):
        return isinstance(wide, list) and all(any(covers(have, item) for have in wide) for item in narrow)
    return wide == narrow or narrow is None


def _plain(value: Any) -> Any:
    """Without what says nothing: empty values and the defaults of fields that have one everywhere."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, item in value.items():
        plain = _amounts(item) if key in _AMOUNTS and isinstance(item, dict) else _plain(item)
        if plain in (None, {}, [], "") or _DEFAULTS.get(key) == plain:
            continue
        if key == "imagePullPolicy" and plain == _pull_policy(str(value.get("image") or "")):
            continue
        kept[key] = plain
    return kept


def _amounts(amounts: Object) -> Object:
    return {name: _amount(text) for name, text in amounts.items()}


def _amount(text: object) -> object:
    try:
        return str(Quantity.from_json(text).milli_value())
    except QuantityError:
        return text


def _pull_policy(image: str) -> str:
    """The default for an image: the newest is pulled always."""
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") and "@" not in image else "IfNotPresent"
