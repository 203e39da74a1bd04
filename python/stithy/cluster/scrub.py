"""Deep scrubs of a laboratory cluster: every copy is read, and compared with checksum and others.

A cluster without a manager has no command for it. OSDs are told that the last scrub of each
placement group is long ago; each of them then begins one a second.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from stithy.clock import SystemClock
from stithy.cluster.daemons import PG_HISTORY, PRIMARY, try_ask
from stithy.cluster.layout import CONF, ClusterEntry, call, find_program
from stithy.errors import InfrastructureError

PATIENCE_S, AGAIN_S = 600.0, 20.0
"""Own; after the last one what was not scrubbed is asked for again: its OSD may have changed."""

EAGER = {"osd_scrub_backoff_ratio": "0", "osd_max_scrubs": "8", "osd_scrub_load_threshold": "1000"}
"""Else a busy machine would not scrub, and each OSD would skip two seconds of three."""

REPAIRING = {"osd_scrub_auto_repair_num_errors": "1000000"}


@dataclass(frozen=True)
class ScrubResult:
    """What a deep scrub found.

    `inconsistent`: objects of which a copy or shard is wrong, each with what is wrong. `repaired`:
    how many were given a right one.
    """

    inconsistent: tuple[str, ...]
    repaired: int = 0

    def describe(self) -> str:
        """Say how many objects are wrong, and the first of them."""
        if not self.inconsistent:
            return "no copy is wrong"
        named = "; ".join(self.inconsistent[:3])
        return f"inconsistent objects: {len(self.inconsistent):,}, such as {named}"


def scrub_deeply(
    folder: Path, entry: ClusterEntry, pause: Callable[[], None], *, repairs: bool = False
) -> ScrubResult:
    """Read all copies of all objects; `repairs`: replace wrong ones by right ones.

    All placement groups must be clean. Raises InfrastructureError where it does not come to an end.
    """
    settings = EAGER | REPAIRING | {"osd_scrub_auto_repair": str(repairs).lower()}
    for osd, _ in entry.osds:
        for name, value in settings.items():
            try_ask(folder, f"osd.{osd}", "config set", var=name, val=[value])
    clock = SystemClock()
    began, began_s = datetime.fromtimestamp(clock.now_s(), UTC).isoformat(), clock.monotonic_s()
    before = sum(of.repaired for of in _list_groups(folder, entry))
    asked_s = -AGAIN_S
    while True:
        groups = list(_list_groups(folder, entry))
        left = [of for of in groups if of.scrubbed_at < began]
        if not left and len(groups) == entry.groups:
            break
        now_s = clock.monotonic_s() - began_s
        if now_s > PATIENCE_S:
            raise InfrastructureError(
                f"{len(left)} of {entry.groups} placement groups were not scrubbed within "
                f"{PATIENCE_S:g} s", where="cluster",
                remedy=f"look into the logs in {folder}; free CPU and memory, and try again",
            )  # fmt: skip
        if now_s - asked_s >= AGAIN_S:
            asked_s = now_s
            for of in left:
                for word in ("scrub", "deep_scrub"):
                    try_ask(folder, of.osd, word, pgid=of.group)
        pause()
    wrong = (of for of in groups if of.errors)
    objects = tuple(text for of in wrong for text in _list_inconsistent(folder, of))
    return ScrubResult(objects, sum(of.repaired for of in groups) - before)


@dataclass(frozen=True)
class _ScrubbedGroup:
    """A placement group as the OSD that leads it says."""

    osd: str
    group: str
    scrubbed_at: str
    errors: int
    repaired: int


def _list_groups(folder: Path, entry: ClusterEntry) -> Iterator[_ScrubbedGroup]:
    for osd, _ in entry.osds:
        name = f"osd.{osd}"
        for led in (try_ask(folder, name, PG_HISTORY) or {}).get("pgs", ()):
            if not str(led.get("currently")).startswith(PRIMARY):
                continue
            if (info := (try_ask(folder, name, "query", pgid=led["pg"]) or {}).get("info")) is None:
                continue
            counted = info["stats"]["stat_sum"]
            stamp = info["history"]["last_deep_scrub_stamp"]
            errors, repaired = counted["num_scrub_errors"], counted["num_objects_repaired"]
            yield _ScrubbedGroup(name, led["pg"], stamp, errors, repaired)


def _list_inconsistent(folder: Path, of: _ScrubbedGroup) -> Iterator[str]:
    """Say of each object of a group that has a wrong copy what is wrong, on which OSD."""
    words = ["-c", CONF, "list-inconsistent-obj", of.group, "--format", "json"]
    for found in json.loads(call([find_program("rados"), *words], folder))["inconsistents"]:
        wrong = [f"{', '.join(shard['errors'])} on osd.{shard['osd']}"
                 for shard in found["shards"] if shard["errors"]]  # fmt: skip
        yield f"{found['object']['name']} ({', '.join([*found['errors'], *wrong])})"
