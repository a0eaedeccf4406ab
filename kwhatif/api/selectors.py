"""Selectors, compiled: label selectors, node selectors and tolerations; and label selectors as kubectl's ``-l`` takes
them.

A requirement depends on one label's value, so a column of labels can be evaluated once per distinct value instead of
once per node. Compiled selectors are hashable: equal selectors share their results. Upstream:
apimachinery/pkg/labels/selector.go; for keys and values apimachinery/pkg/api/validate/content (kube.go, dns.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Node, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Taint, Toleration
from kwhatif.api.meta import LabelSelector
from kwhatif.golang.parsing import parse_int

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_DNS_LABEL = r"[a-z0-9](?:[a-z0-9-]*+(?<=[a-z0-9]))?+"
_DNS_SUBDOMAIN = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*+")
_LONGEST_PREFIX = 253


@lru_cache(maxsize=1 << 16)
def is_label_key(key: str) -> bool:
    """Whether this is a name of at most 63 characters, with a DNS subdomain and a slash before it or not."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > _LONGEST_PREFIX or not _DNS_SUBDOMAIN.fullmatch(prefix)):
        return False
    return _NAME.fullmatch(name) is not None


@lru_cache(maxsize=1 << 16)
def is_label_value(value: str) -> bool:
    """Whether this is empty or a name of at most 63 characters."""
    return not value or _NAME.fullmatch(value) is not None


class SelectorError(ValueError):
    """A selector that upstream cannot parse."""


def _canonical_int64(text: str) -> int | None:
    """As ``int64``, but only of the text that such a number prints as: no plus sign, no leading zeros."""
    number = parse_int(text)
    return number if number is not None and str(number) == text else None


class Requirement(msgspec.Struct, frozen=True):
    """A requirement on one label (upstream: apimachinery/pkg/labels/selector.go)."""

    key: str
    operator: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        count = len(self.values)
        match self.operator:
            case "In" | "NotIn":
                if not count:
                    raise SelectorError("for 'in', 'notin' operators, values set can't be empty")
            case "Exists" | "DoesNotExist":
                if count:
                    raise SelectorError("values set must be empty for exists and does not exist")
            case "Gt" | "Lt":
                if count != 1:
                    raise SelectorError("for 'Gt', 'Lt' operators, exactly one value is required")
                if parse_int(self.values[0]) is None:
                    raise SelectorError("for 'Gt', 'Lt' operators, the value must be an integer")
            case _:
                raise SelectorError(f"{self.operator!r} is not a valid selector operator")

    def matches(self, value: str | None) -> bool:
        """Whether a label with this value (None: no such label) meets the requirement."""
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
        have = parse_int(value) if value is not None else None
        want = parse_int(self.values[0])
        if have is None or want is None:
            return False
        return have > want if self.operator == "Gt" else have < want

    def __str__(self) -> str:
        match self.operator:
            case "In" if len(self.values) == 1:
                return f"{self.key}={self.values[0]}"
            case "In" | "NotIn":
                return f"{self.key} {self.operator.lower()} ({','.join(self.values)})"
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"
        return f"{self.key} {'>' if self.operator == 'Gt' else '<'} {self.values[0]}"


