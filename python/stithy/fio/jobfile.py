"""Job files of fio: of a pattern, of what fills a target, of what reads it back, of a purge."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stithy.errors import UserError
from stithy.fio.load import PLAIN, Data, Load, Target
from stithy.fio.profile import KIB, MIB, Pattern
from stithy.fio.streamjob import RenderedStream, Words, check_words, sections

DUPLICATES_FROM_PERCENT = 5
"""Assumed: the share of the place from which duplicates are taken."""

FILL_BYTES = MIB
DUPLICATES_BYTES = 128 * KIB
"""Whole requests are duplicates: of fewer and larger ones the share would be more chance."""

FILL_DEPTH = 8
TRIAL_BYTES = 64 * KIB
PURGE_BYTES = 64 * MIB


@dataclass(frozen=True)
class JobFile:
    """A job file, what it will do, and the logs that it replays, by their names."""

    text: str
    streams: tuple[RenderedStream, ...]
    logs: Mapping[str, str] = field(default_factory=dict)


def job_file(pattern: Pattern, target: Target, load: Load) -> JobFile:
    """One worker's job file. Raises UserError for what cannot be run there or in that way."""
    if pattern.trace is not None:
        from stithy.fio.replay import replayed

        found = replayed(pattern, target, load)
        common = _write_common(pattern, target, load)
        # What is replayed ends with its log, or its time.
        del common["time_based"]
        common["replay_redirect"] = target.link or target.path
        return JobFile(job_text(common, found.sections), (found.stream,), found.logs)
    if (rate_per_s := load.rate_per_s) is not None:
        is_possible = 0 < rate_per_s < math.inf
        if why := why_no_rate(pattern) or (None if is_possible else "it cannot be kept"):
            problem = f"a rate of {rate_per_s:g}/s cannot be asked: {why}"
            remedy = "run it without a rate, or give each stream a weight in a profile of your own"
            raise UserError(problem, where=f"pattern {pattern.name}", remedy=remedy)
    rendered = [sections(pattern, each, target, load) for each in pattern.streams]
    made = {name: words for _, each in rendered for name, words in each.items()}
    text = job_text(_write_common(pattern, target, load), made)
    return JobFile(text, tuple(stream for stream, _ in rendered))


def fill_file(
    target: Target,
    *,
    seed: int,
    engine: str,
    data: Data = PLAIN,
    verify: bool = False,
    block_bytes: int = FILL_BYTES,
) -> str:
    """Writes all of a target once, from its beginning to its end.

    Duplicates are those of a part of the place, so they do not lie beside each other.
    """
    words = base_words(target, seed) | {"ioengine": engine, "rw": "write", "iodepth": FILL_DEPTH}
    words |= data_words(data) | {"end_fsync": 1}
    if data.duplicate_share:
        from_percent = min(DUPLICATES_FROM_PERCENT, 100 - round(100 * data.duplicate_share))
        words |= {"dedupe_mode": "working_set", "dedupe_working_set_percentage": from_percent}
        block_bytes = min(block_bytes, DUPLICATES_BYTES)
    words |= check_words() if verify else {}
    return job_text(words, _write_all(target, "fill", block_bytes))


def read_back_file(target: Target, *, engine: str) -> str:
    """Reads all of a target and compares each block with its checksum and its own address.

    That finds what was damaged or misplaced. An older block is whole, too: `generations` finds it.
    All of the target must have been written with checksums.
    """
    words = base_words(target, 1) | {"ioengine": engine, "rw": "read", "iodepth": FILL_DEPTH}
    words |= check_words() | {"do_verify": 1, "verify_fatal": 1}
    return job_text(words, _write_all(target, "read-back", FILL_BYTES))


def trial_file(targets: Sequence[Target], *, engine: str) -> str:
    """Reads a little of each target, to see whether this engine can."""
    words = base_words(targets[0], 1) | {"ioengine": engine, "rw": "read", "iodepth": 1, "bs": 4096}
    places: dict[str, Words] = {
        f"trial-{number}": {
            "filename": _make_file_name(each),
            "offset": each.begin_bytes,
            "size": min(TRIAL_BYTES, each.size_bytes),
        }
        for number, each in enumerate(targets)
    }
    return job_text(words, places)


def purge_file(target: Target) -> str:
    """Discards all of a device, so that it takes no block for written."""
    words = base_words(target, 1) | {"ioengine": "psync", "rw": "trim", "iodepth": 1}
    return job_text(words, _write_all(target, "purge", PURGE_BYTES))


def _write_all(target: Target, name: str, block_bytes: int) -> dict[str, Words]:
    """Sections that cover all of a target in sequence: fio leaves out a block that is not whole."""
    rest = target.size_bytes % block_bytes
    whole: Words = {"offset": target.begin_bytes, "size": target.size_bytes - rest}
    sections = {name: whole | {"bs": block_bytes}} if target.size_bytes > rest else {}
    if rest:
        begin = target.begin_bytes + target.size_bytes - rest
        small = math.gcd(rest, block_bytes)
        last: Words = {"stonewall": 1, "offset": begin, "size": rest, "bs": small}
        sections[f"{name}-end"] = last
    return sections


def _write_common(pattern: Pattern, target: Target, load: Load) -> Words:
    """What holds for all streams."""
    words = base_words(target, load.seed) | {"time_based": 1, "norandommap": 1}
    if pattern.writes:
        own = Data(pattern.compressible_share, pattern.duplicate_share)
        words |= data_words(own if load.data is None else load.data)
    return words | {"log_unix_epoch": 1}


def base_words(target: Target, seed: int) -> Words:
    """What every job file has; a file that vanished is not made again."""
    return {
        "filename": _make_file_name(target),
        "direct": 1,
        # One process, so that ending it ends all.
        "thread": 1,
        "allow_file_create": 0,
        "allow_mounted_write": 0,
        "fallocate": "none",
        "invalidate": 0,
        "random_generator": "tausworthe64",
        # Without it, `randseed` leaves the first submitter of each section its places.
        "randrepeat": 0,
        "randseed": seed,
        "continue_on_error": "none",
        "exitall_on_error": 1,
        "lat_percentiles": 1,
    }


def data_words(data: Data) -> Words:
    """What written data are like; without shares no two blocks are alike, and none gets smaller.

    A duplicate repeats the request before it of the same submitter, so the share holds from the
    first request. fio's duplicates from a part of the place are hardly any while each of many
    submitters has written less than that part, which it keeps in memory.
    """
    words: Words = {"refill_buffers": 1}
    if data.compressible_share:
        words["buffer_compress_percentage"] = round(100 * data.compressible_share)
    if duplicates := round(100 * data.duplicate_share):
        words |= {"dedupe_percentage": duplicates, "dedupe_mode": "repeat"}
    return words


def job_text(common: Mapping[str, object], sections: Mapping[str, Mapping[str, object]]) -> str:
    """A job file of what all sections have, and each by itself."""
    parts = {"global": common, **sections}
    return "\n".join(
        "".join([f"[{name}]\n", *(f"{key}={value}\n" for key, value in words.items())])
        for name, words in parts.items()
    )


def _make_file_name(target: Target) -> str:
    """As a job file has it: a colon would separate two files."""
    return target.link or target.path.replace(":", r"\:")


def why_no_rate(pattern: Pattern) -> str | None:
    """Why a pattern cannot be run at a rate; None where it can."""
    if pattern.trace is not None:
        return "it is a trace, which has its own times"
    if not pattern.is_weighted:
        return "its streams have no weights"
    is_paced = any(stream.is_paced for stream in pattern.streams)
    return "it pauses, or has its own pace" if is_paced else None
