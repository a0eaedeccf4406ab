"""Hold what `expand` makes of requests against what a real API server answered, case by case.

    python -m tests.admission.verdicts.judge CASES.jsonl.gz [--group GROUP] [--template TEMPLATE] [--case NAMESPACE] ...

Each line is a case: what was there before (``context``), the requests (``operations``) and the recorded ``responses``.
Of those with ``pods`` the pods that controllers make count too; of others, dry runs, the object that would be stored.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import ApiResponse, RequestRefusal, StoredObject
from kwhatif.admission.server import ApiServer
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.objects import decode, read_documents
from kwhatif.workloads.controllers import makes_pods, reconcile

Json = dict[str, Any]

_LISTED = re.compile(r"(?:Invalid|Duplicate|Unsupported) value: (?=[{\[])")

UNMADE = ("Pod", "CronJob")

ASPECTS = ("verdict", "code and reason", "message", "causes", "warnings", "object", "pods", "failedCreate")


@dataclass
class Outcome:
    """What our server answered to the requests of a case, and what its controllers made of them."""

    answers: list[ApiResponse] = field(default_factory=list)
    pods: list[Json] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def load(path: str | Path) -> tuple[Json, list[Json]]:
    """What every case found, and the cases."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        first, *cases = (json.loads(line) for line in lines)
    return first, cases


def outcome(found: Json, case: Json) -> Outcome:
    """Send the requests of a case to a server that holds what the recorded one held."""
    world = ObjectStore([*found["global"], *found["nodes"], *case["context"]])
    for kind in KNOWN:
        world.cover(kind)
    server = ApiServer(world, alone=True)
    result = Outcome()
    for operation in case["operations"]:
        if "text" in operation and not readable(operation["text"]):
            result.answers.append(RequestRefusal(400, "BadRequest", "the text cannot be read"))
            continue
        answer = server.send(
            operation["verb"],
            operation.get("object")
            or decode(read_documents(Text("text", operation["text"].encode()))[0].value, dict[str, Any]),
            namespace=case["namespace"],
            path=operation.get("path"),
            path_namespace=operation.get("pathNamespace"),
            manager=operation.get("manager", "kubectl"),
        )
        result.answers.append(answer)
    # Controllers try again until nothing stands in their way any more. No time passes, so no cron job has a run.
    for answer in result.answers:
        if (
            isinstance(answer, StoredObject)
            and makes_pods(answer.object)
            and answer.object["kind"] not in ("Pod", "CronJob")
        ):
            made = reconcile(server, answer.object, found["nodes"], ready=False)
            result.failed += [failed.message for failed in made.refusals]
    result.pods = list(world.all("Pod", case["namespace"]))
    return result


def readable(text: str) -> bool:
    """Whether our reader of manifests, which stands in kubectl's place, takes a text."""
    try:
        return bool(read_documents(Text("text", text.encode()), strictly=True))
    except InputError:
        return False


KNOWN = (
    *("Namespace", "ServiceAccount", "PriorityClass", "RuntimeClass", "StorageClass", "LimitRange", "ResourceQuota"),
    *("Secret", "ConfigMap", "CustomResourceDefinition", "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"),
    *("ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"),
    *("MutatingWebhookConfiguration", "PersistentVolumeClaim", "DeviceClass", "Service", "Pod"),
)


def differences(found: Json, case: Json) -> dict[str, str]:
    """What does not agree, by aspect."""
    ours = outcome(found, case)
    wrong: dict[str, str] = {}
    for answer, response in zip(ours.answers, case["responses"], strict=True):
        _compare(answer, response, case, wrong)
    if "verdict" not in wrong and "pods" in case:
        told, meant = pods_of(ours.pods), pods_of(case["pods"])
        if told != meant:
            wrong["pods"] = f"recorded {meant}, got {told}"
        failed, recorded = set(map(event, ours.failed)), set(map(event, case.get("failedCreate") or ()))
        if failed != recorded:
            wrong["failedCreate"] = f"recorded {sorted(recorded)}, got {sorted(failed)}"
    return wrong


def _compare(answer: ApiResponse, response: Json, case: Json, wrong: dict[str, str]) -> None:
    refused = isinstance(answer, RequestRefusal)
    said = answer.message if isinstance(answer, RequestRefusal) else ""
    if refused != (response["code"] >= 300):
        wrong["verdict"] = f"recorded {response['code']} {response.get('message', '')}, got {said or 'accepted'}"
        return
    if set(answer.warnings) != set(response.get("warnings") or ()) and not case.get("varies"):
        wrong["warnings"] = f"recorded {response.get('warnings')}, got {list(answer.warnings)}"
    if isinstance(answer, StoredObject) and "pods" not in case and "object" in response:
        others = list(unlike(response["object"], {**answer.object, "status": None}))
        if others:
            wrong["object"] = "; ".join(others)
    if not isinstance(answer, RequestRefusal) or case.get("varies"):
        return
    if _found_by_discovery(case, response):
        return
    if (answer.code, answer.reason) != (response["code"], response.get("reason") or ""):
        recorded = f"{response['code']} {response.get('reason')}"
        wrong["code and reason"] = f"recorded {recorded}, got {answer.code} {answer.reason}"
    if plain(said) != plain(response["message"]):
        wrong["message"] = f"\n      recorded {response['message']}\n      got      {said}"
    ours = sorted(cause.field for cause in answer.causes)
    theirs = sorted(cause.get("field") or "" for cause in response.get("causes") or ())
    if theirs and ours != theirs:
        wrong["causes"] = f"recorded {theirs}, got {ours}"


