"""What stands where something else belongs: JSON of every type, as texts, since some are no values of Python's."""

from __future__ import annotations

NUMBERS = (
    *("0", "-1", "1", "7", "1.5", "-0.0", "1e10", "1e999", "-1e999", "2147483647", "2147483648", "-2147483649"),
    *("9223372036854775807", "9223372036854775808", "18446744073709551616", "1e18", "1" + "0" * 400),
)
TEXTS = (
    *("", " ", "x", "1", "-1", "1.5", "1e10", "1e999", "500m", "1Gi", "50%", "-50%", "1e3%", "9999999999999999999999%"),
    *("true", "null", "*", "a/b/c", "::error::", "(a+)+$", "2026-01-01T00:00:00Z", "9999-99-99T99:99:99Z", "٣", "x.y"),
    *("\\u0000", "\\ud800", "\\u202e", "é\\n", "x" * 5000, "9" * 5000, "(" * 200, "object.spec", "[1].map(x, x)", "=="),
)
LISTS = ("[]", "[null]", "[1]", '["x"]', '[""]', "[[]]", "[{}]", '["x", "x"]', '[{"name": "x"}, {"name": "x"}]')
OBJECTS = (
    *(
        "{}",
        '{"": ""}',
        '{"x": null}',
        '{"x": 1}',
        '{"x": "y"}',
        '{"x": []}',
        '{"x": {}}',
        '{"name": null}',
        '{"name": 1}',
    ),
    *(
        '{"matchLabels": {"a": 1}}',
        '{"matchExpressions": [null]}',
        '{"matchExpressions": [{"key": "a", "operator": "In"}]}',
    ),
)
DEEP = ("[" * 60 + "]" * 60, '{"a":' * 60 + "1" + "}" * 60)

VALUES = ("null", "true", "false", *NUMBERS, *(f'"{text}"' for text in TEXTS), *LISTS, *OBJECTS, *DEEP)
