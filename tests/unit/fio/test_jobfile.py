"""A job file asks fio for what the profile says, and says what fio makes of it."""

import configparser
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.errors import PreconditionError, UserError
from stithy.fio import library
from stithy.fio.jobfile import (
    fill_file,
    list_data_words,
    make_job_file,
    make_purge_file,
    make_trial_file,
    read_back_file,
)
from stithy.fio.load import FioLoad, FioTarget, WrittenData, draw_arrivals, space_evenly, split_load
from stithy.fio.profile import (
    Burst,
    Pattern,
    Region,
    Stream,
    round_mixed_percent,
    round_percents,
    round_sizes,
)
from stithy.fio.streamjob import estimate_late_share
from stithy.fio.variants import Shape, apply_shape

GIB = 2**30
TARGET = FioTarget("/data/a:b", GIB, 4096)


def stream(name: str = "data", **changed: object) -> Stream:
    """A stream of random 8K with 70 % reads, changed."""
    words: dict[str, object] = {
        "name": name, "read_share": 0.7, "read_sizes": {8192: 1.0}, "write_sizes": {8192: 1.0},
        "random_share": 1.0, "jobs": 4, "iodepth": 8, "submission": "async",
    }  # fmt: skip
    return Stream.model_validate(words | changed)


def log(**changed: object) -> Stream:
    """A sequential stream of writes, changed."""
    words = {"read_share": 0.0, "read_sizes": {}, "random_share": 0.0, "jobs": 1, "iodepth": 1}
    return stream("log", **(words | changed))


def sections(
    *streams: Stream, load: FioLoad | None = None, target: FioTarget = TARGET
) -> dict[str, dict[str, str]]:
    """The sections of a pattern's job file."""
    made = make_job_file(Pattern(name="p", streams=streams), target, load or FioLoad(30, 5, 7))
    return parsed(made.text)


def parsed(text: str) -> dict[str, dict[str, str]]:
    """A job file's sections."""
    parser = configparser.ConfigParser(interpolation=None, delimiters="=")
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def test_a_closed_loop_keeps_its_submitters_and_their_depth() -> None:
    """The target's name is quoted, it is never made by fio, and a mounted one is refused."""
    found = sections(stream())
    common, data = found["global"], found["data"]
    assert common["filename"] == r"/data/a\:b"
    assert (common["allow_file_create"], common["allow_mounted_write"]) == ("0", "0")
    assert (common["continue_on_error"], common["randseed"]) == ("none", "7")
    assert (data["numjobs"], data["iodepth"], data["rw"]) == ("4", "8", "randrw")
    assert (data["rwmixread"], data["bs"], data["offset"]) == ("70", "8192,8192", "4096")
    assert (data["ramp_time"], data["runtime"], data["log_hist_msec"]) == (
        "5000ms",
        "30000ms",
        "1000",
    )
    assert "rate" not in data


