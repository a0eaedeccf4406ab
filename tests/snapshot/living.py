"""An API server on loopback that lives: objects come, change and go, and watches tell it.

with LivingServer() as server:
    server.put("Pod", pod)
    server.cut()      # all watches break off
    server.forget()   # what happened so far is not told any more: 410
    server.down = True  # nobody is answered
"""

from __future__ import annotations

import json
import socket
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kwhatif.api.kinds import LASTING, Kind, kind_named
from tests.snapshot.server import QuietHandler, QuietServer

_KINDS = {kind.path(kind.versions[0]): kind for kind in LASTING if not kind.rare}

Key = tuple[str, str]
"""The kind of an object, and how it is called in the store."""


class LivingServer:
    """Serves all kinds that are not rare. Anybody may change what it has, from any thread."""

    def __init__(self, objects: Mapping[str, Iterable[dict[str, Any]]] | None = None) -> None:
        self.down = False
        self.version = 1
        self._objects: dict[Key, dict[str, Any]] = {}
        self._told: dict[str, list[tuple[int, bytes]]] = {}
        self._forgotten: dict[str, int] = {}
        self._cuts = 0
        self._news = threading.Condition()
        self._http = QuietServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        for kind, some in (objects or {}).items():
            for obj in some:
                self.put(kind, obj)
        self.forget()

    def __enter__(self) -> LivingServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.down = True
        self.cut()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    # --- what happens in the cluster

    def put(self, kind: str, obj: dict[str, Any]) -> None:
        """An object comes or changes."""
        with self._news:
            self.version += 1
            metadata = {**obj["metadata"], "resourceVersion": str(self.version)}
            key = kind, _key(metadata)
            type_ = "MODIFIED" if key in self._objects else "ADDED"
            self._objects[key] = {**obj, "metadata": metadata}
            self._tell(kind_named(kind), type_, self._objects[key])

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        """An object goes."""
        with self._news:
            self.version += 1
            obj = self._objects.pop((kind, _key({"name": name, "namespace": namespace})))
            obj["metadata"]["resourceVersion"] = str(self.version)
            self._tell(kind_named(kind), "DELETED", obj)

    def _tell(self, kind: Kind, type_: str, obj: dict[str, Any]) -> None:
        whole = {"kind": kind.kind, "apiVersion": kind.api_version(), **obj}
        text = json.dumps({"type": type_, "object": whole}).encode() + b"\n"
        self._told.setdefault(kind.name, []).append((self.version, text))
        self._news.notify_all()

    def cut(self) -> None:
        """All watches break off."""
        with self._news:
            self._cuts += 1
            self._news.notify_all()

    def forget(self) -> None:
        """What happened so far is told to nobody any more."""
        with self._news:
            self._forgotten |= {kind: told[-1][0] for kind, told in self._told.items()}
            self._told.clear()
            self._news.notify_all()

    # --- what it answers

    def kubeconfig(self, directory: Path) -> str:
        """A kubeconfig that leads here."""
        config = {
            "current-context": "living",
            "contexts": [{"name": "living", "context": {"cluster": "living", "user": "u"}}],
            "clusters": [{"name": "living", "cluster": {"server": f"http://127.0.0.1:{self._http.server_port}"}}],
            "users": [{"name": "u", "user": {"token": "correct-horse-battery"}}],
        }
        path = directory / "living.json"
        path.write_text(json.dumps(config))
        return str(path)

    def _list(self, kind: Kind) -> dict[str, Any]:
        with self._news:
            items = [obj for key, obj in sorted(self._objects.items()) if key[0] == kind.name]
            return {"kind": f"{kind.kind}List", "metadata": {"resourceVersion": str(self.version)}, "items": items}

    def _news_of(self, kind: Kind, since: int) -> Iterator[bytes]:
        """What a watch tells, until it breaks off."""
        cuts = self._cuts

        def rest() -> list[tuple[int, bytes]]:
            told = self._told.get(kind.name, [])
            return told[bisect_right(told, since, key=lambda event: event[0]) :]

        def ends() -> bool:
            return self._cuts > cuts or since < self._forgotten.get(kind.name, 0)

        while True:
            with self._news:
                self._news.wait_for(lambda: ends() or rest())
                news = rest()
                if self._cuts > cuts:
                    return
                if ends():
                    yield json.dumps({"type": "ERROR", "object": {"code": 410, "message": "too old"}}).encode() + b"\n"
                    return
                since = news[-1][0]
            yield b"".join(text for _, text in news)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(QuietHandler):
            def do_GET(self) -> None:
                url = urlsplit(self.path)
                kind, asked = _KINDS.get(url.path), parse_qs(url.query)
                if server.down:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                elif kind is not None and "watch" in asked:
                    self._watch(kind, int(asked["resourceVersion"][0]))
                elif kind is not None:
                    self._send(200, server._list(kind))
                elif url.path == "/version":
                    self._send(200, {"gitVersion": "v1.36.0", "major": "1", "minor": "36"})
                elif url.path == "/apis":
                    self._send(200, {"groups": _groups()})
                else:
                    self._send(404, {"kind": "Status", "code": 404, "message": "not found"})

            def _send(self, status: int, body: Any) -> None:
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _watch(self, kind: Kind, since: int) -> None:
                self.close_connection = True
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for text in server._news_of(kind, since):
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(text), text))
                self.wfile.write(b"0\r\n\r\n")

        return Handler


def _key(metadata: Mapping[str, str]) -> str:
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]


def _groups() -> list[dict[str, Any]]:
    versions = {kind.group: kind.versions[0] for kind in _KINDS.values() if kind.group}
    return [{"name": group, "versions": [{"version": version}]} for group, version in versions.items()]