class Selector(msgspec.Struct, frozen=True):
    """A label selector. Without requirements it selects everything; ``nothing`` selects nothing."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @classmethod
    def from_label_selector(cls, selector: LabelSelector | None) -> Selector:
        """Compile an API selector: None selects nothing, an empty one everything. Raises SelectorError."""
        if selector is None:
            return cls(nothing=True)
        labels = [valid_requirement(k, "In", (v,)) for k, v in sorted((selector.match_labels or {}).items())]
        expressions = []
        for item in selector.match_expressions or ():
            if item.operator in ("Gt", "Lt"):
                raise SelectorError(f"{item.operator!r} is not a valid label selector operator")
            expressions.append(valid_requirement(item.key, item.operator, tuple(item.values or ())))
        return cls((*labels, *expressions))

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> Selector:
        """Select what carries all these labels."""
        return cls(tuple(Requirement(k, "In", (v,)) for k, v in sorted(labels.items())))

    @property
    def empty(self) -> bool:
        """Whether it selects everything for want of requirements."""
        return not self.requirements and not self.nothing

    def matches(self, labels: Mapping[str, str]) -> bool:
        return not self.nothing and all(r.matches(labels.get(r.key)) for r in self.requirements)

    def with_requirements(self, requirements: Iterable[Requirement]) -> Selector:
        """The selector with further requirements; what selects nothing stays so."""
        return self if self.nothing else replace(self, requirements=(*self.requirements, *requirements))

    def __str__(self) -> str:
        return "<none>" if self.nothing else ",".join(map(str, self.requirements)) or "<all>"


class NodeTerm(msgspec.Struct, frozen=True):
    """One node selector term; ``broken`` terms match no node, as upstream ignores their errors."""

    expressions: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]
    broken: bool = False

    @classmethod
    def from_term(cls, term: NodeSelectorTerm) -> NodeTerm | None:
        """Compile a term; None for an empty one, which matches nothing and is left out."""
        try:
            return cls.parse(term)
        except SelectorError:
            return cls((), (), broken=True)

    @classmethod
    def parse(cls, term: NodeSelectorTerm) -> NodeTerm | None:
        """As ``from_term``, but raises SelectorError for a broken term."""
        if not term.match_expressions and not term.match_fields:
            return None
        expressions = tuple(
            valid_requirement(r.key, r.operator, tuple(r.values or ())) for r in term.match_expressions or ()
        )
        fields = tuple(_field_requirement(r) for r in term.match_fields or ())
        return cls(expressions, fields)

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        if self.broken:
            return False
        return all(r.matches(labels.get(r.key)) for r in self.expressions) and all(
            r.matches(name if r.key == "metadata.name" else "") for r in self.fields
        )

    def __str__(self) -> str:
        return " and ".join(map(str, (*self.expressions, *self.fields))) or "<broken>"


def valid_requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    """A requirement on labels that could exist. Raises SelectorError."""
    if not is_label_key(key):
        raise SelectorError(f"{key!r} is not a valid label key")
    for value in values:
        if not is_label_value(value):
            raise SelectorError(f"{value!r} is not a valid label value")
    return Requirement(key, operator, values)


def _field_requirement(item: NodeSelectorRequirement) -> Requirement:
    if item.operator not in ("In", "NotIn"):
        raise SelectorError(f"{item.operator!r} is not a valid field selector operator")
    if len(item.values or ()) != 1:
        raise SelectorError("must have one element")
    return Requirement(item.key, item.operator, tuple(item.values or ()))


class RequiredNodeAffinity(msgspec.Struct, frozen=True):
    """``nodeSelector`` and the required node affinity of a pod, together.

    ``terms`` is None when there is no required affinity, and empty when there is one that matches nothing.
    Upstream: component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go.
    """

    labels: tuple[Requirement, ...] = ()
    terms: tuple[NodeTerm, ...] | None = None

    @classmethod
    def from_pod_spec(cls, spec: PodSpec) -> RequiredNodeAffinity:
        labels = Selector.from_labels(spec.node_selector or {}).requirements
        affinity = spec.affinity.node_affinity if spec.affinity else None
        required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
        if required is None:
            return cls(labels)
        return cls(labels, tuple(t for t in map(NodeTerm.from_term, required.node_selector_terms or ()) if t))

    @property
    def trivial(self) -> bool:
        return not self.labels and self.terms is None

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        if not all(r.matches(labels.get(r.key)) for r in self.labels):
            return False
        return self.terms is None or any(t.matches(labels, name) for t in self.terms)

    def unmet(self, node: Node) -> str:
        """What a node lacks to match, in words: ``wants zone=b, node has zone=a``; nothing if it matches."""
        labels = node.metadata.labels or {}
        if self.matches(labels, node.name):
            return ""
        wrong = [_unmet(r, labels) for r in self.labels if not r.matches(labels.get(r.key))]
        if wrong:
            return "; ".join(wrong)
        terms = []
        for term in self.terms or ():
            missing = [_unmet(r, labels) for r in term.expressions if not r.matches(labels.get(r.key))]
            missing += [f"wants node {r}" for r in term.fields if not r.matches(node.name)]
            terms.append(" and ".join(missing) or "unreadable term")
        return " or ".join(terms) or "the required affinity has no terms, so it matches no node"


def _unmet(requirement: Requirement, labels: Mapping[str, str]) -> str:
    key = requirement.key
    return f"wants {requirement}, node has {f'{key}={labels[key]}' if key in labels else 'no such label'}"


def tolerates(toleration: Toleration, taint: Taint, *, comparison_operators: bool) -> bool:
    """Whether one toleration tolerates one taint (upstream: api/core/v1/toleration.go)."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator or "Equal":
        case "Equal":
            return (toleration.value or "") == (taint.value or "")
        case "Exists":
            return True
        case "Lt" | "Gt" if comparison_operators:
            mine, its = _canonical_int64(toleration.value or ""), _canonical_int64(taint.value or "")
            if mine is None or its is None:
                return False
            return its < mine if toleration.operator == "Lt" else its > mine
    return False


_COMPARING = ("Lt", "Gt")