def test_sequential_submitters_have_parts_of_the_region_of_their_own() -> None:
    """Otherwise all of them would read the same blocks after each other."""
    region = Region(offset_share=0.5, size_share=0.5)
    data = sections(log(jobs=4, region=region))["log"]
    assert data["offset"] == str(4096 + GIB // 2)
    assert data["size"] == data["offset_increment"] == str(GIB // 8)
    assert data["rw"] == "write"


def test_flushes_hot_spots_and_pauses_are_fios_own() -> None:
    """fdatasync after each write, O_DSYNC, zones, and times of thinking."""
    assert sections(log(sync="fdatasync"))["log"]["fdatasync"] == "1"
    assert sections(log(sync="fdatasync", flushed_every=32))["log"]["fdatasync"] == "32"
    assert sections(log(sync="dsync"))["log"]["sync"] == "dsync"
    spots = [
        {"access_share": 0.95, "space_share": 0.05},
        {"access_share": 0.05, "space_share": 0.95},
    ]
    data = sections(stream(hot_spots=spots, random_share=0.8))["data"]
    assert data["random_distribution"] == "zoned:95/5:5/95"
    assert data["percentage_random"] == "80"
    burst = sections(log(burst=Burst(busy_s=1.5, pause_s=2)))["log"]
    assert (burst["thinktime_iotime"], burst["thinktime"]) == ("1500ms", "2000ms")


def test_weights_hold_streams_together_as_fast_as_it_goes() -> None:
    """fio's flow counts requests of a submitter, so weights are divided by submitters."""
    found = sections(stream(weight=99, jobs=3), log(weight=1))
    assert (found["data"]["flow"], found["log"]["flow"]) == ("1000", "30")
    assert "flow" not in sections(stream())["data"]


def test_an_open_loop_has_submitters_of_one_request_for_each_direction() -> None:
    """Whole requests a second each; fio divides its rate by the smallest size, so do we."""
    mixed = stream(read_sizes={4096: 0.5, 65536: 0.5})
    made = make_job_file(
        Pattern(name="p", streams=(mixed,)), TARGET, FioLoad(30, 5, 7, rate_per_s=1000.0)
    )
    found = parsed(made.text)
    for way, per_s, size in (("read", 700, 4096), ("write", 300, 8192)):
        data = found[f"data.{way}"]
        jobs, rate = int(data["numjobs"]), int(data["rate"].strip(","))
        assert (data["rw"], data["iodepth"], data["ioengine"]) == (f"rand{way}", "1", "libaio")
        assert (data["rate_process"], rate % size, jobs <= 256) == ("poisson", 0, True)
        assert jobs * rate / size == pytest.approx(per_s, rel=0.01)
        assert "ramp_time" not in data
    only = made.streams[0]
    assert only.is_open
    assert only.mean_bytes["read"] == 34816


def test_a_bounded_open_loop_has_no_more_outstanding_than_the_closed_one() -> None:
    """As Vdbench: its threads stay, whatever the rate."""
    load = FioLoad(30, 5, 7, rate_per_s=5000.0, bounded=True)
    made = make_job_file(Pattern(name="p", streams=(stream(),)), TARGET, load)
    assert made.streams[0].outstanding <= 32


def test_sequences_flushes_and_very_high_rates_stay_in_line() -> None:
    """They keep their submitters; several of them draw their moments, one is evenly spaced."""
    one = sections(log(), load=FioLoad(30, 5, 7, rate_per_s=123.4))["log"]
    assert one["rate"] == f",{round(123.4 * 8192)}"
    assert "rate_process" not in one
    many = sections(log(jobs=16, sync="fdatasync"), load=FioLoad(30, 5, 7, rate_per_s=160.0))["log"]
    assert (many["numjobs"], many["rate_process"], many["rate"]) == ("16", "poisson", ",81920")
    for load in (FioLoad(1, 0, 7, rate_per_s=90_000.0), FioLoad(3600, 0, 7, rate_per_s=2000.0)):
        fast = sections(stream(), load=load)["data"]
        assert (fast["numjobs"], fast["iodepth"], fast["ioengine"]) == ("4", "8", "libaio")
        reads, writes = map(int, fast["rate"].split(","))
        assert load.rate_per_s is not None
        assert 4 * (reads + writes) / 8192 == pytest.approx(load.rate_per_s, rel=1e-3)


def test_a_batch_at_a_rate_is_given_at_once_and_then_waits_for_the_next() -> None:
    """The pause is a little less than a batch's time, so that no rate is lost."""
    pages = stream("pages", read_share=0.0, read_sizes={}, jobs=1, iodepth=40, batch=40)
    found = sections(pages, load=FioLoad(30, 5, 7, rate_per_s=2000))["pages"]
    assert (found["iodepth"], found["iodepth_batch_submit"]) == ("40", "40")
    assert (found["thinktime_blocks"], found["thinktime_blocks_type"]) == ("40", "issue")
    assert 0.9 * 20_000 < int(found["thinktime"]) < 20_000
    assert "thinktime" not in sections(pages)["pages"]


@pytest.mark.parametrize(("which", "rate_per_s", "because"), [
    (log(), 100.0, "in sequence"),
    (stream(write_sizes={8192: 1.0}, iodepth=1, sync="fdatasync"), 100.0, "with flushes"),
    (stream(), 90_000.0, "more than 50,000 requests a second"),
    (stream(), 100.0, None),
])  # fmt: skip
def test_why_a_stream_at_a_rate_is_no_open_loop_is_said(
    which: Stream, rate_per_s: float, because: str | None
) -> None:
    """Each reason is its own."""
    load = FioLoad(1, 0, 7, rate_per_s=rate_per_s)
    (made,) = make_job_file(Pattern(name="p", streams=(which,)), TARGET, load).streams
    assert made.is_open is (because is None)
    assert (made.in_line_because or "").find(because or "") >= 0
    assert (made.in_line_because is None) is (because is None)


@given(st.floats(0.5, 100_000), st.integers(1, 256))
def test_poisson_keeps_the_rate_or_is_not_used(rate_per_s: float, most: int) -> None:
    """Never more submitters than allowed; even spacing is exact."""
    sizes = {4096: 0.25, 16384: 0.75}
    found = draw_arrivals(rate_per_s, sizes, most)
    if found is not None:
        assert found.jobs <= most
        smallest_per_s = found.fio_bytes_per_s * found.jobs / 4096
        assert smallest_per_s == pytest.approx(rate_per_s, rel=0.0101)
    exact = space_evenly(rate_per_s, sizes, 1)
    assert exact.fio_bytes_per_s / 13312 == pytest.approx(rate_per_s, rel=1e-3)


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=20))
def test_whole_percents_sum_to_100_with_the_least_change(parts: list[int]) -> None:
    """Each is the share rounded up or down."""
    shares = [Fraction(part, sum(parts)) for part in parts]
    percents = round_percents([float(each) for each in shares])
    assert sum(percents) == 100
    for percent, share in zip(percents, shares, strict=True):
        assert math.floor(100 * share) <= percent <= math.floor(100 * share) + 1


