"""Objects that lack what every object has: read as having none, or refused with their place."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from kwhatif.errors import InputError
from kwhatif.redaction.redact import LineRedactor, _Line
from kwhatif.redaction.translation import Translation
from kwhatif.snapshot.recording_lines import KIND_OF_PATH
from kwhatif.workloads.objects import controller_of

ODD: list[Any] = [None, 5, "text", [], {}, True, 1.5]


@pytest.mark.parametrize("odd", ODD)
def test_an_owner_that_is_no_owner_controls_nothing(odd: Any) -> None:
    whole = {"controller": True, "kind": "Job", "name": "a"}
    for key in ("kind", "name"):
        assert controller_of({"metadata": {"ownerReferences": [whole | {key: odd if odd != "text" else ""}]}}) == {}
        assert controller_of({"metadata": {"ownerReferences": [{k: v for k, v in whole.items() if k != key}]}}) == {}
    for metadata in (odd, {"ownerReferences": odd}, {"ownerReferences": [odd]}):
        assert controller_of({"metadata": metadata}) == {}
    assert controller_of({"metadata": {"ownerReferences": [whole]}}) == whole


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("kind", [path for path, kind in KIND_OF_PATH.items() if kind.name in ("Pod", "Node")])
def test_a_recording_of_odd_objects_is_redacted_or_refused(kind: str, odd: Any) -> None:
    redactor = LineRedactor(Translation(), lambda translation: None)
    for value in (odd, {"metadata": odd}, {"metadata": {"name": "a"}, "spec": odd}):
        for line in (_Line(1, kind, event={"type": "ADDED", "object": value}), _Line(1, kind, list={"items": [value]})):
            with contextlib.suppress(InputError):
                assert redactor._line(line) is not None
