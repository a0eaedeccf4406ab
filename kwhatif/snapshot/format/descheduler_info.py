"""The descheduler's policy in a ConfigMap.

Upstream: charts/descheduler/templates/configmap.yaml (named by the release, which contains "descheduler" unless
overridden) and kubernetes/base/configmap.yaml. OpenShift's operator has its own in a namespace of that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from kwhatif.errors import InputError
from kwhatif.snapshot.format.autoscaler_info import ConfigMap
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.objects import decode, read_documents

KIND = "DeschedulerPolicy"
CONFIG_MAPS = ("descheduler", "descheduler-policy-configmap")
"""The names that the chart gives by default, and the manifests: a dump asks for these alone."""

_HINT = "descheduler"


class DeschedulerInfo(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """A DeschedulerPolicy as plain values, and where that was found."""

    policy: dict[str, Any]
    source: str


def is_named_like_policy(namespace: str, name: str) -> bool:
    """Whether a ConfigMap of this name may hold a policy: files with other names are not parsed."""
    return _HINT in namespace or _HINT in name


def policies_in(data: Mapping[str, str], source: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The policies among the values of a ConfigMap, each with where it stands. Raises InputError."""
    for key, text in sorted(data.items()):
        if KIND not in text:
            continue
        where = f"{source}, {key}"
        for document in read_documents(Text(where, text.encode())):
            value = decode(document.value, Any)
            if isinstance(value, dict) and value.get("kind") == KIND:
                yield value, where


def with_descheduler_policy(info: DeschedulerInfo | None, config_map: ConfigMap) -> DeschedulerInfo | None:
    """The info with one more ConfigMap: the first policy counts, and one that cannot be read is ignored."""
    if info is not None:
        return info
    source = f"ConfigMap {config_map.metadata.namespace or 'default'}/{config_map.metadata.name}"
    try:
        policy, where = next(policies_in(config_map.data or {}, source), (None, ""))
    except InputError:
        return None
    return None if policy is None else DeschedulerInfo(policy=policy, source=where)
