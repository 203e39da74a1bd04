"""The same drive, all of whose times are so many times as long: what any machine can deliver.

Rates fall as times grow, so that nothing else of a drive changes.
"""

import json
import re

TIME = re.compile(r"^(\w+_(?:us|ms)) = (.+)$")
RATE = re.compile(r"^(\w*(?:bytes_per_s|iops)|rpm|zones) = (.+)$")
CACHE = re.compile(r"^size_bytes = .+$", re.MULTILINE)


def slower(profile: str, factor: float, cache_bytes: int) -> str:
    """The text of a profile; a write cache is no larger than so many bytes, so that it fills soon.

    `profile` must give its times on one line each.
    """
    assert "load_us" not in profile
    lines = (_line(each, factor) for each in profile.splitlines())
    return CACHE.sub(f"size_bytes = {cache_bytes}", "\n".join(lines) + "\n")


def _line(line: str, factor: float) -> str:
    if match := TIME.match(line):
        return f"{match[1]} = {_times(match[2], factor)}"
    if match := RATE.match(line):
        return f"{match[1]} = {_times(match[2], 1 / factor)}"
    return line


def _times(text: str, factor: float) -> str:
    value = json.loads(text.replace("_", ""))
    if isinstance(value, list):  # pairs of a share and its time or rate
        return json.dumps([[share, each * factor] for share, each in value])
    return json.dumps(value * factor)
