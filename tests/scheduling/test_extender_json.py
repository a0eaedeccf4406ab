"""Answers are read as Go reads them, and refused in its words."""

from __future__ import annotations

import pytest

from kwhatif.scheduling.extenders.gojson import GoJsonError
from kwhatif.scheduling.extenders.wire import FilterAnswer, bind_error, filter_answer, preempt_answer, priorities


def answer(**fields: object) -> FilterAnswer:
    empty: dict[str, object] = {"nodes": None, "names": None, "failed": {}, "unresolvable": {}, "error": ""}
    return FilterAnswer(**(empty | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"NodeNames": ["a"]}', answer(names=["a"]), id="a field by its name"),
        pytest.param('{"nodenames": ["a"]}', answer(names=["a"]), id="in any case"),
        pytest.param('{"NodeNames": ["a"], "NODENAMES": ["b"]}', answer(names=["b"]), id="the last one of several"),
        pytest.param('{"NodeNames": null, "Nodes": null}', answer(), id="null is nothing"),
        pytest.param("null", answer(), id="even all of it"),
        pytest.param('{"NodeNames": [null]}', answer(names=[""]), id="null in a list is the zero value"),
        pytest.param('{"NodeNames": []} <trailing>', answer(names=[]), id="what follows is not read"),
        pytest.param('{"failedNodes": {"a": "full", "b": null}}', answer(failed={"a": "full", "b": ""}), id="a map"),
        pytest.param('{"more": {"deep": [1.5e3, true]}}', answer(), id="fields that nobody knows are ignored"),
        pytest.param('{"Nodes": {}}', answer(nodes=[]), id="a list of nodes without items"),
    ],
)
def test_what_is_read(text: str, expected: FilterAnswer) -> None:
    assert filter_answer(text.encode()) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "EOF", id="nothing"),
        pytest.param(" \n", "EOF", id="white space"),
        pytest.param("<html>", "invalid character '<' looking for beginning of value", id="HTML"),
        pytest.param("not found", "invalid character 'o' in literal null (expecting 'u')", id="prose"),
        pytest.param("tru", "unexpected EOF", id="half a word"),
        pytest.param("\ufeff{}", "invalid character 'ï' looking for beginning of value", id="a byte order mark"),
        pytest.param("NaN", "invalid character 'N' looking for beginning of value", id="what Python would take"),
        pytest.param("-Infinity", "invalid character 'I' in numeric literal", id="with a sign"),
        pytest.param('{"NodeNames"', "unexpected EOF", id="cut off after a name"),
        pytest.param('{"NodeNames": ["a', "unexpected EOF", id="cut off in a text"),
        pytest.param("{'a': 1}", "invalid character '\\'' looking for beginning of object key string", id="quotes"),
        pytest.param('{"a" 1}', "invalid character '1' after object key", id="no colon"),
        pytest.param(
            '{"a": [1] "b"}', "invalid character '\"' after object key:value pair", id="no comma in an object"
        ),
        pytest.param('{"a": [1 2]}', "invalid character '2' after array element", id="no comma in a list"),
        pytest.param('{"a": "x\ny"}', "invalid character '\\n' in string literal", id="a line break in a text"),
        pytest.param('{"a": "\\x"}', "invalid character 'x' in string escape code", id="an escape"),
        pytest.param("[" * 100_000, "exceeded max depth", id="nested too deeply"),
        pytest.param(
            "[]", "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult", id="a list for a struct"
        ),
        pytest.param(
            '{"nodeNames": "a"}',
            "json: cannot unmarshal string into Go struct field ExtenderFilterResult.NodeNames of type []string",
            id="a text for a list",
        ),
        pytest.param(
            '{"NodeNames": [1]}',
            "json: cannot unmarshal number into Go struct field ExtenderFilterResult.NodeNames of type string",
            id="a number in a list of texts",
        ),
        pytest.param(
            '{"FailedNodes": ["a"]}',
            "json: cannot unmarshal array into Go struct field ExtenderFilterResult.FailedNodes"
            " of type v1.FailedNodesMap",
            id="a list for a map",
        ),
        pytest.param(
            '{"Nodes": {"items": {}}}',
            "json: cannot unmarshal object into Go struct field NodeList.Nodes.items of type []v1.Node",
            id="an object for the items",
        ),
        pytest.param(
            '{"Nodes": {"items": [{"spec": {"unschedulable": "yes"}}]}}',
            'json: cannot unmarshal Nodes.items.spec.unschedulable: expected true or false, found "yes"',
            id="a node that is none",
        ),
    ],
)
def test_what_is_refused(text: str, problem: str) -> None:
    with pytest.raises(GoJsonError) as caught:
        filter_answer(text.encode())
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('[{"Host": "a", "Score": 3}]', [("a", 3)], id="a score"),
        pytest.param('[{"host": "a", "score": -9223372036854775808}]', [("a", -(2**63))], id="the least"),
        pytest.param("[{}, null]", [("", 0), ("", 0)], id="nothing said"),
        pytest.param("null", [], id="no list"),
    ],
)
def test_scores(text: str, expected: list[tuple[str, int]]) -> None:
    assert priorities(text.encode()) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            '[{"Host": "a", "Score": 1.5}]',
            "json: cannot unmarshal number 1.5 into Go struct field HostPriority.Score of type int64",
            id="a fraction",
        ),
        pytest.param(
            '[{"Score": 9223372036854775808}]',
            "json: cannot unmarshal number 9223372036854775808 into Go struct field HostPriority.Score of type int64",
            id="too large",
        ),
        pytest.param(
            '[{"Score": "1"}]',
            "json: cannot unmarshal string into Go struct field HostPriority.Score of type int64",
            id="a text",
        ),
        pytest.param(
            '{"a": 1}', "json: cannot unmarshal object into Go value of type v1.HostPriorityList", id="no list"
        ),
        pytest.param('["a"]', "json: cannot unmarshal string into Go value of type v1.HostPriority", id="a bare name"),
    ],
)
def test_scores_that_are_none(text: str, problem: str) -> None:
    with pytest.raises(GoJsonError) as caught:
        priorities(text.encode())
    assert str(caught.value) == problem


def test_victims_and_bindings() -> None:
    found = preempt_answer(b'{"NodeNameToMetaVictims": {"b": null, "a": {"Pods": [{"UID": "1"}, null]}}}')
    assert {node: meta and meta.uids for node, meta in found.items()} == {"a": ["1", None], "b": None}
    assert list(found) == ["a", "b"]
    with pytest.raises(GoJsonError, match=r"field MetaPod\.NodeNameToMetaVictims\.Pods\.UID of type string"):
        preempt_answer(b'{"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": 1}]}}}')
    assert bind_error(b'{"error": "taken"}') == "taken"
    assert bind_error(b"null") == ""
