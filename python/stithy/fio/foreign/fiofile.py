"""A job file of fio: a section is a stream, and `stonewall` begins a new pattern.

What an option means, and what holds where it is not given, is fio's (HOWTO, options.c, init.c and
io_u.c of version 3.33). Each option is used, is the study's, has no effect, or is refused.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from stithy.errors import TextError
from stithy.fio.foreign.lines import Fate, Place, Reader, Word
from stithy.fio.foreign.showcmd import OPTIONS, JobSection, read_sections
from stithy.fio.profile import (
    SECTOR_BYTES,
    SYNC_ENGINE,
    IoProfile,
    Pattern,
    Stream,
    find_submission,
    round_ring_depth,
)
from stithy.names import tell_apart

T = TypeVar("T")
MODES = {
    "read": (1.0, False), "write": (0.0, False), "rw": (None, False), "readwrite": (None, False),
    "randread": (1.0, True), "randwrite": (0.0, True), "randrw": (None, True),
}  # fmt: skip
READ, PACING, DEPTH, DECIDED, IDLE = (
    OPTIONS[key].split() for key in ("read", "pacing", "depth", "decided", "idle")
)
NOT_ZERO = ("iodepth_batch", "iodepth_batch_complete_min")
UNUSED = {"iodepth": "a synchronous engine has one request outstanding"}
BUFFERED = "measured with direct I/O, where fio would measure the page cache"
BYTES = "bytes are another share of each target: write a percentage"
OPENED = {"0": "none", "none": "none", "1": "sync", "sync": "sync", "dsync": "dsync"}
NUMBER = re.compile(r"(0x[0-9a-f]+|\d+)(?![\d%])(?:([kmgtp])(ib|i|b)?)?", re.IGNORECASE)


def translate(text: str, name: str, reader: Reader) -> IoProfile | None:
    """The profile; None where there is no job. Raises PreconditionError where fio is missing."""
    sections = read_sections(text, reader)
    for option in (option for section in sections for option in section.options):
        if option.key in (*READ, *PACING, *DEPTH):
            reader.note(option, "none", UNUSED.get(option.key, "no job needs it"))
        elif option.key in DECIDED:
            reader.note(option, "study")
        elif option.key in IDLE or option.text in ("0", "none"):
            reader.note(option, "none")
        else:
            _refuse_option(reader, option, "no profile has it")
    jobs = _collect_jobs(sections, reader)
    patterns: list[list[_Job]] = []
    for job in jobs:
        if not patterns or job.is_on("stonewall"):
            patterns.append([])
        patterns[-1].append(job)
    made = [_translate_pattern(pattern) for pattern in patterns]
    if reader.problems or not jobs:
        return None
    (name_of_file,) = tell_apart([name])
    if len(made) == 1 and made[0] is not None:
        made = [made[0].model_copy(update={"name": name_of_file})]
    title = f"Job file {Path(reader.where).name}"
    return IoProfile(name=name_of_file, title=title, patterns=tuple(filter(None, made)))


def _refuse_option(reader: Reader, option: Word, problem: str) -> None:
    remedies = OPTIONS["refused"].items()
    remedy = next(remedy for begin, remedy in remedies if option.key.startswith(begin))
    reader.refuse(option.line, f"{option.key}={option.text}: {problem}", remedy)


@dataclass
class _Job:
    """A job, and the options that hold for it; `passed` are those that fio gets as they are.

    `span_bytes`: where the last of the jobs that run together ends; 0 where not all say it.
    """

    name: str
    line: Place
    options: Sequence[Word]
    reader: Reader
    passed: dict[str, str] = field(default_factory=dict)
    span_bytes: int = 0

    def find(self, *keys: str, place: int = 0) -> Word | None:
        """The last of these options that says anything of reads (place 0) or writes (1)."""
        known = (option for option in reversed(self.options) if option.key in keys)
        return next((each for each in known if _take_part(each, place) is not None), None)

    def get_text(self, key: str) -> str:
        """An option, though it may not be used; nothing where it is not given."""
        option = self.find(key)
        return option.text if option else ""

    def read_value(self, parse: Callable[[str], T], otherwise: T, *keys: str, place: int = 0) -> T:
        """What `parse` makes of an option, which is then used."""
        option = self.find(*keys, place=place)
        return self.reader.read_value(
            option,
            lambda _: parse(_take_part(option, place) or "") if option else otherwise,
            otherwise,
        )

    def is_on(self, key: str) -> bool:
        """Whether a switch is given, and not as 0."""
        return self.read_value(lambda text: text != "0", False, key)

    def read_saved_share(self, *keys: str) -> float:
        """What storage may save of its data, in percent but for the switch `zero_buffers`."""
        if "zero_buffers" in keys and self.is_on("zero_buffers"):
            return 1.0
        return self.read_value(_parse_share, 0.0, keys[-1])

    def read_target_share(self, key: str) -> float | None:
        """A share of the target, which bytes are of the span; None where it says none."""
        text = self.get_text(key)
        if text.endswith("%"):
            return self.read_value(lambda text: _parse_share(text.rstrip("%")), 0.0, key)
        if text.strip("0") and self.span_bytes:
            number = (
                _parse_number(text) if key == "size" else self.read_value(_parse_number, 0, key)
            )
            return number / self.span_bytes
        if text.strip("0") and key != "size":
            self.refuse(key, BYTES)
        return None

    def pass_on(self, *keys: str) -> None:
        """Hand options to fio as they are, as far as they say more than fio's default."""
        for key in keys:
            parts = [self.read_value(str, "", key, place=place) for place in (0, 1)]
            text = parts[0] if parts[0] == parts[1] else ",".join(parts)
            if text.strip("0,") or text and key in NOT_ZERO:
                self.passed[key] = text
        for base in ("rate", "thinktime", "flow"):
            if self.passed.keys().isdisjoint({base, f"{base}_iops"}):
                self.passed = {k: v for k, v in self.passed.items() if not k.startswith(base)}

    def refuse(self, key: str, problem: str) -> None:
        option = next(each for each in reversed(self.options) if each.key == key)
        _refuse_option(self.reader, option, problem)

    def note(self, words: str, fate: Fate, note: str) -> None:
        self.reader.note(Word("", self.line, words), fate, note)


