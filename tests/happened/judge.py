"""Hold what ``place`` says of changes against what became of them on a real control plane.

    python -m tests.happened.judge RECORDED.jsonl.gz...

A line of a recording is one change: the lists of all objects at rest ``before``, the manifest that was applied
(``change``) or the ``question`` that foretells the step, and the lists ``after``, at rest again. What counts is, by
workload, how many pods have a node and how many wait, how many are of which image, and which claims there are. Of a
change that came out otherwise it prints the gaps that said so: with "may", or by chance. Exit code 1 if a change came
out otherwise.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kwhatif

Json = dict[str, Any]


@dataclass
class Sums:
    """What there is at rest, by ``namespace/app``; ``claims`` by ``namespace/name``."""

    running: Counter[str] = field(default_factory=Counter)
    waiting: Counter[str] = field(default_factory=Counter)
    images: Counter[str] = field(default_factory=Counter)
    claims: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, pods: Iterable[Json], claims: Iterable[Json]) -> Sums:
        """The sums of these; pods that ended or that are going count no more."""
        found = cls()
        for pod in pods:
            if _is_gone(pod) or (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
                continue
            metadata = pod["metadata"]
            app = f"{metadata['namespace']}/{(metadata.get('labels') or {}).get('app', '')}"
            (found.running if pod["spec"].get("nodeName") else found.waiting)[app] += 1
            found.images[f"{app} {pod['spec']['containers'][0].get('image')}"] += 1
        found.claims.update(_key(claim) for claim in claims if not _is_gone(claim))
        return found

    def differences(self, happened: Sums) -> Iterator[str]:
        """What happened otherwise, in words."""
        for what, said, real in (
            ("with a node", self.running, happened.running),
            ("waiting", self.waiting, happened.waiting),
            ("of the image", self.images, happened.images),
            ("claims", self.claims, happened.claims),
        ):
            keys = sorted(key for key in {*said, *real} if said[key] != real[key])
            if keys:
                yield f"{what}: " + ", ".join(f"{key} {said[key]}, not {real[key]}" for key in keys)


def judge_change(recorded: Json) -> tuple[list[str], list[str]]:
    """How the cluster that the question leaves differs from what became of a change, nothing if it does not; and the
    gaps that leave open what becomes of it. A line that names no question has a manifest, which ``place`` places.
    """
    after = {listed["kind"]: listed["items"] for listed in recorded["after"]}
    question = recorded.get("question") or {"place": {"manifests": [recorded["change"]], "with_pending": True}}
    ((command, options),) = question.items()
    with tempfile.TemporaryDirectory() as scratch:
        before, written = Path(scratch) / "before", Path(scratch) / "after.json"
        before.mkdir()
        for listed in recorded["before"]:
            (before / f"{listed['kind']}.json").write_text(json.dumps(listed))
        answer = getattr(kwhatif, command)(
            **options, snapshot=before, kubernetes_version="1.36", write_snapshot=str(written)
        )
        said = json.loads(written.read_text())["objects"]
    ours = Sums.of(said.get("Pod", ()), said.get("PersistentVolumeClaim", ()))
    theirs = Sums.of(after["PodList"], after["PersistentVolumeClaimList"])
    doubts = [f"{gap.what}: {gap.effect}" for gap in answer.fidelity.touching if " may " in gap.effect]
    return list(ours.differences(theirs)), doubts


def _key(obj: Json) -> str:
    return f"{obj['metadata'].get('namespace') or 'default'}/{obj['metadata']['name']}"


def kind_of(recorded: Json) -> str:
    """The kind of what was applied, or the command that foretells the step."""
    return str(recorded["change"]["kind"]) if "change" in recorded else next(iter(recorded["question"]))


def _is_gone(obj: Json) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def main(paths: list[str]) -> int:
    """Judge all changes of some recordings; prints what differs, and how many came out as said."""
    good = open_ = number = 0
    for path in paths:
        with gzip.open(path, "rt") as lines:
            for line in lines:
                recorded = json.loads(line)
                wrong, doubts = judge_change(recorded)
                number, good, open_ = number + 1, good + (not wrong), open_ + bool(wrong and doubts)
                for text in wrong and (*wrong, *(f"left open: {doubt}" for doubt in doubts)):
                    print(f"{recorded['id']} {recorded['what']} {kind_of(recorded)}: {text}")
    more = f"; of {open_} more the answer left it open" if open_ else ""
    print(f"{good} of {number} changes came out as said{more}")
    return 0 if good == number else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
