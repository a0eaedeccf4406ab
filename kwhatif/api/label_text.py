"""What may be a label's key and value (upstream: apimachinery/pkg/api/validate/content/kube.go, dns.go)."""

from __future__ import annotations

import re
from functools import lru_cache

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_DNS_LABEL = r"[a-z0-9](?:[a-z0-9-]*+(?<=[a-z0-9]))?+"
_DNS_SUBDOMAIN = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*+")
_LONGEST_PREFIX = 253


@lru_cache(maxsize=1 << 16)
def is_label_key(key: str) -> bool:
    """Whether this is a name of at most 63 characters, with a DNS subdomain and a slash before it or not."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > _LONGEST_PREFIX or not _DNS_SUBDOMAIN.fullmatch(prefix)):
        return False
    return _NAME.fullmatch(name) is not None


@lru_cache(maxsize=1 << 16)
def is_label_value(value: str) -> bool:
    """Whether this is empty or a name of at most 63 characters."""
    return not value or _NAME.fullmatch(value) is not None