def test_classes_that_vanish_are_left_out_and_a_mix_keeps_both() -> None:
    """0 would mean whatever remains to fio; 29 % are not 28.999…"""
    assert round_sizes({8192: 0.997, 4096: 0.003}) == {8192: 100}
    assert round_percents([0.29, 0.71]) == [29, 71]
    assert round_percents([1 / 3] * 3) == [34, 33, 33]
    assert [round_mixed_percent(each) for each in (0.001, 0.5, 0.999)] == [1, 50, 99]


def test_what_rounding_does_to_the_mean_size_is_said() -> None:
    """0.37 % of the largest blocks would be an eighth of the bytes."""
    mixed = stream(read_share=1.0, read_sizes={4096: 0.9963, 1048576: 0.0037}, write_sizes={})
    [made] = make_job_file(Pattern(name="p", streams=(mixed,)), TARGET, FioLoad(1, 0, 1)).streams
    assert made.mean_bytes == {"read": 4096}


def test_data_are_incompressible_and_unique_unless_asked() -> None:
    """The load's shares win over the pattern's; a target's duplicates come from a part of it."""
    assert list_data_words(WrittenData()) == {"refill_buffers": 1}
    boot = library.find("vdi-full-clone-like-boot").patterns[0]
    own = parsed(make_job_file(boot, TARGET, FioLoad(1, 0, 1)).text)["global"]
    assert (own["buffer_compress_percentage"], own["dedupe_percentage"]) == ("88", "86")
    asked = WrittenData(0.0, 0.97)
    other = parsed(make_job_file(boot, TARGET, FioLoad(1, 0, 1, data=asked)).text)["global"]
    assert "buffer_compress_percentage" not in other
    assert (other["dedupe_percentage"], other["dedupe_mode"]) == ("97", "repeat")
    found = parsed(fill_file(TARGET, seed=1, engine="libaio", data=asked))
    assert found["global"]["dedupe_working_set_percentage"] == "3"
    assert found["fill"]["bs"] == str(128 * 1024)


