"""What an I/O profile is: one or more access patterns, each of which is measured by itself.

A pattern has one or more streams that run together. All shares are exact, from 0 to 1; what of them
fio cannot express is said by `jobfile`, not here. Which engine of fio submits requests how is one
table for profiles, job files and results.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from stithy.errors import TextError
from stithy.units import FrozenModel

Submission = Literal["sync", "async"]
"""`sync`: a job waits for its request, and has no other. `async`: it keeps `iodepth` of them."""

ENGINES: Mapping[str, Submission] = {
    "psync": "sync", "sync": "sync", "pvsync": "sync", "pvsync2": "sync",
    "io_uring": "async", "libaio": "async", "posixaio": "async",
}  # fmt: skip
"""Engines that read and write files and devices directly, the one that is used first of each."""

UNFIT: Mapping[str, str] = {
    "mmap": "it reads and writes the page cache",
    "splice": "it reads and writes the page cache",
    "vsync": "it joins neighbouring requests into one: pvsync does not",
    "sg": "it needs a character device",
    "io_uring_cmd": "it needs a character device",
}
"""Why others are refused; those that are in neither table move no data of a file or device."""

SYNC_ENGINE = "psync"
USUAL_ASYNC = ("io_uring", "libaio")
"""Those of streams that name none; the first that works."""


def find_submission(engine: str) -> Submission:
    """How an engine submits. Raises TextError for one that is not used, with the reason."""
    if (found := ENGINES.get(engine)) is None:
        why = UNFIT.get(engine, "it reads and writes no file or device of the kernel")
        raise TextError(f"{engine!r} is not used: {why}; engines are {', '.join(ENGINES)}")
    return found


def round_ring_depth(iodepth: int) -> int:
    """The depth that fio's io_uring keeps: rounded up to a power of two (engines/io_uring.c)."""
    return 1 << (iodepth - 1).bit_length()


