"""Long lists in few characters, and plain values as JSON that may stand in a page.

``app/data.js`` undoes what is done here.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kwhatif.report.escape import clean

_LENGTHS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_IN_MARKUP = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def json_in_page(value: Any) -> str:
    """Plain values as JSON that no parser of HTML takes for anything else; texts are cleaned first.

    ASCII alone, so that line separators, which are new lines in a script, are written as escapes, too.
    """
    return json.dumps(_cleaned(value), separators=(",", ":"), ensure_ascii=True).translate(_IN_MARKUP)


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(key): _cleaned(each) for key, each in value.items()}
        case _Joined():
            return value.text
        case list() | tuple():
            return [each if isinstance(each, int) else _cleaned(each) for each in value]
    return value


class _Joined:
    """Cleaned texts with line feeds between them, which no clean text has."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.text = "\n".join(texts)


def front_coded(texts: Sequence[str]) -> dict[str, Any]:
    """Each text as what it shares with the one before, and the rest: names in order have long beginnings in common."""
    found, last = [], ""
    for text in map(clean, texts):
        most = min(len(text), len(last), len(_LENGTHS) - 1)
        shared = next((place for place in range(most) if text[place] != last[place]), most)
        found.append(_LENGTHS[shared] + text[shared:])
        last = text
    return {"f": _Joined(found), "n": len(found)}


def packed_column(texts: Sequence[str], nodes: Mapping[str, int]) -> dict[str, Any]:
    """A column of a table in the way that takes least: places among the ``nodes``, a few distinct texts, or names."""
    distinct = dict.fromkeys(texts)
    if len(distinct) == 1:
        return {"c": texts[0], "n": len(texts)}
    others = {text: -1 - place for place, text in enumerate(text for text in distinct if text not in nodes)}
    if len(others) <= len(distinct) // 2:
        return {"m": [nodes[text] if text in nodes else others[text] for text in texts], "d": list(others)}
    if 4 * len(distinct) <= len(texts):
        places = {text: place for place, text in enumerate(distinct)}
        return {"i": [places[text] for text in texts], "d": list(distinct)}
    return front_coded(texts)
