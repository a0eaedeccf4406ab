"""Selectors of namespaces: what is wrong with one, and one that can be asked."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.scheduling_constraints import check_label_selector
from kwhatif.api.meta import LabelSelector
from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.errors import InputError
from kwhatif.golang.field_validation import Path


def selector_problems(path: Path, selector: LabelSelector | None) -> Iterator[str]:
    """Upstream: ValidateLabelSelector (apimachinery/pkg/apis/meta/v1/validation)."""
    problems = Problems()
    check_label_selector(problems, msgspec.to_builtins(selector) or {}, path.text)
    yield from (f"{cause.field}: {cause.message}" for cause in problems.causes)


def readable_selector(selector: LabelSelector | None, source: str, place: str) -> Selector:
    """Raises InputError, which says what stands there."""
    try:
        return Selector.from_label_selector(selector)
    except SelectorError as error:
        raise InputError(str(error), source=source, place=place) from None