KIB, MIB = 2**10, 2**20
SECTOR_BYTES = 512
EXACT = 1e-9
"""How far shares may miss 1: no more than the error of adding them up."""

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SIZE = re.compile(r"(\d+)([KM]?)(?:iB)?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Bytes of a block size as profiles write it: `512`, `8K`, `1M`. Raises TextError."""
    match = _SIZE.fullmatch(text)
    size_bytes = int(match[1]) * {"": 1, "K": KIB, "M": MIB}[match[2].upper()] if match else 0
    if size_bytes <= 0 or size_bytes % SECTOR_BYTES:
        raise TextError(f"{text!r} is not a block size: write whole sectors, as 512, 8K or 1M")
    return size_bytes


def format_size(size_bytes: int) -> str:
    """A block size as profiles write it."""
    for unit, factor in (("M", MIB), ("K", KIB)):
        if size_bytes % factor == 0:
            return f"{size_bytes // factor}{unit}"
    return str(size_bytes)


def _read_sizes(table: Any) -> Any:
    if not isinstance(table, dict):
        return table
    return {parse_size(key) if isinstance(key, str) else key: each for key, each in table.items()}


def _name(text: Any) -> Any:
    if isinstance(text, str) and not NAME.fullmatch(text):
        raise ValueError(f"{text!r} is not a name: use lower-case letters, digits and hyphens")
    return text


Share = Annotated[float, Field(ge=0, le=1)]
Sizes = Annotated[dict[int, Share], BeforeValidator(_read_sizes)]
"""Block sizes in bytes, each with its share of the requests of one direction."""

Name = Annotated[str, BeforeValidator(_name)]
Sync = Literal["none", "fdatasync", "fsync", "dsync", "sync"]
"""`fdatasync`, `fsync`: a flush is waited for after each write, or after so many as `flushed_every`
says. `dsync`, `sync`: the file is opened with O_DSYNC or O_SYNC."""

HELD_BACK = ("thinktime", "rate", "flow", "iodepth_", "serialize_overlap")
"""How options of fio begin that let fewer than `iodepth` be outstanding."""

Option = Annotated[str, Field(pattern=rf"^(({'|'.join(HELD_BACK)})\w*|norandommap|ba|bsrange|"
                              r"random_distribution|percentage_random)$")]  # fmt: skip
OptionValue = Annotated[str, Field(pattern=r"^[\w.,:/%-]+$")]


class HotSpot(FrozenModel):
    """A part of the region, in order from its beginning, and its share of the accesses."""

    access_share: Share
    space_share: Share


class Region(FrozenModel):
    """The part of the target that a stream touches."""

    offset_share: Share = 0.0
    size_share: Share = 1.0

    @model_validator(mode="after")
    def _require_inside(self) -> Self:
        if self.size_share == 0 or self.offset_share + self.size_share > 1 + EXACT:
            raise ValueError("the region is empty or ends behind the target: lower its shares")
        return self


class Burst(FrozenModel):
    """A stream that works for a while and then pauses, again and again."""

    busy_s: Annotated[float, Field(gt=0)]
    pause_s: Annotated[float, Field(gt=0)]


class Stream(FrozenModel):
    """Requests of one kind, from `jobs` submitters with `iodepth` outstanding each.

    `engine` is that of fio, if not the usual one of its `submission`. A submitter of a purely
    sequential stream has a part of the region to itself, so `jobs` is then the number of sequential
    streams. `weight` is its part of the pattern's requests. At a rate so many as `batch` says
    arrive at once. `options` are handed to fio as they are.
    """

    name: Name
    read_share: Share
    read_sizes: Sizes = {}
    write_sizes: Sizes = {}
    random_share: Share
    jobs: Annotated[int, Field(ge=1)]
    iodepth: Annotated[int, Field(ge=1)]
    submission: Submission
    engine: str | None = None
    sync: Sync = "none"
    flushed_every: Annotated[int, Field(ge=1)] = 1
    hot_spots: tuple[HotSpot, ...] = ()
    region: Region = Region()
    burst: Burst | None = None
    batch: Annotated[int, Field(ge=1)] = 1
    weight: Annotated[float, Field(gt=0)] | None = None
    options: Mapping[Option, OptionValue] = {}

    @property
    def is_paced(self) -> bool:
        """Whether it pauses, or holds requests back by itself."""
        return self.burst is not None or any(key.startswith(HELD_BACK) for key in self.options)

    @property
    def is_flushed(self) -> bool:
        """Whether it waits for flushes."""
        return self.sync in ("fdatasync", "fsync")

    @property
    def outstanding(self) -> int:
        """The most requests under way at once."""
        return self.jobs * self.iodepth

    @property
    def is_sequential(self) -> bool:
        """Whether no request is at a random place."""
        return self.random_share == 0

    def get_share(self, direction: "Direction") -> float:
        """The share of its requests that go in this direction."""
        return self.read_share if direction == "read" else 1 - self.read_share

    def get_sizes(self, direction: "Direction") -> Mapping[int, float]:
        """Block sizes of this direction, with their shares."""
        return self.read_sizes if direction == "read" else self.write_sizes

    @property
    def directions(self) -> "tuple[Direction, ...]":
        return tuple(way for way in DIRECTIONS if self.get_share(way) > 0)

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        for direction in DIRECTIONS:
            sizes = self.get_sizes(direction)
            if bool(sizes) != (direction in self.directions):
                state = "has sizes of none" if sizes else "has no sizes"
                raise ValueError(
                    f"{direction}_sizes and read_share = {self.read_share:g} disagree: it {state} "
                    f"of the {direction}s it makes; give sizes of each direction that it has"
                )
            if sizes:
                _need_whole(f"the shares of {direction}_sizes", sizes.values())
        return self

    @model_validator(mode="after")
    def _check_hot_spots(self) -> Self:
        if not self.hot_spots:
            return self
        if self.is_sequential:
            raise ValueError("hot_spots need random requests: raise random_share, or drop them")
        for name in ("access_share", "space_share"):
            shares = [vars(hot_spot)[name] for hot_spot in self.hot_spots]
            _need_whole(f"{name} of hot_spots", shares)
            if any(abs(100 * share - round(100 * share)) > EXACT or share == 0 for share in shares):
                raise ValueError(f"{name} of hot_spots must be whole percents: fio knows no others")
        return self

    @model_validator(mode="before")
    @classmethod
    def _need_submission(cls, values: Any) -> Any:
        if isinstance(values, dict) and "submission" not in values:
            raise ValueError(
                "it does not say how requests are submitted: write submission = 'sync' where each "
                "job waits for its request, or 'async' where it keeps iodepth of them under way"
            )
        return values

    @model_validator(mode="after")
    def _check_submission(self) -> Self:
        if self.submission == "sync" and self.iodepth != 1:
            raise ValueError(
                f"submission = 'sync' needs iodepth = 1, not {self.iodepth}: give more jobs "
                "(threads) instead, or write submission = 'async'"
            )
        if self.engine is None:
            return self
        if (kind := find_submission(self.engine)) != self.submission:
            raise ValueError(f"the engine {self.engine!r} is {kind!r}: write submission = {kind!r}")
        if self.engine == "io_uring" and (ring := round_ring_depth(self.iodepth)) != self.iodepth:
            raise ValueError(
                f"fio's io_uring keeps {ring} outstanding where iodepth = {self.iodepth}: write "
                f"iodepth = {ring}, or leave out engine"
            )
        return self

    @model_validator(mode="after")
    def _check_batch(self) -> Self:
        if self.batch > 1 and (self.jobs > 1 or self.batch > self.iodepth or self.sync != "none"):
            raise ValueError(
                f"a batch of {self.batch} needs one submitter that keeps so many under way: set "
                f"jobs = 1, iodepth = {self.batch}, and leave out sync"
            )
        return self

    @model_validator(mode="after")
    def _sync_fits(self) -> Self:
        if self.sync != "none" and self.read_share == 1:
            raise ValueError(f"sync = {self.sync!r} needs writes: lower read_share, or drop it")
        if self.is_flushed and self.iodepth != 1 and self.engine is None:
            raise ValueError(
                f"sync = {self.sync!r} needs iodepth = 1, not {self.iodepth}: engines differ in "
                "whether flushes wait for writes that are under way; give more jobs, or an engine"
            )
        if self.flushed_every > 1 and not self.is_flushed:
            raise ValueError(
                f"flushed_every = {self.flushed_every} needs flushes: set sync = 'fdatasync'"
            )
        return self


Direction = Literal["read", "write"]
DIRECTIONS: tuple[Direction, ...] = ("read", "write")


def average_bytes(sizes: Mapping[int, float]) -> float:
    """The mean size of a request."""
    return sum(size_bytes * share for size_bytes, share in sizes.items())


def _need_whole(what: str, shares: Iterable[float]) -> None:
    if abs((total := math.fsum(shares)) - 1) > EXACT:
        raise ValueError(f"{what} sum to {total:g}, not to 1: correct them")


class Pattern(FrozenModel):
    """Streams that run together, and what the data they write are like.

    `compressible_share` and `duplicate_share` are of the written bytes; 0 is data that no array can
    reduce. `trace`: the file whose requests it replays, of one `device` where it has several; its
    stream only says what they are like. `rates`: those that another tool's file asks for, as a
    study writes them.
    """

    name: Name
    streams: Annotated[tuple[Stream, ...], Field(min_length=1)]
    compressible_share: Share = 0.0
    duplicate_share: Share = 0.0
    trace: str | None = None
    device: str = ""
    rates: tuple[float | str, ...] = ()

    @property
    def writes(self) -> bool:
        """Whether it changes what it runs on."""
        return any(stream.read_share < 1 for stream in self.streams)

    @property
    def is_weighted(self) -> bool:
        """Whether the streams' parts of the requests are fixed, so that a rate can be divided."""
        return len(self.streams) == 1 or self.streams[0].weight is not None

    def find_weight_share(self, stream: Stream) -> float:
        """A stream's share of the requests of a weighted pattern."""
        if len(self.streams) == 1:
            return 1.0
        weights = {each.name: each.weight or 0.0 for each in self.streams}
        return weights[stream.name] / sum(weights.values())

    @model_validator(mode="after")
    def _check_streams(self) -> Self:
        names = [stream.name for stream in self.streams]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two streams are called {', '.join(twice)}: rename one")
        weighted = {each.weight is not None for each in self.streams}
        if len(self.streams) > 1 and len(weighted) > 1:
            raise ValueError("some streams have a weight and some have none: give all of them one")
        if any(each.burst and each.weight for each in self.streams):
            raise ValueError("a stream that pauses cannot keep a weight: drop one of both")
        return self


class WorkingSet(FrozenModel):
    """How much of a place is used where the profile says so."""

    capacity_share: Share
    free_share_max: Share

    def choose_bytes(self, capacity_bytes: int, free_bytes: int) -> int:
        """The bytes to use of a place of this capacity, of which so much is free."""
        return int(min(self.capacity_share * capacity_bytes, self.free_share_max * free_bytes))


class RequestSource(FrozenModel):
    """Where numbers come from; `keys` are patterns as those of a shell, see `library.problems`."""

    keys: Annotated[tuple[str, ...], Field(min_length=1)]
    text: Annotated[str, Field(min_length=1)]


class IoProfile(FrozenModel):
    """One or more patterns, each measured by itself by so many workers at once.

    `assumed` gives a reason for each number that has no source. `words`: a line for each kind of
    word of another tool's file, with what becomes of it.
    """

    name: Name
    title: Annotated[str, Field(min_length=1)]
    note: str = ""
    workers: Annotated[int, Field(ge=1)] = 1
    working_set: WorkingSet | None = None
    patterns: Annotated[tuple[Pattern, ...], Field(min_length=1)]
    sources: tuple[RequestSource, ...] = ()
    assumed: Mapping[str, str] = {}
    words: tuple[str, ...] = ()

    @property
    def writes(self) -> bool:
        """Whether any of its patterns changes what it runs on."""
        return any(pattern.writes for pattern in self.patterns)

    def label(self, pattern: Pattern) -> str:
        """The name of one of its patterns, such as `four-corners/random-read-4k`."""
        alone = len(self.patterns) == 1 and pattern.name == self.name
        return self.name if alone else f"{self.name}/{pattern.name}"


def round_percents(shares: Sequence[float]) -> list[int]:
    """Percents that sum to 100, by largest remainder. Shapes: as `shares`, which sum to 1.

    Of equal remainders the earlier one wins.
    """
    exact = [100 * share for share in shares]
    # A share of 0.29 is 28.999…: what is whole but for the error of a float is whole.
    floors = [int(each + 1e-6) for each in exact]
    order = sorted(range(len(exact)), key=lambda at: floors[at] - exact[at])
    for at in order[: 100 - sum(floors)]:
        floors[at] += 1
    return floors


def round_sizes(sizes: Mapping[int, float]) -> dict[int, int]:
    """Block sizes in rising order with whole percents; what rounds to 0 is left out.

    To fio a percentage of 0 means whatever remains.
    """
    ordered = dict(sorted(sizes.items()))
    percents = round_percents(list(ordered.values()))
    return {size: each for size, each in zip(ordered, percents, strict=True) if each}


def round_mixed_percent(share: float) -> int:
    """The percent of a mix of two, of which neither may vanish."""
    return min(99, max(1, round(100 * share)))
