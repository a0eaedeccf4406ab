"""The rules file: where it is found, what it may say, where a mistake in it is, and the schema that says so, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from kwhatif.commands.gate.gate_policy import DEFAULT_RULES, rules_of
from kwhatif.commands.gate.rule import in_tree
from kwhatif.commands.schema_files import gate_policy_schema
from kwhatif.errors import InputError, UsageError
from kwhatif.simulation.repository_policy import ReadPolicy, find_policy, read_policy

ROOT = Path(__file__).parents[3]
SCHEMA_FILE = ROOT / "schemas" / "gate-policy.schema.json"
HEAD = "apiVersion: kwhatif.dev/v1\nkind: GatePolicy\n"


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "rules.yaml"
    path.write_text(HEAD + text)
    return str(path)


def read(tmp_path: Path, text: str, *levels: str) -> list[tuple[str, str]]:
    """Name and level of the rules of a file."""
    found = rules_of(read_policy(written(tmp_path, text)), in_tree(), levels)
    return [(rule.name, rule.given.level) for rule in found]


GOOD: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "no rules at all": ("rules: {}", []),
    "a rule with its defaults": ("rules: {spread: {}}", [("spread", "warn")]),
    "nothing behind the name": ("rules:\n  spread:\n", [("spread", "warn")]),
    "a level alone": ("rules: {spread: error}", [("spread", "error")]),
    "off, which YAML takes for false": (
        "rules: {spread: off, quota: {level: off}}",
        [("quota", "off"), ("spread", "off")],
    ),
    "one rule several times": (
        "rules:\n  spread:\n  - {level: error, namespaces: [shop]}\n  - {level: warn, maxSkew: 3}\n",
        [("spread", "error"), ("spread", "warn")],
    ),
    "thresholds and selectors": (
        "rules: {headroom: {percent: 12.5, resources: [cpu], kinds: [Deployment], selector: 'tier in (a, b),!x'}}",
        [("headroom", "warn")],
    ),
    "settings of the run": ("snapshot: [a.json]\npolicy: p.yaml\nexemptions: forbidden\nrules: {}", []),
}


@pytest.mark.parametrize("case", GOOD)
def test_a_file_says_which_rules_are_run(case: str, tmp_path: Path) -> None:
    text, expected = GOOD[case]
    assert read(tmp_path, text) == expected
    jsonschema.Draft202012Validator(gate_policy_schema()).validate(yaml.safe_load(HEAD + text))


def test_without_rules_those_are_run_that_are_on_by_default(tmp_path: Path) -> None:
    by_default = [(name, in_tree()[name].parameters().level) for name in DEFAULT_RULES]
    assert read(tmp_path, "snapshot: [a.json]") == by_default
    assert [
        (rule.name, rule.given.level) for rule in rules_of(ReadPolicy(read_policy(None).policy), in_tree())
    ] == by_default


BAD: dict[str, tuple[str, str]] = {
    "an unknown rule": ("rules: {spred: {}}", '$.rules.spred: unknown rule "spred"; did you mean spread?'),
    "an unknown parameter": (
        "rules: {spread: {maxSkw: 1}}",
        '$.rules.spread: unknown field "maxSkw"; did you mean maxSkew?',
    ),
    "an unknown field": ("rulez: {}", '$: unknown field "rulez"; did you mean rules?'),
    "another level": (
        "rules: {spread: {level: warning}}",
        '$.rules.spread.level: expected one of error, off, warn, found "warning"',
    ),
    "a word for a level": (
        "rules: {spread: warning}",
        '$.rules.spread: expected settings, or a level: error, warn or off; found "warning"',
    ),
    "a number that is none": ("rules: {spread: {maxSkew: two}}", "$.rules.spread.maxSkew: "),
    "a number below the least": (
        "rules: {spread: {maxSkew: 0}}",
        "$.rules.spread.maxSkew: expected an integer from 1 to 1000000, ",
    ),
    "more than all": ("rules: {headroom: {percent: 101}}", "$.rules.headroom.percent: "),
    "a selector that is none": ("rules: {quota: {selector: 'a in b'}}", "$.rules.quota.selector: "),
    "a duration that is none": ("rules: {snapshot-age: {maxAge: 1 day}}", "$.rules.snapshot-age.maxAge: "),
    "a duration of nothing": ("rules: {snapshot-age: {maxAge: 0h}}", "$.rules.snapshot-age.maxAge: "),
    "something else to be gone": (
        "rules: {fits-without: {gone: [any-rack]}}",
        "$.rules.fits-without.gone[0]: expected one of any-node, any-zone, biggest-node, found ",
    ),
    "no settings in a list": ("rules: {quota: []}", "$.rules.quota: expected settings, found an empty list"),
    "a mistake in a list": ("rules: {quota: [{}, {levle: off}]}", '$.rules.quota[1]: unknown field "levle"'),
    "rules as a list": ("rules: [quota]", "$.rules: "),
    "a snapshot that is no list": ("snapshot: a.json", "$.snapshot: "),
    "another word for exemptions": (
        "exemptions: never",
        '$.exemptions: expected one of allowed, forbidden, found "never"',
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_told_with_its_place(case: str, tmp_path: Path) -> None:
    text, expected = BAD[case]
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path}/rules.yaml: {expected}")
    if "selector" not in text and "maxAge" not in text:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(gate_policy_schema()).validate(
                _unless_unknown_rule(yaml.safe_load(HEAD + text))
            )


def _unless_unknown_rule(document: Any) -> Any:
    """An unknown rule may come from outside, so the schema lets it pass; a wrong level of it, it does not."""
    rules = document.get("rules")
    return {**document, "rules": {"spred": {"level": 1}}} if isinstance(rules, dict) and "spred" in rules else document


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("kind: GatePolicy\n", '$.apiVersion: expected "kwhatif.dev/v1", found none', id="no version"),
        pytest.param(
            "apiVersion: kwhatif.dev/v1\nkind: Gate\n", '$.kind: expected "GatePolicy", found "Gate"', id="kind"
        ),
        pytest.param("", "expected one GatePolicy, found 0 documents", id="empty"),
        pytest.param(f"{HEAD}---\n{HEAD}", "expected one GatePolicy, found 2 documents", id="two"),
    ],
)
def test_a_file_is_one_gate_policy(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_policy(str(path))
    assert str(caught.value) == f"{path}: {problem}"


def test_paths_are_those_beside_the_file(tmp_path: Path) -> None:
    policy = read_policy(written(tmp_path, "snapshot: [a.json, b/c.json]\npolicy: p.yaml")).policy
    assert policy.snapshot == [f"{tmp_path}/a.json", f"{tmp_path}/b/c.json"]
    assert policy.policy == f"{tmp_path}/p.yaml"
    assert read_policy(written(tmp_path, "policy: default")).policy.policy == "default"


def test_the_file_is_looked_for_up_to_the_top_of_the_repository(tmp_path: Path) -> None:
    deep = tmp_path / "repository" / "deploy" / "shop"
    deep.mkdir(parents=True)
    (tmp_path / ".kwhatif.yaml").write_text(HEAD)
    assert find_policy(str(deep)) == "../../../.kwhatif.yaml"
    (tmp_path / "repository" / ".git").mkdir()
    assert find_policy(str(deep)) is None, "what is above the repository is none of its business"
    (tmp_path / "repository" / ".kwhatif.yaml").write_text(HEAD)
    assert find_policy(str(deep)) == "../../.kwhatif.yaml"
    (deep / ".kwhatif.yaml").write_text(HEAD)
    assert find_policy(str(deep)) == ".kwhatif.yaml"


def test_levels_of_the_command_line_count_more_than_the_file(tmp_path: Path) -> None:
    text = "rules: {spread: [{level: warn, maxSkew: 3}, {}], quota: {}}"
    assert read(tmp_path, text, "spread=error", "pinned=warn", "quota=off") == [
        ("pinned", "warn"),
        ("quota", "off"),
        ("spread", "error"),
        ("spread", "error"),
    ]
    found = rules_of(read_policy(written(tmp_path, text)), in_tree(), ["spread=error"])
    assert [getattr(rule.given, "max_skew", None) for rule in found if rule.name == "spread"] == [3, 1]


@pytest.mark.parametrize(
    ("level", "problem"),
    [
        ("spread", '--rule spread: expected spread=error, warn or off, found ""'),
        ("spread=loud", '--rule spread=loud: expected spread=error, warn or off, found "loud"'),
        ("spred=off", '--rule spred=off: unknown rule "spred"; did you mean spread?'),
    ],
)
def test_a_level_that_makes_no_sense_is_refused(level: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, "rules: {}", level)
    assert str(caught.value) == problem


# --- the schema


@pytest.mark.long
def test_the_schema_is_sound_and_knows_every_rule() -> None:
    schema = gate_policy_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert sorted(schema["properties"]["rules"]["properties"]) == sorted(in_tree())


def test_an_outside_rule_may_have_settings_that_nobody_here_knows() -> None:
    document = yaml.safe_load(f"{HEAD}rules: {{max-pods: {{level: warn, pods: 7}}}}")
    jsonschema.Draft202012Validator(gate_policy_schema()).validate(document)


@pytest.mark.parametrize(
    ("text", "place"),
    [('policy: ""', "$.policy"), ('snapshot: ["a.json", ""]', "$.snapshot[1]"), ('autoscale: ""', "$.autoscale[0]")],
)
def test_an_empty_name_of_a_file_is_an_error_at_its_place(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(f"apiVersion: kwhatif.dev/v1\nkind: GatePolicy\n{text}\n")
    with pytest.raises(InputError) as caught:
        read_policy(str(path))
    assert str(caught.value) == f"{path}: {place}: expected the name of a file, found an empty text"
