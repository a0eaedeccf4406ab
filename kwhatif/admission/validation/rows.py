"""Tables of what holds for fields, and the walker that judges objects by them, in upstream's order.

A table is text, with a line a row::

    spec.drivers[].name         text & check_driver_name
    spec.drivers[].nodeID       required & longest 256
    spec.drivers[]              unique name
    spec.parentRef              present: a parent is needed
    spec.parentRef?.group       if_nonempty & dns_subdomain
    spec.type                   one_of Queue Reject @ spec.kind
    spec.queuing                forbidden if type=Reject: must be nil if type is Reject

First the path: ``[]`` stands for each item of a list, all rows of one before the next; ``?`` for what is looked at
only if it is there; ``.`` is the object itself. Then rules, one after the other. The word before the first says how an
absent value is judged:

- ``text``, ``number``, ``list``, ``part``: as an empty one
- ``any``: as null
- ``required``: as a problem, and so is an empty one
- ``present``: as a problem
- ``if_nonempty``: not at all, nor is an empty one
- no word: not at all

After a problem of a row whose first word ends in ``!`` nothing further is said of the object.

After the rules, tests of the object that has the field: ``if`` or ``unless`` a function holds, a key has a value
(``key=a|b``), is there (``key?``) or not empty (``key``); then where it is reported, if upstream's path differs; and
last the words of the last rule. A line that goes on is indented further.

A rule is a name of ``field_rules`` or of a function given to the table: ``rule(problems, value, path)``, or
``rule(value)``, which returns what is wrong. Where two fields are compared, it is a function for the object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby
from textwrap import dedent
from typing import Any, NamedTuple

from kwhatif.admission.response import Object
from kwhatif.admission.validation.problems import Problems

Rule = Callable[[Problems, Any, str], object]
Test = Callable[[Any], object]

STOP = object()
"""What a rule returns where nothing further is said of its value. A row passes it on to the object that has the field
only if its first word ends in ``!``, or if it is about the object itself.
"""
_ABSENT = object()
_NULL = object()
_EMPTY: Object = {}
ABSENT: dict[str, Any] = {
    "text": "",
    "number": 0,
    "list": (),
    "part": _EMPTY,
    "any": _NULL,
    "required": _ABSENT,
    "present": _ABSENT,
    "if_nonempty": None,
}
"""First words of rows: what stands for an absent value."""
_LINE = re.compile(
    r"(?P<path>\S+)\s+(?P<rules>.+?)(?P<test> (?:if|unless) [^@:]+?)?(?: @ (?P<at>\S+))?(?:: (?P<why>.+))?"
)


def table(text: str, *functions: Callable[..., Any], **named: Callable[..., Any]) -> Rule:
    """The rule that a table makes up. ``functions`` are those that it has the names of, ``named`` by others."""
    functions_by_name = {function.__name__: function for function in functions} | named
    lines = re.sub(r"\n +(?=\S)", " ", dedent(text).strip("\n")).splitlines()
    return _together(list(_nest([_read(line.strip(), functions_by_name) for line in lines if line.strip()])))


def each_item(*rules: Rule) -> Rule:
    """A rule for a list: what holds for each of its items."""
    limits = [rule for rule in rules if isinstance(rule, _Most)]
    others = [rule for rule in rules if not isinstance(rule, _Most)]

    def check(problems: Problems, items: Sequence[Any], path: str) -> None:
        if any(limit(problems, items, path) is STOP for limit in limits):
            return
        own = [rule.begin() if isinstance(rule, _Unique) else rule for rule in others]
        for i, item in enumerate(items):
            where = f"{path}[{i}]"
            for rule in own:
                if rule(problems, item, where) is STOP:
                    break

    return check


# --- reading


class _Row(NamedTuple):
    path: str
    rule: Rule


def _read(line: str, functions_by_name: dict[str, Callable[..., Any]]) -> _Row:
    read = _LINE.fullmatch(line)
    if read is None:
        raise ValueError(f"no row of a table: {line}")
    *outer, last = re.split(r"(?<=\?)\.|(?<=\[\])\.", read["path"])
    if last.endswith(("?", "[]")):
        outer, last = [*outer, last], "."
    words, why = read["rules"].split(" & "), read["why"] or ""
    first, stops_object = words[0].partition(" ")[0], "!" in words[0]
    words[0] = words[0].replace("!", "")
    mode = words.pop(0) if first.rstrip("!") in ABSENT else "any" if first.startswith("missing") else ""
    rules = [_rule_of(word, functions_by_name, why if i == len(words) else "") for i, word in enumerate(words, 1)]
    if mode in ("required", "present"):
        rules.insert(0, _require(mode, "" if rules else why))
    elif stops_object:
        rules.append(_stop)
    test = _test_of(read["test"], functions_by_name) if read["test"] else None
    rule = _field(
        last,
        read["at"],
        rules,
        ABSENT.get(mode),
        skips_empty=mode == "if_nonempty",
        stops_object=stops_object,
        test=test,
    )
    return _Row(".".join(outer), rule)


def _nest(rows: Sequence[_Row]) -> Iterator[Rule]:
    """Neighbouring rows about one object or list become one rule; only neighbours, to keep upstream's order."""
    for head, group in groupby(rows, key=lambda row: re.sub(r"(\?|\[\]).*", r"\1", row.path)):
        inner = list(group)
        if not head:
            yield from (row.rule for row in inner)
            continue
        rules = list(_nest([_Row(row.path[len(head) :].removeprefix("."), row.rule) for row in inner]))
        yield _field(head.rstrip("?[]"), None, [_together(rules) if head.endswith("?") else each_item(*rules)])