def test_workers_share_target_and_rate_and_draw_differently() -> None:
    """Parts do not overlap."""
    load = FioLoad(1, 0, 5, rate_per_s=90.0)
    parts = split_load([FioTarget("/x", 10_000_000)], load, 3)
    assert len({each.seed for _, each in parts}) == 3
    assert [each.submitters for _, each in parts] == [85] * 3
    assert sum(each.rate_per_s or 0 for _, each in parts) == pytest.approx(90)
    ends = [part.begin_bytes + part.size_bytes for part, _ in parts]
    assert [part.begin_bytes for part, _ in parts] == [0, *ends[:2]]
    assert ends[-1] <= 10_000_000


def test_workers_of_several_volumes_share_one_rate_and_each_has_a_part_of_its_own_volume() -> None:
    """The rate is that of all volumes together; a volume may begin within its device."""
    volumes = [FioTarget("/x", 2 * GIB), FioTarget("/dev/y", 2 * GIB, begin_bytes=4096)]
    parts = split_load(volumes, FioLoad(1, 0, 5, rate_per_s=90.0), 2)
    assert [(each.path, each.begin_bytes, each.size_bytes) for each, _ in parts] == [
        ("/x", 0, GIB), ("/x", GIB, GIB), ("/dev/y", 4096, GIB), ("/dev/y", 4096 + GIB, GIB)
    ]  # fmt: skip
    assert [each.rate_per_s for _, each in parts] == [22.5] * 4
    assert len({each.seed for _, each in parts}) == 4


def test_one_trial_reads_a_little_of_every_volume() -> None:
    """fio is started once, however many there are."""
    words = parsed(make_trial_file([TARGET, FioTarget("/data/c", 4096)], engine="psync"))
    assert [words[f"trial-{n}"]["filename"] for n in range(2)] == [r"/data/a\:b", "/data/c"]
    assert [words[f"trial-{n}"]["size"] for n in range(2)] == ["65536", "4096"]


def test_all_of_a_target_is_filled_read_back_and_purged() -> None:
    """fio leaves out a last block that is not whole, so that is a section of its own."""
    target = FioTarget("/x", 3 * 2**20 + 8192, 4096)
    for text in (
        fill_file(target, seed=1, engine="libaio"),
        read_back_file(target, engine="libaio"),
        make_purge_file(target),
    ):
        found = parsed(text)
        del found["global"]
        covered = [
            (int(each["offset"]), int(each["size"]), int(each["bs"])) for each in found.values()
        ]
        assert sum(size for _, size, _ in covered) == target.size_bytes
        assert all(size % block == 0 for _, size, block in covered)
        assert [begin for begin, _, _ in covered] == [4096, 4096 + covered[0][1]][: len(covered)]


def test_what_cannot_be_run_is_refused_with_a_remedy() -> None:
    """Too small, without weights, with pauses, or at no rate."""
    with_rate = FioLoad(1, 0, 1, rate_per_s=10.0)
    both = (stream(), log())
    for streams, load, target in (
        ((log(write_sizes={1048576: 1.0}),), FioLoad(1, 0, 1), FioTarget("/x", 500_000)),
        (both, with_rate, TARGET),
        ((log(burst=Burst(busy_s=1, pause_s=1)),), with_rate, TARGET),
        ((stream(),), FioLoad(1, 0, 1, rate_per_s=0.0), TARGET),
    ):
        with pytest.raises(UserError) as caught:
            sections(*streams, load=load, target=target)
        assert caught.value.remedy


def test_late_requests_are_as_many_as_submitters_are_busy() -> None:
    """1000/s of 1 ms keep one of 128 busy; never more than all."""
    assert estimate_late_share(1000, 1e-3, 128) == pytest.approx(1 / 128)
    assert estimate_late_share(1000, 1.0, 128) == 1.0


