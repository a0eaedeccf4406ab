"""A second file that is wrong beside the first: a good one with some change of its structure.

A place of it gets another value, one from another place of either file, or goes; or the items of a list are repeated.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from random import Random
from typing import Any

from tests.fuzz.good_files import good_files
from tests.fuzz.places import places_in
from tests.fuzz.wrong import VALUES

_HOLE = "the value that is wrong"
_REPEATED = (2, 3, 40)


def reads_another(command: str) -> bool:
    """Whether a command reads a file beside the one that is wrong."""
    return bool(_words(command))


def _words(command: str) -> list[str]:
    return [word for word in good_files() if f"{{{word}}}" in command]


def value_elsewhere(first: Any, command: str, random: Random) -> Any:
    """What stands somewhere in the wrong file, or in one that the command reads beside it."""
    other = random.choice([first, *(good_files()[word] for word in _words(command))])
    return _at(other, random.choice(list(places_in(other)) or [()]))


def second_file(command: str, first: Any, random: Random) -> tuple[str, str, str]:
    """The word for a file that a command reads beside the wrong one, its text, and what was done to it. ``first`` is
    the other file, as far as it is JSON.
    """
    word = random.choice(_words(command))
    changed = copy.deepcopy(good_files()[word])
    place = random.choice(list(places_in(changed)))
    *above, last = place
    here = _at(changed, above)
    shown = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    value = json.dumps(_HOLE)
    match random.choice(("value", "value", "moved", "moved", "repeated", "gone")):
        case "value":
            value = random.choice(VALUES)
            here[last] = _HOLE
            what = f"{shown} = {value[:60]}"
        case "moved":
            other = random.choice([changed, first] if isinstance(first, dict | list) else [changed])
            there = random.choice(list(places_in(other)) or [()])
            here[last] = copy.deepcopy(_at(other, there))
            what = f"{shown} = what is at {there}"
        case "repeated" if isinstance(here[last], list):
            times = random.choice(_REPEATED)
            here[last] = here[last] * times
            what = f"{shown}, {times} times"
        case _:
            del here[last]
            what = f"{shown} is gone"
    return word, json.dumps(changed).replace(json.dumps(_HOLE), value), what


def _at(value: Any, place: Sequence[str | int]) -> Any:
    for step in place:
        value = value[step]
    return value
