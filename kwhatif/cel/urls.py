"""URLs. Upstream: apiserver/pkg/cel/library/urls.go and Go's net/url."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote

from kwhatif.cel.faults import Fault
from kwhatif.cel.overloads import Overload, define, per_character
from kwhatif.cel.values import Url

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PORT = re.compile(r"(?::[0-9]*)?")


def parsed(text: str) -> Url:
    """An absolute URL or an absolute path. Raises Fault."""

    def wrong(why: str) -> Fault:
        return Fault(f'URL parse error during conversion from string: parse "{text}": {why}')

    if not text:
        raise wrong("empty url")
    if any(letter < " " or letter == "\x7f" for letter in text):
        raise wrong("net/url: invalid control character in URL")
    found = _SCHEME.fullmatch(text)
    scheme, rest = (found[1].lower(), found[2]) if found else ("", text)
    if not scheme and text.startswith(":"):
        raise wrong("missing protocol scheme")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, "", "", "")
        raise wrong("invalid URI for request")
    rest = rest.partition("#")[0]
    rest, _, query = rest.partition("?")
    host = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        host, slash, path = rest[2:].partition("/")
        rest = slash + path
        host = host.rpartition("@")[2]
        if not _good_host(host):
            raise wrong("invalid host or port")
    if bad := _ESCAPE.search(rest):
        raise wrong(f'invalid URL escape "{rest[bad.start() : bad.start() + 3]}"')
    return Url(scheme, host, quote(rest, safe="/%!$&'()*+,;=:@-._~"), query)


def _good_host(host: str) -> bool:
    if host.startswith("["):
        address, bracket, port = host.partition("]")
        return bool(bracket) and bool(_PORT.fullmatch(port)) and ":" in address
    name, colon, port = host.partition(":")
    return not re.search(r"[ \"<>\\^`{|}]", name) and bool(_PORT.fullmatch(colon + port))


def _is_url(text: str) -> bool:
    try:
        parsed(text)
    except Fault:
        return False
    return True


def _hostname(url: Url) -> str:
    if url.host.startswith("["):
        return url.host[1:].partition("]")[0]
    return url.host.partition(":")[0]


def _port(url: Url) -> str:
    return url.host.rpartition("]")[2].rpartition(":")[2] if ":" in url.host.rpartition("]")[2] else ""


def _query(url: Url) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in parse_qsl(url.query, keep_blank_values=True):
        found.setdefault(key, []).append(value)
    return found


def definitions() -> Iterator[tuple[str, Overload]]:
    """Functions on URLs."""
    yield from define("url(string) -> URL", parsed, per_character)
    yield from define("isURL(string) -> bool", _is_url, per_character)
    yield from define("URL.getScheme() -> string", lambda url: url.scheme)
    yield from define("URL.getHost() -> string", lambda url: url.host)
    yield from define("URL.getHostname() -> string", _hostname)
    yield from define("URL.getPort() -> string", _port)
    yield from define("URL.getEscapedPath() -> string", lambda url: url.path)
    yield from define("URL.getQuery() -> map(string, list(string))", _query)