@pytest.mark.parametrize("rate_per_s", [None, 100.0, 90_000.0])
@pytest.mark.parametrize(("asked", "here", "used"), [
    ({"submission": "async", "iodepth": 32}, "io_uring", "io_uring"),
    ({"submission": "async", "iodepth": 32}, "libaio", "libaio"),
    ({"submission": "async", "iodepth": 26}, "io_uring", "libaio"),
    ({"submission": "async", "engine": "posixaio"}, "io_uring", "posixaio"),
    ({"submission": "sync", "iodepth": 1}, "io_uring", "psync"),
    ({"submission": "sync", "iodepth": 1}, "psync", "psync"),
    ({"submission": "sync", "iodepth": 1, "engine": "pvsync2"}, "io_uring", "pvsync2"),
])  # fmt: skip
def test_a_stream_has_one_engine_whatever_the_load(
    asked: Mapping[str, Any], here: str, used: str, rate_per_s: float | None
) -> None:
    """That which it names, or the usual of its submission; io_uring would round a depth of 26."""
    pattern = Pattern(name="p", streams=(stream(**asked),))
    made = make_job_file(pattern, TARGET, FioLoad(10, 1, 1, engine=here, rate_per_s=rate_per_s))
    assert {each["ioengine"] for each in parsed(made.text).values() if "ioengine" in each} == {used}
    assert [(each.engine, each.submission) for each in made.streams] == [
        (used, asked["submission"])
    ]


def test_an_asynchronous_stream_is_never_measured_by_a_synchronous_engine() -> None:
    """It would have one request outstanding where 32 are asked."""
    with pytest.raises(PreconditionError, match="no asynchronous engine"):
        sections(stream(), load=FioLoad(10, 1, 1, engine="psync"))


@pytest.mark.parametrize(("asked", "why"), [
    ({"submission": "sync"}, "needs iodepth = 1, not 8"),
    ({"engine": "psync"}, "'psync' is 'sync': write submission = 'sync'"),
    ({"engine": "mmap"}, "page cache"),
    ({"engine": "null"}, "no file or device"),
    ({"engine": "io_uring", "iodepth": 26}, "write iodepth = 32"),
    ({"submission": "sync", "jobs": 1, "iodepth": 8, "batch": 8}, "needs iodepth = 1"),
    ({"jobs": 1, "iodepth": 8, "batch": 9}, "a batch of 9 needs one submitter"),
    ({"jobs": 2, "iodepth": 8, "batch": 2}, "a batch of 2 needs one submitter"),
])  # fmt: skip
def test_an_engine_and_a_submission_that_do_not_fit_are_refused(
    asked: Mapping[str, Any], why: str
) -> None:
    """What would be another load than it says."""
    with pytest.raises(ValueError, match=why):
        stream(**asked)


@pytest.mark.parametrize(("of", "asked", "submitters"), [
    ({}, Shape(submission="sync"), (32, 1)),
    ({}, Shape(submission="async"), (4, 8)),
    ({}, Shape(submission="sync", threads=3), (3, 1)),
    ({"submission": "sync", "jobs": 18, "iodepth": 1}, Shape(submission="async"), (1, 18)),
    ({"submission": "sync", "jobs": 18, "iodepth": 1}, Shape(submission="async", threads=2),
     (2, 9)),
    ({"submission": "sync", "iodepth": 1, "sync": "fdatasync"}, Shape(submission="async"), (4, 1)),
])  # fmt: skip
def test_another_submission_keeps_as_many_outstanding(
    of: Mapping[str, Any], asked: Shape, submitters: tuple[int, int]
) -> None:
    """Unless threads say otherwise; an engine that was named goes with its submission."""
    made = apply_shape(Pattern(name="p", streams=(stream(**of),)), asked).streams[0]
    assert ((made.jobs, made.iodepth), made.submission) == (submitters, asked.submission)
    named = Pattern(name="p", streams=(stream(engine="libaio"),))
    assert apply_shape(named, Shape(submission="sync")).streams[0].engine is None
