"""ConfigMap and Secret: keys, size, and the keys that a secret's type requires.

Upstream: pkg/apis/core/validation/validation.go, pkg/registry/core/secret/strategy.go. Values that were dropped from a
dump (null) have no size.
"""

from __future__ import annotations

import binascii
import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, within
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import config_key
from kwhatif.admission.validation.metadata import check_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.api.objects import section

_LARGEST = 1024 * 1024
_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
_ACCOUNT = "kubernetes.io/service-account.name"
_DOCKER = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}
_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
_USER = ("username", "password")


def _default_secret(request: Request, secret: Object) -> None:
    """Texts become data, as they do where the server reads them."""
    if not secret.get("type"):
        secret["type"] = "Opaque"
    texts = secret.pop("stringData", None)
    if texts:
        data = within(secret, "data")
        data.update({key: b64encode((text or "").encode()).decode() for key, text in texts.items()})


def _check_config_map(problems: Problems, config: Object) -> None:
    check_metadata(problems, config)
    texts, binary = section(config, "data"), section(config, "binaryData")
    _keys(problems, texts, "data")
    for key in sorted(texts.keys() & binary.keys()):
        problems.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    _keys(problems, binary, "binaryData")
    size = sum(len((text or "").encode()) for text in texts.values()) + sum(map(_size, binary.values()))
    if size > _LARGEST:
        problems.too_long("", _LARGEST)


def _check_secret(problems: Problems, secret: Object) -> None:
    check_metadata(problems, secret)
    data, kind = section(secret, "data"), secret.get("type") or ""
    _keys(problems, data, "data")
    if sum(map(_size, data.values())) > _LARGEST:
        problems.too_long("data", _LARGEST)
    if kind == "kubernetes.io/service-account-token":
        if not section(secret, "metadata", "annotations").get(_ACCOUNT):
            problems.required(f"metadata.annotations[{_ACCOUNT}]")
    elif kind in _DOCKER:
        _check_docker(problems, data, _DOCKER[kind])
    elif kind == "kubernetes.io/basic-auth" and not any(key in data for key in _USER):
        for key in _USER:
            problems.required(f"data[{key}]")
    for key in _KEYS.get(kind, ()):
        empty_counts = kind == "kubernetes.io/tls"
        if key not in data if empty_counts else data.get(key) == "" or key not in data:
            problems.required(f"data[{key}]")


def _check_docker(problems: Problems, data: Mapping[str, Any], key: str) -> None:
    """Registries' passwords are JSON. What is wrong with it is said in our words."""
    if key not in data:
        problems.required(f"data[{key}]")
        return
    if data[key] == "":
        problems.invalid(f"data[{key}]", "<secret contents redacted>", "unexpected end of JSON input")
        return
    try:
        content = None if data[key] is None else json.loads(b64decode(data[key]))
    except (ValueError, binascii.Error):
        problems.invalid(f"data[{key}]", "<secret contents redacted>", "not valid JSON")
        return
    if content is not None and not isinstance(content, dict):
        kind = {list: "array", str: "string", bool: "bool"}.get(type(content), "number")
        why = f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        problems.invalid(f"data[{key}]", "<secret contents redacted>", why)


def _keys(problems: Problems, data: Mapping[str, Any], path: str) -> None:
    for key in sorted(data):
        problems.invalid(f"{path}[{key}]", key, *config_key(key))


def _size(encoded: str | None) -> int:
    """The bytes that a text in base64 stands for."""
    text = encoded or ""
    return len(text) // 4 * 3 - text[-2:].count("=")


def _secret_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    """Certificate and key are parsed; whether they belong together is not checked."""
    if obj.get("type") != "kubernetes.io/tls":
        return
    data = section(obj, "data")
    for key, what in (("tls.crt", "certificate"), ("tls.key", "key")):
        if (key not in data or data[key] is not None) and b"-----BEGIN" not in b64decode(data.get(key) or ""):
            yield f"tls: failed to find any PEM data in {what} input"
            return


def _account_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    now, before = (section(one or {}, "metadata", "annotations") for one in (obj, old))
    if _MOUNTABLE in now and _MOUNTABLE not in before:
        why = "prefer separate namespaces to isolate access to mounted secrets"
        yield f"metadata.annotations[{_MOUNTABLE}]: deprecated in v1.32+; {why}"


STRATEGIES = {
    "ServiceAccount": Strategy(warnings=_account_warnings, has_spec=False),
    "ConfigMap": Strategy(check=_check_config_map, has_spec=False),
    "Secret": Strategy(defaults=_default_secret, check=_check_secret, warnings=_secret_warnings, has_spec=False),
}
