"""Replay a scenario of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kwhatif.framework.interface import Plugin
from kwhatif.versions import Features
from kwhatif.whatif.conformance.autoscaler_answers import AutoscalerScenario, autoscaler_answer
from kwhatif.whatif.conformance.karpenter_answers import karpenter_answer
from kwhatif.whatif.conformance.scenario_answers import Scenario, answer
from kwhatif.whatif.conformance.scenario_files import AnyScenario


def replayed(
    scenario: AnyScenario,
    *,
    source: str = "",
    features: Features | None = None,
    outside: Mapping[str, type[Plugin[Any, Any]]] | None = None,
    skip_unknown: bool = False,
) -> dict[str, Any]:
    """What a scheduler, or an autoscaler, makes of it. Raises InputError, PolicyError or PluginError."""
    if isinstance(scenario, Scenario):
        return answer(scenario, source=source, features=features, outside=outside, skip_unknown=skip_unknown)
    if isinstance(scenario, AutoscalerScenario):
        return autoscaler_answer(scenario, source=source, features=features, outside=outside, skip_unknown=skip_unknown)
    return karpenter_answer(scenario, source=source)
