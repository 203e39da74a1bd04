"""A job file of fio is what fio makes of it: used, the study's, without effect, or refused."""

import random
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stithy.errors import PreconditionError, StithyError
from stithy.fio import library
from stithy.fio.profile import IoProfile, Stream

pytestmark = pytest.mark.needs_fio

DIRECT = "direct=1\nioengine=libaio\n"
COMMON = f"[global]\n{DIRECT}"
ZONES = [(0.5, 0.05), (0.3, 0.15), (0.2, 0.8)]
KIB = 1024


def translated(folder: Path, text: str | bytes) -> IoProfile:
    """The profile of a job file."""
    file = folder / "mine.fio"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return library.find(str(file))


def streams_of(folder: Path, text: str | bytes) -> tuple[Stream, ...]:
    """All streams of a job file with one pattern."""
    (pattern,) = translated(folder, text).patterns
    return pattern.streams


READ_AS_FIO_READS: Mapping[str, tuple[str | bytes, Mapping[str, Any]]] = {
    "a job overrides [global], the later of two mixes wins": (
        f"{COMMON}rw=randrw\nrwmixwrite=40\nbs=4k\n[a]\nrwmixread=90\n", {"read_share": 0.9}),
    "a share of writes": (f"{COMMON}rw=rw\nrwmixread=9\nrwmixwrite=30\n[a]\n", {"read_share": 0.7}),
    "an empty part has fio's default": (
        f"[w]\n{DIRECT}rw=randwrite\nbs=8k,\n", {"write_sizes": {4 * KIB: 1}}),
    "an empty part keeps what [global] says": (
        f"{COMMON}bs=16k\n[w]\nrw=rw\nbs=8k,\n",
        {"read_sizes": {8 * KIB: 1}, "write_sizes": {16 * KIB: 1}}),
    "a split holds against a later size": (
        f"{COMMON}bssplit=4k/60%:8k\n[w]\nrw=read\nbs=64k\n",
        {"read_sizes": {4 * KIB: 0.6, 8 * KIB: 0.4}}),
    "a split in multiples of its smallest size": (
        f"[w]\n{DIRECT}rw=read\nbssplit=4k/50:6k/10:9k/20:16k/20\n",
        {"read_sizes": {4 * KIB: 0.6, 8 * KIB: 0.2, 16 * KIB: 0.2}}),
    "a range": (
        f"[w]\n{DIRECT}rw=randread\nbsrange=4k-16k\n",
        {"read_sizes": dict.fromkeys((4096, 8192, 12288, 16384), 0.25),
         "options": {"bsrange": "4k-16k", "norandommap": "0"}}),
    "fio's opposite units": (f"[w]\n{DIRECT}rw=read\nbs=64ki\n", {"read_sizes": {64 * KIB: 1}}),
    "psync is the engine, and has no depth": (
        "[rr]\ndirect=1\nbs=4k\nrw=randread\niodepth=32\n",
        {"submission": "sync", "engine": "psync", "iodepth": 1, "jobs": 1}),
    "a synchronous engine has one request a job": (
        "[r]\nioengine=psync\ndirect=1\nbs=32k\nthread\nrw=randread\niodepth=4\nnumjobs=4\n"
        "group_reporting\n", {"submission": "sync", "iodepth": 1, "jobs": 4}),
    "any synchronous engine": (
        "[r]\nioengine=pvsync2\niodepth=8\n",
        {"submission": "sync", "engine": "pvsync2", "iodepth": 1}),
    "any asynchronous engine": (
        "[r]\nioengine=posixaio\niodepth=7\n",
        {"submission": "async", "engine": "posixaio", "iodepth": 7}),
    "io_uring rounds its depth up, and goes down to what is asked for": (
        "[r]\nioengine=io_uring\ndirect=1\nrw=read\niodepth=26\niodepth_batch=0\n",
        {"engine": "io_uring", "iodepth": 32,
         "options": {"iodepth_low": "26", "iodepth_batch": "26"}}),
    "a batch of 0 is the depth, and 0 answers are not waited for": (
        f"[r]\n{DIRECT}rw=read\niodepth_batch=0\niodepth_batch_complete_min=0\niodepth_low=0\n",
        {"options": {"iodepth_batch": "0", "iodepth_batch_complete_min": "0"}}),
    "comments behind a TAB and without a blank": (
        f"{COMMON}numjobs=4\t; four\n[f]\t; first\nrw=randread\niodepth=2;two\n",
        {"jobs": 4, "iodepth": 2}),
    "what fio leaves out behind a number": (
        f"{COMMON}numjobs=8  // of them\n[f]\nrw=read\nbs=8k, 4k of writes\n",
        {"jobs": 8, "read_sizes": {8 * KIB: 1}}),
    "another encoding": (
        f"[j]\nrw=randread\n{DIRECT}# pr".encode() + b"\xfcfung 30\xb5s\nbs=8k\n",
        {"read_sizes": {8 * KIB: 1}}),
    "a last zone without a share": (
        f"[z]\n{DIRECT}rw=randread\nnorandommap\nrandom_distribution=zoned:50/5:30/15:20/\n",
        {"hot_spots": tuple({"access_share": a, "space_share": s} for a, s in ZONES)}),
    "a distribution that only fio knows": (
        f"[z]\n{DIRECT}rw=randread\nrandom_distribution=zipf:1.2\n",
        {"options": {"random_distribution": "zipf:1.2"}, "hot_spots": ()}),
    "random shares of each direction": (
        "[m]\nioengine=psync\ndirect=1\nbs=32k\nfdatasync=1\nrw=randrw\npercentage_random=100,0\n",
        {"random_share": 0.5, "options": {"percentage_random": "100,0", "norandommap": "0"}}),
    "places are drawn without a map where the file says so": (
        f"[z]\n{DIRECT}rw=randread\nnorandommap\n", {"options": {}}),
    "pauses": (
        f"[p]\n{DIRECT}rw=read\nthinktime=5ms\nthinktime_blocks=4\n",
        {"options": {"thinktime": "5ms", "thinktime_blocks": "4"}}),
    "rates of each direction, one of [global]": (
        f"{COMMON}rate_iops=100,200\n[p]\nrw=rw\nrate_iops=50,\n",
        {"options": {"rate_iops": "50,200"}}),
    "how a rate is kept, without a rate": (
        f"[p]\n{DIRECT}rw=read\nrate_process=poisson\nthinktime_blocks=4\n", {"options": {}}),
    "nothing of what no profile has": (
        f"[p]\n{DIRECT}rw=read\nstartdelay=0\nzonemode=none\n", {"options": {}}),
    "a share that is written twice": (f"[p]\n{DIRECT}rw=read\nsize=50%%\n", {
        "region": {"offset_share": 0, "size_share": 0.5}}),
    "flushes without writes have no effect": (
        f"[r]\n{DIRECT}rw=randread\nfdatasync=1\n", {"sync": "none"}),
    "fsync is not fdatasync": (
        f"[w]\n{DIRECT}rw=write\nfsync=8\n", {"sync": "fsync", "flushed_every": 8}),
    "O_SYNC is not O_DSYNC": (f"[w]\n{DIRECT}rw=write\nsync=1\n", {"sync": "sync"}),
    "synced data": (f"[w]\n{DIRECT}rw=write\nsync=dsync\n", {"sync": "dsync"}),
    "the amount is the study's, the place is not": (
        f"[w]\n{DIRECT}rw=write\nio_size=30%\nsize=20%\noffset=10%\n",
        {"region": {"offset_share": 0.1, "size_share": 0.2}}),
    "clones with files of their own divide the target": (
        f"[w]\n{DIRECT}rw=write\nnumjobs=4\n", {"jobs": 4, "name": "w"}),
}  # fmt: skip


