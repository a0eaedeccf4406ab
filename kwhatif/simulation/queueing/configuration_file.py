"""Kueue's Configuration from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kwhatif.api.decode import convert
from kwhatif.api.objects import section
from kwhatif.errors import InputError
from kwhatif.kueue.configuration import Configuration
from kwhatif.snapshot.read.files import Text, read_paths
from kwhatif.snapshot.read.objects import decode, read_documents

_KEY = "controller_manager_config.yaml"
_GROUP = "config.kueue.x-k8s.io/"


def read_configuration(path: str) -> Mapping[str, Any]:
    """The Configuration, or what a ConfigMap says it is. Raises InputError."""
    for text in read_paths([path]):
        return _configuration_in(text)
    raise InputError("there is no Configuration", source=path)


def _configuration_in(text: Text) -> Mapping[str, Any]:
    for document in read_documents(text):
        plain = decode(document.value, dict[str, Any])
        if plain.get("kind") == "ConfigMap":
            data = convert(section(plain, "data"), dict[str, str])
            return _configuration_in(Text(text.name, data.get(_KEY, "").encode()))
        if str(plain.get("apiVersion", "")).startswith(_GROUP) and plain.get("kind") == "Configuration":
            try:
                convert(plain, Configuration)
            except InputError as error:
                raise error.with_source(text.name) from None
            return plain
    raise InputError("there is no Configuration of config.kueue.x-k8s.io", source=text.name)
