from __future__ import annotations

import pytest

from kwhatif.policy.defaults import merge_plugin_set, merge_plugins
from kwhatif.policy.structs import Plugin, Plugins, PluginSet


def plugins(*words: str) -> tuple[Plugin, ...]:
    """``"A"`` is plugin A, ``"A=2"`` has a weight."""
    pairs = (word.partition("=") for word in words)
    return tuple(Plugin(name=name, weight=int(weight) if weight else None) for name, _, weight in pairs)


def words(given: tuple[Plugin, ...]) -> str:
    return " ".join(p.name if p.weight is None else f"{p.name}={p.weight}" for p in given)


@pytest.mark.parametrize(
    ("default", "enabled", "disabled", "merged"),
    [
        pytest.param("A B", "", "", "A B", id="nothing custom leaves the default ones"),
        pytest.param("A B", "X", "", "A B X", id="a custom plugin comes after the default ones"),
        pytest.param("A B C", "", "B", "A C", id="a disabled plugin is gone"),
        pytest.param("A B", "", "Z", "A B", id="disabling what is not there changes nothing"),
        pytest.param("A B", "", "*", "", id="a star disables all"),
        pytest.param("A B", "B A", "*", "B A", id="after a star the custom order holds"),
        pytest.param("A B", "X", "* A", "X", id="a star and a name are a star"),
        pytest.param("A B C", "B=7", "", "A B=7 C", id="an enabled default plugin keeps its position"),
        pytest.param("A=1 B=2 C", "B A=5", "", "A=5 B C", id="the custom weight holds, also when there is none"),
        pytest.param("A B", "X B", "B", "A X B", id="disabled and enabled goes to the end"),
        pytest.param("A B", "B=1 B=2", "", "A B=2 B=1", id="of doublets the last takes the place"),
        pytest.param("A B", "X X", "", "A B X X", id="doublets of others stay"),
    ],
)
def test_merging_one_extension_point(default: str, enabled: str, disabled: str, merged: str) -> None:
    given = PluginSet(enabled=plugins(*default.split()))
    custom = PluginSet(enabled=plugins(*enabled.split()), disabled=plugins(*disabled.split()))
    result = merge_plugin_set(given, custom)
    assert words(result.enabled) == merged
    assert words(result.disabled) == disabled


def test_what_is_disabled_by_default_is_disabled_too_and_comes_last() -> None:
    default = PluginSet(enabled=plugins("A", "B"), disabled=plugins("A=9"))
    result = merge_plugin_set(default, PluginSet(disabled=plugins("B=3")))
    assert result == PluginSet(disabled=plugins("B", "A"))


def test_without_custom_plugins_the_default_ones_are_kept_whole() -> None:
    default = Plugins(score=PluginSet(enabled=plugins("A=2")))
    assert merge_plugins(default, None) is default


def test_every_extension_point_is_merged_by_itself() -> None:
    default = Plugins(multi_point=PluginSet(enabled=plugins("A", "B")), placement_score=PluginSet(enabled=plugins("P")))
    custom = Plugins(
        multi_point=PluginSet(enabled=plugins("X"), disabled=plugins("A")),
        score=PluginSet(disabled=plugins("X")),
        placement_score=PluginSet(enabled=plugins("Q=2")),
    )
    assert merge_plugins(default, custom) == Plugins(
        multi_point=PluginSet(enabled=plugins("B", "X"), disabled=plugins("A")),
        score=PluginSet(disabled=plugins("X")),
        placement_score=PluginSet(enabled=plugins("P", "Q=2")),
    )
