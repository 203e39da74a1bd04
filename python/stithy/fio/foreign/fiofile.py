"""A job file of fio: a section is a stream, and `stonewall` begins a new pattern.

Source: fio's HOWTO, version 3.33.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stithy.fio.engines import submission_of
from stithy.fio.foreign.lines import Reader, Word, block_size, different, percent
from stithy.fio.profile import Pattern, Profile, Stream

GLOBAL = "global"
SAME = {"readwrite": "rw", "blocksize": "bs"}
MODES = {
    "read": (1.0, False), "write": (0.0, False), "rw": (None, False), "readwrite": (None, False),
    "randread": (1.0, True), "randwrite": (0.0, True), "randrw": (None, True),
}  # fmt: skip
READ = frozenset({
    "rw", "bs", "bssplit", "rwmixread", "rwmixwrite", "iodepth", "numjobs", "percentage_random",
    "offset", "size", "io_size", "fsync", "fdatasync", "sync", "random_distribution", "direct",
    "buffer_compress_percentage", "dedupe_percentage", "stonewall", "wait_for_previous", "ioengine",
})  # fmt: skip
OF_THE_STUDY = frozenset({
    "name", "description", "filename", "directory", "filesize", "runtime", "timeout",
    "time_based", "ramp_time", "loops", "group_reporting", "new_group", "thread",
    "randseed", "randrepeat", "allrandrepeat", "random_generator", "norandommap", "refill_buffers",
    "scramble_buffers", "invalidate", "fallocate", "create_on_open", "overwrite", "unlink",
    "lat_percentiles", "clat_percentiles", "percentile_list", "disable_lat", "gtod_reduce",
    "write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "log_avg_msec",
    "log_hist_msec", "log_unix_epoch", "exitall", "exitall_on_error", "continue_on_error",
    "userspace_reap",
    "buffer_compress_chunk", "dedupe_mode", "dedupe_working_set_percentage", "end_fsync",
    "allow_mounted_write", "allow_file_create", "cpus_allowed", "numa_cpu_nodes",
})  # fmt: skip
"""A study decides it, or it does not change what storage is asked for."""

ON = ("", "1", "true")
USUAL_ENGINE = "psync"


@dataclass
class _Section:
    name: str
    line: int
    words: dict[str, Word] = field(default_factory=dict)


def translate(text: str, name: str, reader: Reader) -> Profile | None:
    """The profile; None where there is no job."""
    sections = list(_sections(text, reader))
    jobs = [each for each in sections if each.name != GLOBAL]
    if not jobs:
        return None
    names = different(each.name for each in jobs)
    patterns: list[list[tuple[str, _Section]]] = []
    for called, job in zip(names, jobs, strict=True):
        if not patterns or any(
            key in job.words and job.words[key].text in ON
            for key in ("stonewall", "wait_for_previous")
        ):
            patterns.append([])
        patterns[-1].append((called, job))
    made = [_pattern(each, reader) for each in patterns]
    if reader.problems:
        return None
    if len(made) == 1 and made[0] is not None:
        made = [made[0].model_copy(update={"name": different([name])[0]})]
    title = f"Job file {name}.fio"
    return Profile(name=different([name])[0], title=title, patterns=tuple(filter(None, made)))


def _sections(text: str, reader: Reader) -> Iterator[_Section]:
    """Each section, a job with the words of all `global` sections before it."""
    common: dict[str, Word] = {}
    now: _Section | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split(" ;")[0].split(" #")[0].strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            if now is not None:
                yield now
            called = line[1:-1].strip()
            now = _Section(called, number, common if called == GLOBAL else dict(common))
        elif now is None:
            reader.refuse(number, f"{line!r} stands before any section", "put it into [global]")
        else:
            _enter(now, line, number, reader)
    if now is not None:
        yield now


def _enter(section: _Section, line: str, number: int, reader: Reader) -> None:
    key, _, value = (each.strip() for each in line.partition("="))
    word = Word(value, number, key)
    key = SAME.get(key, key)
    if key in READ:
        section.words[key] = word
        reader.note(word, "used")
    elif key in OF_THE_STUDY:
        reader.note(word, "study")
    else:
        remedy = "leave it out, if the load may be without it; a rate is given in the study"
        reader.refuse(number, f"an option that no profile has: {key}", remedy)


def _pattern(jobs: list[tuple[str, _Section]], reader: Reader) -> Pattern | None:
    streams = [_stream(name, each, reader) for name, each in jobs]
    shares = {
        key: _same(word, jobs, reader)
        for key, word in (
            ("compressible_share", "buffer_compress_percentage"),
            ("duplicate_share", "dedupe_percentage"),
        )
    }
    name, first = jobs[0]
    known = [each.model_dump(exclude_unset=True) for each in streams if each]
    if len(known) < len(jobs):
        return None
    return reader.model(Pattern, first.line, {"name": name, "streams": known, **shares})


def _same(key: str, jobs: list[tuple[str, _Section]], reader: Reader) -> float:
    """A share of the data, which is that of all streams of a pattern."""
    values = [reader.value(job.words.get(key), percent, 0.0) for _, job in jobs]
    if len(set(values)) > 1:
        line = next(job.words[key].line for _, job in jobs if key in job.words)
        reader.refuse(line, f"{key} differs among jobs that run together", "give all of them one")
    return values[0]


def _stream(name: str, job: _Section, reader: Reader) -> Stream | None:
    words = job.words
    mode = words.get("rw", Word("read", job.line))
    if mode.text not in MODES:
        remedy = f"one of {', '.join(MODES)}"
        reader.refuse(mode.line, f"a mode that no profile has: {mode.text}", remedy)
        return None
    if words.get("direct", Word("1", 0)).text not in ON:
        reader.refuse(words["direct"].line, "buffered I/O is not storage's", "use direct=1")
    share, is_random = MODES[mode.text]
    reads = _reads(words, reader) if share is None else share
    at_random = reader.value(words.get("percentage_random"), percent, 1.0)
    values: dict[str, Any] = {
        "name": name,
        "read_share": reads,
        "random_share": at_random if is_random else 0.0,
        "jobs": reader.value(words.get("numjobs"), int, 1),
        **_submission(words, reader),
        **_sync(words, reader),
        "region": _region(words, reader),
        "hot_spots": _hot_spots(words, reader),
    }  # fmt: skip
    for direction, place in (("read", 0), ("write", 1)):
        if (reads > 0) if direction == "read" else (reads < 1):
            values[f"{direction}_sizes"] = _sizes(words, place, reader)
    return reader.model(Stream, job.line, values)


def _submission(words: Mapping[str, Word], reader: Reader) -> dict[str, Any]:
    """The engine, psync where none is named; a synchronous one has no depth, whatever is asked."""
    named = words.get("ioengine")
    engine = named.text if named else USUAL_ENGINE
    submission = reader.value(named, submission_of, "sync")
    asked, depth = words.get("iodepth"), 1
    if submission == "async":
        depth = reader.value(asked, int, 1)
    elif asked:
        reader.note(asked, "none", f"{engine} has one request outstanding")
    return {"engine": engine, "submission": submission, "iodepth": depth}


def _reads(words: Mapping[str, Word], reader: Reader) -> float:
    if "rwmixwrite" in words:
        return round(1 - reader.value(words["rwmixwrite"], percent, 0.5), 9)
    return reader.value(words.get("rwmixread"), percent, 0.5)


def _sizes(words: Mapping[str, Word], place: int, reader: Reader) -> dict[str, float]:
    """Of reads (place 0) or of writes: one value stands for both."""

    def of(text: str) -> str:
        parts = text.split(",")
        return parts[place] if len(parts) > place and parts[place] else parts[0]

    if (split := words.get("bssplit")) is not None:
        return reader.value(split, lambda text: _split(of(text)), {"4K": 1.0})
    return reader.value(words.get("bs"), lambda text: {block_size(of(text)): 1.0}, {"4K": 1.0})


def _split(text: str) -> dict[str, float]:
    """Sizes of `4k/60:8k/40`; entries without a share divide what remains. Raises TextError."""
    parts = [each.partition("/") for each in text.split(":")]
    given = [percent(share) if share else None for _, _, share in parts]
    open_count = given.count(None)
    rest = max(0.0, 1 - sum(each for each in given if each is not None))
    return {
        block_size(size): rest / open_count if share is None else share
        for (size, _, _), share in zip(parts, given, strict=True)
    }


def _sync(words: Mapping[str, Word], reader: Reader) -> dict[str, Any]:
    for key in ("fdatasync", "fsync"):
        if (word := words.get(key)) and word.text != "0":
            return {"sync": "fdatasync", "flushed_every": reader.value(word, int, 1)}
    word = words.get("sync")
    return {"sync": "none" if word is None or word.text in ("0", "none") else "dsync"}


def _region(words: Mapping[str, Word], reader: Reader) -> dict[str, float]:
    """Of shares; of bytes the study decides."""
    offset, size = words.get("offset"), words.get("size") or words.get("io_size")
    begin = 0.0
    if offset and offset.text.endswith("%"):
        begin = reader.value(offset, percent, 0.0)
    elif offset and offset.text != "0":
        reader.refuse(
            offset.line, "an offset in bytes: targets differ in size", "give a percentage"
        )
    if size is None or not size.text.endswith("%"):
        return {"offset_share": begin, "size_share": round(1 - begin, 9)}
    return {"offset_share": begin, "size_share": reader.value(size, percent, 1.0)}


def _hot_spots(words: Mapping[str, Word], reader: Reader) -> list[dict[str, float]]:
    word = words.get("random_distribution")
    if word is None or word.text == "random":
        return []
    kind, _, zones = word.text.partition(":")
    if kind != "zoned" or "," in zones:
        problem = f"a distribution that no profile has: {word.text}"
        reader.refuse(word.line, problem, "use zoned, the same for reads and writes, or random")
        return []
    pairs = [each.partition("/") for each in zones.split(":")]
    return reader.value(
        word,
        lambda _: [{"access_share": percent(a), "space_share": percent(s)} for a, _, s in pairs],
        [],
    )
