"""A scheduler extender in a few lines: it closes zones, and prefers one.

    python samples/extender/extender.py 8888 --closed eu-west-1a --preferred eu-west-1c &
    kwhatif place samples/manifests/web.yaml --snapshot samples/cluster \\
        --policy samples/policies/extender.yaml --call-extenders

It needs nothing from kwhatif; kube-scheduler would get the same answers.
"""

from __future__ import annotations

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ZONE = "topology.kubernetes.io/zone"


def zone_of(node):
    return node["metadata"].get("labels", {}).get(ZONE)


class Handler(BaseHTTPRequestHandler):
    closed, preferred = (), ""

    def filter(self, args):
        """Which nodes may the pod use, and why not the others?"""
        nodes = args["Nodes"]["items"]
        failed = {n["metadata"]["name"]: "node(s) were in a closed zone" for n in nodes if zone_of(n) in self.closed}
        left = [node for node in nodes if node["metadata"]["name"] not in failed]
        return {"Nodes": {"items": left}, "FailedAndUnresolvableNodes": failed}

    def prioritize(self, args):
        """From 0 to 10 for every node."""
        nodes = args["Nodes"]["items"]
        return [{"Host": n["metadata"]["name"], "Score": 10 * (zone_of(n) == self.preferred)} for n in nodes]

    def do_POST(self):
        asked = {"/zones/filter": self.filter, "/zones/prioritize": self.prioritize}.get(self.path)
        args = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200 if asked else 404)
        self.end_headers()
        if asked:
            self.wfile.write(json.dumps(asked(args)).encode())

    def log_message(self, *args):
        pass


def server(port, closed=(), preferred=""):
    handler = type("Zones", (Handler,), {"closed": closed, "preferred": preferred})
    return ThreadingHTTPServer(("127.0.0.1", port), handler)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("port", type=int)
    parser.add_argument("--closed", action="append", default=[], metavar="ZONE")
    parser.add_argument("--preferred", default="", metavar="ZONE")
    given = parser.parse_args()
    server(given.port, given.closed, given.preferred).serve_forever()
