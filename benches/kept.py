"""What every bench shares: how it ends, and where its raw numbers are kept."""

import json
import os
import platform
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
TARGET_MISSED = 99
NOT_VALID = 5


def keep(kind: str, facts: Mapping[str, object], raw: Mapping[str, object]) -> None:
    """Everything that was measured, as JSON, with what it was measured on."""
    now = time.strftime("%Y-%m-%dT%H%M%SZ", time.gmtime())
    everything = {"schema": 3, "bench": kind, "facts": {"at": now, **_machine(), **facts}, **raw}
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{now}-{kind}.json"
    path.write_text(json.dumps(everything, indent=1, default=_plain) + "\n")
    print(f"raw numbers: benches/results/{path.name}")


def _machine() -> dict[str, object]:
    return {
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "kernel": platform.release(),
    }


def _cpu_model() -> str | None:
    """The CPU's name; None where the kernel does not tell it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return None


def _plain(value: object) -> object:
    """Dataclasses and pydantic models as plain JSON."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if dump else asdict(value)  # type: ignore[call-overload]  # or it raises
