"""Do Grafana's own types hold every key of the dashboard? `grafana.py DIRECTORY…`.

Each directory holds a version of grafana-foundation-sdk, whose types are made of Grafana's schema
(`pip install --no-deps --target DIRECTORY 'grafana-foundation-sdk==1769699796!10.4.0'`). They read
the dashboard and write it again; what a type does not know is lost on the way, and named.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kept import TARGET_MISSED

DASHBOARD = Path(__file__).resolve().parents[1] / "docs/grafana/stithy.json"
AGAIN = """
import json, sys
from grafana_foundation_sdk.cog import encoder, plugins
from grafana_foundation_sdk.models import dashboard
plugins.register_default_plugins()
print(encoder.JSONEncoder().encode(dashboard.Dashboard.from_json(json.load(sys.stdin))))
"""
UNTYPED = {"definition"}
"""What Grafana writes into a query variable that its schema leaves out."""


def main(words: Sequence[str]) -> int:
    """Show what each version loses; 99 where one does."""
    text, lost = DASHBOARD.read_text(), 0
    for directory in words:
        again = subprocess.run(
            [sys.executable, "-c", AGAIN], input=text, check=True, capture_output=True, text=True,
            env={"PYTHONPATH": directory},
        ).stdout  # fmt: skip
        found = list(list_lost(json.loads(text), json.loads(again), ""))
        print(f"{directory}: {len(found)} keys lost or changed", *found, sep="\n  ")
        lost += len(found)
    return TARGET_MISSED if lost else 0


def list_lost(before: Any, after: Any, path: str) -> Iterator[str]:
    """List where what was written again differs from what was read."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key in after or key not in UNTYPED:
                yield from list_lost(value, after.get(key), f"{path}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (value, other) in enumerate(zip(before, after, strict=True)):
            yield from list_lost(value, other, f"{path}/{number}")
    elif before != after:
        yield path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
