"""Which options a request may say: none that names a file, an address, a module or another cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kwhatif.commands.parameters import Parameter, parameters_of
from kwhatif.commands.public import functions_by_name
from kwhatif.serve.fields import LEFT_OUT, is_field, routes


def all_options() -> Iterator[Parameter]:
    for question in functions_by_name().values():
        yield from parameters_of(question)


def test_the_questions_of_the_command_line_have_routes() -> None:
    names = {
        "place",
        "explain",
        "gate",
        "review",
        "queue",
        "drain",
        "outage",
        "capacity",
        "diff",
        "autoscale",
        "expand",
    }
    assert names | {"rightsize", "upgrade", "deschedule", "chances", "karpenter", "snapshot-info"} <= set(routes())
    assert not {"snapshot-dump", "snapshot-record", "snapshot-trim", "start-server", "conformance"} & set(routes())


def test_no_field_of_a_request_names_a_place() -> None:
    suspicious = ("FILE", "DIR", "URL", "OUT", "MODULE", "HOST", "://", "PATH")
    for route in routes().values():
        for field in route.fields:
            flag = field.parameter.flag
            assert flag.file in ("", "in", "manifests"), field.name
            if not flag.file:
                assert not any(word in flag.metavar for word in suspicious), (route.name, field.name)


@pytest.mark.parametrize(
    "name",
    [
        *("plugins", "call_extenders", "call_extender_bind", "snapshot_b", "other_snapshots", "write_snapshot", "out"),
        *("prometheus", "prometheus_token_file", "kubeconfig", "pod_template_paths", "on", "write", "charts", "usage"),
        "render",
    ],
)
def test_what_reaches_beyond_the_request_is_no_field(name: str) -> None:
    options = [each for each in all_options() if each.name == name]
    assert options
    assert not any(map(is_field, options))


def test_what_is_left_out_by_name_is_an_option() -> None:
    assert {each.name for each in all_options()} | {"call_extender_bind"} >= LEFT_OUT
