"""Hold what `kwhatif expand` prints against a real API server's answers: the cases of the judge, through the command.

    python -m tests.admission.verdicts.through_command CASES.jsonl.gz

A case agrees as a whole where as many requests are refused, with these codes, reasons and messages, and with these
warnings.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.admission.verdicts.judge import load, plain
from tests.cli.running import run

Json = dict[str, Any]


def ask_command(found: Json, case: Json, folder: Path) -> Json:
    """What ``kwhatif expand`` prints of a case; of input that it does not take, what it complains of."""
    cluster = {"apiVersion": "v1", "kind": "List", "items": [*found["global"], *found["nodes"], *case["context"]]}
    (folder / "cluster.json").write_text(json.dumps(cluster))
    files = []
    for number, operation in enumerate(case["operations"]):
        suffix = "yaml" if "yaml" in operation.get("contentType", "") else "json"
        files.append(folder / f"op-{number:02d}.{suffix}")
        files[-1].write_text(operation["text"] if "text" in operation else json.dumps(operation["object"]))
    options = ("-n", case["namespace"], "--verb", case["operations"][-1]["verb"], "-o", "json")
    ran = run("expand", *map(str, files), "--snapshot", str(folder / "cluster.json"), *options)
    if ran.code == 2:
        return {} if "no pods in here" in ran.err else {"complaint": ran.err}
    answer: Json = json.loads(ran.out)
    return answer


def differences(found: Json, case: Json) -> dict[str, str]:
    """What does not agree, by aspect."""
    with tempfile.TemporaryDirectory() as folder:
        answer = ask_command(found, case, Path(folder))
    wrong: dict[str, str] = {}
    refused = [response for response in case["responses"] if response["code"] >= 400]
    if "complaint" in answer:
        if not refused:
            wrong["verdict"] = f"recorded as accepted, got {answer['complaint']}"
        return wrong
    ours = answer.get("refusals", [])
    if len(ours) != len(refused):
        wrong["verdict"] = f"recorded {len(refused)} refused, got {len(ours)}"
    elif not case.get("varies") and not any("text" in operation for operation in case["operations"]):
        told = sorted((one["code"], one.get("reason", ""), plain(one["message"])) for one in ours)
        recorded = sorted((one["code"], one.get("reason") or "", plain(one["message"])) for one in refused)
        if told != recorded:
            wrong["message"] = f"recorded {recorded}, got {told}"
    warnings = {text for response in case["responses"] for text in response.get("warnings") or ()}
    printed = {warning["text"] for warning in answer.get("warnings", ())}
    if warnings != printed and not case.get("varies"):
        wrong["warnings"] = f"recorded {sorted(warnings)}, got {sorted(printed)}"
    return wrong


def main() -> int:
    found, cases = load(sys.argv[1])
    totals = Counter(case["group"] for case in cases)
    agree: Counter[str] = Counter()
    for case in cases:
        wrong = differences(found, case)
        agree[case["group"]] += not wrong
        for aspect, text in wrong.items():
            print(f"{case['namespace']} {case['group']}, {case['template']}: {aspect}: {text[:300]}")
    for group, number in sorted(totals.items()):
        print(f"{group:<20} {agree[group]:>4} of {number}")
    print(f"{'in all':<20} {sum(agree.values()):>4} of {len(cases)}")
    return 0 if sum(agree.values()) == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
