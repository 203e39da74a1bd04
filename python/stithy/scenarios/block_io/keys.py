"""The keys of block I/O in a study."""

from collections.abc import Iterator
from itertools import permutations
from typing import Annotated, ClassVar, Self

from pydantic import (
    AfterValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)

from stithy.errors import UserError
from stithy.fio import library
from stithy.fio.jobfile import explain_no_rate
from stithy.fio.load import (
    CHECK_BYTES,
    How,
    Matrix,
    Replay,
    WrittenData,
    align_bytes,
    find_least_saved,
)
from stithy.fio.profile import SECTOR_BYTES, IoProfile, Pattern, Submission
from stithy.fio.variants import Shape, apply_shape, mix_pattern
from stithy.point import Value
from stithy.scenarios.block_io.values import VOLUMES_MOST, read_rates, read_volumes, write_volumes
from stithy.storage.provider import ROLES, Role
from stithy.study.load_keys import AgentNames
from stithy.study.problems import Violation, refuse
from stithy.study.scenario import ScenarioKeys
from stithy.units import (
    Bytes,
    Percent,
    PerSecondOrNone,
    Seconds,
    ShownBytesOrNone,
    ShownSeconds,
    format_duration,
    format_size,
    limit_quantity,
    make_rule_error,
)

MIB = 2**20
FIO_MOST = 128
"""How many fio one machine runs at once; each may have many threads."""

_ONE_RATE = [{"type": "string"}, {"type": "number"}]


def _require_profile(name: str) -> str:
    if fault := library.find_fault(name):
        raise make_rule_error(*fault)
    return name


def _require_sectors(size_bytes: int) -> int:
    if size_bytes % SECTOR_BYTES:
        raise make_rule_error("not whole sectors of 512 bytes", "such as 8 KiB, or 8K")
    return size_bytes


def _require_distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    called = [library.identify(name) for name in names]
    patterns = [{pattern.name for pattern in library.find(name).patterns} for name in names]
    right = "keep one of them, or rename its file"
    refuse(
        Violation(f"two profiles of one name, here and as `{names[j]}`", right, names[i], (i,))
        for i, j in permutations(range(len(names)), 2)
        if called[i][0] == called[j][0]
        and (called[i] != called[j] or not patterns[i].isdisjoint(patterns[j]))
    )
    return names


