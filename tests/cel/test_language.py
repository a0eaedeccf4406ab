"""The language as Kubernetes enables it, area by area, as the specification's own conformance cases divide it.

Every row is an expression that is true. What Kubernetes leaves out of the language, or refuses where the
specification would not, has a table of its own, and so has what goes wrong in a run.
"""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.cel.declarations import DYN, INT, STRING, list_of, map_of
from kwhatif.cel.program import Program
from kwhatif.cel.values import CompileError, Fault, OverBudget

VARIABLES = {"seven": INT, "word": STRING, "some": list_of(INT), "ports": map_of(STRING, INT), "any": DYN}
VALUES: dict[str, Any] = {"seven": 7, "word": "grün", "some": [3, 1, 2], "ports": {"http": 80, "dns": 53}, "any": [1.5]}


def value(text: str, limit: int = 1_000_000) -> Any:
    return Program(text, VARIABLES, {}).evaluate(VALUES, limit)


TRUE = {
    "literals": [
        r"'\x41\u0042\U00000043\104' == 'ABCD'",
        r"b'\xff\377' == b'\377\xff'",
        r"size(b'ü') == 2 && size('ü') == 1",
        r"r'\n' == '\\n' && b'''\n''' == b'\n'",
        '"""two\nlines""" == \'two\\nlines\'',
        "-0x10 == -16 && 0xFFu == 255u",
        "1e3 == 1000.0 && .5 == 5e-1",
        "-9223372036854775808 < 0 && 18446744073709551615u > 0u",
        "[1, 2,] == [1, 2] && {'a': 1,} == {'a': 1}",
        "1 // the rest is a comment 'with quotes\n== 1",
    ],
    "integers": [
        "7 / -2 == -3 && -7 / 2 == -3 && -7 / -2 == 3",
        "7 % -2 == 1 && -7 % 2 == -1",
        "5u - 3u == 2u && 5u * 3u == 15u && 5u / 3u == 1u && 5u % 3u == 2u",
        "- - -seven == -7",
        "1 - 2 - 3 == -4 && 2 + 3 * 4 == 14 && (2 + 3) * 4 == 20",
    ],
    "doubles": [
        "1.0 / 0.0 > 1e308 && -1.0 / 0.0 < -1e308",
        "0.0 / 0.0 != 0.0 / 0.0 && !(double('NaN') == double('NaN'))",
        "0.0 == -0.0",
        "1.1 + 2.2 != 3.3",
        "-1e-320 < 0.0",
    ],
    "comparisons across types of numbers": [
        "1 < 1.5 && 1u <= 1 && 2.0 >= 2u && 3 > 2u",
        "dyn(1) == dyn(1u) && dyn(1u) == dyn(1.0) && dyn(1) != dyn(1.5)",
        "dyn([1, 2]) == dyn([1.0, 2u == 2u ? 2.0 : 0.0])",
        "dyn({'a': 1}) == dyn({'a': 1.0})",
        "-1 < 1u && !(18446744073709551615u < 1)",
        "dyn(9223372036854775807) == dyn(9223372036854775808.0)",
        "dyn(9223372036854775807) >= 9223372036854775808.0 && !(dyn(9223372036854775807) < 9223372036854775808.0)",
    ],
    "equality": [
        "dyn('1') != dyn(1) && dyn(true) != dyn(1) && dyn(null) != dyn(0)",
        "null == null && dyn([null]) == dyn([null])",
        "{'a': 1, 'b': 2} == {'b': 2, 'a': 1} && {'a': 1} != {'b': 1}",
        "[[1], []] == [[1], []] && [1, 2] != [2, 1]",
        "b'a' != b'b' && type(1) != type(1u)",
        "dyn({true: 1}) != dyn({1: 1})",
    ],
    "order": [
        "false < true && 'a' < 'aa' && 'Z' < 'a' && b'\\x01' < b'\\x02'",
        "duration('1s') < duration('1001ms') && timestamp('2026-01-01T00:00:00Z') < timestamp('2026-01-01T00:00:01Z')",
    ],
    "logic": [
        "(true || any.nothing) && !(false && any.nothing)",
        "(any.nothing || true) && !(any.nothing && false)",
        "(seven > 5 ? 'many' : 'few') == 'many'",
        "(true ? 1 : any.nothing) == 1",
        "true || true && false",
        "!!true && !false",
    ],
    "lists": [
        "some[0] == 3 && some[dyn(1u)] == 1 && some[dyn(2.0)] == 2",
        "[1] + [] + [2] == [1, 2] && size(some + some) == 6",
        "2 in some && !(9 in some) && dyn(2.0) in some && !(dyn('2') in some)",
        "[[1, 2], [3]][0][1] == 2",
    ],
    "maps": [
        "ports.http == 80 && ports['dns'] == 53 && 'dns' in ports && !('ssh' in ports)",
        "{true: 'yes', false: 'no'}[seven == 7] == 'yes' && true in {true: 1} && !(dyn(1) in {true: 1})",
        "{1: 'a'}[dyn(1.0)] == 'a' && {1u: 'a'}[dyn(1)] == 'a' && !(dyn(1.5) in {1: 'a'})",
        "has(ports.dns) && !has(ports.ssh)",
        "{'content-type': 'a', 'b/c': 'd'}.`content-type` == 'a' && has({'b/c': 'd'}.`b/c`)",
        "{'a': {'b': [{'c': 7}]}}.a.b[0].c == 7",
        "size({}) == 0 && {'a': 1}.size() == 1",
    ],
    "walks": [
        "some.all(x, x > 0) && some.exists(x, x == 3) && some.exists_one(x, x == 3) && [].all(x, false)",
        "[1, 0].exists(x, 1 / x == 1) && ![0, 1].all(x, 1 / x == 2 || x == 3)",
        "ports.all(name, size(name) > 2) && ports.exists(name, ports[name] == 53)",
        "some.map(x, x * 2) == [6, 2, 4] && some.filter(x, x != 1) == [3, 2] && some.map(x, x > 1, -x) == [-3, -2]",
        "ports.map(name, ports[name]).sum() == 133",
        "[1, 2].map(x, [3, 4].map(y, x * y)) == [[3, 4], [6, 8]]",
        "[1, 2].map(x, [x, 5].exists(x, x == 5)) == [true, true]",
        "some.all(i, x, some[i] == x) && some.exists(i, x, i == 0 && x == 3)",
        "some.existsOne(i, x, x == i + 1) == false",
        "ports.exists(name, port, name == 'dns' && port == 53)",
        "some.transformList(i, x, i * x) == [0, 1, 4] && some.transformList(i, x, x > 1, i) == [0, 2]",
        "ports.transformMap(name, port, port + 1) == {'http': 81, 'dns': 54}",
        "ports.transformMap(name, port, name == 'dns', port) == {'dns': 53}",
        "ports.transformMapEntry(name, port, {port: name}) == {80: 'http', 53: 'dns'}",
        "cel.bind(x, seven * 2, x + x) == 28 && cel.bind(seven, 1, seven + 1) == 2",
    ],
    "conversions": [
        "int('-5') == -5 && int(3.99) == 3 && int(-3.99) == -3",
        "int(5u) == 5 && int(timestamp('1970-01-01T00:01:00Z')) == 60",
        "uint('5') == 5u && uint(5.9) == 5u && double('1e2') == 100.0 && double(3) == 3.0",
        "string(1) == '1' && string(1.0) == '1' && string(1e100) == '1e+100' && string(true) == 'true'",
        "string(b'gr\\xc3\\xbcn') == word && bytes(word) == b'gr\\xc3\\xbcn'",
        "bool('true') && !bool('F') && bool('1')",
        "type(type(1)) == type && type([]) == list && type({}) == map && type(null) == null_type && type(b'') == bytes",
        "type(duration('1s')) == google.protobuf.Duration && type(optional.none()) == optional_type",
        "type(ip('::1')) == net.IP && type(cidr('10.0.0.0/8')) == net.CIDR",
        "string(ip('2001:DB8::1')) == '2001:db8::1' && string(cidr('10.1.0.0/16')) == '10.1.0.0/16'",
        "string(duration('90m')) == '5400s' && string(timestamp('2026-01-02T03:04:05.5Z')) == '2026-01-02T03:04:05.5Z'",
    ],
    "times": [
        "timestamp('2026-01-02T03:04:05.678Z').getMilliseconds() == 678 && duration('1.5s').getMilliseconds() == 1500",
        "timestamp('2026-03-01T00:30:00Z').getDate('-01:00') == 28",
        "timestamp('2026-03-01T00:30:00Z').getHours('+05:45') == 6",
        "timestamp('2026-07-01T12:00:00Z').getHours('Europe/Berlin') == 14",
        "timestamp('2026-01-01T00:00:00Z').getDayOfYear() == 0",
        "timestamp('2026-01-04T00:00:00Z').getDayOfWeek() == 0",
        "timestamp('2026-01-31T00:00:00Z').getDayOfMonth() == 30 && timestamp('2026-01-31T00:00:00Z').getMonth() == 0",
        "timestamp('2026-01-01T01:00:00+01:00') == timestamp('2026-01-01T00:00:00Z')",
        "timestamp('2026-01-01T00:00:00Z') + duration('1h') - duration('3600s') == timestamp('2026-01-01T00:00:00Z')",
        "duration('1h30m') - duration('-30m') == duration('2h') && -duration('1s') == duration('-1s')",
        "duration('3730s').getHours() == 1 && duration('3730s').getMinutes() == 62",
        "duration('-1.9s').getSeconds() == -1",
    ],
    "strings": [
        "word.startsWith('gr') && word.endsWith('n') && word.contains('ü') && ''.contains('')",
        "word.charAt(2) == 'ü' && word.charAt(4) == '' && word.indexOf('ü') == 2 && word.indexOf('x') == -1",
        "word.substring(1, 3) == 'rü' && word.substring(4) == '' && 'abab'.lastIndexOf('ab', 1) == 0",
        "'a,b,,c'.split(',') == ['a', 'b', '', 'c'] && 'äö'.split('') == ['ä', 'ö'] && 'a,b'.split(',', 0) == []",
        "['a', 'b'].join() == 'ab' && [].join('x') == ''",
        "'aaa'.replace('a', 'b', 2) == 'bba' && 'ab'.replace('', '-') == '-a-b-'",
        "'ÄbC'.lowerAscii() == 'Äbc' && 'äbC'.upperAscii() == 'äBC' && ' \\t\\n a '.trim() == 'a'",
        "'%d %s %.2f %x %e'.format([-3, [true], 2.0 / 3.0, 255, 100.0]) == '-3 [true] 0.67 ff 1.000000e+02'",
        "'%b %o %X %%'.format([5, 8, 'hi']) == '101 10 6869 %'",
        "'%d %f'.format([double('NaN'), -1.0 / 0.0]) == 'NaN -Infinity'",
        "strings.quote('a\"\\n') == '\"a\\\\\"\\\\n\"'",
        "matches('grün', '^gr.n$') && !'Grün'.matches('grün')",
        "'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'ab'.find('c') == ''",
    ],
    "optional values": [
        "ports.?ssh.orValue(22) == 22 && ports[?'dns'].value() == 53",
        "some[?9].hasValue() == false && some[?0].value() == 3",
        "{'a': {'b': 1}}.?a.b.value() == 1 && {'a': {'b': 1}}.?a.c.hasValue() == false",
        "optional.of(1).or(optional.of(2)).value() == 1 && optional.none().or(optional.of(2)).value() == 2",
        "ports.?dns.optMap(p, p * 2) == optional.of(106) && ports.?ssh.optMap(p, p * 2) == optional.none()",
        "ports.?dns.optFlatMap(p, optional.of(p)).value() == 53",
        "[?ports.?dns, ?ports.?ssh, 1] == [53, 1] && {?'a': ports.?dns, ?'b': ports.?ssh} == {'a': 53}",
        "!optional.ofNonZeroValue('').hasValue() && optional.ofNonZeroValue(1).hasValue()",
        "optional.of(1) == optional.of(1) && optional.of(1) != optional.none()",
    ],
    "lists of Kubernetes": [
        "[1, 2, 2].isSorted() && !some.isSorted() && some.min() == 1",
        "some.max() == 3 && some.sum() == 6 && [].sum() == 0",
        "['a', 'b', 'a'].lastIndexOf('a') == 2 && some.indexOf(9) == -1 && [0.5, 0.25].sum() == 0.75",
        "some.slice(1, 3) == [1, 2] && some.sort() == [1, 2, 3]",
        "some.reverse() == [2, 1, 3] && [1, 2, 1].distinct() == [1, 2]",
        "[[1], [2, 3]].flatten() == [1, 2, 3] && [[[1]], [[2]]].flatten(2) == [1, 2] && lists.range(3) == [0, 1, 2]",
        "['bb', 'a'].sortBy(w, size(w)) == ['a', 'bb']",
        "sets.contains([1, 2], [2]) && sets.equivalent([1, 2, 2], [2, 1]) && sets.intersects([1, 2], [2, 3])",
    ],
    "addresses": [
        "cidr('10.0.0.0/8').containsIP(ip('10.1.1.1')) && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
        "!cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8')) && !cidr('10.0.0.0/8').containsCIDR('::/0')",
        "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.2.3/8').ip() == ip('10.1.2.3')",
        "ip.isCanonical('::1') && !ip.isCanonical('0::1')",
        "ip('fe80::1').isLinkLocalUnicast() && ip('::1').isLoopback()",
        "ip('8.8.8.8').isGlobalUnicast() && ip('224.0.0.1').isLinkLocalMulticast() && ip('::').isUnspecified()",
        "!isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0')",
        "!isCIDR('fe80::1%eth0/64') && !isCIDR('::ffff:1.2.3.4/120')",
    ],
}


