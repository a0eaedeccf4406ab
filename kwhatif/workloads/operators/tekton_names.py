"""Names and parameters as Tekton makes and replaces them.

Upstream: knative.dev/pkg (kmeta/names.go), tektoncd/pipeline (pkg/names/generate.go, pkg/reconciler/pipelinerun/
resources/pipelinerunresolution.go, pkg/reconciler/taskrun/resources/apply.go).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from hashlib import md5
from typing import Any

from kwhatif.admission.response import Object
from kwhatif.api.objects import section
from kwhatif.workloads.operators import operator_kind
from kwhatif.workloads.operators.operator_kind import items_of

_LONGEST = 63
_HEAD = _LONGEST - 32
VARIABLE = re.compile(r"\$\(([^()]+)\)")
_MOST_COMBINATIONS = 10_000


def child_name(parent: str, suffix: str) -> str:
    """The name of what belongs to ``parent``: both together, with a digest in the middle where that is too long."""
    if len(parent) <= _LONGEST - len(suffix):
        return parent + suffix
    if len(suffix) >= _HEAD:
        whole = parent[:_HEAD] + md5((parent + suffix).encode(), usedforsecurity=False).hexdigest()
        return short_name(whole + suffix[: _LONGEST - len(whole)])
    return parent[: _HEAD - len(suffix)] + md5(parent.encode(), usedforsecurity=False).hexdigest() + suffix


def run_name(run: str, task: str, number: int | None, times: int) -> str:
    """The name of a TaskRun of a PipelineRun: that of the task, or of one of ``times`` that a matrix fans out to."""
    if number is None or times == 1:
        return child_name(run, f"-{task}")
    name = child_name(run, f"-{task}-{number}")
    if name.endswith(f"-{number}"):
        return name
    return f"{child_name(run, f'-{task}')[: _LONGEST - len(f'-{times}')]}-{number}"


def short_name(name: str) -> str:
    """The name of a container, cut to what Kubernetes allows."""
    return re.sub(r"[^a-zA-Z0-9]+\Z", "", name[:_LONGEST])


def values_of(obj: Object, declared: Object, above: Mapping[str, str]) -> dict[str, str]:
    """The values by the names that stand between ``$(`` and ``)``: of the parameters that ``obj`` has, else of their
    defaults. ``above`` are those that these values may name.
    """
    values: dict[str, str] = {}
    for item in (*items_of(declared, "params"), *items_of(obj, "params")):
        value = item.get("value", item.get("default"))
        if value is not None:
            values |= _spellings(str(item.get("name")), replace_variables(value, above))
    return values


def combinations_of(task: Object, above: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The values of the parameters of a pipeline task's matrix, one run after the other."""
    matrix = section(task, "matrix")
    lists = [item for item in items_of(matrix, "params") if isinstance(item.get("value"), list)]
    names = [str(item.get("name")) for item in lists]
    values = [item["value"] for item in lists]
    for some in itertools.islice(itertools.product(*values) if lists else (), _MOST_COMBINATIONS):
        spelt = (_spellings(name, replace_variables(value, above)) for name, value in zip(names, some, strict=True))
        yield {key: value for parameters in spelt for key, value in parameters.items()}
    for combination in () if lists else items_of(matrix, "include"):
        yield values_of(combination, {}, above)


def _spellings(name: str, value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        return {f"params.{name}.{key}": str(part) for key, part in value.items()}
    if isinstance(value, list):
        return {f"params.{name}[{number}]": str(element) for number, element in enumerate(value)}
    return dict.fromkeys((f"params.{name}", f"params['{name}']", f'params["{name}"]'), str(value))


def replace_variables(value: Any, values: Mapping[str, str]) -> Any:
    """A value, with those of variables in it; what is not known stays as it stands."""
    return operator_kind.replace_variables(value, VARIABLE, values)


def has_variables(value: Any) -> bool:
    """Whether there is a variable left in a value."""
    return bool(VARIABLE.search(repr(value)))
