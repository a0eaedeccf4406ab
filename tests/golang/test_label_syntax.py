from __future__ import annotations

import pytest

from kwhatif.golang.field_validation import dns_subdomain, extended_resource, label_value, qualified_name

NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
DNS_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    "must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("a", []),
        ("Example.com", []),
        ("example.com/a_b-c.D", []),
        ("", ["name part must be non-empty", f"name part {NAME_RULE}"]),
        ("/a", ["prefix part must be non-empty"]),
        ("Example.com/a", [f"prefix part {DNS_RULE}"]),
        ("a" * 63, []),
        ("a" * 64, ["name part must be no more than 63 bytes"]),
        ("a.b/" + "a" * 63, []),
        ("a" * 254 + "/b", ["prefix part must be no more than 253 bytes"]),
        ("a\n", [f"name part {NAME_RULE}"]),
        (
            "a/b/c",
            [
                f"a valid label key {NAME_RULE} with an optional DNS subdomain prefix and '/' "
                "(e.g. 'example.com/MyName')"
            ],
        ),
    ],
)
def test_qualified_names(name: str, wrong: list[str]) -> None:
    assert qualified_name(name) == wrong


@pytest.mark.parametrize(
    ("value", "wrong"),
    [("", []), ("a.B_c-1", []), ("-a", [VALUE_RULE]), ("a" * 64, ["must be no more than 63 bytes"])],
)
def test_label_values(value: str, wrong: list[str]) -> None:
    assert label_value(value) == wrong


def test_dns_names_and_extended_resources() -> None:
    assert dns_subdomain("a.b-c.d") == []
    assert dns_subdomain("a..b") == [DNS_RULE]
    assert extended_resource("nvidia.com/gpu")
    assert not extended_resource("cpu")
    assert not extended_resource("kubernetes.io/batch")
    assert not extended_resource("sub.kubernetes.io/batch")
    assert not extended_resource("requests.nvidia.com/gpu")
    assert not extended_resource("a" * 250 + ".com/gpu")