class BlockIoSpec(ScenarioKeys):
    """Which patterns of I/O are run on each candidate, on how much data, for how long."""

    FIXED: ClassVar = frozenset(
        {
            "agents",
            "precondition",
            "precondition_test",
            "precondition_matrix",
            "profiles",
            "rate",
            "repeat",
            "stop_at",
            "verify",
        }
    )
    POINTS: ClassVar = frozenset({"agents", "profiles", "rate", "repeat", "stop_at"})
    """Keys whose values `vary` cannot list."""

    IMPLIED: ClassVar = frozenset(
        {"agents", "duplicate", "replay", "precondition_matrix", "precondition_test", "verify",
         "volumes"}
    )  # fmt: skip
    """Keys that are said only where they differ from their default."""

    profiles: Annotated[
        tuple[Annotated[str, AfterValidator(_require_profile)], ...],
        Field(min_length=1, max_length=50),
        AfterValidator(_require_distinct),
    ] = Field(
        description=(
            "I/O profiles by name, such as `four-corners` or `sql-80-20`, one pattern of a profile "
            "(`four-corners/random-read-4k`), or files of your own: a profile (`./mine.toml`), a "
            "job file of fio (`./mine.fio`), a parameter file of Vdbench (`./mine.vdb`), or a "
            "trace to replay (of an emulated drive, a log of fio, of blktrace, or what blkparse "
            "prints; `./mine.iolog/sda` is one device of several). What a file is, its content "
            "says. Relative paths start from the current directory, "
            "not from the study's folder. Each pattern is measured by itself. "
            "docs/reference/io-profiles.md lists what is shipped."
        ),
        examples=[["four-corners", "sql"]],
    )
    rate: Annotated[
        tuple[Value, ...] | None,
        PlainValidator(read_rates),
        PlainSerializer(lambda rates: rates and list(rates), when_used="json"),
        WithJsonSchema({"anyOf": [*_ONE_RATE, {"type": "array", "items": {"anyOf": _ONE_RATE}}]}),
    ] = Field(
        default=None,
        json_schema_extra={"default": "those of a file of Vdbench, or as fast as it goes"},
        description=(
            "Rates at which requests arrive, whether or not earlier ones were answered: shares of "
            "what the candidate does with this pattern as fast as it goes, which is measured "
            "first, or requests a second. Each rate is a point, and `max` is another one."
        ),
        examples=["10-120%"],
    )
    replay: Replay = Field(
        default="times",
        description=(
            "How traces among the profiles are replayed: at their own `times`, or as `fast` as it "
            "goes, with as many requests outstanding as the trace had while it was busy. A log of "
            "fio does not say that: it is replayed at its own times only."
        ),
        examples=["fast"],
    )
    stop_at_s: Annotated[Seconds | None, Field(gt=0)] = Field(
        alias="stop_at",
        default=None,
        json_schema_extra={"default": "all rates are measured"},
        description=(
            "Mean latency beyond which a candidate's higher rates of a pattern are left out. "
            "Rates are then measured in rising order."
        ),
        examples=["20 ms"],
    )
    block_size_bytes: Annotated[
        Bytes | None,
        limit_quantity(512, 16 * MIB, format_size),
        AfterValidator(_require_sectors),
        PlainSerializer(lambda size: size and format_size(size), when_used="json"),
    ] = Field(
        alias="block_size",
        default=None,
        json_schema_extra={"default": "those of the profile"},
        description="Size of all requests, instead of the profile's. Of patterns with one stream.",
        examples=["8 KiB"],
    )
    queue_depth: Annotated[int | None, Field(ge=1, le=4096)] = Field(
        default=None,
        json_schema_extra={"default": "that of the profile"},
        description=(
            "Requests that each thread keeps outstanding, instead of the profile's. Of patterns "
            "with one stream; above 1 their submission must be `async`."
        ),
        examples=[8],
    )
    threads: Annotated[int | None, Field(ge=1, le=1024)] = Field(
        default=None,
        json_schema_extra={"default": "those of the profile"},
        description="Threads of a worker, instead of the profile's. Of patterns with one stream.",
        examples=[4],
    )
    submission: Submission | None = Field(
        default=None,
        json_schema_extra={"default": "that of the profile"},
        description=(
            "Whether each thread waits for its request (`sync`), or one keeps as many outstanding "
            "(`async`), instead of the profile's. Threads of a stream in sequence are as many "
            "streams."
        ),
        examples=["sync"],
    )
    read_share_percent: Annotated[Percent | None, Field(ge=0, le=100)] = Field(
        alias="read_share",
        default=None,
        json_schema_extra={"default": "that of the profile"},
        description="Share of reads, instead of the profile's. Of patterns with one stream.",
        examples=["70%"],
    )
    read_rate_per_s: PerSecondOrNone = Field(
        alias="read_rate",
        default=None,
        json_schema_extra={"default": "as fast as it goes; none beside a `write_bandwidth`"},
        description=(
            "Reads per second, whether or not earlier ones were answered, beside what "
            "`write_bandwidth` writes. Of patterns such as `reads-beside-writes`, whose streams "
            "only read or only write. The report draws the matrix where both vary."
        ),
        examples=["2000/s"],
    )
    write_bytes_per_s: ShownBytesOrNone = Field(
        alias="write_bandwidth",
        default=None,
        json_schema_extra={"default": "as fast as it goes; none beside a `read_rate`"},
        description="Bytes written per second, beside `read_rate`; `0 MB` writes nothing.",
        examples=["50 MB"],
    )
    workers: Annotated[int | None, Field(ge=1, le=64)] = Field(
        default=None,
        json_schema_extra={"default": "those of the profile"},
        description=(
            "How many fio at once run the pattern on each volume, each with its part of it; all "
            "begin together. Their distributions are merged."
        ),
        examples=[6],
    )
    agents: AgentNames = Field(
        default=(),
        json_schema_extra={"default": "none: this host runs all fio"},
        description=(
            "Agents that run the fio of all workers and volumes together, by name: hosts on which "
            "`stithy agent` runs, and which see the candidates' directories at the same paths. "
            "Each has every so many-th worker, so `workers` times volumes must be a multiple of "
            "their number. `stithy run --scheduler` says where agents meet. Not beside `verify`."
        ),
        examples=[["host-a", "host-b"]],
    )
    volumes: Annotated[
        tuple[Role, ...],
        PlainValidator(read_volumes),
        PlainSerializer(write_volumes, when_used="json"),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "integer", "minimum": 1, "maximum": VOLUMES_MOST},
                    {"type": "string"},
                    {
                        "type": "array",
                        "minItems": 1,
                        "maxItems": VOLUMES_MOST,
                        "items": {"enum": list(ROLES)},
                    },
                ]
            }
        ),
    ] = Field(
        default=("data",),
        json_schema_extra={"default": 1},
        description=(
            "Volumes of each candidate that are used at once: a number of files on its main "
            "volume, as virtual disks are, or the roles whose volumes are used (`[data, log]`). "
            "Each has `workers` of its own, and all begin together. `rate`, `read_rate` and "
            "`write_bandwidth` are those of all volumes together. A role without a source of its "
            "own has its file on the main volume; on a block device, volumes are parts of it."
        ),
        examples=[8, ["data", "log"]],
    )
    size_bytes: Annotated[
        Bytes,
        limit_quantity(16 * MIB, 2**50, format_size),
        AfterValidator(align_bytes),
        PlainSerializer(format_size, when_used="json"),
    ] = Field(
        alias="size",
        default=1024 * MIB,
        json_schema_extra={"default": "1 GiB"},
        description=(
            "How much of each volume is used: the size of a file, or of a part of a block device "
            "from its beginning, in whole blocks of 4 KiB. All of it is written once before the "
            "first window."
        ),
        examples=["8 GiB"],
    )
    precondition: How = Field(
        default="fill",
        description=(
            "What is done to the target before the first window. `fill` writes all of it once. "
            "`snia` purges it (a block device by discarding), writes twice its size in sequence, "
            "and repeats rounds of tests until SNIA's steady-state rule holds, at most 25. `none` "
            "writes nothing to a block device, unless it is part of an array."
        ),
        examples=["snia"],
    )
    precondition_test_s: Annotated[ShownSeconds, limit_quantity(1, 3600, format_duration)] = Field(
        alias="precondition_test",
        default=60.0,
        json_schema_extra={"default": "1 min"},
        description="Length of each test of a round of `precondition: snia`.",
        examples=["1 min"],
    )
    precondition_matrix: Matrix = Field(
        default="database",
        description=(
            "Tests of a round: `full` has 7 shares of reads x 8 block sizes (56 tests), `database` "
            "4 tests (70% and 0% reads of 16K and 8K), of which all must be steady."
        ),
        examples=["full"],
    )
    verify: bool = Field(
        default=False,
        description=(
            "Whether every block is written with a checksum and the time of its write, and all of "
            "the target is read back and compared after the last window. A block that is damaged, "
            "in another place, or older than what was written there last fails the study. A lost "
            "write is found where the block before it is at least 3 s older. It costs fio "
            "CPU, and a line of a log for each request. Not beside `duplicate`, "
            "`precondition: none` and `precondition_matrix: full`."
        ),
        examples=[True],
    )
    ramp_up_s: Annotated[ShownSeconds, limit_quantity(0, 3600, format_duration)] = Field(
        alias="ramp_up",
        default=5.0,
        json_schema_extra={"default": "5 s"},
        description="I/O before each measurement.",
        examples=["30 s"],
    )
    duration_s: Annotated[ShownSeconds, limit_quantity(1, 86_400, format_duration)] = Field(
        alias="duration",
        default=30.0,
        json_schema_extra={"default": "30 s"},
        description="Length of each measurement.",
        examples=["2 min"],
    )
    compressible_percent: Annotated[Percent | None, Field(ge=0, le=100)] = Field(
        alias="compressible",
        default=None,
        json_schema_extra={"default": "that of the profile"},
        description=(
            "Share of the written data that compression saves: by blocks of 4 KiB, of each block. "
            "The target is written with it, too. Where profiles differ, it gets the least of them."
        ),
        examples=["50%"],
    )
    duplicate_percent: Annotated[Percent | None, Field(ge=0, le=99)] = Field(
        alias="duplicate",
        default=None,
        json_schema_extra={"default": "that of the profile"},
        description=(
            "Share of the written requests that deduplication saves, because the same data were "
            "written before. The target is written with it, too. Not beside `verify`."
        ),
        examples=["30%"],
    )
    repeat: Annotated[int | None, Field(ge=1, le=100)] = Field(
        default=None,
        json_schema_extra={"default": "until the primary question is decided"},
        description="A fixed number of blocks at every point.",
        examples=[3],
    )

    def count_blocks(self) -> int | None:
        return self.repeat

    def list_agents(self) -> tuple[str, ...]:
        return self.agents

    def list_profiles(self) -> dict[str, IoProfile]:
        return {name: self.profile_of(name) for name in self.profiles}

    @property
    def shape(self) -> Shape:
        """What is asked instead of the profiles' own."""
        read_share = None if self.read_share_percent is None else self.read_share_percent / 100
        submitters = (self.queue_depth, self.threads)
        return Shape(self.block_size_bytes, *submitters, read_share, self.submission)

    @property
    def is_mixed(self) -> bool:
        """Whether reads have a rate, or writes a bandwidth."""
        return self.read_rate_per_s is not None or self.write_bytes_per_s is not None

    @property
    def rates(self) -> tuple[Value, ...]:
        """Rates of the study, or else those that its profiles' files ask for."""
        if self.rate is not None or self.is_mixed:
            return self.rate or ()
        return max((each.rates for each in self._patterns()), key=len, default=())

    def _patterns(self) -> Iterator[Pattern]:
        return (pattern for name in self.profiles for pattern in library.find(name).patterns)

    def find_mixed_rate(self, name: str) -> float | None:
        """Requests a second of a mixed pattern; None where it goes as fast as it can."""
        pattern = apply_shape(library.find(name).patterns[0], self.shape)
        return self._mix_patterns(pattern)[1] if self.is_mixed else None

    def _mix_patterns(self, pattern: Pattern) -> tuple[Pattern, float | None]:
        return mix_pattern(pattern, self.read_rate_per_s, self.write_bytes_per_s)

    def find_replayed_per_s(self, name: str) -> float | None:
        """Requests a second of a trace at its own times; None where nobody asks for them."""
        profile = self.profile_of(name)
        pattern = profile.patterns[0]
        if pattern.trace is None or self.replay == "fast":
            return None
        from stithy.fio.jobfile import trace_of

        each = trace_of(pattern).count_per_s(self.ramp_up_s, self.duration_s)
        return each * profile.workers * len(self.volumes)

    def data_of(self, name: str) -> WrittenData:
        """What is written with a pattern: as asked, or as its profile says."""
        return find_least_saved(map(self._data, library.find(name).patterns))

    @property
    def least_data(self) -> WrittenData:
        """Of all patterns that one of which least is saved."""
        return find_least_saved(map(self.data_of, self.profiles))

    def _data(self, pattern: Pattern) -> WrittenData:
        asked = (self.compressible_percent, self.duplicate_percent)
        own = (pattern.compressible_share, pattern.duplicate_share)
        return WrittenData(*(o if a is None else a / 100 for a, o in zip(asked, own, strict=True)))

    def profile_of(self, name: str) -> IoProfile:
        """A profile as it is run."""
        profile = library.find(name)
        patterns = tuple(apply_shape(each, self.shape) for each in profile.patterns)
        if self.is_mixed:
            patterns = tuple(self._mix_patterns(each)[0] for each in patterns)
        if self.replay == "fast":
            from stithy.fio.jobfile import hasten

            patterns = tuple(hasten(each) if each.trace else each for each in patterns)
        workers = profile.workers if self.workers is None else self.workers
        return profile.model_copy(update={"patterns": patterns, "workers": workers})

    @model_validator(mode="after")
    def _check_profiles(self) -> Self:
        refuse(
            each
            for place, name in enumerate(self.profiles)
            for each in self._find_wrong(place, name)
        )
        is_asked = self.rate is not None or self.is_mixed
        if not is_asked and any(pattern.rates != self.rates for pattern in self._patterns()):
            what = "profiles whose files ask for different rates, or some for none"
            right = "name one run of a file (`./mine.vdb/run`), or give `rate`"
            refuse([Violation(what, right, list(self.profiles), ("profiles",))])
        if self.verify and (self.precondition, self.precondition_matrix) == ("snia", "full"):
            right = "leave out `verify`, or use the matrix `database`"
            what = "a matrix with blocks of 512 bytes, which have no checksum"
            refuse([Violation(what, right, "full", ("precondition_matrix",))])
        if len(set(self.agents)) < len(self.agents):
            right = "each agent has one part of all fio"
            refuse([Violation("an agent named twice", right, list(self.agents), ("agents",))])
        if self.verify and self.agents:
            right = "leave out `verify`, or `agents`"
            what = "the times in checksums of several hosts, which count from the start of each"
            refuse([Violation(what, right, list(self.agents), ("agents",))])
        if self.verify and self.precondition == "none":
            right = "leave out `verify`, or write `precondition: fill`"
            what = "blocks without checksums, which nobody writes before the windows"
            refuse([Violation(what, right, "none", ("precondition",))])
        return self

    def _find_wrong(self, place: int, name: str) -> Iterator[Violation]:
        here = ("profiles", place)
        try:
            profile = self.profile_of(name)
        except UserError as error:
            yield Violation("a profile that cannot be run so", error.text, name, here)
            return
        patterns, count = profile.patterns, profile.workers * len(self.volumes)
        if count % (hosts := max(1, len(self.agents))):
            yield Violation(f"{name}: {count} fio cannot be dealt evenly to {hosts} agents",
                            "`workers` times volumes must be a multiple of the agents",
                            list(self.agents), ("agents",))  # fmt: skip
        if count > FIO_MOST * hosts:
            yield Violation(f"{name}: {profile.workers} workers on each of {len(self.volumes)} "
                            f"volumes are {count} fio at once",
                            f"at most {FIO_MOST * hosts}: fewer `workers` or `volumes`",
                            None, ("volumes",))  # fmt: skip
        if self.verify and any(each.trace for each in patterns):
            yield Violation(f"{name}: a replay has no checksums", "leave out `verify`", name, here)
        whole = all(
            size % CHECK_BYTES == 0
            for pattern in patterns
            for stream in pattern.streams
            for size in (*stream.read_sizes, *stream.write_sizes)
        )
        if self.verify and not whole:
            what = f"{name}: blocks of less than {CHECK_BYTES} bytes have no checksum"
            yield Violation(what, "leave out `verify`", name, here)
        if self.verify and self.data_of(name).duplicate_share:
            right = "leave out `verify`, or write `duplicate: 0%`"
            yield Violation(f"{name}: blocks with checksums have no duplicates", right, name, here)
        for pattern in patterns if self.rates else ():
            if (why := explain_no_rate(pattern)) is not None:
                what = f"{name}: a rate cannot be asked of {pattern.name}: {why}"
                right = "leave out `rate`, or name patterns that can keep one"
                yield Violation(what, right, name, here)
        if self.is_mixed and self.rate is not None:
            yield Violation("`rate` beside `read_rate` or `write_bandwidth`", "keep one of them",
                            None, ("rate",))  # fmt: skip
        if self.stop_at_s is not None and not self.rates:
            yield Violation("a latency to stop at without rates", "give `rate`, or leave it out",
                            None, ("stop_at",))  # fmt: skip
