"""The admission policies of a cluster with their bindings and parameters, and which of them match a request.

Upstream: apiserver/pkg/admission/plugin/policy/generic (policy_source.go, policy_dispatcher.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import msgspec

from kwhatif.admission.custom.definition import definitions_of
from kwhatif.admission.object_store import ObjectStore, group_of, name_of
from kwhatif.admission.policies.matching import EXEMPT, ConstraintIndex, constraint_index_of, matches, selects
from kwhatif.admission.policies.policy_expressions import (
    EXPRESSION_GONE,
    EvaluationError,
    ExpressionEnvironment,
    asks_authorizer,
    compile_expression,
    evaluate_expression,
)
from kwhatif.admission.policies.request_view import ExpressionCache, RequestView, to_unstructured
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object
from kwhatif.api.kinds import KIND_TABLE
from kwhatif.api.objects import part_of, section
from kwhatif.cel.declarations import Kind
from kwhatif.cel.program import Program
from kwhatif.cel.values import Fault, Lazy

NO_MESSAGE = "what it would set, refuse or warn of is not known"
"""The possible effect of a policy that is not evaluated."""


class Policy(msgspec.Struct, frozen=True, dict=True):
    """A policy and its bindings, in the order of their names."""

    object: Object
    bindings: Sequence[Object]

    @property
    def name(self) -> str:
        return name_of(self.object)

    @property
    def kind(self) -> str:
        return str(part_of(self.object, "kind"))

    @cached_property
    def spec(self) -> Object:
        body: Object = section(self.object, "spec")
        return body

    @property
    def ignores(self) -> bool:
        """Whether its failure policy ignores errors."""
        return bool(self.spec.get("failurePolicy") == "Ignore")

    @cached_property
    def opaque(self) -> str:
        """Why the content of the policy is unknown, empty if it is known."""
        texts = [text for _, text, _ in self.expressions]
        if EXPRESSION_GONE in texts:
            return "the snapshot leaves out its expressions"
        if any(map(asks_authorizer, texts)):
            return "its expressions ask what users may do"
        broken = (
            p
            for text, wanted, scenery in self._programs
            if isinstance(p := compile_expression(text, wanted, scenery), str)
        )
        problem = next(broken, "")
        return f"its expressions are not understood: {problem}" if problem else ""

    @cached_property
    def expression_cache(self) -> ExpressionCache:
        """The results of its expressions so far."""
        return ExpressionCache(text for use, text, _ in self.expressions if use == "variable")

    def mentions(self, name: str) -> bool:
        """Whether one of its expressions reads a variable."""
        return name in self._text

    @cached_property
    def _text(self) -> str:
        return "\n".join(text for _, text, _ in self.expressions)

    @cached_property
    def expressions(self) -> Sequence[tuple[str, str, str]]:
        """The use of each expression, its text, and the type it has to return."""
        spec = self.spec
        texts = [("condition", c, "bool") for c in _texts(spec, "matchConditions", "expression")]
        texts += [("variable", v, "any") for v in _texts(spec, "variables", "expression")]
        texts += [("validation", v, "bool") for v in _texts(spec, "validations", "expression")]
        texts += [("message", v, "string") for v in _texts(spec, "validations", "messageExpression")]
        for mutation in each(spec, "mutations"):
            for key, wanted in (("applyConfiguration", "Object"), ("jsonPatch", "JSONPatch")):
                texts += [
                    ("mutation", t, wanted) for t in (str((mutation.get(key) or {}).get("expression") or ""),) if t
                ]
        return texts

    @property
    def _programs(self) -> Iterator[tuple[str, str, ExpressionEnvironment]]:
        for use, text, wanted in self.expressions:
            if use != "variable":
                yield text, wanted, self.environment(conditions=use == "condition")

    def environment(self, *, conditions: bool = False) -> ExpressionEnvironment:
        """The variables of its expressions. Match conditions have no ``variables``."""
        params = self.spec.get("paramKind") is not None
        patches = bool(self.spec.get("mutations"))
        if conditions:
            return ExpressionEnvironment(params)
        kinds = tuple((name, program.kind) for name, _, program in self.variables)
        return ExpressionEnvironment(params, patches, kinds if kinds or patches else None)

    @cached_property
    def variables(self) -> Sequence[tuple[str, str, Program]]:
        """Name, text and program of each variable, which may use those before it."""
        programs: list[tuple[str, str, Program]] = []
        params, patches = self.spec.get("paramKind") is not None, bool(self.spec.get("mutations"))
        for variable in each(self.spec, "variables"):
            kinds: tuple[tuple[str, Kind], ...] = tuple((name, program.kind) for name, _, program in programs)
            text = str(variable.get("expression") or "")
            program = compile_expression(text, "any", ExpressionEnvironment(params, patches, kinds))
            if isinstance(program, Program):
                programs.append((str(variable.get("name")), text, program))
        return programs

    def with_variables(self, values: dict[str, Any]) -> dict[str, Any]:
        """``values`` and, in ``variables``, values that are evaluated on first use."""

        def lookup(name: str, text: str, program: Program) -> Callable[[], object]:
            def run() -> object:
                try:
                    return program.evaluate(values, 1_000_000)
                except Fault as fault:
                    raise Fault(f'composited variable "{name}" fails to evaluate: {fault}') from None

            return run

        if self.variables:
            values = dict(values)
            values["variables"] = Lazy({name: lookup(name, text, run) for name, text, run in self.variables})
        elif self.spec.get("mutations"):
            values = {**values, "variables": {}}
        return values


def _texts(spec: Object, key: str, field: str) -> list[str]:
    return [str(item[field]) for item in each(spec, key) if item.get(field)]


def _register(kind: str, world: ObjectStore) -> ConstraintIndex[Policy]:
    """The policies of a kind that are bound, in the order of their names."""
    bound: dict[str, list[Object]] = {}
    for binding in sorted(world.all(f"{kind}Binding"), key=name_of):
        bound.setdefault(str(section(binding, "spec").get("policyName") or ""), []).append(binding)
    policies = sorted(world.all(kind), key=name_of)
    bound_policies = [Policy(p, bound[name_of(p)]) for p in policies if name_of(p) in bound]
    return ConstraintIndex(bound_policies, lambda policy, _: policy.spec.get("matchConstraints"))


def find_matching_policies(kind: str, request: Request) -> Iterator[tuple[Policy, Object]]:
    """The policies of a kind that match a request, with each binding that does."""
    if group_of(request.object) == EXEMPT:
        return
    register = constraint_index_of(request.store, (kind, f"{kind}Binding"), partial(_register, kind))
    for policy in register.find_matching(request):
        bindings = [b for b in policy.bindings if matches(section(b, "spec").get("matchResources"), request)]
        opaque = bindings and (policy.opaque or _unseen(policy, request))
        if opaque:
            request.doubt(kind, f"{kind} {policy.name} is not asked: {opaque}", NO_MESSAGE)
            continue
        for binding in bindings:
            yield policy, binding


def _unseen(policy: Policy, request: Request) -> str:
    """Why a policy cannot be evaluated for this request: it reads what a snapshot leaves out; empty if it can."""
    world, old = request.store, request.old
    if old is not None and (world.pruned or world.is_sketch(old)) and policy.mentions("oldObject"):
        return "it looks at the object as it was (oldObject), of which the snapshot holds but parts"
    home = world.get("Namespace", "", request.namespace)
    if home is not None and world.is_sketch(home) and policy.mentions("namespaceObject.metadata.annotations"):
        return "it looks at annotations of namespaces, which the snapshot leaves out"
    return ""


def params_of(policy: Policy, binding: Object, request: Request) -> list[Object | None]:
    """The parameters that a policy is evaluated with, one after the other; None stands for none. Raises
    EvaluationError.
    """
    kind, ref = policy.spec.get("paramKind"), section(binding, "spec").get("paramRef")
    if kind is None or ref is None:
        return [None]
    name, namespaced = str(kind.get("kind") or ""), _is_namespaced(kind, request.store)
    home = ref.get("namespace") or ""
    if namespaced is None:
        raise LookupError(name)
    if namespaced:
        home = home or request.namespace
        if not home:
            raise EvaluationError(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            )
    elif home:
        raise EvaluationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    if ref.get("name"):
        one = request.store.get(name, home if namespaced else "", ref["name"])
        params = [one] if one is not None else []
        is_known = one is not None or request.store.lacks(name, home, ref["name"])
    else:
        listed = request.store.all(name, home if namespaced else "")
        params = [p for p in listed if selects(ref.get("selector"), section(p, "metadata", "labels"))]
        is_known = request.store.knows(name, home)
    if not is_known:
        # Of a kind that is not in the snapshot, those that came with files or manifests are known, but no others.
        if not params:
            raise LookupError(name)
        what = f"{policy.kind} {policy.name} is asked with parameters that are known ({name}); there may be more"
        request.doubt(policy.kind, what, NO_MESSAGE)
    if not params and ref.get("parameterNotFoundAction") == "Deny":
        raise EvaluationError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return [to_unstructured(param) for param in params]


def _is_namespaced(kind: Mapping[str, Any], world: ObjectStore) -> bool | None:
    """Whether a kind of parameters lives in namespaces; None if the kind is unknown."""
    group, name = str(kind.get("apiVersion") or "").rpartition("/")[0], str(kind.get("kind") or "")
    for known in KIND_TABLE:
        if (known.group, known.name) == (group, name):
            return known.namespaced
    for definition in definitions_of(world, group, name):
        return bool(part_of(definition, "spec").get("scope") == "Namespaced")
    return None


class PolicyInvocation:
    """A policy that matches a request, with one object of its parameters."""

    def __init__(self, policy: Policy, view: RequestView, params: Object | None) -> None:
        self.policy, self._view, self._params = policy, view, params

    @cached_property
    def values(self) -> dict[str, Any]:
        return self.policy.with_variables({**self._view.values, "params": self._params})

    def value(self, text: str, wanted: str, *, conditions: bool = False) -> Any:
        """The value of an expression. Raises EvaluationError."""

        def ask() -> Any:
            return evaluate_expression(
                compile_expression(text, wanted, self.policy.environment(conditions=conditions)), text, self.values
            )

        use = "condition" if conditions else wanted
        return self.policy.expression_cache.value(text, use, self._view, self._params, ask)

    def matches_conditions(self) -> bool:
        """Whether all match conditions hold.

        Raises EvaluationError if none is false and some fail, unless the failure policy ignores errors.
        """
        problems = []
        for text in _texts(self.policy.spec, "matchConditions", "expression"):
            try:
                if self.value(text, "bool", conditions=True) is False:
                    return False
            except EvaluationError as problem:
                problems.append(str(problem))
        if problems and not self.policy.ignores:
            messages = list(dict.fromkeys(problems))
            raise EvaluationError(messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")
        return not problems
