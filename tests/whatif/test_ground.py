"""What studies of schedulers begin with: it travels, and stays as it is."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from kwhatif.errors import UsageError
from kwhatif.whatif.place.placing import Run
from kwhatif.whatif.place.question import Place
from kwhatif.whatif.stages.ground import Ground
from kwhatif.whatif.stages.inputs import Engine, Inputs
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Case
from kwhatif.whatif.stages.sequence import STAGES, Inquiry

DATA = Path(__file__).parents[1] / "data"


def ground(engine: Engine | None = None) -> Ground:
    """That of the sample pods and the sample cluster."""
    inputs = Inputs(snapshot=[str(DATA / "cluster.json")], manifests=[str(DATA / "pods.yaml")])
    case = Case(inputs, engine or Engine())
    inquiry = Inquiry(Place(), [case], Notes())
    for stage in STAGES[: STAGES.index(next(each for each in STAGES if each.__name__ == "session"))]:
        inquiry = stage(inquiry)
    return Ground.of(case)


def places(of: Ground) -> dict[str, str]:
    """Where the pods go in a world of this."""
    run = Run(of.fork())
    run.all_of(of.case.asked)
    return run.homes()


def test_worlds_of_one_ground_know_nothing_of_each_other() -> None:
    one = ground()
    first = places(one)
    assert first
    assert places(one) == first


def test_a_ground_that_travelled_is_the_same() -> None:
    one = ground()
    other = pickle.loads(pickle.dumps(one))
    assert (places(other), other.digest) == (places(one), one.digest)


def test_plugins_from_files_are_found_again() -> None:
    engine = Engine(policy=str(DATA / "with-plugin.yaml"), plugin=[f"{DATA / 'plugins.py'}:OnlyCats"])
    one = ground(engine)
    assert places(pickle.loads(pickle.dumps(one))) == places(one) != places(ground())
    assert one.digest != ground().digest


def test_extenders_are_not_called_for_many_worlds() -> None:
    with pytest.raises(UsageError, match="--call-extenders"):
        ground(Engine(call_extenders=True))