@pytest.mark.parametrize(("area", "text"), [(area, text) for area, texts in TRUE.items() for text in texts])
def test_what_is_true(area: str, text: str) -> None:
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("['a', 1]", "expected type 'string' but found 'int'", id="a list of several types"),
        pytest.param("{'a': 1, 'b': 'c'}", "expected type 'int' but found 'string'", id="a map to several types"),
        pytest.param("{'a': 1, 2: 3}", "expected type 'string' but found 'int'", id="a map of several types"),
        pytest.param("1 == 'a'", "found no matching overload for '_==_' applied to '(int, string)'", id="no equality"),
        pytest.param("true < 1", "found no matching overload for '_<_' applied to '(bool, int)'", id="no order"),
        pytest.param("1 + 1u", "found no matching overload for '_+_' applied to '(int, uint)'", id="no mixed sums"),
        pytest.param(
            "[1] + ['a']", "no matching overload for '_+_' applied to '(list(int), list(string))'", id="lists"
        ),
        pytest.param("-1u", "invalid uint literal", id="an unsigned number with a sign"),
        pytest.param("!1", "found no matching overload for '!_' applied to '(int)'", id="not a number"),
        pytest.param("-'a'", "found no matching overload for '-_' applied to '(string)'", id="minus a text"),
        pytest.param(
            "'a' in 'abc'", "found no matching overload for '@in' applied to '(string, string)'", id="in a text"
        ),
        pytest.param("true && 1", "found no matching overload for '_&&_' applied to '(bool, int)'", id="and a number"),
        pytest.param("true ? 1 : 'a'", "no matching overload for '_?_:_'", id="branches of two types"),
        pytest.param(
            "'ab'.reverse()", "no matching overload for 'reverse' applied to 'string.()'", id="a later library"
        ),
        pytest.param("math.greatest(1, 2)", "undeclared reference", id="a library that is not enabled"),
        pytest.param("net.DNS", "undeclared reference to 'net'", id="a type that is none"),
        pytest.param("x", "undeclared reference to 'x' (in container '')", id="nobody"),
        pytest.param("quantity('1') == 1", "no matching overload for '_==_'", id="a quantity and a number"),
        pytest.param("9223372036854775808", "invalid int literal", id="a number too large"),
        pytest.param("'\\q'", "token recognition error", id="an escape that is none"),
        pytest.param("while", "reserved identifier: while", id="a word that is kept"),
        pytest.param("1 = 1", "token recognition error at: '='", id="a sign that is none"),
    ],
)
def test_what_does_not_compile(text: str, problem: str) -> None:
    with pytest.raises(CompileError) as raised:
        value(text)
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("9223372036854775807 * 2", "integer overflow", id="a product too large"),
        pytest.param("-(-9223372036854775807 - 1)", "integer overflow", id="the one that has no opposite"),
        pytest.param("(-9223372036854775807 - 1) / -1", "integer overflow", id="nor this quotient"),
        pytest.param("18446744073709551615u + 1u", "unsigned integer overflow", id="an unsigned sum"),
        pytest.param("int(1e19)", "integer overflow", id="a double that is no integer"),
        pytest.param("uint(-1)", "unsigned integer overflow", id="nor an unsigned one"),
        pytest.param("double('NaN') < 1.0", "NaN values cannot be ordered", id="what is no number"),
        pytest.param("ports.ssh", "no such key: ssh", id="no such key"),
        pytest.param("some[-1]", "index out of bounds: -1", id="before the first"),
        pytest.param("some[any]", "unsupported index type 'list'", id="an index that is none"),
        pytest.param("any + 1", "no such overload", id="a list and a number"),
        pytest.param("any.startsWith('a')", "no such overload: startsWith(list, string)", id="of other types"),
        pytest.param("timestamp(253402300800)", "timestamp overflow", id="the year 10000"),
        pytest.param("timestamp('0001-01-01T00:00:00Z') - duration('1ns')", "timestamp overflow", id="before year 1"),
        pytest.param(
            "timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z')",
            "integer overflow",
            id="more than a duration can be",
        ),
        pytest.param("timestamp('2026-01-01T00:00:00Z').getHours('Nowhere/Land')", "unknown time zone", id="no zone"),
        pytest.param("cidr('fe80::1%eth0/64')", "network address parse error", id="a network with a zone"),
        pytest.param("word.substring(9)", "index out of range: 9", id="behind the end"),
        pytest.param("[].max()", "max called on empty list", id="the largest of none"),
        pytest.param("{'a': 1}.transformMapEntry(k, v, {'x': v, 'y': v}).z", "no such key: z", id="a made map"),
        pytest.param("'a'.matches('(')", "error parsing regexp", id="a pattern that is none"),
    ],
)
def test_what_goes_wrong_in_a_run(text: str, problem: str) -> None:
    with pytest.raises(Fault) as raised:
        value(text)
    assert problem in str(raised.value)