@pytest.mark.parametrize("kind", READ_AS_FIO_READS)
def test_a_job_is_read_as_fio_reads_it(kind: str, tmp_path: Path) -> None:
    """What is not given has fio's default, and what overrides what is fio's."""
    text, expected = READ_AS_FIO_READS[kind]
    (stream,) = streams_of(tmp_path, text)
    seen = stream.model_dump()
    assert {key: seen[key] for key in expected} == expected


def test_included_files_and_variables_are_put_in_by_fio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the job file, too, and with the line of the file that is included."""
    (tmp_path / "common.inc").write_text("ioengine=libaio\ndirect=1\niodepth=${QD}\n")
    monkeypatch.setenv("QD", "8")
    monkeypatch.setenv("PGBLOCK", "64k")  # of an engine of Stithy's
    text = "[global]\ninclude common.inc\nrw=randread\n[j]\nbs=${PGBLOCK}\n"
    profile = translated(tmp_path, text)
    (stream,) = profile.patterns[0].streams
    assert (stream.iodepth, stream.read_sizes) == (8, {65536: 1.0})
    (line,) = (line for line in profile.words if "iodepth=8" in line)
    assert f"line {tmp_path}/common.inc:3 " in line
    monkeypatch.setenv("QD", "16")
    assert library.find(str(tmp_path / "mine.fio")).patterns[0].streams[0].iodepth == 16


GIVEN = """\
[global]
ioengine=psync
directory=/mnt/x
blocksize=8k
runtime=60
iodepth=16
[data]
readwrite=randread
rwmixread=30
percentage_random=50
log_avg_msec=1000
[more]
stonewall
rw=write
"""


def test_one_table_says_of_each_option_what_becomes_of_it(tmp_path: Path) -> None:
    """By fio's name and the file's line; what no line says is said, too."""
    assert [re.sub(" {2,}", " | ", line) for line in translated(tmp_path, GIVEN).words] == [
        "line 2 | ioengine=psync | used",
        "line 4 | bs=8k | used",
        "line 8, 14 | rw=randread, write | used",
        "line 10 | percentage_random=50 | used",
        "line 13 | stonewall | used",
        "line 3 | directory=/mnt/x | the study decides",
        "line 5 | runtime=60 | the study decides",
        "line 7, 12 | no direct | the study decides: "
        "measured with direct I/O, where fio would measure the page cache",
        "line 6 | iodepth=16 | no effect on storage: "
        "a synchronous engine has one request outstanding",
        "line 9 | rwmixread=30 | no effect on storage: no job needs it",
        "line 11 | log_avg_msec=1000 | no effect on storage",
    ]


def test_clones_of_a_named_file_go_through_it_side_by_side(tmp_path: Path) -> None:
    """Each from its own place where they are moved; clones at random places share it anyway."""
    shared = f"{COMMON}filename=/dev/sdx\nnumjobs=3\n[j]\n"
    for more, begins in (
        ("rw=read\n", [0, 0, 0]),
        ("rw=read\noffset_increment=25%\n", [0, 0.25, 0.5]),
        ("rw=read\nsize=10g\noffset_increment=20g\n", [0, 0.4, 0.8]),
        ("rw=randread\n", [0]),
        ("rw=randread\noffset_increment=10%\nsize=20%\n", [0, 0.1, 0.2]),
    ):
        made = streams_of(tmp_path, shared + more)
        assert sorted(stream.region.offset_share for stream in made) == begins, more
        assert sum(stream.jobs for stream in made) == 3


def test_places_in_bytes_keep_their_proportions(tmp_path: Path) -> None:
    """The end of the last job is the end of the target; sizes alone are the study's."""
    text = f"{COMMON}filename=/dev/sdx\n[a]\nsize=8g\nrw=randread\n[b]\nsize=2g\noffset=8g\n"
    regions = [(s.region.offset_share, s.region.size_share) for s in streams_of(tmp_path, text)]
    assert regions == [(0, 0.8), (0.8, 0.2)]
    (alone,) = streams_of(tmp_path, f"{COMMON}[a]\nsize=8g\nrw=randread\n")
    assert (alone.region.offset_share, alone.region.size_share) == (0, 1)


