"""A file is what it holds, whatever its ending, encoding and name; what became of its words."""

import os
from pathlib import Path

import pytest

from stithy.errors import StithyError, UserError
from stithy.fio import library
from stithy.fio.foreign.lines import Reader, Word, list_fates

PROFILE = """\
title = "Mine"
[[pattern]]
name = "one"
[[pattern.stream]]
name = "data"
read_share = 1.0
read_sizes = { 8K = 1.0 }
random_share = 1.0
jobs = 1
iodepth = 3
submission = "async"
[assumed]
"*" = "a guess"
"""
JOB = "[job]\nrw=randread\nbs=8k\nioengine=libaio\ndirect=1\niodepth=3\n"
NUMBERS = "[job]\nnumjobs=1\niodepth=3\n"
PARAMETERS = """\
sd=sd1,lun=/dev/sdx,threads=3
wd=w,sd=sd1,xfersize=8k,rdpct=100
RD=r,wd=w,iorate=max
"""
READS = (f"{n}000 /dev/x read {n * 8192} 8192" for n in range(200))
LOG = "\n".join(["fio version 3 iolog", *READS])
PARSED = "\n".join(
    f"8,0 3 1 {n / 100 + late:.9f} 697 {action} R {n * 16} + 16 [x]"
    for n in range(200)
    for action, late in (("D", 0.0), ("C", 0.001))
)


@pytest.mark.parametrize("ending", ["", ".ini", ".job", ".FIO", ".toml", ".vdb", ".iolog", ".txt"])
@pytest.mark.parametrize(
    "text", [PROFILE, f"\ufeff{PROFILE}", JOB, NUMBERS, PARAMETERS, LOG, PARSED],
    ids=["profile", "with a mark", "job", "numbers", "parameters", "log", "parsed"],
)  # fmt: skip
def test_a_file_is_known_by_what_it_holds(text: str, ending: str, tmp_path: Path) -> None:
    """Whatever its name ends in."""
    file = tmp_path / f"mine{ending}"
    file.write_text(text)
    (pattern,) = library.find(str(file)).patterns
    assert pattern.streams[0].read_share == 1.0
    assert library.own_files(str(file)) == (file,)
    assert (pattern.trace is not None) == (text in (LOG, PARSED))


@pytest.mark.parametrize("name", ["my_db", "Prod", "größe", "a b", "4k", "x.y"])
def test_a_profile_may_have_any_files_name(name: str, tmp_path: Path) -> None:
    """The name of the profile is made of it, as for files of other tools."""
    for ending, text in ((".toml", PROFILE), (".fio", JOB)):
        file = tmp_path / f"{name}{ending}"
        file.write_text(text)
        (pattern,) = library.find(str(file)).patterns
        assert pattern.streams[0].iodepth == 3
        assert library.find(f"{file}/{pattern.name}").patterns == (pattern,)


def test_other_encodings_are_read_where_only_comments_depend_on_them(tmp_path: Path) -> None:
    """TOML must be UTF-8, and its line is named; UTF-16 and other bytes are no text."""
    job, own, wide = (tmp_path / name for name in ("j.fio", "p.toml", "w.fio"))
    job.write_bytes(f"# prüfung\n{JOB}".encode("latin-1"))
    assert library.find(str(job)).patterns[0].streams[0].iodepth == 3
    own.write_bytes(f"{PROFILE}# prüfung\n".encode("latin-1"))
    wide.write_text(JOB, encoding="utf-16")
    for file, line, said in ((own, f":{PROFILE.count(chr(10)) + 1}", "UTF-8"), (wide, "", "text")):
        with pytest.raises(UserError) as caught:
            library.find(str(file))
        assert caught.value.where == f"{file}{line}"
        assert said in caught.value.problem


@pytest.mark.parametrize(("name", "said"), [
    ("./none.ini", "no such file"),
    ("./mine.fi", "did you mean mine.fio?"),
    ("none/mine.fio", "no such file"),
    ("./folder", "a directory"),
    ("./pipe", "pipe"),
    ("./letter", "a job file of fio, a parameter file of Vdbench"),
    ("./empty.fio", "no job"),
    (f"./{'x' * 300}.fio", "too long"),
    ("./mine.fio/other", "no pattern of mine 'other'"),
])  # fmt: skip
def test_what_is_no_profile_is_refused_in_its_own_words(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what is wrong with the file, not by a list of the shipped ones."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.fio").write_text(JOB)
    (tmp_path / "letter").write_text("Dear all,\n")
    (tmp_path / "empty.fio").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StithyError) as caught:
        library.find(name)
    assert said in str(caught.value)
    assert "four-corners" not in str(caught.value)