# --- one limit for time and memory


def repeated(times: int, body: str, last: str, first: str = "[1, 2]") -> str:
    """``body`` of its own value (@), so many times over."""
    text = last.replace("@", f"v{times}")
    for i in range(times, 0, -1):
        text = f"cel.bind(v{i}, {body.replace('@', f'v{i - 1}')}, {text})"
    return f"cel.bind(v0, {first}, {text})"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(repeated(60, "@ + @", "size(@)"), id="a list doubled"),
        pytest.param(repeated(60, "@ + @", "size(@)", "'ab'"), id="a text doubled"),
        pytest.param(repeated(30, "@.replace('', @)", "size(@)", "'ab'"), id="a text put between its letters"),
        pytest.param(repeated(60, "[@, @].join('x')", "size(@)", "'ab'"), id="a text joined to itself"),
        pytest.param(repeated(60, "[@, @]", "@.flatten(99)"), id="lists in lists, flattened"),
        pytest.param(repeated(60, "[@, @]", "'%s'.format([@])"), id="lists in lists, as a text"),
        pytest.param(f"{repeated(60, '[@, @]', '@')} == {repeated(60, '[@, @]', '@')}", id="lists in lists, compared"),
        pytest.param("lists.range(9223372036854775807)", id="a long list"),
        pytest.param("lists.range(100000).distinct()", id="all pairs of it"),
        pytest.param(f"'{'%.999999f' * 9}'.format([{', '.join(['1.0'] * 9)}])", id="many digits"),
    ],
)
def test_what_would_take_for_ever_is_stopped_before_it_is_there(text: str) -> None:
    with pytest.raises(OverBudget, match="actual cost limit exceeded"):
        value(text)
