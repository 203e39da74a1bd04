"""What a device can do in a second: its requests, its bytes, as many at once as it serves."""

from stithy.analysis.limits.rule import NEARLY_FULL, Answer, percent, unknown
from stithy.analysis.limits.sight import Sight

NAME = "device-rate"
LETTER = "B"
WORDS = "the IOPS or bandwidth of the storage"
SHORT = "device saturation"
HEADING = "Rate of the device"
TOLD = "{share} of what the drive's profile allows"
HOLDS_FROM = NEARLY_FULL
IS_STORAGE = True


def judge(sight: Sight) -> Answer | None:
    """The highest share of what the drive's profile allows; None where no device was seen.

    Of a device without a profile only that it is far from full can be told: one that is in use for
    less than four fifths of the time can do more. Much use alone does not make it full, as it may
    serve many requests at once.
    Source: the utilisation law.
    """
    if sight.drives:
        most = max(sight.drives, key=lambda each: each.share)
        told = f"{most.drive} reached {percent(most.share)} of its profile's {most.what}"
        return Answer(min(1.0, most.share), told)
    if sight.emulated:
        return unknown(sight.unseen.get("drive", "what the drives' profiles allow is not known"))
    used = [(each.used_share, each.name) for each in sight.devices if each.used_share is not None]
    if not used:
        return unknown(sight.unseen["block"]) if "block" in sight.unseen else None
    share, name = max(used)
    if share < HOLDS_FROM:
        return Answer(share, f"{name} was in use {percent(share)} of the time")
    return unknown(
        f"{name} was in use {percent(share)} of the time, and what it can do at most is not known"
    )