def test_jobs_that_do_the_same_on_a_device_each_are_the_load_of_one(tmp_path: Path) -> None:
    """Volumes of the study are the devices; other jobs run together on each of them."""
    same = "".join(f"[d{n}]\nfilename=/dev/sd{n}\n" for n in "abc")
    (one,) = streams_of(tmp_path, f"{COMMON}rw=randread\niodepth=16\n{same}")
    assert one.outstanding == 16
    assert len(streams_of(tmp_path, f"{COMMON}rw=read\n{same}bs=8k\n")) == 3


def test_what_writes_share_is_asked_of_jobs_that_write(tmp_path: Path) -> None:
    """Zeros are all compressible; two writers of other data are refused."""
    writer, reader = "[w]\nrw=write\nzero_buffers\n", "[r]\nrw=read\ndedupe_percentage=10\n"
    (pattern,) = translated(tmp_path, COMMON + writer + reader).patterns
    assert (pattern.compressible_share, pattern.duplicate_share) == (1.0, 0.0)
    with pytest.raises(StithyError, match="zero_buffers"):
        translated(tmp_path, f"{COMMON}{writer}[x]\nrw=write\n")


REFUSED = {
    "rw=trim": (2, "no profile has it"), "rw=read:8k": (2, "no profile has it"),
    "direct=0\nrw=read": (2, "buffered"), "bs=what": (2, "bs=what"), "bs=1000": (2, "sector"),
    "bs=${NOT_SET}": (2, "set the variable NOT_SET"), "bs=16KiB": (2, "16,000 bytes"),
    "numjobs=0": (2, "numjobs=0"),
    "startdelay=5": (2, "startdelay"), "no_such=1": (2, "no_such"), "kb_base=1000": (2, "kb_base"),
    "verify=md5": (2, "verify: true"), "latency_target=5ms": (2, "stop_at"),
    "exec_prerun=true": (2, "by hand"), "ioengine=mmap": (2, "page cache"),
    "ioengine=rbd": (2, "rbd"), "include gone.inc": (2, "gone.inc"), "offset=1g": (2, "percentage"),
    "random_distribution=zoned_abs:60/1g:40/2g\nrw=randread": (2, "percentage"),
    "rate=1m\nrate_iops=100": (3, "rate_iops"), "fsync=1\nsync=1\nrw=write": (3, "fsync"),
    "fsync=8\nfdatasync=1\nrw=write": (3, "beside fsync"),
    "nrfiles=4": (1, "several files"), "bsrange=4k-8k\nbssplit=4k/50:8k/50": (2, "bsrange"),
    "random_distribution=zipf:1.2\nrw=randread\nbs=4k,8k": (2, "leaves the job"),
    "size=$ncpus*1024": (2, "calculation"),
    # fio takes 70% for 100% of reads, and 5% of random places for all of them.
    "rwmixwrite=70%\nrw=rw": (2, "rwmixwrite=70%"), "dedupe_percentage=50%\nrw=write": (2, "50%"),
    "percentage_random=5%\nrw=randread": (2, "percentage_random=5%"),
}  # fmt: skip
"""Lines of a job, which begin in line 2: where the problem is, and what is said of it."""