class TolerationIndex:
    """Tolerations by key, value and effect, so that a taint is not compared with each of them: the API server bounds
    neither list.

    Only tolerations that compare numbers are tried one by one, once for each distinct taint.
    """

    def __init__(self, tolerations: Sequence[Toleration], *, comparison_operators: bool) -> None:
        self._comparison_operators = comparison_operators
        self._equal: set[tuple[str, str, str]] = set()
        self._exists: set[tuple[str, str]] = set()
        self._comparing: dict[str, dict[tuple[str, str, str], Toleration]] = {}
        for toleration in tolerations:
            key, value, effect = toleration.key or "", toleration.value or "", toleration.effect or ""
            operator = toleration.operator or "Equal"
            if operator == "Equal":
                self._equal.add((key, value, effect))
            elif operator == "Exists":
                self._exists.add((key, effect))
            elif operator in _COMPARING and comparison_operators:
                self._comparing.setdefault(key, {})[operator, value, effect] = toleration
        self._asked: dict[tuple[str, str, str], bool] = {}

    def tolerates(self, taint: Taint) -> bool:
        """Whether any of the tolerations tolerates the taint."""
        for key in {taint.key, ""}:
            for effect in (taint.effect, ""):
                if (key, effect) in self._exists or (key, taint.value or "", effect) in self._equal:
                    return True
        return bool(self._comparing) and self._compare(taint)

    def _compare(self, taint: Taint) -> bool:
        identity = (taint.key, taint.value or "", taint.effect)
        verdict = self._asked.get(identity)
        if verdict is None:
            verdict = self._asked[identity] = any(
                tolerates(toleration, taint, comparison_operators=True)
                for key in {taint.key, ""}
                for toleration in self._comparing.get(key, {}).values()
            )
        return verdict


def find_untolerated_taints(
    taints: Iterable[Taint],
    tolerations: Sequence[Toleration],
    effects: tuple[str, ...],
    *,
    comparison_operators: bool,
) -> list[Taint]:
    """The taints of these effects that no toleration tolerates, in their order."""
    index = TolerationIndex(tolerations, comparison_operators=comparison_operators)
    return [taint for taint in taints if taint.effect in effects and not index.tolerates(taint)]


_TOKEN = re.compile(r"\s*(?P<sign>==|!=|[=!<>(),])|\s*(?P<word>[^\s=!<>(),]+)")
_OPERATORS = {"=": "In", "==": "In", "!=": "NotIn", "in": "In", "notin": "NotIn", ">": "Gt", "<": "Lt"}


def parse_selector(text: str) -> Selector:
    """Read a selector as kubectl does; an empty text selects everything. Raises SelectorError."""
    return _Parser(text).selector()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = [match["sign"] or match["word"] for match in _TOKEN.finditer(text)]
        self._next = 0

    def selector(self) -> Selector:
        requirements: list[Requirement] = []
        while self._tokens:
            requirements.append(self._requirement())
            if self._peek() == "":
                break
            if self._take() != ",":
                raise self._syntax_error("',' or the end")
        return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))

    def _requirement(self) -> Requirement:
        if self._peek() == "!":
            self._take()
            return valid_requirement(self._word("a label"), "DoesNotExist", ())
        key = self._word("a label or '!'")
        if self._peek() in ("", ","):
            return valid_requirement(key, "Exists", ())
        sign = self._take()
        if sign not in _OPERATORS:
            raise self._syntax_error("=, !=, in, notin, > or <")
        values = self._parse_values() if sign in ("in", "notin") else (self._value(),)
        return valid_requirement(key, _OPERATORS[sign], values)

    def _value(self) -> str:
        """What is compared with; nothing at all stands for an empty value."""
        return "" if self._peek() in ("", ",") else self._word("a value")

    def _parse_values(self) -> tuple[str, ...]:
        """``(a,b)``: each value once, in order; between two commas stands an empty one."""
        if self._take() != "(":
            raise self._syntax_error("'('")
        values = {""} if self._peek() in (",", ")") else set()
        while (token := self._take()) != ")":
            if token == ",":
                values |= {""} if self._peek() in (",", ")") else set()
            elif self._is_word(token) and self._peek() in (",", ")"):
                values.add(token)
            else:
                raise self._syntax_error("',' or ')'")
        return tuple(sorted(values))

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._next += 1
        return token

    def _word(self, what: str) -> str:
        token = self._take()
        if not self._is_word(token):
            raise self._syntax_error(what)
        return token

    def _is_word(self, token: str) -> bool:
        return bool(token) and token not in ("=", "==", "!=", "!", "<", ">", "(", ")", ",")

    def _syntax_error(self, expected: str) -> SelectorError:
        """About the token that was taken last."""
        token = self._tokens[self._next - 1] if self._next <= len(self._tokens) else ""
        return SelectorError(f"expected {expected}, found {repr(token) if token else 'the end'}")
