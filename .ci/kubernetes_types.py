"""Make kwhatif/api/kubernetes.json: which kinds and fields the API server of each minor knows.

    python .ci/kubernetes_types.py staging/src/k8s.io 1.29=swagger-29.json 1.30=swagger-30.json ...

The directory is that of Kubernetes' newest sources (api and apimachinery are read, of apiextensions-apiserver and
kube-aggregator what is there): how Go writes a field stands in its tags alone. Each file is the OpenAPI (v2) document
of that minor as Kubernetes publishes it: api/openapi-spec/swagger.json, or what the Python client was generated from.
``kwhatif/api/field_types.py`` explains the result.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

OUTPUT = Path(__file__).parents[1] / "kwhatif" / "api" / "kubernetes.json"

# Since 1.24, beta APIs are not served unless somebody asks for them; this one came before.
SERVED_BETAS = ("flowcontrol.apiserver.k8s.io/v1beta3",)

SCALARS = {
    ("string", None): "string",
    ("string", "byte"): "bytes",
    ("string", "date-time"): "time",
    ("string", "int-or-string"): "int-or-string",
    ("integer", "int32"): "int32",
    ("integer", "int64"): "int64",
    ("boolean", None): "bool",
    ("number", "double"): "float64",
    ("object", None): "any",
    (None, None): "any",
}
NAMED = {"Quantity": "quantity", "MicroTime": "microtime"}
POST = re.compile(r"/(?:api|apis)/((?:[\w.-]+/)?v\w+)/(namespaces/\{namespace\}/)?(\w+)")

Json = dict[str, Any]


def short(name: str) -> str:
    """``apps.v1.DeploymentSpec`` for ``io.k8s.api.apps.v1.DeploymentSpec``."""
    return ".".join(name.split(".")[-3:])


class GoTypes:
    """How Go writes the fields of its types: ``!`` always, ``*`` from a pointer."""

    _STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
    _FIELD = re.compile(r"""^\s*(?:\w+\s+)?([\w.*\[\]]+)\s+`[^`]*json:"([^"]*)\"""", re.MULTILINE)
    # Values of these are structs: never empty to Go, unless the tag asks for zeroes.
    _STRUCTS = ("quantity", "time", "microtime", "int-or-string")

    def __init__(self, sources: Path) -> None:
        self._fields: dict[str, dict[str, tuple[str, set[str]]]] = {}
        inlined: list[tuple[str, str]] = []
        for path in sorted(sources.glob("**/types*.go")):
            package = ".".join(path.parts[-3:-1])
            for name, body in self._STRUCT.findall(path.read_text(encoding="utf-8")):
                fields = self._fields[f"{package}.{name}"] = {}
                for type_, tag in self._FIELD.findall(body):
                    key, *options = tag.split(",")
                    if key:
                        fields[key] = (type_, set(options))
                    elif "inline" in options:
                        inlined.append((f"{package}.{name}", type_))
        for _ in range(3):  # what is embedded in what is embedded
            for holder, type_ in inlined:
                package, _, name = type_.rpartition(".")
                home = {"metav1": "meta.v1", "v1": "core.v1", "": holder.rpartition(".")[0]}.get(package, package)
                self._fields[holder] = self._fields.get(f"{home}.{name}", {}) | self._fields[holder]

    def mark(self, name: str, field: str, type_: str, *, required: bool) -> str:
        """The mark of a field; of one that is gone by now, the likeliest by whether it has to be there."""
        struct = type_ in self._STRUCTS or ("." in type_ and type_[0] not in "[{")
        if field not in self._fields.get(name, {}):
            return "!" if required else "*" * struct
        written, options = self._fields[name][field]
        pointer = written.startswith("*")
        omitted = "omitzero" in options or ("omitempty" in options and (pointer or not struct))
        return "!" * (not omitted) + "*" * pointer


class Document:
    """One minor's document: the kinds that can be created, and the types that they are made of."""

    def __init__(self, document: Json, go: GoTypes) -> None:
        self._go = go
        self._definitions = document["definitions"]
        self.types: dict[str, dict[str, str]] = {}
        self.kinds: dict[str, list[Any]] = {}
        for path, methods in document["paths"].items():
            found = POST.fullmatch(path)
            body = [p for p in methods.get("post", {}).get("parameters", ()) if p.get("in") == "body"]
            if found is None or not body or not (re.fullmatch(r".*v\d+", found[1]) or found[1] in SERVED_BETAS):
                continue
            told = methods["post"].get("x-kubernetes-group-version-kind")
            reference = body[0]["schema"].get("$ref")
            if told is None or reference is None:
                continue
            name = reference.removeprefix("#/definitions/")
            self.kinds[f"{found[1]} {told['kind']}"] = [self._named(name), found[3], bool(found[2])]

    def _named(self, name: str) -> str:
        definition = self._definitions[name]
        last = name.rpartition(".")[2]
        if last in NAMED:
            return NAMED[last]
        if "properties" not in definition and name != "io.k8s.api.scheduling.v1alpha2.BasicSchedulingPolicy":
            return SCALARS[definition.get("type"), definition.get("format")]
        key = short(name)
        if key not in self.types:
            fields = self.types[key] = {}
            required = set(definition.get("required") or ())
            for field, schema in sorted((definition.get("properties") or {}).items()):
                type_ = self._type(schema)
                fields[field] = self._go.mark(key, field, type_, required=field in required) + type_
        return key

    def _type(self, schema: Json) -> str:
        if "$ref" in schema:
            return self._named(schema["$ref"].removeprefix("#/definitions/"))
        if schema.get("type") == "array":
            keys = ",".join(schema.get("x-kubernetes-list-map-keys") or ())
            mark = {"map": f"<{keys}>", "set": "<*>"}.get(schema.get("x-kubernetes-list-type", ""), "")
            return f"[]{mark}{self._type(schema['items'])}"
        if "additionalProperties" in schema:
            return "{}" + self._type(schema["additionalProperties"])
        return SCALARS[schema.get("type"), schema.get("format")]