@pytest.mark.parametrize("lines", REFUSED)
def test_what_a_profile_cannot_say_is_refused_with_its_line(lines: str, tmp_path: Path) -> None:
    """Alone, with what is wrong or what to do."""
    line, word = REFUSED[lines]
    with pytest.raises(StithyError) as caught:
        translated(tmp_path, f"[j]\n{lines}\n")
    (problem,) = caught.value.parts()
    assert problem.where == f"{tmp_path}/mine.fio:{line}"
    assert word in str(problem)


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    """What fio refuses, and what no profile has, in whatever section."""
    text = (
        "rw=read\n[a]\nrw=randread\nrandom_distribution=zipf:1.2\nfdatasync=often\n[b]\nrw=trim\n"
        "[c]\ndirect=0\nbs=what\nstartdelay=9\n"
    )
    with pytest.raises(StithyError) as caught:
        translated(tmp_path, text)
    places = {
        str(part.where).removeprefix(f"{tmp_path}/mine.fio:") for part in caught.value.parts()
    }
    assert places == {"1", "5", "7", "9", "10", "11"}
    with pytest.raises(StithyError, match="it has no job"):
        translated(tmp_path, "; nothing\n")


EVIL = '#include <stdlib.h>\n__attribute__((constructor)) static void run(void) { system("%s"); }\n'


