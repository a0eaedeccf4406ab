"""Answers are read as Go reads them, and refused in plain words."""

from __future__ import annotations

import pytest

from kwhatif.scheduling.extenders.http_caller import ExtenderError
from kwhatif.scheduling.extenders.wire import (
    BindingResult,
    FilterResult,
    HostPriority,
    MetaPod,
    NodeList,
    PreemptionResult,
    read,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"NodeNames": ["a"]}', FilterResult(node_names=["a"]), id="a field by its name"),
        pytest.param('{"nodenames": ["a"]}', FilterResult(node_names=["a"]), id="in any case"),
        pytest.param(
            '{"NodeNames": ["a"], "NODENAMES": ["b"]}', FilterResult(node_names=["b"]), id="the last one of several"
        ),
        pytest.param('{"NodeNames": null, "Nodes": null}', FilterResult(), id="null is nothing"),
        pytest.param("null", None, id="even all of it"),
        pytest.param('{"NodeNames": [null]}', FilterResult(node_names=[""]), id="null in a list is the zero value"),
        pytest.param('{"NodeNames": []} <trailing>', FilterResult(node_names=[]), id="what follows is not read"),
        pytest.param(
            '{"failedNodes": {"a": "full", "b": null}}', FilterResult(failed_nodes={"a": "full", "b": ""}), id="a map"
        ),
        pytest.param('{"more": {"deep": [1.5e3, true]}}', FilterResult(), id="fields that nobody knows are ignored"),
        pytest.param('{"Nodes": {}}', FilterResult(nodes=NodeList()), id="a list of nodes without items"),
    ],
)
def test_what_is_read(text: str, expected: FilterResult | None) -> None:
    assert read(text.encode(), FilterResult) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "its answer is empty", id="nothing"),
        pytest.param(" \n", "its answer is empty", id="white space"),
        pytest.param("<html>", 'its answer is not JSON: "<html>"', id="HTML"),
        pytest.param("\ufeff{}", 'its answer is not JSON: "\\ufeff{}"', id="a byte order mark"),
        pytest.param("NaN", 'its answer is not JSON: "NaN"', id="what Python would take"),
        pytest.param('{"NodeNames": ["a', 'its answer is not JSON: "{\\"NodeNames\\": [\\"a"', id="cut off in a text"),
        pytest.param("[" * 100_000, f'its answer is not JSON: "{"[" * 59}…"', id="nested too deeply"),
        pytest.param("[]", "its answer cannot be used: expected an object, found a list", id="a list for a struct"),
        pytest.param(
            '{"nodeNames": "a"}',
            'its answer cannot be used: NodeNames: expected a list, found "a"',
            id="a text for a list",
        ),
        pytest.param(
            '{"NodeNames": [1]}',
            "its answer cannot be used: NodeNames[0]: expected a string, found the number 1",
            id="a number in a list of texts",
        ),
        pytest.param(
            '{"FailedNodes": ["a"]}',
            "its answer cannot be used: FailedNodes: expected an object, found a list",
            id="a list for a map",
        ),
        pytest.param(
            '{"Nodes": {"items": {}}}',
            "its answer cannot be used: Nodes.items: expected a list, found an object",
            id="an object for the items",
        ),
        pytest.param(
            '{"Nodes": {"items": [{"spec": {"unschedulable": "yes"}}]}}',
            'its answer cannot be used: Nodes.items[0].spec.unschedulable: expected true or false, found "yes"',
            id="a node that is none",
        ),
    ],
)
def test_what_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ExtenderError) as caught:
        read(text.encode(), FilterResult)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('[{"Host": "a", "Score": 3}]', [HostPriority("a", 3)], id="a score"),
        pytest.param('[{"host": "a", "score": -9223372036854775808}]', [HostPriority("a", -(2**63))], id="the least"),
        pytest.param("[{}, null]", [HostPriority(), HostPriority()], id="nothing said"),
        pytest.param("null", None, id="no list"),
    ],
)
def test_scores(text: str, expected: list[HostPriority] | None) -> None:
    assert read(text.encode(), list[HostPriority]) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            '[{"Host": "a", "Score": 1.5}]', "[0].Score: expected an integer, found the number 1.5", id="a fraction"
        ),
        pytest.param(
            '[{"Score": 9223372036854775808}]',
            "[0].Score: expected an integer from -9223372036854775808 to 9223372036854775807, "
            "found the number 9223372036854775808",
            id="too large",
        ),
        pytest.param('[{"Score": "1"}]', '[0].Score: expected an integer, found "1"', id="a text"),
        pytest.param('{"a": 1}', "expected a list, found an object", id="no list"),
        pytest.param('["a"]', '[0]: expected an object, found "a"', id="a bare name"),
    ],
)
def test_scores_that_are_none(text: str, problem: str) -> None:
    with pytest.raises(ExtenderError) as caught:
        read(text.encode(), list[HostPriority])
    assert str(caught.value) == f"its answer cannot be used: {problem}"


def test_victims_and_bindings() -> None:
    found = read(b'{"NodeNameToMetaVictims": {"b": null, "a": {"Pods": [{"UID": "1"}, {}]}}}', PreemptionResult)
    assert found is not None
    left = found.node_name_to_meta_victims
    assert {node: meta and meta.pods for node, meta in left.items()} == {"a": [MetaPod("1"), MetaPod()], "b": None}
    with pytest.raises(ExtenderError, match=r"NodeNameToMetaVictims\.a\.Pods\[0\]\.UID: expected a string"):
        read(b'{"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": 1}]}}}', PreemptionResult)
    assert read(b'{"error": "taken"}', BindingResult) == BindingResult("taken")
    assert read(b"null", BindingResult) is None
