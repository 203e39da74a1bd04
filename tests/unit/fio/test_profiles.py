"""I/O profiles are whole and sourced, what is wrong is said at its place, and one of two rates."""

import re
from configparser import RawConfigParser

import pytest

from stithy.errors import Refused, UserError
from stithy.fio import library
from stithy.fio.jobfile import JobFile, make_job_file
from stithy.fio.load import FioLoad, FioTarget
from stithy.fio.profile import (
    DIRECTIONS,
    Pattern,
    Stream,
    average_bytes,
    format_size,
    parse_size,
    round_sizes,
)
from stithy.fio.variants import mix_pattern

GIB = 2**30
TEXT = """
title = "A profile"

[[pattern]]
name = "one"

[[pattern.stream]]
name = "data"
read_share = 0.7
read_sizes = { 8K = 1.0 }
write_sizes = { 8K = 0.5, 16K = 0.5 }
random_share = 1.0
jobs = 2
iodepth = 8
submission = "async"

[[source]]
keys = ["*.read_share", "*_sizes", "*.random_share"]
text = "a book"

[assumed]
"*.jobs" = "a guess"
"*.iodepth" = "a guess"
"*.submission" = "a guess"
"""


@pytest.mark.parametrize("name", library.list_names())
def test_every_shipped_profile_becomes_job_files_at_full_speed_and_at_a_rate(name: str) -> None:
    """Its rules, shares and provenance are judged when it is read; fio judges it in tests/real."""
    profile = library.load_shipped(name)
    for pattern in profile.patterns:
        made = make_job_file(pattern, FioTarget("/x", GIB), FioLoad(60, 5, 1))
        assert [each.name for each in made.streams] == [each.name for each in pattern.streams]
        for stream, asked in zip(made.streams, pattern.streams, strict=True):
            for way, mean in stream.mean_bytes.items():
                assert mean == pytest.approx(average_bytes(asked.get_sizes(way)), rel=0.01)
        if not pattern.is_weighted:
            continue
        paced = make_job_file(pattern, FioTarget("/x", GIB), FioLoad(60, 5, 1, rate_per_s=1000.0))
        rates = [_per_s(paced, stream) for stream in pattern.streams]
        assert sum(rates) == pytest.approx(1000, rel=0.01)


def _per_s(made: JobFile, stream: Stream) -> float:
    """Requests a second of a stream by the rates of its sections."""
    text = RawConfigParser()
    text.read_string(made.text)
    total = 0.0
    for name in (
        section for section in text.sections() if section.partition(".")[0] == stream.name
    ):
        jobs, is_random = int(text[name]["numjobs"]), "rate_process" in text[name]
        for way, rate in zip(DIRECTIONS, text[name]["rate"].split(","), strict=False):
            sizes = {size: part / 100 for size, part in round_sizes(stream.get_sizes(way)).items()}
            if rate:
                total += jobs * int(rate) / (min(sizes) if is_random else average_bytes(sizes))
    return total


def test_four_corners_are_four_patterns_of_which_one_may_be_asked_for() -> None:
    """Each has the outstanding requests of its original."""
    profile = library.find("four-corners")
    outstanding = [pattern.streams[0].outstanding for pattern in profile.patterns]
    assert outstanding == [128, 64, 16, 8]
    alone = library.find("four-corners/random-write-4k")
    assert [alone.label(each) for each in alone.patterns] == ["four-corners/random-write-4k"]
    assert (alone.writes, library.find("four-corners/random-read-4k").writes) == (True, False)
    assert library.find("sql").label(library.find("sql").patterns[0]) == "sql"


def test_an_unknown_name_gets_the_nearest_one() -> None:
    """Of profiles, and of the patterns of one."""
    for asked, meant in (
        ("four_corner", "four-corners"),
        ("sql-9010", "sql-90-10"),
        ("four-corners/random-read", "random-read-4k"),
    ):
        with pytest.raises(UserError) as caught:
            library.find(asked)
        assert f"`{meant}`" in caught.value.remedy


