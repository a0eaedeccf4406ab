"""Reads scenario files (JSON Lines, or indented JSON objects, compressed or not), and replays a scenario of any kind.

The schema of a scenario is ``schemas/scenario.schema.json``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kwhatif.api.decode import Json, decode_json
from kwhatif.api.json_schema import decode_strictly
from kwhatif.api.selectors import SelectorError
from kwhatif.commands.conformance.autoscaler_replay import (
    AutoscalerScenario,
    KarpenterScenario,
    autoscaler_answer,
    karpenter_answer,
)
from kwhatif.commands.conformance.descheduler_answers import DeschedulerScenario, descheduler_answer
from kwhatif.commands.conformance.group_answers import GroupScenario, group_answer
from kwhatif.commands.conformance.kueue_answers import KueueScenario, kueue_answer
from kwhatif.commands.conformance.scheduler_replay import SchedulerScenario, scheduler_answer
from kwhatif.errors import InputError
from kwhatif.framework.interface import Plugin
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.setup import Setup
from kwhatif.snapshot.read.files import Text, display_path, found_in, read_paths
from kwhatif.snapshot.read.json_reader import read_json
from kwhatif.versions import Features, features_of

_SUFFIXES = (".jsonl", ".json")


def scenario_files(paths: Sequence[str]) -> list[str]:
    """The files meant: those named, and of a directory its .jsonl and .json files, packed or not. Raises InputError."""
    files: list[str] = []
    for path in paths:
        if not os.path.isdir(path):
            files.append(path)
            continue
        names = [name for name in sorted(os.listdir(path)) if _strip_compression(name).endswith(_SUFFIXES)]
        if not names:
            raise InputError("this directory has no .jsonl or .json files", source=display_path(path))
        files += [found_in(path, os.path.join(path, name)) for name in names]
    return files


def _strip_compression(name: str) -> str:
    return name.removesuffix(".gz").removesuffix(".zst")


_NOTHING = msgspec.Raw()


AnyScenario = (
    SchedulerScenario | GroupScenario | AutoscalerScenario | KarpenterScenario | DeschedulerScenario | KueueScenario
)


class _Head(msgspec.Struct, rename="camel"):
    """What tells the kinds of scenarios apart."""

    node_groups: msgspec.Raw = _NOTHING
    node_pools: msgspec.Raw = _NOTHING
    steps: msgspec.Raw = _NOTHING
    policy: msgspec.Raw = _NOTHING
    config: msgspec.Raw = _NOTHING

    @property
    def kind(self) -> type[AnyScenario]:
        if self.policy is not _NOTHING and _is_of_descheduler(self.policy):
            return DeschedulerScenario
        if self.config is not _NOTHING and _is_of_kueue(self.config):
            return KueueScenario
        if self.node_groups is not _NOTHING:
            return AutoscalerScenario
        if self.steps is not _NOTHING and self.node_pools is _NOTHING:
            return GroupScenario
        return KarpenterScenario if self.node_pools is not _NOTHING else SchedulerScenario


def _is_of_descheduler(policy: msgspec.Raw) -> bool:
    """Schedulers had policies, too, of another kind."""
    try:
        return decode_json(policy, _Policy).kind == "DeschedulerPolicy"
    except InputError:
        return False


def _is_of_kueue(config: msgspec.Raw) -> bool:
    """Schedulers have configurations, too, of another group."""
    try:
        return decode_json(config, _Config).api_version.startswith("config.kueue.x-k8s.io/")
    except InputError:
        return False


class _Policy(msgspec.Struct):
    kind: str = ""


class _Config(msgspec.Struct, rename="camel"):
    api_version: str = ""


def read_scenarios(path: str) -> Iterator[tuple[str, AnyScenario]]:
    """The scenarios of a file in order, each with what messages call it: the file and the line.

    Those with node groups are of cluster-autoscaler, those with NodePools of Karpenter, those with steps have groups of
    pods, those with a DeschedulerPolicy are of the descheduler, those with Kueue's Configuration of Kueue. Raises
    InputError.
    """
    (text,) = read_paths([path])
    for line, raw in _objects(text):
        where = f"{text.name} line {line}"
        try:
            scenario: AnyScenario = decode_strictly(raw, decode_json(raw, _Head).kind)
        except InputError as error:
            # Of a line of its own, "line 1" would be said once more.
            place = error.place.removeprefix("line 1, ") if not error.place.startswith("$") else error.place
            raise InputError(error.problem, source=where, place=place) from None
        yield f"{where} ({scenario.name})", scenario


def pods_in(scenario: AnyScenario) -> int:
    """How many pods the scenario schedules: none where the descheduler chooses among running ones, or Kueue decides."""
    if isinstance(scenario, DeschedulerScenario | KueueScenario):
        return 0
    return scenario.size if isinstance(scenario, GroupScenario) else len(scenario.pods)


def _objects(text: Text) -> Iterator[tuple[int, Json]]:
    """Line and text of each JSON object."""
    data = text.data
    if not data.strip():
        raise InputError("holds no scenarios: it is empty", source=text.name)
    if not _is_a_line(data):
        yield from ((document.line, document.value) for document in read_json(data, text.name))
        return
    view, start, line = memoryview(data), 0, 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line += 1
        if data[start:end].strip():
            yield line, view[start:end]
        start = end + 1


def _is_a_line(data: bytes) -> bool:
    """Whether the first line that holds something looks like a complete object."""
    stripped = data.lstrip()
    end = stripped.find(b"\n")
    first = stripped if end < 0 else stripped[:end]
    return first.rstrip().endswith(b"}")


def replay_scenario(
    scenario: AnyScenario,
    *,
    source: str = "",
    features: Features | None = None,
    outside: Mapping[str, type[Plugin[Any, Any]]] | None = None,
    skip_unknown: bool = False,
) -> dict[str, Any]:
    """What the recorded program makes of it, in the shape of ``expected`` with the scenario's name.

    ``source`` is what messages call the scenario. Raises InputError, PolicyError or PluginError.
    """
    try:
        if isinstance(scenario, KarpenterScenario):
            return karpenter_answer(scenario)
        if isinstance(scenario, DeschedulerScenario):
            return descheduler_answer(scenario)
        if isinstance(scenario, KueueScenario):
            return kueue_answer(scenario)
        features = features or features_of()
        if isinstance(scenario, SchedulerScenario | GroupScenario) and scenario.gates:
            features = features_of(features.minor, {**dict(features.gates), **scenario.gates})
        legacy = scenario.policy if isinstance(scenario, SchedulerScenario) else None
        policy = scenario.config if legacy is None else legacy
        configuration = load_configuration(policy, source=source or scenario.name, features=features)
        setup = Setup(configuration, features, outside or {}, skip_unknown=skip_unknown)
        if isinstance(scenario, AutoscalerScenario):
            return autoscaler_answer(scenario, setup)
        if isinstance(scenario, GroupScenario):
            return group_answer(scenario, setup)
        return scheduler_answer(scenario, setup)
    except InputError as error:
        raise error.with_source(source) from None
    except (SelectorError, ValueError) as error:
        raise InputError(str(error), source=source) from error
