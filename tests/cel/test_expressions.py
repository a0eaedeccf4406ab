"""Expressions and their values, in tables; the texts of errors are those of upstream's evaluator."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif import bounds
from kwhatif.api.quantity import Quantity
from kwhatif.cel.declarations import DYN, INT, STRING, Kind, list_of, map_of
from kwhatif.cel.program import Program
from kwhatif.cel.syntax import parse
from kwhatif.cel.values import CompileError, Domains, Fault, OverBudget, Semver
from kwhatif.errors import InputError

VARIABLES = {
    "x": DYN,
    "n": INT,
    "words": list_of(STRING),
    "ages": map_of(STRING, INT),
    "device": Kind("Device"),
}
FIELDS = {"Device": {"driver": STRING, "attributes": map_of(STRING, map_of(STRING, DYN))}}
VALUES: dict[str, Any] = {
    "x": 7,
    "n": 3,
    "words": ["b", "a", "c"],
    "ages": {"ann": 30, "bob": 20},
    "device": {"driver": "d", "attributes": Domains({"d": {"model": "h100", "version": Semver.parse("1.2.3")}})},
}


def value(text: str, limit: int = 10**6) -> Any:
    return Program(text, VARIABLES, FIELDS).evaluate(VALUES, limit)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # numbers
        ("1 + 2 * 3", 7),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("0x10 + 1", 17),
        ("7u / 2u", 3),
        ("1.5 + 1.0", 2.5),
        ("dyn(1) == dyn(1.0)", True),
        ("1u < 2", True),
        ("x == 7.0", True),
        ("2 > 1.5", True),
        ("- -3", 3),
        # text
        ("'a' + \"b\"", "ab"),
        (r"'\u00e9\n\x41'", "\u00e9\nA"),
        (r"r'\d'", r"\d"),
        ("'''a'b'''", "a'b"),
        ("size('h\u00e9')", 2),
        ("'abc'.contains('bc') && 'abc'.startsWith('a') && 'abc'.endsWith('c')", True),
        ("'abc'.matches('^a.c$')", True),
        ("'a-b-c'.split('-')", ["a", "b", "c"]),
        ("'a-b-c'.split('-', 2)", ["a", "b-c"]),
        ("['a', 'b'].join('+')", "a+b"),
        ("'Tacos'.lowerAscii() + 'x'.upperAscii()", "tacosX"),
        ("'tacocat'.substring(4)", "cat"),
        ("'tacocat'.indexOf('ac') + 'tacocat'.lastIndexOf('a')", 6),
        ("'hello'.charAt(1)", "e"),
        ("'hello'.replace('l', 'L', 1)", "heLlo"),
        ("'  trim '.trim()", "trim"),
        ("'%s of %s'.format(['x', 'y'])", "x of y"),
        ("'abc 123'.find('[0-9]+')", "123"),
        # logic
        ("true || 1 / 0 == 1", True),
        ("1 / 0 == 1 || true", True),
        ("1 / 0 == 1 && false", False),
        ("n > 2 ? 'big' : 'small'", "big"),
        ("!(n in [1, 2])", True),
        # lists and maps
        ("words[1]", "a"),
        ("'ann' in ages && !('eve' in ages)", True),
        ("ages['bob'] + ages.ann", 50),
        ("{'a': [1, 2]}['a'][1]", 2),
        ("[1] + [2]", [1, 2]),
        ("[1, 2] == [1, 2] && {'a': 1} == {'a': 1}", True),
        ("size(words) + words.size() + ages.size()", 8),
        ("has(ages.ann) && !has(ages.eve)", True),
        # macros
        ("words.all(w, size(w) == 1)", True),
        ("words.exists(w, w == 'c')", True),
        ("[1, 2, 3].exists_one(i, i > 2)", True),
        ("[1, 2, 3].filter(i, i % 2 == 1)", [1, 3]),
        ("[1, 2, 3].map(i, i * 2)", [2, 4, 6]),
        ("[1, 2, 3].map(i, i > 1, i * 2)", [4, 6]),
        ("ages.exists(k, ages[k] == 20)", True),
        ("words.all(i, w, words[i] == w)", True),
        ("ages.transformMap(k, v, v + 1)", {"ann": 31, "bob": 21}),
        ("cel.bind(two, 1 + 1, two * two)", 4),
        ("[1 / 1, 0].exists(i, 4 / i == 4)", True),
        # Kubernetes' lists
        ("words.isSorted()", False),
        ("[1, 2, 3].sum() + [1, 2].max() - [4, 5].min()", 4),
        ("words.indexOf('a')", 1),
        # optional values
        ("ages[?'eve'].orValue(1)", 1),
        ("ages.?ann.hasValue()", True),
        ("ages.?eve.or(ages.?bob).value()", 20),
        ("ages.?ann.optMap(a, a + 1).orValue(0)", 31),
        ("optional.none().hasValue()", False),
        ("[?optional.of(1), ?optional.none()]", [1]),
        # devices
        ("device.driver == 'd'", True),
        ("device.attributes['d'].model == 'h100'", True),
        ("device.attributes['e'].?model.orValue('none')", "none"),
        ("'model' in device.attributes['d'] && !('model' in device.attributes['e'])", True),
        ("has(device.attributes['d'].rack)", False),
        ("device.attributes['d'].version.isGreaterThan(semver('1.2.2'))", True),
        # Kubernetes' types
        ("quantity('1Gi').compareTo(quantity('1024Mi'))", 0),
        ("quantity('2').isGreaterThan(quantity('500m')) && quantity('1').isLessThan(quantity('1k'))", True),
        ("quantity('1').add(quantity('500m')) == quantity('1500m')", True),
        ("isQuantity('1E') && !isQuantity('one')", True),
        ("semver('1.2.3').major() + semver('1.2.3').patch()", 4),
        ("semver('v1.2', true).minor()", 2),
        ("isSemver('1.0.0-rc.1') && semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))", True),
        ("ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.2.3')", True),
        ("duration('90s') == duration('1m30s')", True),
        ("timestamp('2026-01-02T03:04:05Z').getFullYear()", 2026),
        ("timestamp('2026-01-02T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') == duration('24h')", True),
        ("type(1) == int && type('a') == string", True),
        ("int('12') + int(3.9) + int(4u)", 19),
        ("string(1.5) + string(true)", "1.5true"),
        ("dyn(1) == dyn('1')", False),
        ("1 // a comment\n + 1", 2),
    ],
)
def test_a_value(text: str, wanted: Any) -> None:
    got = value(text)
    assert got == wanted
    assert type(got) is type(wanted) or isinstance(got, int)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 / 0", "division by zero"),
        ("1 % 0", "modulus by zero"),
        ("9223372036854775807 + 1", "integer overflow"),
        ("-9223372036854775808 - 1", "integer overflow"),
        ("0u - 1u", "unsigned integer overflow"),
        ("ages['eve']", "no such key: eve"),
        ("words[5]", "index out of bounds: 5"),
        ("device.attributes['d'].rack == 'r'", "no such key: rack"),
        ("x + 'a'", "no such overload"),
        ("optional.none().value()", "optional.none() dereference"),
        ("int('one')", "type conversion error from 'string' to 'int'"),
        ("words.exists(w, 1 / 0 == 1)", "division by zero"),
        ("{words: 1}", "unsupported key type: list"),
        (f"int('{'9' * 5000}')", "type conversion error from 'string' to 'int'"),
        (f"uint('{'9' * 5000}')", "type conversion error from 'string' to 'uint'"),
        (f"duration('{'9' * 5000}h')", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("duration('9999999999999999h')", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("semver('1.99999999999999999999.0')", "value out of range"),
        (f"semver('1.0.0-{'9' * 5000}')", "value out of range"),
        ("'%.999999999f'.format([1.0])", "precision 999999999 is out of range"),
    ],
)
def test_an_error_of_a_run(text: str, problem: str) -> None:
    with pytest.raises(Fault) as raised:
        value(text)
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "1 +",
        "(1",
        "'open",
        "a b",
        "1 = 1",
        "[1, ",
        "{1: }",
        "x.",
        "has(x)",
        "[1].map(i)",
        "if",
        "0x",
        "1 ? 2",
        "9" * 5000,
    ],
)
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(CompileError):
        value(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nobody", "undeclared reference to 'nobody' (in container '')"),
        ("n + 'a'", "found no matching overload for '_+_' applied to '(int, string)'"),
        ("1 == 1.0", "found no matching overload for '_==_' applied to '(int, double)'"),
        ("['x', 3]", "expected type 'string' but found 'int'"),
        ("n == 'a'", "found no matching overload for '_==_' applied to '(int, string)'"),
        ("n && true", "found no matching overload for '_&&_' applied to '(int, bool)'"),
        ("device.color", "undefined field 'color'"),
        ("foo(1)", "undeclared reference to 'foo' (in container '')"),
        ("device.", "<input>:1:8: Syntax error: no viable alternative at input '.'"),
        ("device.'x'", "<input>:1:8: Syntax error: no viable alternative at input '.'x''"),
        ("device.true", "<input>:1:8: Syntax error: mismatched input 'true' expecting IDENTIFIER"),
        ("words.exists(w, w == 1)", "found no matching overload for '_==_' applied to '(string, int)'"),
    ],
)
def test_what_does_not_compile_and_types_that_do_not_fit(text: str, problem: str) -> None:
    with pytest.raises(CompileError) as raised:
        value(text)
    assert problem in str(raised.value)


def test_what_costs_too_much_is_stopped() -> None:
    text = "words.all(a, words.all(b, words.all(c, a + b + c != '')))"
    assert value(text) is True
    with pytest.raises(OverBudget):
        value(text, limit=50)


DEEP = {
    "parentheses": "(" * 5000 + "true" + ")" * 5000,
    "lists": "[" * 5000 + "]" * 5000 + " == []",
    "fields": "device" + ".a" * 5000 + " == 1",
    "calls": "'a'" + ".trim()" * 5000 + " == 'a'",
    "sums": "1" + " + 1" * 5000 + " > 0",
    "conditions": "true ? true : " * 5000 + "true",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_an_expression_nested_deeply_is_an_error_not_a_crash_whoever_looks_at_it(text: str) -> None:
    for look in (value, parse):
        with pytest.raises(CompileError, match="recursion"):
            look(text)


def test_all_expressions_of_a_run_have_a_limit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "COST", 500)
    text = "words.all(a, words.all(b, a + b != ''))"
    for _ in range(2):
        with bounds.work_to_do():
            assert value(text) is True
            with pytest.raises(InputError) as caught:
                [value(text) for _ in range(100)]
    assert str(caught.value) == (
        f"expressions and searches for devices together cost more than the limit of 500, at {text!r}"
    )


@pytest.mark.parametrize("terms", [1, 2, 3, 7, 2000])
def test_chains_of_conditions_may_be_long(terms: int) -> None:
    assert value(" && ".join(["n > 0"] * terms)) is True
    assert value(" || ".join([*["n > 9"] * (terms - 1), "n == 3"])) is True


def test_a_program_runs_as_often_as_one_likes() -> None:
    program = Program("n * 2", VARIABLES, FIELDS)
    assert [program.evaluate({**VALUES, "n": n}, 100) for n in (1, 2)] == [2, 4]
    assert program.kind == INT


def test_a_quantity_keeps_its_spelling() -> None:
    assert value("quantity('1024Mi')") == Quantity.parse("1Gi")