def _collect_jobs(sections: Sequence[JobSection], reader: Reader) -> list[_Job]:
    """The jobs, each with all `global` options before it, with names that differ."""
    common: list[Word] = []
    jobs = []
    for section in sections:
        if section.name.startswith("global"):
            common += section.options
        else:
            names = [option.text for option in section.options if option.key == "name"]
            name = names[-1] if names else section.name
            jobs.append(_Job(name, section.line, [*common, *section.options], reader))
    for job, name in zip(jobs, tell_apart(job.name for job in jobs), strict=True):
        job.name = name
    return jobs


def _take_part(option: Word, place: int) -> str | None:
    """What it says of reads (0) or writes (1): one part stands for all; None of an empty one."""
    parts = re.split("[,:-]" if option.key == "bs" else ",", option.text)
    return parts[min(place, len(parts) - 1)] or (None if len(parts) > 1 else "")


def _parse_number(text: str) -> int:
    """A number as fio takes it: k and ki are 1024, kib is 1000, and what follows is nothing.

    Raises TextError.
    """
    if (match := NUMBER.match(text.lstrip())) is None:
        raise TextError(f"{text!r} is no plain number, which fio needs")
    base = 1000 if (match[3] or "").lower() == "ib" else 1024
    return int(match[1], 0) * int(base ** " kmgtp".index((match[2] or " ").lower()))


def _parse_count(text: str) -> int:
    if (number := _parse_number(text)) < 1:
        raise TextError(f"{text!r} is not from 1")
    return number


def _parse_share(text: str) -> float:
    """A share of whole percents, which fio misreads with their sign. Raises TextError."""
    if (percents := _parse_number(text)) > 100:
        raise TextError(f"{text!r} is more than all")
    return percents / 100


def _translate_pattern(jobs: Sequence[_Job]) -> Pattern | None:
    values: dict[str, Any] = {"name": jobs[0].name}
    writers = [job for job in jobs if job.get_text("rw") not in ("", "read", "randread")]
    for name, *keys in (
        ("compressible_share", "zero_buffers", "buffer_compress_percentage"),
        ("duplicate_share", "dedupe_percentage"),
    ):
        shares = [job.read_saved_share(*keys) for job in writers] or [0.0]
        values[name] = shares[0]
        if len(set(shares)) > 1:
            odd = next(filter(None, (job.find(*keys) for job in writers)))
            _refuse_option(jobs[0].reader, odd, "it differs among jobs that run together")
    span_bytes = _find_span(jobs)
    made = [list(_translate_job(replace(job, span_bytes=span_bytes))) for job in jobs]
    if not all(made):
        return None
    streams = [stream.model_dump(exclude_unset=True) for stream in _join_devices(jobs, made)]
    return jobs[0].reader.make_part(Pattern, jobs[0].line, values | {"streams": streams})


def _find_span(jobs: Sequence[_Job]) -> int:
    ends = []
    for job in jobs:
        texts = [job.get_text(key) or "0" for key in ("size", "offset", "offset_increment")]
        if not all(map(NUMBER.match, texts)) or not _parse_number(texts[0]):
            return 0
        size, offset, step = map(_parse_number, texts)
        ends.append(offset + (job.read_value(_parse_count, 1, "numjobs") - 1) * step + size)
    return max(ends)


