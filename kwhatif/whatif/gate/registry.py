"""Which rules there are: those of ``rules/``, found by walking, and those of the entry-point group
``kwhatif.gate_rules``. Each is looked at when it is registered, not when it first fails."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import msgspec

from kwhatif.errors import PluginError, UsageError
from kwhatif.whatif.gate import rules
from kwhatif.whatif.gate.rule import Parameters, Rule

GROUP = "kwhatif.gate_rules"

RuleClass = type[Rule[Any]]

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@cache
def in_tree() -> dict[str, RuleClass]:
    """Rule name -> class, of the rules that come with the gate."""
    found: dict[str, RuleClass] = {}
    for info in sorted(pkgutil.iter_modules(rules.__path__), key=lambda info: info.name):
        module = import_module(f"{rules.__name__}.{info.name}")
        for known in _defined_in(module):
            register(found, known, module.__name__)
    return found


def all_rules() -> dict[str, RuleClass]:
    """Those and the ones from outside. Raises UsageError or PluginError for one that is not a rule."""
    found = dict(in_tree())
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        where = f"entry point {entry.name}"
        try:
            known = entry.load()
        except Exception as error:
            raise UsageError(f"{where}: {type(error).__name__}: {error}") from error
        register(found, known, where)
    return found


def _defined_in(module: Any) -> Iterator[RuleClass]:
    for known in vars(module).values():
        if isinstance(known, type) and issubclass(known, Rule) and known.__module__ == module.__name__:
            yield known


def register(found: dict[str, RuleClass], known: object, where: str) -> None:
    """Add a rule to those ``found``. Raises UsageError if it cannot be told what it is, PluginError if it is wrong."""
    if not isinstance(known, type):
        raise UsageError(f"{where}: expected a class, found {known!r}")
    name = getattr(known, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(
            f'{where}: class {known.__name__} has no name such as "max-pods" (a class attribute), found {name!r}'
        )
    if name in found:
        raise UsageError(f"{where}: rule {name} is given twice")
    problem = _problem(known)
    if problem:
        raise PluginError(name, "registration", problem)
    found[name] = known


def _problem(known: type) -> str:
    """What is wrong with a rule, or nothing."""
    if not issubclass(known, Rule):
        return f"class {known.__name__} is no subclass of kwhatif.whatif.gate.rule.Rule"
    if not isinstance(known.purpose, str) or not known.purpose.strip():
        return "purpose does not say what the rule is for"
    given = known.parameters
    if not isinstance(given, type) or not issubclass(given, Parameters):
        return f"parameters should be a subclass of Parameters, found {given!r}"
    needed = [field.name for field in msgspec.structs.fields(given) if field.required]
    if needed:
        return f"parameters need defaults, which {', '.join(needed)} lack"
    if known.check is Rule.check:
        return "check(context) is missing"
    taken = list(inspect.signature(known.check).parameters)
    if len(taken) != 2:
        return f"check({', '.join(taken[1:])}) should take (context)"
    if inspect.iscoroutinefunction(known.check) or inspect.isasyncgenfunction(known.check):
        return "check(context) should not be async"
    return ""
