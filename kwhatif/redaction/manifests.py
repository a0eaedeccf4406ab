"""Manifests and configurations as they stand in their files, to be redacted one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kwhatif import bounds
from kwhatif.api.kinds import NAMESPACED, struct_for
from kwhatif.api.meta import Resource
from kwhatif.errors import InputError
from kwhatif.policy.older import POLICY
from kwhatif.redaction.redact import CONFIGURATION_KIND
from kwhatif.snapshot.format.model import KIND, is_snapshot
from kwhatif.snapshot.read.documents import read_documents
from kwhatif.snapshot.read.files import called, read_paths
from kwhatif.snapshot.read.items import decode, head_of, inside, items_of, plain_of, resource_of

_LEGACY = ("v1", POLICY)


def read_manifests(paths: Sequence[str], namespace: str | None = None) -> list[dict[str, Any]]:
    """The objects of manifests and configurations in their order, as plain values with apiVersion and kind.

    Objects that name no namespace get ``namespace``, if one is given. Raises InputError.
    """
    found = list(_read(paths, namespace))
    if not found:
        raise InputError("holds no objects: it is empty", source=", ".join(map(called, paths)))
    return found


def _read(paths: Sequence[str], namespace: str | None) -> Iterator[dict[str, Any]]:
    for text in read_paths(paths, max_bytes=bounds.MANIFEST_BYTES):
        for document in read_documents(text):
            api_version, kind = head_of(document)
            if is_snapshot(document, api_version, kind):
                problem = f"expected manifests, found a whole {KIND}: write it to a file that ends in .json"
                raise InputError(problem, source=document.source, place="$.kind")
            if (api_version, kind) == _LEGACY:
                problem = "a legacy Policy, which cannot be redacted: redact what 'kwhatif policy convert' makes of it"
                raise InputError(problem, source=document.source, place="$.kind")
            if kind == CONFIGURATION_KIND:
                try:
                    yield decode(document.value, dict[str, Any])
                except InputError as error:
                    raise inside(error, document.source, "$") from None
                continue
            for item in items_of(document):
                obj = resource_of(item, struct_for(item.api_version, item.kind) or Resource, generated_names=True)
                whole = plain_of(item, checked=True)
                if namespace and not obj.namespace and item.kind in NAMESPACED:
                    whole["metadata"] = whole["metadata"] | {"namespace": namespace}
                yield whole
