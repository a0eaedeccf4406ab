"""Custom resources that carry a pod template: ``GROUP/KIND=$.spec.template`` tells where.

There is no controller to agree with: the resource gets as many pods as ``spec.replicas`` says, or one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.api.checked import check_part
from kwhatif.errors import InputError, UsageError
from kwhatif.workloads.making import Making
from kwhatif.workloads.objects import group_of, integer, name_of, section
from kwhatif.workloads.pods import pod_from_template

_FORM = re.compile(r"(?:(?P<group>[^/=]*)/)?(?P<kind>[^/=]+)=\$(?P<path>(?:\.[^.\[\]]+|\[\d+\])+)")
_PART = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class TemplatePath:
    """Where the objects of a kind carry their pod template."""

    group: str
    kind: str
    path: tuple[str | int, ...]

    @classmethod
    def parse(cls, text: str) -> TemplatePath:
        """Read ``GROUP/KIND=$.spec.template``; ``[0]`` takes an item of a list. Raises UsageError."""
        form = _FORM.fullmatch(text)
        if form is None:
            raise UsageError(f"not a pod template path: {text!r}; expected GROUP/KIND=$.spec.template")
        parts = tuple(int(place) if place else name for name, place in _PART.findall(form["path"]))
        return cls(form["group"] or "", form["kind"], parts)

    def fits(self, obj: Object) -> bool:
        return obj.get("kind") == self.kind and group_of(obj) == self.group

    def __str__(self) -> str:
        return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)

    def template(self, obj: Object) -> Object:
        """The template of an object. Raises InputError if there is none."""
        here: Any = obj
        for part in self.path:
            try:
                here = here[part]
            except (KeyError, IndexError, TypeError):
                here = None
                break
        if not isinstance(here, dict):
            raise InputError(f"{self.kind} {name_of(obj)} has no pod template here", place=str(self))
        return here


def make_custom(obj: Object, where: TemplatePath, making: Making) -> None:
    count = section(obj, "spec").get("replicas")
    check_part(count, "int32", "$.spec.replicas")
    template = where.template(obj)
    check_part(template, "core.v1.PodTemplateSpec", str(where))
    making.pods_of(obj, integer(count, 1), lambda _: pod_from_template(template, obj))
