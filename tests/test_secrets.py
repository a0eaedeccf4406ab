"""A secret in every text of every kind: a dump leaves those that its page lists, and redaction none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from kwhatif.api.kinds import READ, Kind
from kwhatif.api.quantity import plain_quantity
from kwhatif.redaction import redact_documents
from kwhatif.snapshot.live.asker import Asker
from kwhatif.snapshot.live.listing import ListReader
from tests.planted import planted

DOCS = Path(__file__).parents[1] / "docs"
_SCHEMA = "spec.versions[].schema."


class Lists:
    """A server with one object of one kind."""

    def __init__(self, kind: Kind, obj: dict[str, Any]) -> None:
        self._body = json.dumps({"kind": f"{kind.name}List", "items": [obj]}).encode()

    def get(self, *_: object, **__: object) -> bytes:
        return self._body


def dumped(kind: Kind, obj: dict[str, Any]) -> str:
    """What a dump holds of an object, as JSON."""
    asker = cast("Asker", Lists(kind, obj))
    listing = ListReader(asker, lambda group, version: True, 500).read(kind)
    return msgspec.json.encode([listing.objects, listing.whole], enc_hook=plain_quantity).decode()


def left_in_dumps() -> Iterator[tuple[str, str]]:
    """Kind and place of each secret that is in a dump."""
    places: dict[str, str] = {}

    def secret(place: str) -> str:
        text = f"zqx{len(places)}zqx"
        places[text] = place
        return text

    for kind in READ:
        obj = planted(kind, secret)
        if obj is not None:
            yield from ((kind.name, places[found]) for found in re.findall(r"zqx\d+zqx", dumped(kind, obj)))


def test_a_dump_keeps_the_texts_that_its_page_lists_and_no_others() -> None:
    page = (DOCS / "dump.md").read_text(encoding="utf-8").partition("\n### Texts that stay\n")[2].partition("\n## ")[0]
    listed = {name for row in page.splitlines() if row.startswith("| `") for name in re.findall(r"`([^`]+)`", row)}
    kept = {place.rpartition(".")[2].rstrip("[]{}") for _, place in left_in_dumps() if not place.startswith(_SCHEMA)}
    assert sorted(kept - listed) == []
    assert sorted(listed - kept) == []


def test_schemas_of_definitions_are_dumped_without_what_explains_them() -> None:
    found = {place.rpartition(".")[2] for _, place in left_in_dumps() if place.startswith(_SCHEMA)}
    assert "pattern" in found
    assert not found & {"description", "title", "example", "externalDocs", "url", "id"}


FORMS: dict[str, tuple[Callable[[int], str], str]] = {
    "a word": (lambda n: f"zqx{n}zqx", r"zqx\d+zqx"),
    "words": (lambda n: f"Zqx secret {40_000_000 + n}, n.zqx", r"(?i)zqx|secret|4\d{7}"),
    "an address": (lambda n: f"10.{n // 250}.{n % 250}.77", r"10\.\d+\.\d+\.77"),
    "an address in a name of EC2's": (lambda n: f"ec2-10-{n // 250}-{n % 250}-77.zqx", r"10-\d+-\d+-77|zqx"),
    "an address in any name": (lambda n: f"10-{n // 250}-{n % 250}-77.zqx", r"10-\d+-\d+-77|zqx"),
    "a serial number": (lambda n: str(40_000_000 + n), r"4\d{7}"),
    "an amount": (lambda n: f"{40_000_000 + n}Gi", r"4\d{7}"),
    "a version": (lambda n: f"12.{40_000_000 + n}.9", r"4\d{7}"),
}

STAYS = {
    "a serial number": {"maxSurge", "maxUnavailable", "minAvailable", "schedule"},  # numbers, in the words of the page
    "a version": {"version", "versions[]"},
}


@pytest.mark.parametrize("form", FORMS)
def test_redaction_leaves_no_secret_of_any_form_but_those_that_its_page_names(form: str) -> None:
    make, hunted = FORMS[form]
    places: dict[str, str] = {}

    def secret(place: str) -> str:
        text = make(len(places))
        places[text] = place
        return f'device.driver == "{text}"' if place.endswith("cel.expression") else text

    objects = [obj for kind in READ if (obj := planted(kind, secret)) is not None]
    redacted, _ = redact_documents(objects)
    left = {
        next((place.rpartition(".")[2] for text, place in places.items() if found in text), found)
        for found in re.findall(hunted, json.dumps(redacted))
    }
    assert left == STAYS.get(form, set())


def test_texts_that_expressions_measure_stay_and_others_go() -> None:
    expression = 'quantity("40Gi").compareTo(x) > 0 && semver( "1.20304.3" ) == v && s != "40Gi" && t == "1.20304.3"'
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    device_class = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "c"}, "spec": spec}
    (redacted,), _ = redact_documents([device_class])
    text = redacted["spec"]["selectors"][0]["cel"]["expression"]
    assert (text.count("40Gi"), text.count("1.20304.3")) == (1, 1)
    assert text.startswith('quantity("40Gi").compareTo(')