def _rule_of(text: str, functions_by_name: dict[str, Callable[..., Any]], why: str) -> Rule:
    name, *arguments = text.split(" ")
    if name == "each":
        return _each_value(_rule_of(text.removeprefix("each "), functions_by_name, why))
    if name == "in_one":
        rule = functions_by_name.get(arguments[0]) or _find_shared_rule(arguments[0])
        begin = f"{why} " if why else ""
        return _as_rule(lambda value: [begin + ",".join(wrong)] if (wrong := rule(value)) else [])
    if name == "not":
        test = functions_by_name[arguments[0]]
        return _as_rule(lambda value: [why] if test(value) else [])
    if name in _RULES:
        return _RULES[name](why, *arguments)
    if why:
        raise ValueError(f"{name} has its own words: {why}")
    return _as_rule(functions_by_name.get(name) or _find_shared_rule(name))


def _as_rule(rule: Callable[..., Any]) -> Rule:
    # A function of one value returns what is wrong with it; other rules take (problems, value, path).
    code = getattr(rule, "__code__", None)
    if code is None or code.co_argcount > 2:
        return rule

    def check(problems: Problems, value: Any, path: str) -> None:
        wrong = rule(value)
        if wrong:
            problems.invalid(path, value, *wrong)

    return check


def _find_shared_rule(name: str) -> Callable[..., Any]:
    from kwhatif.admission.validation import field_rules

    rule: Callable[..., Any] | None = getattr(field_rules, name, None)
    if rule is None:
        raise ValueError(f"no rule: {name}")
    return rule


def _test_of(text: str, functions_by_name: dict[str, Callable[..., Any]]) -> Test:
    _, word, text = text.split(" ", 2)
    combine = any if " or " in text else all
    tests = [_simple_test_of(one, functions_by_name) for one in re.split(" and | or ", text)]
    holds = tests[0] if len(tests) == 1 else lambda obj: combine(test(obj) for test in tests)
    return holds if word == "if" else lambda obj: not holds(obj)


def _simple_test_of(text: str, functions_by_name: dict[str, Callable[..., Any]]) -> Test:
    if text in functions_by_name:
        return functions_by_name[text]
    key, equals, values = text.rstrip("?").partition("=")
    keys, allowed = key.split("."), values.split("|")

    def look_up(obj: Any) -> Any:
        for key in keys:
            obj = obj.get(key) if obj else None
        return obj

    if equals:
        return lambda obj: look_up(obj) in allowed
    return (lambda obj: look_up(obj) is not None) if text.endswith("?") else look_up


# --- rules


class _Unique:
    """A rule for items, none of which is like one before it: in some fields, or as a whole.

    It is reported at the one field and shows it, ``here`` at the item; more fields, or ``whole``, show the item. Of
    ``if_nonempty`` an empty field is like none. With ``stops_item`` nothing further is said of the item.
    """

    def __init__(self, why: str, *words: str) -> None:
        self._why, self._here, self._whole = why, "here" in words, "whole" in words
        self._stops_item, self._if_nonempty = "stops_item" in words, "if_nonempty" in words
        self._keys = [key for key in words if key not in ("here", "whole", "stops_item", "if_nonempty")]

    def begin(self) -> Rule:
        seen: set[Any] = set()

        def check(problems: Problems, item: Any, path: str) -> object:
            values = tuple(item.get(key) or "" for key in self._keys) if self._keys else item
            if values not in seen or (self._if_nonempty and not values[0]):
                seen.add(values)
                return None
            one = len(self._keys) == 1 and not self._whole
            where = f"{path}.{self._keys[0]}" if one and not self._here else path
            problems.duplicate(where, values[0] if one else item, self._why)
            return STOP if self._stops_item else None

        return check

    def __call__(self, problems: Problems, value: Any, path: str) -> None:
        raise AssertionError("stands among the rules of items")