def _join_devices(jobs: Sequence[_Job], made: Sequence[list[Stream]]) -> list[Stream]:
    """The streams of all jobs; of jobs that do the same on a device each, those of one."""
    places: dict[str, list[Stream]] = {}
    for job, streams in zip(jobs, made, strict=True):
        places.setdefault(job.get_text("filename") or "files of their own", []).extend(streams)
    loads = {str([each.model_dump(exclude={"name"}) for each in part]) for part in places.values()}
    is_same = len(places) > len(loads) == 1 and all(place.startswith("/dev/") for place in places)
    if len(places) > 1 or len(jobs) > 1 and not jobs[0].get_text("filename"):
        what = "as on one of them" if is_same else "all of them"
        jobs[0].note(", ".join(places), "study", f"{what}, on each of its `volumes`")
    kept = list(places.values())[: 1 if is_same else None]
    return [stream for streams in kept for stream in streams]


def _translate_job(job: _Job) -> Iterator[Stream]:
    """The stream of a job; one for each of its clones where they share places."""
    mode, _, step = job.read_value(str, "read", "rw").partition(":")
    if mode not in MODES or step:
        job.refuse("rw", "no profile has it")
        return
    reads, is_random = MODES[mode]
    if reads is None:
        mix = job.find("rwmixread", "rwmixwrite")
        share = job.reader.read_value(mix, _parse_share, 0.5)
        reads = round(1 - share, 9) if mix and mix.key == "rwmixwrite" else share
    if (direct := job.find("direct", "buffered")) is None:
        job.note("no direct", "study", BUFFERED)
    elif job.read_value(str, "", direct.key) == ("0" if direct.key == "direct" else "1"):
        job.refuse(direct.key, "buffered I/O measures the page cache")
    values = {
        "name": job.name, "read_share": reads, "jobs": job.read_value(_parse_count, 1, "numjobs"),
        **_translate_submission(job), **_translate_sync(job, reads), **_translate_sizes(job, reads),
        **_translate_places(job, reads, is_random=is_random), "options": job.passed,
    }  # fmt: skip
    begin, size = job.read_target_share("offset") or 0.0, job.read_target_share("size")
    step_share = _find_clone_step(job, is_sequential=not values["random_share"])
    clones = 1 if step_share is None else values["jobs"]
    # In fio's order, by which each draws its own places.
    for number in (0, *reversed(range(1, clones))):
        at = round(begin + number * (step_share or 0.0), 9)
        region = {"offset_share": at, "size_share": round(size or 1 - at, 9)}
        own = {"name": f"{job.name}-{number + 1}", "jobs": 1} if clones > 1 else {}
        if stream := job.reader.make_part(Stream, job.line, values | own | {"region": region}):
            yield stream


def _find_clone_step(job: _Job, *, is_sequential: bool) -> float | None:
    """By which share of the target each clone begins later; None where they divide its place.

    Clones of a job in sequence go side by side through a file that it names.
    """
    name, step = job.get_text("filename"), job.get_text("offset_increment")
    if is_sequential and (re.search(r"[^\\]:", name) or job.get_text("nrfiles") not in ("", "1")):
        several = "a job in sequence on several files"
        job.reader.refuse(job.line, several, OPTIONS["refused"][""])
    if step.strip("0%"):
        return job.read_target_share("offset_increment")
    return 0.0 if is_sequential and name else None


def _translate_submission(job: _Job) -> dict[str, Any]:
    engine = job.read_value(str, "", "ioengine") or SYNC_ENGINE
    if not job.get_text("ioengine"):
        job.note("no ioengine", "used", f"{engine}, which is fio's own")
    try:
        submission = find_submission(engine)
    except TextError as error:
        job.refuse("ioengine", str(error))
        return {"submission": "async", "iodepth": 1}
    job.pass_on(*PACING, *(DEPTH if submission == "async" else ()))
    if job.passed.keys() >= {"rate", "rate_iops"}:
        job.refuse("rate_iops", "fio does not take it beside a rate of bytes")
    depth = job.read_value(_parse_number, 1, "iodepth") if submission == "async" else 1
    if engine == "io_uring" and (kept := round_ring_depth(depth)) != depth:
        job.note(f"iodepth={depth}", "used", f"{kept} outstanding, as fio's io_uring keeps them")
        for key, usual in (("iodepth_low", "0"), ("iodepth_batch", "1")):
            limit = _parse_number(job.passed.get(key, usual)) or depth
            job.passed[key] = str(min(limit, depth))
        depth = kept
    return {"engine": engine, "submission": submission, "iodepth": depth}