@pytest.mark.parametrize(("before", "after", "place", "problem"), [
    ("read_share = 0.7", "read_share = 1.7", "one.streams.data.read_share", "less than"),
    ("16K = 0.5", "16K = 0.4", "streams.data", "sum to 0.9"),
    ("16K = 0.5", "17b = 0.5", "write_sizes", "not a block size"),
    ("16K = 0.5", "16KB = 0.5", "write_sizes", "not a block size"),
    ("read_share = 0.7", "read_share = 1.0", "streams.data", "write_sizes"),
    ("iodepth = 8", "iodepth = 8\nsync = 'fdatasync'", "streams.data", "needs iodepth = 1"),
    ("iodepth = 8", "iodepth = 8\nweights = 3", "data.weights", "no such key"),
    ("jobs = 2", "jobs = 0", "data.jobs", "greater than"),
    ('"A profile"', '"A profile"\nverify = true', "verify", "no such key"),
    ('"*.jobs" = "a guess"\n', "", "one.data.jobs", "neither a source nor an assumption"),
    ('"*.jobs"', '"*.jbs"', "*.jbs", "covers nothing"),
    ('"*.jobs" =', '"*.read_share" =', "one.data.read_share", "covered by"),
    ('name = "one"', 'name = "One!"', "patterns", "not a name"),
    ("[[pattern]]", "[[pattern]", "p.toml", "not TOML"),
    ("jobs = 2", "jobs = 2\nhot_spots = [{ access_share = 0.905, space_share = 1.0 }]", "",
     "sum to 0.905"),
    ("jobs = 2", "jobs = 2\nhot_spots = [{ access_share = 0.905, space_share = 0.5 }, "
     "{ access_share = 0.095, space_share = 0.5 }]", "", "whole percents"),
    ("jobs = 2", "jobs = 2\nregion = { offset_share = 0.6, size_share = 0.5 }", "",
     "ends behind the target"),
    ("jobs = 2", "jobs = 2\nweight = 3\nburst = { busy_s = 1.0, pause_s = 1.0 }", "",
     "cannot keep a weight"),
])  # fmt: skip
def test_what_is_wrong_is_said_where_it_is(
    before: str, after: str, place: str, problem: str
) -> None:
    """With the value and a remedy; several problems at once."""
    assert before in TEXT
    with pytest.raises((UserError, Refused)) as caught:
        library.parse(TEXT.replace(before, after), "p", "p.toml")
    parts = caught.value.parts()
    assert any(place in part.where and problem in part.problem for part in parts), parts
    assert all(each.remedy for each in parts)


def test_patterns_of_one_name_are_refused() -> None:
    """Of the lines at which they begin."""
    pattern = TEXT[TEXT.index("[[pattern]]") : TEXT.index("[[source]]")]
    twice = TEXT.replace("[[source]]", f"{pattern}[[source]]")
    with pytest.raises(Refused) as caught:
        library.parse(twice, "p", "p.toml")
    lines = twice.splitlines()
    places = [part.where.partition(":")[2] for part in caught.value.parts()]
    assert [lines[int(line) - 1] for line in places] == ["[[pattern]]"] * 2
    assert len({*places}) == 2


def test_a_working_set_is_bounded_by_what_is_free() -> None:
    """A third of the capacity, or 80 % of the free room. Source: HCIBench's easy run."""
    rule = library.find("hcibench-easy-run").working_set
    assert rule is not None
    assert rule.choose_bytes(3000, 2000) == pytest.approx(1000, abs=1)
    assert rule.choose_bytes(3000, 100) == 80


def test_sizes_are_written_as_they_are_read() -> None:
    """Whole sectors only."""
    for text in ("512", "4K", "116K", "1M"):
        assert format_size(parse_size(text)) == text
        assert parse_size(text.lower()) == parse_size(text)
    for text in ("4KB", "0", "100", "K", "1G", ""):
        with pytest.raises(ValueError, match="not a block size"):
            parse_size(text)


MATRIX = library.find("reads-beside-writes").patterns[0]


@pytest.mark.parametrize(("reads", "written", "weights"), [
    (2000.0, 64 * 2**20, {"reads": 2000.0, "writes": 512.0}),
    (500.0, 0, {"reads": 500.0}),
    (None, 2**20, {"writes": 8.0}),
])  # fmt: skip
def test_reads_have_a_rate_and_writes_a_bandwidth(
    reads: float | None, written: float | None, weights: dict[str, float]
) -> None:
    """Writes of 128K; what is not asked for beside the other is left out."""
    pattern, rate_per_s = mix_pattern(MATRIX, reads, written)
    assert {stream.name: stream.weight for stream in pattern.streams} == weights
    assert rate_per_s == pytest.approx(sum(weights.values()))


def test_without_writes_reads_go_as_fast_as_they_can() -> None:
    """No rate is asked for then."""
    pattern, rate_per_s = mix_pattern(MATRIX, None, 0)
    assert ([stream.name for stream in pattern.streams], rate_per_s) == (["reads"], None)


@pytest.mark.parametrize(("pattern", "reads", "problem"), [
    (library.find("sql").patterns[0], 100.0, "both reads and writes.*reads-beside-writes"),
    (library.find("four-corners").patterns[0], 100.0,
     "no stream that only writes.*reads-beside-writes"),
    (MATRIX, 0, "neither"),
])  # fmt: skip
def test_what_cannot_be_so_is_refused(pattern: Pattern, reads: float, problem: str) -> None:
    """With the profile that can; nothing at all cannot be measured."""
    with pytest.raises(UserError) as caught:
        mix_pattern(pattern, reads, 2**20 if reads else 0)
    assert re.search(problem, str(caught.value))
