"""What studies of schedulers begin with: it travels, and stays as it is."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from kwhatif.commands.place.question import Place
from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import Inputs, SchedulerOptions
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.scenario import Scenario
from kwhatif.simulation.study import StudyBase
from tests.prepared_scenarios import prepare

DATA = Path(__file__).parents[1] / "data"


def ground(engine: SchedulerOptions | None = None) -> StudyBase:
    """That of the sample pods and the sample cluster."""
    inputs = Inputs(snapshot=[str(DATA / "cluster.json")], manifests=[str(DATA / "pods.yaml")])
    case = Scenario(inputs, engine or SchedulerOptions())
    return StudyBase.from_scenario(prepare(Place(), case))


def places(of: StudyBase) -> dict[str, str]:
    """Where the pods go in a world of this."""
    run = PlacementRun(of.fork())
    run.schedule_all(of.scenario.pods_to_schedule)
    return run.homes()


def test_worlds_of_one_ground_know_nothing_of_each_other() -> None:
    one = ground()
    first = places(one)
    assert first
    assert places(one) == first


def test_a_ground_that_travelled_is_the_same() -> None:
    one = ground()
    other = pickle.loads(pickle.dumps(one))
    # Manifests stay at home, and so does the digest, which is over them, too.
    assert places(other) == places(one)


def test_plugins_from_files_are_found_again() -> None:
    engine = SchedulerOptions(policy=str(DATA / "with-plugin.yaml"), plugins=[f"{DATA / 'plugins.py'}:OnlyCats"])
    one = ground(engine)
    assert places(pickle.loads(pickle.dumps(one))) == places(one) != places(ground())
    assert one.digest != ground().digest


def test_extenders_are_not_called_for_many_worlds() -> None:
    with pytest.raises(UsageError, match="--call-extenders"):
        ground(SchedulerOptions(call_extenders=True))
