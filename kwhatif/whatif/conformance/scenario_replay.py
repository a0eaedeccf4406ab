"""Replay a scenario of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kwhatif.api.selectors import SelectorError
from kwhatif.errors import InputError
from kwhatif.framework.interface import Plugin
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.setup import Setup
from kwhatif.versions import Features, features_of
from kwhatif.whatif.conformance.autoscaler_answers import AutoscalerScenario, autoscaler_answer
from kwhatif.whatif.conformance.karpenter_answers import KarpenterScenario, karpenter_answer
from kwhatif.whatif.conformance.scenario_answers import Scenario, scheduler_answer
from kwhatif.whatif.conformance.scenario_files import AnyScenario


def replayed(
    scenario: AnyScenario,
    *,
    source: str = "",
    features: Features | None = None,
    outside: Mapping[str, type[Plugin[Any, Any]]] | None = None,
    skip_unknown: bool = False,
) -> dict[str, Any]:
    """What a scheduler, or an autoscaler, makes of it, in the shape of ``expected`` with the scenario's name.

    ``source`` is what messages call the scenario. Raises InputError, PolicyError or PluginError.
    """
    try:
        if isinstance(scenario, KarpenterScenario):
            return karpenter_answer(scenario)
        features = features or features_of()
        legacy = scenario.policy if isinstance(scenario, Scenario) else None
        policy = scenario.config if legacy is None else legacy
        configuration = load_configuration(policy, source=source or scenario.name, features=features)
        setup = Setup(configuration, features, outside or {}, skip_unknown=skip_unknown)
        if isinstance(scenario, AutoscalerScenario):
            return autoscaler_answer(scenario, setup)
        return scheduler_answer(scenario, setup)
    except InputError as error:
        raise error.at(source) from None
    except (SelectorError, ValueError) as error:
        raise InputError(str(error), source=source) from error