def merged(documents: dict[str, Document]) -> Json:
    """One table for all minors: what holds in all of them stands once, what does not says in which it does."""
    minors = list(documents)
    kinds: Json = {}
    types: Json = {}
    for minor, document in documents.items():
        for key, value in document.kinds.items():
            _note(kinds, key, value, minor)
        for name, fields in document.types.items():
            for field, kind in fields.items():
                _note(types.setdefault(name, {}), field, kind, minor)
            types.setdefault(name, {})
    return {
        "minors": minors,
        "kinds": {key: _spans(value, minors) for key, value in sorted(kinds.items())},
        "types": {
            name: {field: _spans(value, minors) for field, value in sorted(fields.items())}
            for name, fields in sorted(types.items())
        },
    }


def _note(table: Json, key: str, value: Any, minor: str) -> None:
    table.setdefault(key, []).append((minor, value))


def _spans(found: list[tuple[str, Any]], minors: list[str]) -> Any:
    """The value if it holds in every minor, else ``[[first, last, value], ...]``."""
    spans: list[list[Any]] = []
    for minor, value in found:
        if spans and spans[-1][2] == value and minors.index(spans[-1][1]) + 1 == minors.index(minor):
            spans[-1][1] = minor
        else:
            spans.append([minor, minor, value])
    if len(spans) == 1 and spans[0][:2] == [minors[0], minors[-1]]:
        return spans[0][2]
    return spans


def main(sources: str, *arguments: str) -> None:
    documents, go = {}, GoTypes(Path(sources))
    for argument in arguments:
        minor, _, path = argument.partition("=")
        documents[minor] = Document(json.loads(Path(path).read_text(encoding="utf-8")), go)
    table = merged(documents)
    lines = [f'"minors": {json.dumps(table["minors"])}']
    for part in ("kinds", "types"):
        rows = ",\n".join(
            f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in table[part].items()
        )
        lines.append(f'"{part}": {{\n{rows}\n}}')
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
