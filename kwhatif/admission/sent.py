"""What somebody sends to the API server: the verb, the manifest and the address; and how the server reads it.

Upstream: apiserver/pkg/endpoints/handlers (create.go, update.go, patch.go).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kwhatif.admission.answer import Cause, Object, Refused
from kwhatif.admission.resources import group_of
from kwhatif.admission.schema.strict_decoding import Misfit, unknown_fields
from kwhatif.admission.schema.typed_patch import misfit, patch_errors
from kwhatif.admission.world import name_of
from kwhatif.api.checked import checked_type
from kwhatif.api.decode import convert
from kwhatif.api.field_types import Served, Types, served_in, spanned
from kwhatif.errors import InputError

VERBS = ("", "create", "apply", "replace")
"""How manifests are sent. Without a word they are created or, where they are there already, changed as
``kubectl apply`` without ``--server-side`` does."""

NOT_FOUND = Refused(404, "NotFound", "the server could not find the requested resource")
NO_PAGE = Refused(404, "", "404 page not found")


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it was sent. ``path`` is the API version of its address, where it is not the manifest's."""

    verb: str
    object: Object
    namespace: str = ""
    path: str = ""
    manager: str = "kubectl"

    @property
    def group_version(self) -> str:
        return str(self.object.get("apiVersion") or "")

    @property
    def kind(self) -> str:
        return str(self.object.get("kind") or "")

    def bad(self, why: str) -> Refused:
        """400 for a body that cannot be read as what it says it is."""
        version = self.group_version.rpartition("/")[2]
        return Refused(
            400, "BadRequest", f'{self.kind} in version "{version}" cannot be handled as a {self.kind}: {why}'
        )


def read(sent: Sent, types: Types, served: Callable[[str, str], Served | None]) -> Refused | Served:
    """The kind of the request's object, once it is read strictly; a refusal if it cannot be."""
    address = sent.path or sent.group_version
    kind = served(address, sent.kind)
    if kind is None:
        return _not_served(address, sent, types)
    if sent.path and sent.path != sent.group_version:
        return Refused(
            400,
            "BadRequest",
            f"the API version in the data ({sent.group_version}) does not match the expected API version ({address})",
        )
    if sent.verb == "apply":
        return apply_refusal(sent, kind, types) or kind
    try:
        unknown = unknown_fields(sent.object, kind.type, types)
    except Misfit as error:
        return replace(sent.bad(str(error)), hint=error.place)
    if unknown:
        told = ", ".join(f'unknown field "{field.path}"' for field in unknown)
        hints = ("" if not field.minors else f"{field.path}: Kubernetes {spanned(field.minors)}" for field in unknown)
        hint = "; ".join(filter(None, hints))
        return replace(sent.bad(f"strict decoding error: {told}"), hint=hint and f"known elsewhere: {hint}")
    return kind


def misshapen(obj: Object) -> Refused | None:
    """400 for an object that nobody has read strictly yet, if a field has a value of a type that it cannot have."""
    try:
        convert(obj, checked_type(group_of(obj), obj["kind"]))
    except InputError as error:
        kind, version = obj["kind"], str(obj.get("apiVersion") or "").rpartition("/")[2]
        field = error.place.removeprefix("$.")
        message = f'{kind} in version "{version}" cannot be handled as a {kind}: {field}: {error.problem}'
        return Refused(400, "BadRequest", message, (Cause(field, error.problem),))
    return None


def _not_served(address: str, sent: Sent, types: Types) -> Refused:
    lower = {name.lower(): name for name in types.versions}
    known = lower.get(sent.kind.lower())
    if known and known != sent.kind and types.served(address, known):
        scheme = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"
        why = f'no kind "{sent.kind}" is registered for version "{address}" in scheme "{scheme}"'
        return Refused(400, "BadRequest", f'{sent.kind} in version "{address}" cannot be handled as a {known}: {why}')
    group = address.rpartition("/")[0]
    found = NOT_FOUND if group in types.groups - {"extensions"} else NO_PAGE
    return replace(found, hint=_elsewhere(address, sent.kind, types))


def _elsewhere(address: str, kind: str, types: Types) -> str:
    """In which version the minor serves the kind, or which minors serve it in this version."""
    versions = types.versions.get(kind, ())
    minors = served_in(address, kind)
    told = [f"Kubernetes {types.minor} serves {kind} as {' and '.join(versions)}"] if versions else []
    told += [f"{kind} of {address} is served by Kubernetes {spanned(minors)}"] if minors else []
    return "; ".join(told) or f"Kubernetes {types.minor} has no {kind} of {address}"


def apply_refusal(sent: Sent, kind: Served, types: Types) -> Refused | None:
    """What keeps a manifest from being applied as a patch of a kind."""
    group_version = sent.group_version if "/" in sent.group_version else f"/{sent.group_version}"
    home = sent.namespace if kind.namespaced else ""
    what = f"{home}/{name_of(sent.object)}; {group_version}, Kind={sent.kind}"
    errors = patch_errors(sent.object, kind.type, types)
    if errors:
        told = errors[0] if len(errors) == 1 else "errors:\n" + "\n".join(f"  {error}" for error in errors)
        return Refused(500, "", f"failed to create typed patch object ({what}): {told}")
    wrong = misfit(sent.object, kind.type, types)
    if wrong:
        why = f"unable to convert unstructured object to {group_version}, Kind={sent.kind}: {wrong}"
        return Refused(500, "", f"failed to convert new object ({what}) to proper version: {why}")
    return None
