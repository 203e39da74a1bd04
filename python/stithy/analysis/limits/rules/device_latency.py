"""The time that the storage takes for each request for data, while it could serve more of them."""

from stithy.analysis.limits.rule import HALF, Answer, percent, unknown
from stithy.analysis.limits.sight import Device, Sight

NAME = "device-latency"
LETTER = "D"
WORDS = "the latency of the storage"
SHORT = "storage latency"
HEADING = "Waits for data"
TOLD = "{share} of the users' time"
HOLDS_FROM = HALF
IS_STORAGE = True
YIELDS_TO = ("device-rate",)
"""Who queues for a device that does all it can waits for its rate, not for its answers."""


def judge(sight: Sight) -> Answer:
    """Sessions that wait for data files, of all users; at most what the device had under way.

    Where too few sessions were seen it is the reads under way on the device: sessions wait for
    each of their reads.
    Own: a session that waits for a read which is not on the device waits for a CPU or for memory.
    """
    part, device = sight.part("device"), _busiest(sight)
    if part is None:
        return _by_counters(sight, device)
    if device is not None and device.under_way is not None:
        part = min(part, device.under_way / sight.places)
    return Answer(part, f"waits for data files took {percent(part)} of the users' time")


def _by_counters(sight: Sight, device: Device | None) -> Answer:
    """What the kernel counted, where sessions tell nothing."""
    if device is None or device.reads_under_way is None:
        return unknown(sight.why_no_sessions)
    share = min(1.0, device.reads_under_way / sight.places)
    if sight.devices_used_share is not None:
        share = min(share, sight.devices_used_share)
    return Answer(share, f"reads of the device took {percent(share)} of the users' time")


def _busiest(sight: Sight) -> Device | None:
    """The device with most under way: stacked devices see the same requests."""
    known = [each for each in sight.devices if each.under_way is not None]
    return max(known, key=lambda each: each.under_way or 0.0) if known else None
