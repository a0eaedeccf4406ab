"""Tables of field rules: how their rows are read, and what the walker says of an object."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.rows import table

Json = dict[str, Any]

CASES: list[tuple[str, str, Json, list[str]]] = [
    ("an absent field is not judged", "name dns_label", {}, []),
    ("an empty text is judged where it is there", "size one_of a b", {"size": ""}, ["at.size: Unsupported"]),
    ("one that counts if nonempty is judged unless it is empty", "size if_nonempty & one_of a b", {"size": ""}, []),
    ("a required one must not be empty", "name required: say it", {"name": ""}, ["at.name: Required value: say it"]),
    ("one that has to be present may be empty", "name present", {"name": ""}, []),
    ("and is required if it is not", "name present", {}, ["at.name: Required value"]),
    ("nothing is said of a required one that is missing", "name required & dns_label", {}, ["at.name: Required value"]),
    ("a number that is absent counts as zero", "port number & at_least 1", {}, ["at.port: Invalid value: 0"]),
    (
        "bounds have words of their own",
        "port at_most 9: too big",
        {"port": 10},
        ["at.port: Invalid value: 10: too big"],
    ),
    ("a path leads through objects", "a.b.c one_of x", {"a": {"b": {"c": "y"}}}, ["at.a.b.c: Unsupported"]),
    ("what leads nowhere is absent", "a.b.c required", {"a": {}}, ["at.a.b.c: Required value"]),
    ("an optional object is not looked into", "a?.b required", {}, []),
    ("an empty one is", "a?.b required", {"a": {}}, ["at.a.b: Required value"]),
    (
        "all rows of one item come before those of the next",
        "list[].a required\nlist[].b required",
        {"list": [{}, {}]},
        [f"at.list[{i}].{key}: Required value" for i in (0, 1) for key in "ab"],
    ),
    ("values of lists are judged by their places", "list[] one_of x", {"list": ["x", "y"]}, ["at.list[1]: Unsupp"]),
    ("or at the list itself", "list each one_of x", {"list": ["x", "y"]}, ["at.list: Unsupported"]),
    ("of too many nothing more is said", "l[] most 1\nl[] one_of x", {"l": ["y", "z"]}, ["at.l: Too many: 2"]),
    ("items are unique by a field", "l[] unique n", {"l": [{"n": 1}, {"n": 1}]}, ["at.l[1].n: Duplicate value: 1"]),
    (
        "or by several, which show the item",
        "l[] unique n m",
        {"l": [{"n": 1}, {"n": 1}]},
        ["at.l[1]: Duplicate value: {"],
    ),
    ("or as they are", "l[] unique", {"l": ["a", "b", "a"]}, ['at.l[2]: Duplicate value: "a"']),
    ("empty fields may come twice", "l[] unique n if_nonempty", {"l": [{"n": ""}, {"n": ""}]}, []),
    ("a row holds only if", "a forbidden if b=x|y: no", {"a": 1, "b": "y"}, ["at.a: Forbidden: no"]),
    ("and not otherwise", "a forbidden if b=x|y: no", {"a": 1, "b": "z"}, []),
    ("unless either is there", "a missing unless b? or c?: one", {"c": ""}, []),
    ("unless none is", "a missing unless b? or c?: one", {}, ["at.a: Required value: one"]),
    ("if both are", "a forbidden if b and c: no", {"a": 1, "b": 1}, []),
    ("a row that stops ends the object", ". stop if a\nb required", {"a": 1}, []),
    ("so does a problem of one with a mark", "a required!\nb required", {}, ["at.a: Required value"]),
    ("upstream's path may differ", "a required @ b", {}, ["at.b: Required value"]),
    (
        "words go on in a line that is indented",
        "a required:\n    so that it goes on",
        {},
        ["at.a: Required value: so that"],
    ),
]


@pytest.mark.parametrize(("rows", "value", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_table_says(rows: str, value: Json, said: list[str]) -> None:
    problems = Problems()
    table(rows)(problems, value, "at")
    found = [f"{cause.field}: {cause.message}" for cause in problems.causes]
    assert len(found) == len(said)
    assert all(one.startswith(beginning) for one, beginning in zip(found, said, strict=True)), found


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ("name", "no row of a table: name"),
        ("name dns_lable", "no rule: dns_lable"),
        ("name dns_label: words that nobody says", "dns_label has its own words"),
    ],
)
def test_a_table_with_a_slip_is_refused_as_it_is_read(rows: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        table(rows)
