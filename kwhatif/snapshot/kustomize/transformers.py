"""What the fields of a kustomization do to its objects: namespace, prefix and suffix, labels, replicas, images.

Upstream: kustomize (api/internal/builtins, api/filters).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kwhatif.cel.patterns import search
from kwhatif.cel.values import Fault
from kwhatif.errors import InputError
from kwhatif.snapshot.kustomize.field_specs import FieldSpec
from kwhatif.snapshot.kustomize.resources import Identity, NoMatchError, Resource, Resources

_NOT_RENAMED = (("", "CustomResourceDefinition"), ("apiregistration.k8s.io", "APIService"), ("", "Namespace"))
_BINDINGS = ("RoleBinding", "ClusterRoleBinding")


def set_namespace(
    resources: Resources, namespace: str, specs: Sequence[FieldSpec], *, only_unset: bool = False
) -> None:
    """Put all objects of namespaced kinds into one; the account ``default`` of bindings is then that namespace's.

    ``only_unset``: those that are in one stay there.
    """
    for resource in resources:
        resource.remember()
        identity = resource.identity
        if not identity.is_cluster_wide and not (only_unset and resource.namespace):
            resource.metadata["namespace"] = namespace
        if resource.kind == "Namespace" and resource.group == "" and not only_unset:
            resource.set_name(namespace)
        if resource.kind in _BINDINGS:
            subjects = resource.value.get("subjects")
            for subject in subjects if isinstance(subjects, list) else ():
                is_default = isinstance(subject, dict) and subject.get("name") == "default"
                if is_default and not (only_unset and subject.get("namespace")):
                    subject["namespace"] = namespace
        for spec in specs:
            if not (resource.kind in _BINDINGS and spec.path == "subjects/namespace"):
                spec.apply(resource, lambda there: there if only_unset and there else namespace)
    resources.settle()


def put_around_names(resources: Resources, prefix: str, suffix: str, specs: Sequence[FieldSpec]) -> None:
    """Put a prefix or a suffix around names; those of namespaces and of what is named by rule stay."""
    for resource in resources:
        first = resource.first_identity
        if any(first.kind == kind and group in ("", first.group) for group, kind in _NOT_RENAMED):
            continue
        for spec in specs:
            if not spec.selects_identity(first):
                continue
            if spec.path == "metadata/name":
                resource.prefixes += [prefix] if prefix else []
                resource.suffixes += [suffix] if suffix else []
                resource.remember()
            spec.apply(resource, lambda text: text if text is None else f"{prefix}{text}{suffix}")
    resources.settle()


def set_texts(resources: Resources, texts: Mapping[str, Any], specs: Sequence[FieldSpec]) -> None:
    """Set labels or annotations wherever the fields say."""
    for resource in resources:
        for spec in specs:
            spec.apply(resource, lambda there: {**(there if isinstance(there, dict) else {}), **texts})


def set_replicas(resources: Resources, entry: Mapping[str, Any], specs: Sequence[FieldSpec]) -> None:
    """Set the replicas of the workloads of a name. Raises InputError if there is none."""
    name, count = entry.get("name"), entry.get("count", 0)
    if not isinstance(count, int) or isinstance(count, bool):
        raise InputError(f"replicas: expected a count, found {count!a}")
    is_found = False
    for spec in specs:
        for resource in resources.matching(lambda one, spec=spec: one.name == name and spec.selects_identity(one)):  # type: ignore[misc]
            is_found = True
            spec.apply(resource, lambda _: count)
    if not is_found:
        raise NoMatchError(f"replicas: no workload is named {name}")


def set_image(resources: Resources, entry: Mapping[str, Any], specs: Sequence[FieldSpec]) -> None:
    """Give containers with an image another name, tag or digest. Raises InputError for what is no pattern."""
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise InputError("images: expected a name")
    pattern = f"^{name}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?$"

    def change(image: Any) -> Any:
        return _changed_image(image, entry) if isinstance(image, str) and _finds(image, pattern) else image

    for resource in resources:
        if resource.kind == "CustomResourceDefinition":
            continue
        _change_containers(resource.value, change)
        for spec in specs:
            spec.apply(resource, lambda image: image if image is None else change(image))


def _change_containers(value: Any, change: Callable[[Any], Any]) -> None:
    if isinstance(value, list):
        for element in value:
            _change_containers(element, change)
    elif isinstance(value, dict):
        for key, part in value.items():
            _change_containers(part, change)
            if key in ("containers", "initContainers") and isinstance(part, list):
                for container in part:
                    if isinstance(container, dict) and "image" in container:
                        container["image"] = change(container["image"])


def _changed_image(image: str, entry: Mapping[str, Any]) -> str:
    name, tag, digest = _split_image(image)
    new_tag, new_digest = (str(entry.get(key) or "") for key in ("newTag", "digest"))
    name = str(entry.get("newName") or name)
    if new_tag or new_digest:
        tag, digest = new_tag, new_digest
    elif entry.get("tagSuffix"):
        tag, digest = f"{tag}{entry['tagSuffix']}", ""
    return name + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")


def _split_image(image: str) -> tuple[str, str, str]:
    """Name, tag and digest; the port of a registry is no tag."""
    start = max(image.find("/"), 0)
    at, colon = image.find("@", start), image.find(":", start)
    if at >= 0 and (colon < 0 or at < colon):
        return image[:at], "", image[at + 1 :]
    if colon < 0:
        return image, "", ""
    return (
        (image[:colon], image[colon + 1 : at], image[at + 1 :]) if at >= 0 else (image[:colon], image[colon + 1 :], "")
    )


class Selector:
    """Which objects a patch or a replacement is for: patterns of kind, name and so on, and selectors of labels.

    Raises InputError for a selector that is none, and later for a pattern that is none.
    """

    def __init__(self, value: Any) -> None:
        from kwhatif.api.selectors import SelectorError, parse_selector

        if not isinstance(value, Mapping):
            raise InputError("expected a mapping that selects objects")
        self.is_empty = not any(value.values())
        self._patterns = {
            key: f"^(?:{value[key]})$" for key in ("group", "version", "kind", "name", "namespace") if value.get(key)
        }
        try:
            self._selectors = {
                field: parse_selector(str(value[key]))
                for field, key in (("labels", "labelSelector"), ("annotations", "annotationSelector"))
                if value.get(key)
            }
        except SelectorError as error:
            raise InputError(str(error)) from None

    def selects_texts(self, resource: Resource) -> bool:
        """Whether labels and annotations fit."""
        return all(
            selector.matches({key: str(text) for key, text in resource.texts(field).items()})
            for field, selector in self._selectors.items()
        )

    @property
    def has_selectors(self) -> bool:
        return bool(self._selectors)

    def selects_identity(self, identity: Identity) -> bool:
        return all(_finds(getattr(identity, key), pattern) for key, pattern in self._patterns.items())

    def selects(self, resource: Resource) -> bool:
        """Whether an object fits by what it is, and by its first name or its present one."""
        now, first = resource.identity, resource.first_identity
        for key, pattern in self._patterns.items():
            ways = {getattr(now, key), getattr(first, key)} if key in ("name", "namespace") else {getattr(now, key)}
            if not any(_finds(text, pattern) for text in ways):
                return False
        return self.selects_texts(resource)


def _finds(text: str, pattern: str) -> bool:
    try:
        return search(text, pattern)
    except Fault as fault:
        raise InputError(f"{pattern!a}: {fault}") from None