def _translate_sync(job: _Job, reads: float) -> dict[str, Any]:
    flushes = [key for key in ("fsync", "fdatasync") if reads < 1 and job.is_on(key)]
    opened = OPENED.get(job.read_value(str, "0", "sync"), "sync") if reads < 1 else "none"
    if not flushes:
        return {"sync": opened}
    if opened != "none" or len(flushes) > 1:
        other = "sync" if opened != "none" else "fdatasync"
        job.refuse(other, f"no profile has it beside {flushes[0]}")
    return {"sync": flushes[0], "flushed_every": job.read_value(_parse_number, 1, flushes[0])}


def _translate_sizes(job: _Job, reads: float) -> dict[str, Any]:
    values: dict[str, Any] = {}
    keys: set[str] = set()
    for place, (way, share) in enumerate((("read", reads), ("write", 1 - reads))):
        if share:
            given, values[f"{way}_sizes"] = _find_sizes(job, place)
            keys.update(given)
    if keys == {"bsrange"}:
        job.pass_on("bsrange")
    elif "bsrange" in keys:
        job.refuse("bsrange", "no profile has it beside other sizes")
    return values


def _find_sizes(job: _Job, place: int) -> tuple[list[str], dict[int, float]]:
    """Sizes of a direction, and who says them: `bs` does not beside a range or a split."""
    keys = [key for key in ("bsrange", "bssplit") if job.find(key, place=place)] or ["bs"]
    return keys, job.read_value(SIZES[keys[0]], {4096: 1.0}, keys[0], place=place)


def _parse_size(text: str) -> dict[int, float]:
    if (size_bytes := _parse_number(text)) % SECTOR_BYTES or not size_bytes:
        problem = "no whole sector, which direct I/O needs"
        raise TextError(f"{text!r} is {size_bytes:,} bytes to fio, {problem}")
    return {size_bytes: 1.0}


def _parse_range(text: str) -> dict[int, float]:
    """All multiples of the smallest alike. Raises TextError."""
    least, most = sorted(size for part in re.split("[-:]", text) for size in _parse_size(part))
    if most % least:
        raise TextError(f"the largest of {text!r} is no multiple of the smallest")
    return dict.fromkeys(range(least, most + 1, least), least / most)


def _parse_split(text: str) -> dict[int, float]:
    """Of `4k/60:8k/40`; fio takes multiples of the smallest alone. Raises TextError."""
    ordered = sorted((share, size) for size, share in _parse_shares(text))
    (least,) = _parse_size(str(min(size for _, size in ordered)))
    sizes, left = dict.fromkeys((size // least * least for _, size in ordered), 0.0), 100
    for number, (share, size) in enumerate(ordered, 1):
        part = left if number == len(ordered) else min(left, share)
        sizes[size // least * least] += part / 100
        left -= part
    return {size: share for size, share in sizes.items() if share}


def _parse_shares(text: str) -> list[tuple[int, int]]:
    """Numbers before and after each slash; those that are open divide the rest of 100."""
    pairs = [part.partition("/") for part in text.rstrip(":").split(":")]
    given = [min(100, _parse_number(after.rstrip("%") or "0")) for _, _, after in pairs]
    rest = max(0, 100 - sum(given)) // max(1, given.count(0))
    return [
        (_parse_number(each[0]), share or rest) for each, share in zip(pairs, given, strict=True)
    ]


SIZES = {"bs": _parse_size, "bsrange": _parse_range, "bssplit": _parse_split}


def _translate_places(job: _Job, reads: float, *, is_random: bool) -> dict[str, Any]:
    """How places are chosen: if nothing is said, fio goes to all of them before any one again."""
    if not is_random:
        return {"random_share": 0.0}
    random = [
        job.read_value(_parse_share, 1.0, "percentage_random", place=place) for place in (0, 1)
    ]
    if random[0] != random[1]:
        job.pass_on("percentage_random")
    job.pass_on("ba")
    values: dict[str, Any] = {"random_share": round(reads * random[0] + (1 - reads) * random[1], 9)}
    kind, _, text = job.get_text("random_distribution").partition(":")
    if kind in ("", "random"):
        if not job.is_on("norandommap") and "ba" not in job.passed:
            job.passed["norandommap"] = "0"
    elif kind == "zoned_abs":
        job.refuse("random_distribution", BYTES)
    elif kind == "zoned" and "," not in text:
        nothing: list[tuple[int, int]] = []
        zones = job.read_value(lambda _: _parse_shares(text), nothing, "random_distribution")
        values["hot_spots"] = [
            {"access_share": access / 100, "space_share": space / 100} for access, space in zones
        ]
    elif len({min(_find_sizes(job, place)[1]) for place in (0, 1)}) > 1:
        problem = "fio leaves the job's place where reads and writes differ in size"
        job.refuse("random_distribution", problem)
    else:
        job.pass_on("random_distribution")
    return values