class _Most:
    """At most so many items; where there are more, nothing is said of them."""

    def __init__(self, why: str, most: str) -> None:
        self._most = int(most)

    def __call__(self, problems: Problems, value: Sequence[Any], path: str) -> object:
        if len(value) <= self._most:
            return None
        problems.too_many(path, len(value), self._most)
        return STOP


def _require(mode: str, why: str) -> Rule:
    may_be_empty = mode.startswith("present")

    def check(problems: Problems, value: Any, path: str) -> object:
        if value is not _ABSENT and (value or may_be_empty):
            return None
        problems.required(path, why)
        return STOP

    return check


def _one_of(why: str, *choices: str) -> Rule:
    words = tuple("" if word == '""' else word for word in choices)

    def check(problems: Problems, value: Any, path: str) -> None:
        if value not in words:
            problems.not_supported(path, value, words)

    return check


def _comparison(test: Callable[..., bool], usual: str = "") -> Callable[..., Rule]:
    """A rule that compares a value with the numbers or words of its row."""

    def rule(why: str, *texts: str) -> Rule:
        bounds = [int(word) if re.fullmatch("-?[0-9]+", word) else word for word in texts]
        words = why or usual.format(*bounds)

        def check(problems: Problems, value: Any, path: str) -> None:
            if not test(value, *bounds):
                problems.invalid(path, value, words)

        return check

    return rule


def _longest(why: str, most: str) -> Rule:
    """A text of at most so many bytes."""

    def check(problems: Problems, value: str, path: str) -> None:
        if len(value.encode()) > int(most):
            problems.too_long(path, int(most))

    return check


def _stop(problems: Problems, value: Any, path: str) -> object:
    return STOP


def _each_value(rule: Rule) -> Rule:
    """What holds for each item of a list, or each key of a map, reported at its own path."""

    def check(problems: Problems, items: Collection[Any], path: str) -> None:
        for item in sorted(items) if isinstance(items, dict) else items:
            rule(problems, item, path)

    return check


_RULES: dict[str, Callable[..., Rule]] = {
    "all_unique": lambda why, *words: each_item(_Unique(why, *words)),
    "one_of": _one_of,
    "at_least": _comparison(lambda value, least: value >= least, "must be greater than or equal to {}"),
    "at_most": _comparison(lambda value, most: value <= most, "must be less than or equal to {}"),
    "between": _comparison(lambda value, least, most: least <= value <= most, "must be between {} and {}, inclusive"),
    "begins": _comparison(lambda value, beginning: value.startswith(beginning)),
    "max_bytes": _comparison(lambda value, size: len(value.encode()) <= size),
    "longest": _longest,
    "most": _Most,
    "unique": _Unique,
    "missing": lambda why: lambda problems, value, path: problems.required(path, why),
    "forbidden": lambda why: lambda problems, value, path: problems.forbidden(path, why),
    "invalid": lambda why, *shown: lambda problems, value, path: problems.invalid(path, "" if shown else value, why),
    "null": lambda why: lambda problems, value, path: problems.invalid(path, None, why),
    "stop": lambda why: _stop,
}


# --- walking


def _together(rules: Sequence[Rule]) -> Rule:
    """One rule after the other. Most fields of an object are absent: rows that say nothing of those are not called."""
    by_first_field = tuple((getattr(rule, "field", None), rule) for rule in rules)

    def check(problems: Problems, value: Any, path: str) -> object:
        # Go reads a null among the items of a list as an item without fields.
        value = _EMPTY if value is None else value
        for field, rule in by_first_field:
            if (field is None or field in value) and rule(problems, value, path) is STOP:
                return STOP
        return None

    return check


def _field(
    path: str,
    at: str | None,
    rules: Sequence[Rule],
    default: Any = None,
    *,
    skips_empty: bool = False,
    stops_object: bool = False,
    test: Test | None = None,
) -> Rule:
    """The rules for what is at ``path``; ``default`` if that is left out, and nothing is judged without one."""
    *outer, key = [""] if path == "." else path.split(".")
    reported_path = "" if at == "." else at or (key and path)
    if not key and not reported_path and default is None and not skips_empty and test is None and len(rules) == 1:
        return rules[0]

    def check(problems: Problems, holder: Any, where: str) -> object:
        value = holder
        if key:
            for step in outer:
                value = value.get(step) or _EMPTY
            value = value.get(key)
        if value is None:
            value = default
        if (value is None and key) or (skips_empty and not value) or (test is not None and not test(holder)):
            return None
        if value is _NULL:
            value = None
        here = where if not reported_path else f"{where}.{reported_path}" if where else reported_path
        for rule in rules:
            if rule(problems, value, here) is STOP:
                return STOP if stops_object or not key else None
        return None

    if key and default is None:
        # For ``_together``, which calls no row about a field that the object does not have.
        check.field = (*outer, key)[0]  # type: ignore[attr-defined]
    return check
