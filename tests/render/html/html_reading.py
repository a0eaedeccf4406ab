"""Pages read back: their parts, and the data in them as the page's own script sees it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

LENGTHS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass
class Page(HTMLParser):
    """Every tag with its attributes, and the texts of scripts and styles."""

    text: str
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)
    content: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.tags[-1] if self.tags else ("", {})
        if tag == "style" and not self.styles:
            self.styles.append(data)
        elif tag == "script" and data.strip():
            if attributes.get("type") == "application/json":
                self.content = data
            else:
                self.scripts.append(data)

    @property
    def data(self) -> Any:
        return json.loads(self.content)

    @property
    def around(self) -> str:
        """Everything but the data."""
        before, data, after = self.text.partition(self.content)
        assert data
        return before + after


def column(packed: dict[str, Any], nodes: list[str] | None = None) -> list[str]:
    """What ``column`` of app/data.js makes of a packed column."""
    match packed:
        case {"c": str(text), "n": int(number)}:
            return [text] * number
        case {"m": list(places), "d": list(others)}:
            return [(nodes or [])[place] if place >= 0 else others[-1 - place] for place in places]
        case {"i": list(places), "d": list(distinct)}:
            return [distinct[place] for place in places]
    return list(_front_coded(packed))


def _front_coded(packed: dict[str, Any]) -> Iterator[str]:
    last = ""
    for text in packed["f"].split("\n") if packed["n"] else ():
        last = last[: LENGTHS.index(text[0])] + text[1:]
        yield last
