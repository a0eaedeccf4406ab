"""The API server for one cluster: requests go in, stored objects or refusals come out."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256

import msgspec
from msgspec import structs

from kwhatif.admission.alike_pods import AlikePods
from kwhatif.admission.custom.definition import (
    Definition,
    SchemaTypes,
    definition_of,
    is_defined,
    is_of_scheduler_plugins,
    may_be_aggregated,
    read_custom,
)
from kwhatif.admission.defaulting.selectors import generate_selector, merge_label_keys
from kwhatif.admission.kinds.strategy import Strategy, strategy_of
from kwhatif.admission.manifest import UserRequest, misshapen, read
from kwhatif.admission.object_store import (
    Index,
    ObjectStore,
    group_of,
    known_kind,
    name_of,
    namespace_of,
    resource_name,
    sketch,
)
from kwhatif.admission.pipeline import DEFAULT_PLUGINS, QUOTA, select_plugins
from kwhatif.admission.plugins.resource_quota import Quotas
from kwhatif.admission.request import Request, deep_copy_json, within
from kwhatif.admission.response import ApiResponse, Doubt, Doubts, Object, RequestRefusal, StoredObject
from kwhatif.admission.updates.applied_manifest import apply_update, comparable, count_generation, tells_field_owners
from kwhatif.admission.updates.update_rules import rules_of
from kwhatif.admission.validation.metadata import check_kept
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.warning_recorder import WarningRecorder
from kwhatif.api.field_types import ApiResource, Types, fill_nulls, types_of
from kwhatif.api.kinds import GROUPS
from kwhatif.api.objects import part_of, section
from kwhatif.errors import UsageError
from kwhatif.versions import Features, features_of, nearest_minor
from kwhatif.versions.rules.pod_groups import GROUP_GATES

_ENDPOINTS = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
# Kubelets make nodes and say what drivers they have; others of the cluster's own make the rest.
_MADE_BY_CLUSTER = ("Node", "CSINode", "VolumeAttachment", "ResourceSlice")
_PROVISIONED = "pv.kubernetes.io/provisioned-by"


class ApiServer:
    """Creates and updates objects in a store, by the rules of a minor; ``gates`` are those set explicitly."""

    def __init__(
        self,
        world: ObjectStore,
        plugins: Sequence[str] = DEFAULT_PLUGINS,
        minor: str = "1.36",
        *,
        alone: bool = False,
        types: Types | None = None,
        gates: Mapping[str, bool] | None = None,
    ) -> None:
        """``types`` are what this server serves, where that is not what its minor does by default."""
        self.world = world
        self._features = _features(nearest_minor(minor), gates or {})
        self._types = types_of(minor, type_gates(minor, gates or {})) if types is None else types
        self._alone = alone
        self._plugins = select_plugins(plugins)
        self._quotas = Quotas(world, self._features) if QUOTA in plugins else None
        self._alike_pods = AlikePods(world)
        self._numbers: dict[tuple[str, str, str], int] = {}
        self.doubts: Doubts = {}
        """What could not be known about the requests so far."""

    @property
    def features(self) -> Features:
        """The rules of the cluster that its API server and its controllers go by."""
        return self._features

    def fork(self) -> ApiServer:
        """A server of its own for a copy of the store."""
        other = copy.copy(self)
        other.world, other.doubts = self.world.copy(), {}
        other._quotas = None if self._quotas is None else Quotas(other.world, self._features)
        other._alike_pods = AlikePods(other.world)
        other._numbers = dict(self._numbers)
        return other

    def judges(self, obj: Object) -> bool:
        """Whether it is known how the server handles such an object.

        It is of a built-in group or of a known definition; or all definitions are known, and it is of none of them.
        """
        group, kind = group_of(obj), str(obj.get("kind") or "")
        if group in self._types.groups:
            return True
        if kind in GROUPS and not self._is_told_apart(group, kind):
            # Objects are looked up by their kinds: what is called as one of Kubernetes' own would be taken for that.
            return False
        if self._definition(str(obj.get("apiVersion") or ""), kind) is not None or is_defined(self.world, group, kind):
            return True
        return self.world.knows("CustomResourceDefinition") and not may_be_aggregated(group, self.world)

    def _is_told_apart(self, group: str, kind: str) -> bool:
        """Whether a kind is one of scheduler-plugins, and there is no object of another group's kind of that name."""
        return is_of_scheduler_plugins(group, kind) and not self.world.find(_of_other_groups(kind, group), True)

    def _definition(self, api_version: str, kind: str) -> Definition | None:
        if api_version.rpartition("/")[0] in self._types.groups:
            return None
        return definition_of(self.world, api_version, kind)

    def _strategy(self, request: Request) -> Strategy:
        obj = request.object
        definition = self._definition(str(obj.get("apiVersion") or ""), part_of(obj, "kind"))
        if definition is None:
            return strategy_of(obj)
        # It brings CEL, which clusters without custom resources can do without.
        from kwhatif.admission.kinds.custom_strategy import custom_strategy

        return custom_strategy(definition, request.old)

    def send(
        self,
        verb: str,
        manifest: Object,
        *,
        namespace: str = "default",
        path: str | None = None,
        path_namespace: str | None = None,
        manager: str = "kubectl",
    ) -> ApiResponse:
        """A request of a user, read strictly as kubectl asks for it; ``verb`` is one of VERBS.

        ``namespace`` is that of a manifest which names none; ``path`` and ``path_namespace`` are the API version and
        the namespace of the address, where they are not the manifest's.
        """
        obj = deep_copy_json(manifest)
        sent = UserRequest(verb, obj, namespace, path or "", manager)
        custom = self._definition(sent.path or sent.group_version, sent.kind)
        kind = (
            read_custom(sent, custom, self._types) if custom else read(sent, self._types, self._types.api_resource_of)
        )
        if isinstance(kind, RequestRefusal):
            return kind
        fill_nulls(obj, kind.type, self._types)
        metadata = within(obj, "metadata")
        if kind.namespaced:
            home = metadata.setdefault("namespace", namespace)
            if path_namespace and path_namespace != home:
                why = "the namespace of the provided object does not match the namespace sent on the request"
                return RequestRefusal(400, "BadRequest", why)
        else:
            metadata.pop("namespace", None)
        there = self.world.get(part_of(obj, "kind"), namespace_of(obj), name_of(obj)) if name_of(obj) else None
        if verb == "replace" and there is None and not self._may_be_left_out(obj):
            return RequestRefusal(404, "NotFound", f'{resource_name(obj)} "{name_of(obj)}" not found')
        if there is None and str(metadata.pop("resourceVersion", "")).strip("0").isdigit() and verb == "create":
            return RequestRefusal(500, "", "resourceVersion should not be set on objects to be created")
        if there is None and verb == "apply" and metadata.get("uid"):
            why = f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
            what = f'Operation cannot be fulfilled on {resource_name(obj)} "{name_of(obj)}": {why}'
            return RequestRefusal(409, "Conflict", what)
        if custom is not None and there is None and verb != "create" and custom.judges_changes:
            what = f"{part_of(obj, 'kind')} {name_of(obj)} is taken to be new: snapshots hold no custom resources"
            effect = "what its definition says of changes is not asked"
            self._note(Doubt(what, effect), obj)
        if verb == "create" or there is None:
            return self.create(obj)
        return self.update(obj, verb, kind, manager=manager)

    def _may_be_left_out(self, obj: Object) -> bool:
        """Whether an object may exist although the store lacks it, because the snapshot does not cover its kind.

        Files of objects may hold any kind, so an object they lack is assumed not to exist, which is noted.
        """
        kind, name = part_of(obj, "kind"), name_of(obj)
        if not name or self.world.knows(kind, namespace_of(obj)):
            return False
        if self.world.pruned:
            what = f"{kind} {name} may be there: the snapshot holds no {kind}"
            self._note(Doubt(what, "it is judged as a new one, and what must not change is not asked"), obj)
        else:
            what = f"{kind} {name} is not in the files of the cluster, which hold no list of that kind"
            self._note(Doubt(what, "it is refused only if the cluster has none of that name"), obj)
        return self.world.pruned

    def create(self, obj: Object) -> ApiResponse:
        """Store a new object; the argument is not changed. ``metadata.namespace`` must be set."""
        refused = misshapen(obj)
        if refused is not None:
            return refused
        request = alike = self._alike_pods.request_for(obj)
        if request is None:
            request = self._request_for(obj)
        self._identify(request.object)
        refused = self._passes(request) if alike is None else self._passes_alike(request)
        if refused is not None:
            return structs.replace(refused, warnings=request.warnings.texts)
        name = name_of(request.object)
        if self.world.get(part_of(obj, "kind"), request.namespace, name) is not None:
            message = f'{resource_name(request.object)} "{name}" already exists'
            return RequestRefusal(409, "AlreadyExists", message)
        if alike is not None:
            self.world.put(request.object)
            return StoredObject(request.object, self.world.parts.share_trail(request.changes), request.warnings.texts)
        stored = self._store(request)
        self._alike_pods.remember(obj, request)
        return stored

    def _request_for(self, obj: Object) -> Request:
        request = Request(
            deep_copy_json(obj),
            self.world,
            offline=self._alone,
            uses_generate_name=not name_of(obj),
            features=self._features,
        )
        known = self._types.api_resource_of(str(obj.get("apiVersion") or ""), part_of(obj, "kind"))
        if known is not None and b"null" in msgspec.json.encode(obj):
            fill_nulls(request.object, known.type, self._types)
        return request

    def update(
        self, obj: Object, verb: str = "", kind: ApiResource | None = None, *, manager: str = "kubectl"
    ) -> ApiResponse:
        """Change a stored object, as a request with this verb does.

        Without a ``kind`` the types of fields are unknown, and the manifest replaces the object. So does a pod's
        manifest if no verb is given, since kubectl could change hardly anything about a pod.
        """
        name = name_of(obj)
        old = self.world.get(part_of(obj, "kind"), namespace_of(obj), name)
        if old is None:
            return RequestRefusal(404, "NotFound", f'{resource_name(obj)} "{name}" not found')
        refused = misshapen(obj)
        if refused is not None:
            return refused
        anew = known_kind(obj) == "Pod" and not verb
        custom = self._definition(str(obj.get("apiVersion") or ""), part_of(obj, "kind"))
        types = SchemaTypes(custom, self._types) if custom else self._types
        theirs = _is_of_cluster(old) and not tells_field_owners(old, verb)
        proposed = apply_update(old, obj, verb, None if anew else kind, types, manager, all_kept=theirs)
        if isinstance(proposed, RequestRefusal):
            return proposed
        request = Request(proposed, self.world, old, replaces_object=anew, offline=self._alone, features=self._features)
        request.is_merged = not anew and kind is not None and verb != "replace" and comparable(obj, old)
        if not anew:
            rules_of(obj).prepare(proposed, old)
        replicas = section(old, "spec").get("replicas")
        if replicas is not None and not verb and section(obj, "spec").get("replicas") is None:
            within(proposed, "spec").setdefault("replicas", replicas)
            request.record_change("Defaults", "spec.replicas", f"{replicas}, as it is in the cluster")
        refused = self._passes(request)
        if refused is not None and kind is not None and verb != "replace" and not tells_field_owners(old, verb):
            kept = apply_update(old, obj, verb, kind, types, manager, all_kept=True)
            if not isinstance(kept, RequestRefusal):
                self._doubt_owners(
                    replace(request, object=kept, changes=[], doubts=[], warnings=WarningRecorder()), verb
                )
        if not anew and count_generation(request.object, old) and known_kind(obj) == "PodDisruptionBudget":
            # The disruption controller counts anew. Of another spec, what the last one allowed says nothing.
            request.object.pop("status", None)
        return self._store(request) if refused is None else structs.replace(refused, warnings=request.warnings.texts)

    def _doubt_owners(self, request: Request, verb: str) -> None:
        """Note it where a manifest is refused only for fields that it omits and whose owner is unknown."""
        rules_of(request.object).prepare(request.object, request.old or {})
        if self._through(request) is None:
            missing = "managedFields" if verb == "apply" else "last-applied-configuration"
            kind = part_of(request.object, "kind")
            what = f"{kind} {name_of(request.object)} has no {missing}: what was applied before is not known"
            self._note(Doubt(what, "it is refused only if what the manifest leaves out was"), request.object)

    def _passes(self, request: Request) -> RequestRefusal | None:
        refused = self._through(request)
        for doubt in request.doubts:
            self._note(doubt, request.object)
        return refused

    def _passes_alike(self, request: Request) -> RequestRefusal | None:
        """Whether a pod passes that is like the last one: its name is good, and quotas count it as well."""
        for doubt in request.doubts:
            self._note(doubt, request.object)
        return self._quotas.check(request) if self._quotas else None

    def _note(self, doubt: Doubt, obj: Object) -> None:
        self.doubts.setdefault(doubt, {})[str(obj.get("kind") or ""), namespace_of(obj), name_of(obj)] = None

    def _through(self, request: Request) -> RequestRefusal | None:
        if request.object.get("kind") == "Endpoints" and self._features.endpoints_are_deprecated:
            request.warnings.add(_ENDPOINTS)
        strategy = self._strategy(request)
        strategy.defaults(request, within(request.object, "spec") if strategy.has_spec else request.object)
        request.name_is_complete = False
        refused = self._run_admission(request)
        if refused is not None:
            return refused
        request.name_is_complete = True
        if request.old is None:
            generate_selector(request)
            merge_label_keys(request)
        refused = strategy.allocate(request) or self._validate(request)
        if refused is not None:
            return refused
        for plugin in self._plugins:
            refused = plugin.validate(request) if plugin.validate else None
            if refused is not None:
                return refused
        return self._quotas.check(request) if self._quotas else None

    def _run_admission(self, request: Request) -> RequestRefusal | None:
        """Run the mutating plugins, and once more if a policy has changed the object."""
        for request.is_reinvocation in (False, True):
            for plugin in self._plugins:
                refused = plugin.admit(request) if plugin.admit else None
                if refused is not None:
                    return refused
            if not request.is_mutated:
                break
        return None

    def _validate(self, request: Request) -> RequestRefusal | None:
        """What is wrong with the object itself, and with what has changed about it."""
        new, strategy, problems = request.object, self._strategy(request), Problems(request.features)
        rules = None if request.old is None or request.replaces_object else rules_of(new)
        if rules is not None:
            rules.early(problems, new, self.world)
        if not problems.causes:
            if rules is not None and request.old is not None:
                check_kept(problems, new, request.old)
            strategy.check(problems, new)
            if rules is not None and request.old is not None and comparable(new, request.old):
                old = Request(deep_copy_json(request.old), self.world, request.old)
                strategy.defaults(old, within(old.object, "spec") if strategy.has_spec else old.object)
                if request.is_merged and self.world.is_sketch(request.old):
                    # Of what the manifest leaves out a sketch may have only a part.
                    missing = Problems(request.features)
                    strategy.check(missing, old.object)
                    problems.causes = [cause for cause in problems.causes if cause not in missing.causes]
                rules.judge(problems, sketch(new) if self.world.is_sketch(request.old) else new, old.object)
        return problems.refusal(new)

    def _store(self, request: Request) -> StoredObject:
        trail = tuple(request.changes)
        if request.kind == "Pod":
            self.world.parts.share(request.object)
            trail = self.world.parts.share_trail(trail)
        self.world.put(request.object)
        request.warnings.extend(self._strategy(request).warnings(request.object, request.old))
        return StoredObject(request.object, trail, request.warnings.texts)

    def _identify(self, obj: Object) -> None:
        """A name if only its prefix is given, and a uid that is the same in every run."""
        metadata = within(obj, "metadata")
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = self._generate_name(part_of(obj, "kind"), namespace_of(obj), metadata["generateName"])
        if not metadata.get("uid"):
            key = f"{resource_name(obj)}/{namespace_of(obj)}/{metadata.get('name') or ''}"
            digest = sha256(key.encode()).hexdigest()
            metadata["uid"] = f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"
        metadata["generation"] = 1
        metadata.pop("deletionGracePeriodSeconds", None)

    def _generate_name(self, kind: str, namespace: str, prefix: str) -> str:
        key = kind, namespace, prefix
        number = self._numbers.get(key, 0) + 1
        while self.world.get(kind, namespace, f"{prefix}{number}") is not None:
            number += 1
        self._numbers[key] = number
        return f"{prefix}{number}"


@cache
def _of_other_groups(kind: str, group: str) -> Index:
    return Index(kind, lambda obj: (True,) if group_of(obj) != group else ())


def type_gates(minor: str, gates: Mapping[str, bool]) -> frozenset[str]:
    """The gates behind which the server knows further kinds: without its gate a kind is unknown."""
    return frozenset({"GenericWorkload"} if _features(nearest_minor(minor), gates).generic_workload else ())


def _features(minor: str, gates: Mapping[str, bool]) -> Features:
    """The features with those of these gates that concern pod groups and StatefulSets, where the minor has them.

    How other gates would change the server is not known here.
    """
    try:
        known = (*GROUP_GATES, "MaxUnavailableStatefulSet")
        return features_of(minor, {name: gates[name] for name in known if name in gates})
    except UsageError:
        return features_of(minor)


def _is_of_cluster(obj: Object) -> bool:
    """Whether the cluster creates such objects itself; of volumes, those that a driver provisioned."""
    annotations = section(obj, "metadata", "annotations")
    kind = known_kind(obj)
    return kind in _MADE_BY_CLUSTER or (kind == "PersistentVolume" and _PROVISIONED in annotations)