@pytest.mark.parametrize("options", [{"exec_prerun": "true"}, {"thinktime": "5\nexec_prerun=true"}])
def test_a_profile_hands_on_no_commands(options: Mapping[str, str], tmp_path: Path) -> None:
    """Neither by their names nor in a second line of a value."""
    (stream,) = streams_of(tmp_path, f"[j]\n{DIRECT}rw=read\n")
    with pytest.raises(ValueError, match="pattern"):
        Stream.model_validate(stream.model_dump() | {"options": options})


def test_reading_a_job_file_runs_nothing_of_it(tmp_path: Path) -> None:
    """fio would open a library that an engine names, and calculate in a shell."""
    mark = tmp_path / "run"
    (tmp_path / "evil.c").write_text(EVIL % f"touch {mark}")
    library_file = tmp_path / "evil.so"
    build = ["cc", "-shared", "-fPIC", "-o", str(library_file), str(tmp_path / "evil.c")]
    subprocess.run(build, check=True)
    for lines in (
        f"ioengine={library_file}\nno_such=1", f"ioengine=external:{library_file}\nno_such=1",
        f"io${{NOT_SET}}engine={library_file}\nno_such=1", f"\x01ioengine={library_file}\nhipri=1",
        f"#{'x' * 4095}ioengine={library_file}\nno_such=1", f"exec_prerun=touch {mark}",
        f"size=$ncpus*1`touch {mark}`", f"filename=$(touch {mark})\nrw=trim",
    ):  # fmt: skip
        with pytest.raises(StithyError):
            translated(tmp_path, f"[j]\n{lines}\n")
        assert not mark.exists(), lines
    subprocess.run(["fio", "--showcmd", "-"], input=f"[j]\nioengine={library_file}\nno_such=1\n",
                   text=True, capture_output=True)  # fmt: skip
    assert mark.exists()  # as fio does itself


def test_without_fio_its_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, and as what the machine lacks."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PreconditionError, match="install fio"):
        translated(tmp_path, "[j]\nrw=read\nbs=3k\n")


SHOWN = re.compile(r"^j\d+: .*rw=(\w+), bs=\(R\) (\S+)-(\S+), \(W\) (\S+)-(\S+), \(T\)", re.M)
UNITS = {"B": 1, "KiB": KIB, "MiB": KIB**2}


def size_in(text: str) -> float:
    """A size as fio shows it."""
    number = text.rstrip("KMiB")
    return float(number) * UNITS[text.removeprefix(number)]


def test_modes_and_sizes_of_any_order_of_options_are_those_that_fio_shows(tmp_path: Path) -> None:
    """Sixty jobs of random options, some in a section `global` in between, by a run of fio."""
    draw = random.Random(34)
    words = [
        *(f"rw={mode}" for mode in ("read", "randwrite", "randrw", "rw")),
        *(f"bs={text}" for text in ("8k", "16k,", ",2k", "8k,64k", "4096:8192")),
        *(f"bssplit={text}" for text in ("4k/60:8k", "4k/10:8k/20:64k/,2k", "16k,4k/50:32k/50")),
    ]
    sections = ["[global]\nsize=1m\ndirect=1\n"]
    for number in range(60):
        name = f"j{number}" if number % 6 else "global"
        lines = draw.sample(words, draw.randint(0, 3))
        sections.append(f"[{name}]\n" + "".join(f"{line}\n" for line in lines))
    text = "".join(sections)
    patterns = translated(tmp_path, text).patterns
    shown = subprocess.run(["fio", "-"], input=f"[global]\nioengine=null\nnumber_ios=1\n{text}",
                           text=True, capture_output=True, check=True).stdout  # fmt: skip
    found = SHOWN.findall(shown)
    streams = [stream for pattern in patterns for stream in pattern.streams]
    assert len(found) == len(streams) == 50
    for (mode, *sizes), stream in zip(found, streams, strict=True):
        known = {"read": stream.read_sizes, "write": stream.write_sizes}
        assert stream.is_sequential == (not mode.startswith("rand"))
        for way, bounds in (("read", sizes[:2]), ("write", sizes[2:])):
            if known[way]:
                least, most = map(size_in, bounds)
                assert (min(known[way]), max(known[way])) == (least, most)
        assert bool(stream.read_sizes) == mode.endswith(("read", "rw"))
