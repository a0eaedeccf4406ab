"""The file that holds a DeschedulerPolicy: as such, in a ConfigMap, or in the values of the Helm chart."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from kwhatif import bounds
from kwhatif.descheduling.framework.descheduler_policy import API_VERSION, KIND
from kwhatif.descheduling.policy_reading import DeschedulerPolicyError, RunnablePolicy, read_policy
from kwhatif.errors import InputError
from kwhatif.simulation.policy_file import plain_document
from kwhatif.snapshot.read.files import Text, read_paths
from kwhatif.snapshot.read.objects import read_documents

_CHART, _CHART_VERSION = "deschedulerPolicy", "deschedulerPolicyAPIVersion"


def load_descheduler_policy(
    given: str | Mapping[str, Any], priority_classes: Mapping[str, int]
) -> tuple[RunnablePolicy, str]:
    """The policy of a file (``-``: standard input) or of plain values, and what messages call it. Raises InputError."""
    document, source = (given, "policy") if isinstance(given, Mapping) else _document(given)
    try:
        return read_policy(document, priority_classes), source
    except DeschedulerPolicyError as error:
        place = f"$.{error.place}" if error.place else ""
        raise InputError(error.problem, source=source, place=place) from None


def _document(file: str) -> tuple[Any, str]:
    if os.path.isdir(file):
        raise InputError("expected a file, found a directory", source=file)
    (text,) = read_paths([file], max_bytes=bounds.SETTINGS_BYTES)
    values = [plain_document(document.value, text.name) for document in read_documents(text)]
    found = [entry for value in values for entry in _policies(value, text.name)]
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(source for _, source in found)
        raise InputError(f"{len(found)} descheduler policies: {places}; give one of them", source=text.name)
    kinds = ", ".join(str(value.get("kind") or "no kind") for value in values if isinstance(value, dict)) or "nothing"
    wanted = f"expected a {KIND}, a ConfigMap with one, or the descheduler chart's values"
    raise InputError(f"{wanted}; found {kinds}", source=text.name)


def _policies(value: Any, source: str) -> Iterator[tuple[Any, str]]:
    """The policies in one document, each with what messages call it."""
    if not isinstance(value, dict):
        return
    if value.get("kind") == KIND or str(value.get("apiVersion", "")).startswith("descheduler/"):
        yield value, source
    elif value.get("kind") == "ConfigMap":
        for key, text in (value.get("data") or {}).items():
            if isinstance(text, str) and KIND in text:
                where = f"{source} (ConfigMap {(value.get('metadata') or {}).get('name')}, {key})"
                for document in read_documents(Text(where, text.encode())):
                    yield from _policies(plain_document(document.value, where), where)
    elif isinstance(value.get(_CHART), dict):
        # The chart's template puts kind and version before what the values say.
        version = value.get(_CHART_VERSION, API_VERSION)
        yield {"apiVersion": version, "kind": KIND, **value[_CHART]}, f"{source} ({_CHART})"