def two_devices(folder: Path) -> Path:
    """A log of reads of 8 KiB of one device, and of 4 KiB of another with blanks in its name."""
    lines = [f"{n}000 /dev/a read {n * 8192} 8192\n{n}500 /v/b c read 0 4096" for n in range(200)]
    file = folder / "two"
    file.write_text("\n".join(["fio version 3 iolog", "0 /dev/a add", "0 /v/b c open", *lines]))
    return file


def test_of_two_devices_one_is_chosen_by_its_name(tmp_path: Path) -> None:
    """By all of it or its last part; without a name both are said."""
    file = two_devices(tmp_path)
    for device, size in (("a", 8192), ("/dev/a", 8192), ("b c", 4096), ("/v/b c", 4096)):
        (pattern,) = library.find(f"{file}/{device}").patterns
        assert pattern.streams[0].read_sizes == {size: 1.0}
    names = {library.find(f"{file}/{device}").name for device in ("a", "b c")}
    assert len(names) == 2
    with pytest.raises(UserError, match=f"/dev/a and /v/b c: .*{file}//dev/a or {file}//v/b c"):
        library.find(str(file))
    with pytest.raises(UserError, match="no device 'd'"):
        library.find(f"{file}/d")


@pytest.mark.parametrize(("line", "said"), [
    ("900 /dev/x read 612000 1000", "1,000 bytes at 612,000 is not of whole sectors"),
    ("900 /dev/x write 100 4096", "4,096 bytes at 100 is not of whole sectors"),
    ("900 /dev/x read 0 0", "0 bytes at 0 is not of whole sectors"),
    ("900 /dev/x read here 4096", "no line of a log"),
    ("soon /dev/x read 0 4096", "no line of a log"),
    ("900 /dev/x rea", "no line of a log"),
    (f"900 /dev/x read {'9' * 5000} 4096", "no line of a log"),
])  # fmt: skip
def test_a_line_of_a_log_that_cannot_be_replayed_is_named(
    line: str, said: str, tmp_path: Path
) -> None:
    """With its number."""
    file = tmp_path / "x.iolog"
    file.write_text(f"{LOG}\n{line}\n")
    with pytest.raises(UserError) as caught:
        library.find(str(file))
    assert caught.value.where == f"{file}:202"
    assert said in caught.value.problem


FIO = """\
[global]
ioengine=libaio
direct=1
; the load
rw=randrw
rwmixread=70
bssplit=4k/60:8k,64k/10:8k
[data]
numjobs=4
iodepth=8
random_distribution=zoned:95/5:5/95
[log]
rw=write
bssplit=8k
fdatasync=1
size=10%
[scan]
stonewall
rw=read
bssplit=1M
iodepth=16
"""


@pytest.mark.needs_fio
def test_a_job_file_becomes_streams_and_a_stonewall_a_pattern(tmp_path: Path) -> None:
    """With sizes of each direction, hot spots, flushes and shares of the target."""
    file = tmp_path / "mine.fio"
    file.write_text(FIO)
    first, second = library.find(str(file)).patterns
    data, log = first.streams
    assert (data.read_share, data.jobs, data.iodepth) == (0.7, 4, 8)
    assert {(stream.submission, stream.engine) for stream in first.streams} == {("async", "libaio")}
    assert data.read_sizes == {4096: 0.6, 8192: 0.4}
    assert data.write_sizes == {65536: 0.1, 8192: 0.9}
    assert [(hot_spot.access_share, hot_spot.space_share) for hot_spot in data.hot_spots] == [
        (0.95, 0.05), (0.05, 0.95),
    ]  # fmt: skip
    assert (log.sync, log.region.size_share, log.is_sequential) == ("fdatasync", 0.1, True)
    assert (second.name, second.streams[0].iodepth) == ("scan", 16)
    assert library.find(f"{file}/scan").patterns == (second,)


def test_the_fates_of_words_are_a_table_with_a_line_for_those_alike() -> None:
    """What is used comes first; of many lines and words the first ones are shown."""
    reader = Reader("mine.vdb")
    for line in range(3, 7):
        reader.note(Word(f"/dev/sd{line}", line, "lun"), "study", "the candidates")
    reader.note(Word("86", "disks.inc:1", "debug"), "none")
    reader.read_value(Word("8", 9, "threads"), int, 1)
    assert [" ".join(row.split()) for row in list_fates(reader.fates)] == [
        "line 9 threads=8 used",
        "line 3, 4, 2 more lun=/dev/sd3, /dev/sd4, 2 more the study decides: the candidates",
        "line disks.inc:1 debug=86 no effect on storage",
    ]
