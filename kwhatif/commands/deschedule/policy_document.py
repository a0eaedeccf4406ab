"""Finds the DeschedulerPolicy of a question: in a file, a ConfigMap, values of the Helm chart, or the snapshot.

A HelmRelease of Flux and an Application of Argo CD have such values, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kwhatif import bounds
from kwhatif.api.objects import list_at, section
from kwhatif.api.workloads_and_storage import PriorityClass
from kwhatif.descheduling.framework.descheduler_policy import API_VERSION, KIND
from kwhatif.descheduling.policy_reading import DeschedulerPolicyError, RunnablePolicy, read_policy
from kwhatif.errors import InputError
from kwhatif.simulation.policy_file import plain_document
from kwhatif.snapshot.format.descheduler_info import policies_in
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.read.files import Text, is_directory, read_paths
from kwhatif.snapshot.read.objects import read_documents

_CHART, _CHART_VERSION = "deschedulerPolicy", "deschedulerPolicyAPIVersion"
_SUBCHART = "descheduler"

PolicySource = str | Mapping[str, Any]
"""A file (``-``: standard input), a policy as plain values, or ``""`` for the one that the snapshot has."""


def load_descheduler_policy(policy_source: PolicySource, snapshot: Snapshot) -> tuple[RunnablePolicy, str] | None:
    """The policy, and what messages call it; None if the snapshot is to have it, and has none. Raises InputError."""
    policy = _find_policy(policy_source, snapshot)
    if policy is None:
        return None
    document, source = policy
    priorities = {
        priority_class.name: priority_class.value for priority_class in snapshot.objects.list_all(PriorityClass)
    }
    try:
        return read_policy(document, priorities), source
    except DeschedulerPolicyError as error:
        place = f"$.{error.place}" if error.place else ""
        raise InputError(error.problem, source=source, place=place) from None


def require_descheduler_policy(source: PolicySource, snapshot: Snapshot) -> tuple[RunnablePolicy, str]:
    """``load_descheduler_policy``; InputError says what to do where there is no policy at all."""
    descheduler_policy = load_descheduler_policy(source, snapshot)
    if descheduler_policy is None:
        raise InputError(
            f"expected a ConfigMap with the {KIND}, found none: give the policy in a file", source=snapshot.source
        )
    return descheduler_policy


def _find_policy(source: PolicySource, snapshot: Snapshot) -> tuple[Any, str] | None:
    if isinstance(source, Mapping):
        return source, "policy"
    if source:
        return _read_file(source)
    known = snapshot.descheduler
    return None if known is None else (known.policy, known.source)


def _read_file(file: str) -> tuple[Any, str]:
    if is_directory(file):
        raise InputError("expected a file, found a directory", source=file)
    (text,) = read_paths([file], max_bytes=bounds.SETTINGS_BYTES)
    values = [plain_document(document.value, text.name) for document in read_documents(text)]
    policies = [entry for value in values for entry in _policies(value, text.name)]
    if len(policies) == 1:
        return policies[0]
    if policies:
        places = ", ".join(source for _, source in policies)
        raise InputError(f"{len(policies)} descheduler policies: {places}; give one of them", source=text.name)
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
        data = {key: text for key, text in section(value, "data").items() if isinstance(text, str)}
        name = section(value, "metadata").get("name")
        for policy, where in policies_in(data, f"ConfigMap {name}"):
            yield policy, f"{source} ({where})"
    elif value.get("kind") == "List" or str(value.get("kind", "")).endswith("ConfigMapList"):
        for item in value.get("items") or ():
            yield from _policies(item, source)
    elif value.get("kind") in ("HelmRelease", "Application"):
        for chart_values, place in _values_in(value):
            for policy, where in _policies(chart_values, source):
                yield policy, where.replace(f"({_CHART}", f"({place}.{_CHART}")
    elif isinstance(value.get(_CHART), dict):
        # The chart's template puts kind and version before what the values say.
        version = value.get(_CHART_VERSION, API_VERSION)
        yield {"apiVersion": version, "kind": KIND, **value[_CHART]}, f"{source} ({_CHART})"
    elif isinstance(value.get(_SUBCHART), dict) and "kind" not in value:
        # Values of a chart that has the descheduler's as a part of it.
        for policy, where in _policies(value[_SUBCHART], source):
            yield policy, where.replace(f"({_CHART}", f"({_SUBCHART}.{_CHART}")


def _values_in(value: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """The values that an object of Flux or Argo CD gives to its chart, and where."""
    if value.get("kind") == "HelmRelease":
        yield section(value, "spec", "values"), "spec.values"
        return
    spec = section(value, "spec")
    for source in (section(spec, "source"), *(entry for entry in list_at(spec, "sources") if isinstance(entry, dict))):
        helm = section(source, "helm")
        if isinstance(helm.get("valuesObject"), dict):
            yield helm["valuesObject"], "helm.valuesObject"
        elif helm.get("values"):
            text = Text("helm.values", str(helm["values"]).encode())
            yield from (
                (plain_document(read_document.value, text.name), "helm.values")
                for read_document in read_documents(text)
            )
