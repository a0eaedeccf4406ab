"""ConfigMaps and Secrets that a kustomization generates, and the hash of their content that ends their names.

Upstream: kustomize (api/internal/generators, api/kv/kv.go, api/hasher/hasher.go).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kwhatif.errors import InputError
from kwhatif.snapshot.kustomize.resources import Resource, text_of
from kwhatif.snapshot.read.objects import Origin

_BOM = b"\xef\xbb\xbf"
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_LINE = 70
_HASH_LETTERS = str.maketrans("013ae", "ghkmt")
_HASH_LENGTH = 10
# What Go's encoder escapes in JSON for the sake of HTML and JavaScript.
_OF_GO = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def generate(
    kind: str, entry: Mapping[str, Any], options: Mapping[str, Any], read: Callable[[str], bytes], origin: Origin
) -> Resource:
    """A ConfigMap or a Secret. ``options`` are those of all generators, ``read`` has the content of a file.

    Raises InputError.
    """
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise InputError(f"a generated {kind} needs a name")
    metadata: dict[str, Any] = {"name": name}
    if entry.get("namespace"):
        metadata["namespace"] = entry["namespace"]
    value: dict[str, Any] = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    own = _mapping(entry.get("options"))
    for key in ("labels", "annotations"):
        if texts := {**_mapping(options.get(key)), **_mapping(own.get(key))}:
            metadata[key] = {key_of_text: text_of(text) for key_of_text, text in texts.items()}
    if own.get("immutable") or options.get("immutable"):
        value["immutable"] = True
    pairs = _pairs_of(name, entry, read)
    if kind == "Secret":
        value["type"] = entry.get("type") or "Opaque"
        value["data"] = {key: _encode(data) for key, data in sorted(pairs.items())}
    else:
        for key, data in sorted(pairs.items()):
            text = _utf8(data)
            where = value.setdefault("binaryData" if text is None else "data", {})
            where[key] = _encode(data) if text is None else text
    is_plain = own.get("disableNameSuffixHash") or options.get("disableNameSuffixHash")
    return Resource(value, origin, behavior=str(entry.get("behavior") or ""), is_hashed=not is_plain)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _utf8(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _encode(data: bytes) -> str:
    """Base64, broken into lines where it does not fit on one."""
    text = base64.b64encode(data).decode()
    if len(text) < _LINE:
        return text
    return "".join(f"{text[at : at + _LINE]}\n" for at in range(0, len(text), _LINE))


def _pairs_of(name: str, entry: Mapping[str, Any], read: Callable[[str], bytes]) -> dict[str, bytes]:
    pairs: dict[str, bytes] = {}
    for key, data in _sources_of(entry, read):
        if not _KEY.fullmatch(key) or key in (".", "..") or key.startswith(".."):
            raise InputError(f"{name}: no key can be named {key!a}")
        if key in pairs:
            raise InputError(f"{name} repeats the key {key}")
        pairs[key] = data
    return pairs


def _sources_of(entry: Mapping[str, Any], read: Callable[[str], bytes]) -> Iterator[tuple[str, bytes]]:
    for path in entry.get("envs") or ():
        yield from _variables_of(read(path))
    for literal in entry.get("literals") or ():
        key, equals, text = str(literal).partition("=")
        if not key or not equals:
            raise InputError(f"expected key=value, found {literal!a}")
        is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
        yield key, (text[1:-1] if is_quoted else text).encode()
    for source in entry.get("files") or ():
        key, equals, path = source.partition("=")
        yield (key, read(path)) if equals else (source.rpartition("/")[2], read(source))


def _variables_of(data: bytes) -> Iterator[tuple[str, bytes]]:
    for number, line in enumerate(data.split(b"\n")):
        kept = (line.removeprefix(_BOM) if number == 0 else line).removesuffix(b"\r")
        text = _utf8(kept)
        if text is None:
            raise InputError(f"line {number + 1} is no UTF-8")
        text = text.lstrip()
        if not text or text.startswith("#"):
            continue
        key, _, value = text.partition("=")
        if not _VARIABLE.fullmatch(key):
            raise InputError(f"line {number + 1}: no variable can be named {key!a}")
        yield key, value.encode()


def hash_of(resource: Resource) -> str:
    """The hash of an object's content that kustomize appends to its name."""
    value = resource.value
    # Upstream looks the name up where it is not, so it is no part of the hash.
    content: dict[str, Any] = {"kind": resource.kind, "name": "", "data": value.get("data", "")}
    more = "binaryData"
    if resource.kind == "Secret":
        content["type"], more = value.get("type", ""), "stringData"
    if isinstance(value.get(more), dict):
        content[more] = value[more]
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    for character, escaped in _OF_GO.items():
        text = text.replace(character, escaped)
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH].translate(_HASH_LETTERS)