_VOLATILE = ("$.metadata.uid", "$.metadata.resourceVersion", "$.metadata.generation", "$.metadata.creationTimestamp")


def unlike(recorded: Any, ours: Any, path: str = "$") -> Iterator[str]:
    """Where a stored object of ours holds what the recorded one does not. Ours may lack defaults that nothing reads."""
    if path in (*_VOLATILE, "$.metadata.managedFields") or ours in (None, "", [], {}):
        return
    if isinstance(recorded, dict) and isinstance(ours, dict):
        for key, value in ours.items():
            yield from unlike(recorded.get(key), value, f"{path}.{key}")
    elif isinstance(recorded, list) and isinstance(ours, list) and len(recorded) == len(ours):
        for i, (before, value) in enumerate(zip(recorded, ours, strict=True)):
            yield from unlike(before, value, f"{path}[{i}]")
    elif recorded != ours:
        yield f"{path}: recorded {json.dumps(recorded)}, got {json.dumps(ours)}"


def _found_by_discovery(case: Json, response: Json) -> bool:
    """What kubectl refuses itself, in its own words: kinds that are not served, and text that is no YAML."""
    texts = any("text" in operation for operation in case["operations"])
    return texts or (response["code"] == 404 and case["group"] in ("removed-apis", "crs"))


def plain(message: str) -> str:
    """A message without the parts that need not agree."""
    before, _, _ = message.partition("\n@@")
    told, rest = "", before
    while found := _LISTED.search(rest):
        told += f"{rest[: found.end()]}<...>"
        _, end = json.JSONDecoder().raw_decode(rest, found.end())
        rest = rest[end:]
    return (told + rest).strip()


def event(text: str) -> str:
    """An event without what is drawn at random."""
    text = text.removeprefix("(combined from similar events): ")
    return re.sub(r'pods "([\w.-]+?)-[\w<>-]+"', r'pods "\1-<random>"', text)


def pods_of(pods: Sequence[Json]) -> list[str]:
    """Pods as texts that agree where the pods agree in what is to be compared."""
    return sorted(json.dumps(list(_told(pod)), sort_keys=True) for pod in pods)


def _told(pod: Json) -> Iterator[Any]:
    # Recorded pods are told without their metadata's own name.
    metadata, spec = pod.get("metadata", pod), pod["spec"]
    owners = [(o["kind"], o["name"]) for o in metadata.get("ownerReferences", metadata.get("owners")) or ()]
    # The names of what controllers make in between hold a hash.
    yield [(kind, "" if kind in ("ReplicaSet", "Job") else name) for kind, name in owners]
    labels = metadata.get("labels") or {}
    yield {key: value for key, value in labels.items() if "hash" not in key and "uid" not in key}
    yield spec.get("nodeName") or ""
    yield [container.get("image") for container in spec.get("containers") or ()]
    yield spec.get("priority") or 0
    yield spec.get("nodeSelector") or {}
    yield spec.get("schedulerName") or ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases")
    for name in ("--group", "--template", "--case"):
        parser.add_argument(name)
    parser.add_argument("-v", "--verbose", action="store_true")
    given = parser.parse_args(arguments)
    found, cases = load(given.cases)
    wanted = [
        case
        for case in cases
        if given.group in (None, case["group"])
        and given.template in (None, case["template"])
        and given.case in (None, case["namespace"])
    ]
    totals: Counter[str] = Counter(case["group"] for case in wanted)
    wrong: dict[str, Counter[str]] = {group: Counter() for group in totals}
    for case in wanted:
        found_wrong = differences(found, case)
        wrong[case["group"]].update(list(found_wrong))
        wrong[case["group"]]["any"] += bool(found_wrong)
        if given.verbose and found_wrong:
            print(f"{case['namespace']} {case['group']}, {case['template']}: {case['name']}")
            for aspect, text in found_wrong.items():
                print(f"   {aspect}: {text}")
    width = max(map(len, totals), default=0)
    print(f"{'GROUP':<{width}}  CASES  AGREE  WRONG: {', '.join(ASPECTS)}")
    for group, number in sorted(totals.items()):
        counts = wrong[group]
        row = ", ".join(str(counts[aspect]) for aspect in ASPECTS)
        print(f"{group:<{width}}  {number:>5}  {number - counts['any']:>5}  {row}")
    print(
        f"{'in all':<{width}}  {len(wanted):>5}  {len(wanted) - sum(c['any'] for c in wrong.values()):>5}  "
        f"verdicts wrong: {sum(c['verdict'] for c in wrong.values())}"
    )
    return 1 if any(counts["any"] for counts in wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
