"""Files of fio and of Vdbench as profiles: what they say is kept, or named with its line."""

from pathlib import Path

import pytest

from stithy.errors import StithyError
from stithy.fio import library
from stithy.fio.foreign.lines import Reader, Word, tabulate

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
VDBENCH = """\
* the load
compratio=2
sd=sd1,lun=/dev/sdx,threads=24
wd=default,xfersize=8192,seekpct=100
wd=oracle-data,sd=sd1,rdpct=80,skew=99
wd=oracle-log,sd=sd1,xfersize=64k,rdpct=0,seekpct=0
wd=mix,sd=sd1,xfersize=(4k,60,8k,40),rdpct=70,seekpct=80,range=(50,100)
rd=oracle,wd=oracle*,iorate=max,elapsed=60,interval=5
rd=mixed,wd=mix,iorate=curve,forthreads=(8,16)
"""


@pytest.mark.needs_fio
def test_a_job_file_becomes_streams_and_a_stonewall_a_pattern(tmp_path: Path) -> None:
    """With sizes of each direction, hot spots, flushes and shares of the target."""
    file = tmp_path / "mine.fio"
    file.write_text(FIO)
    first, second = library.find(str(file)).patterns
    data, log = first.streams
    assert (data.read_share, data.jobs, data.iodepth) == (0.7, 4, 8)
    assert {(each.submission, each.engine) for each in first.streams} == {("async", "libaio")}
    assert data.read_sizes == {4096: 0.6, 8192: 0.4}
    assert data.write_sizes == {65536: 0.1, 8192: 0.9}
    assert [(each.access_share, each.space_share) for each in data.hot_spots] == [
        (0.95, 0.05), (0.05, 0.95),
    ]  # fmt: skip
    assert (log.sync, log.region.size_share, log.is_sequential) == ("fdatasync", 0.1, True)
    assert (second.name, second.streams[0].iodepth) == ("scan", 16)
    assert library.find(f"{file}/scan").patterns == (second,)


@pytest.mark.needs_fio
@pytest.mark.parametrize(
    ("text", "engine", "submission", "outstanding"),
    [
        ("direct=1\nbs=4k\nrw=randread\niodepth=32\n", "psync", "sync", 1),
        ("ioengine=psync\nbs=32k\nrw=randread\niodepth=4\nnumjobs=4\n", "psync", "sync", 4),
        ("ioengine=pvsync2\niodepth=8\n", "pvsync2", "sync", 1),
        ("ioengine=posixaio\niodepth=7\n", "posixaio", "async", 7),
        ("ioengine=io_uring\niodepth=16\n", "io_uring", "async", 16),
    ],
)
def test_the_engine_of_a_job_says_how_many_are_outstanding(
    text: str, engine: str, submission: str, outstanding: int, tmp_path: Path
) -> None:
    """psync where none is named; a depth has no effect on a synchronous one."""
    file = tmp_path / "mine.fio"
    file.write_text(f"[job]\n{text}")
    (stream,) = library.find(str(file)).patterns[0].streams
    assert (stream.engine, stream.submission) == (engine, submission)
    assert stream.outstanding == outstanding


def test_a_parameter_file_becomes_a_pattern_for_each_run_and_number_of_threads(
    tmp_path: Path,
) -> None:
    """Threads are divided by skew, and a default holds for what follows it."""
    file = tmp_path / "mine.vdb"
    file.write_text(VDBENCH)
    oracle, *mixed = library.find(str(file)).patterns
    assert oracle.compressible_share == 0.5
    assert [
        (each.jobs, each.submission, each.weight, each.read_share) for each in oracle.streams
    ] == [(23, "sync", 99, 0.8), (1, "sync", 1, 0.0)]
    assert oracle.streams[1].write_sizes == {65536: 1.0}
    assert [(each.name, each.streams[0].outstanding) for each in mixed] == [
        ("mixed-8", 8), ("mixed-16", 16),
    ]  # fmt: skip
    (mix,) = mixed[0].streams
    assert (mix.random_share, mix.region.offset_share, mix.region.size_share) == (0.8, 0.5, 0.5)
    assert mix.write_sizes == {4096: 0.6, 8192: 0.4}


SWEEPS = """\
* how Vdbench reports does not change the load
messagescan=no
sd=default,openflags=o_direct,threads=32
sd=sd1,lun=/dev/sdb,size=100g
wd=wd_mix,sd=sd*,xfersize=8k,   this is a comment that goes on
   rdpct=70,seekpct=100         and this one, too
wd=wd_seq,sd=sd1,xfersize=64k,seekpct=seqnz,rdpct=100
rd=default,elapsed=300,interval=1,warmup=60
rd=curve,wd=wd_mix,iorate=curve,curve=(10-120,10),stopcurve=20
rd=mix,wd=wd_mix,iorate=max,forrdpct=(100-0,50),forxfersize=(4k-16k,d)
rd=seq,wd=wd_seq,iorate=max,forthreads=(8-24,8)
"""


def test_sweeps_of_vdbench_are_a_pattern_for_each_of_their_points(tmp_path: Path) -> None:
    """In equal steps, by doubling, or as listed; curve and its end are the study's."""
    file = tmp_path / "sweeps.vdb"
    file.write_text(SWEEPS)
    found = {each.name: each.streams[0] for each in library.find(str(file)).patterns}
    mixes = [f"mix-{size}-{share}" for size in ("4k", "8k", "16k") for share in (100, 50, 0)]
    assert list(found) == ["curve", *mixes, "seq-8", "seq-16", "seq-24"]
    assert (found["mix-4k-100"].read_share, found["mix-4k-100"].read_sizes) == (1.0, {4096: 1.0})
    assert (found["mix-16k-0"].write_sizes, found["mix-16k-0"].outstanding) == ({16384: 1.0}, 32)
    assert (found["curve"].read_share, found["curve"].read_sizes) == (0.7, {8192: 1.0})
    sequence = found["seq-24"]
    assert (sequence.is_sequential, sequence.jobs, sequence.iodepth) == (True, 1, 24)
    assert sequence.submission == "async"


OPENED = """\
sd=sd1,lun=/dev/sdb,openflags=(o_direct,O_DSYNC)
sd=sd2,lun=/dev/sdc,openflags=directio
wd=commits,sd=sd1,rdpct=0,xfersize=8k
wd=reads,sd=sd1,rdpct=100,xfersize=8k
wd=plain,sd=sd2,rdpct=0,xfersize=8k
rd=synced,wd=(commits,reads),iorate=max
rd=not-synced,wd=plain,iorate=max
rd=synced-by-the-run,wd=plain,iorate=max,openflags=o_sync
"""


def test_storage_that_vdbench_opens_for_synced_writes_has_them_in_the_profile(
    tmp_path: Path,
) -> None:
    """By the flags of the storage that a workload is on, or of its run; reads need none."""
    file = tmp_path / "opened.vdb"
    file.write_text(OPENED)
    found = [[each.sync for each in one.streams] for one in library.find(str(file)).patterns]
    assert found == [["dsync", "none"], ["none"], ["dsync"]]


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a.vdb", "wd=w,rdpct=50,rhpct=20\nfsd=f\nrd=r,wd=w,iorate=500\nrd=s,wd=x*\n",
                  (1, 2, 3, 4)),
        ("d.vdb", "sd=a,openflags=clear_cache\nsd=b,openflags=o_sync\nsd=c\nwd=v,sd=a,rdpct=0\n"
                  "wd=w,sd=(b,c),rdpct=0\nrd=r,wd=*,iorate=max\nrd=s,wd=*,iorate=max\n", (1, 5)),
    ],
)  # fmt: skip
def test_what_a_profile_cannot_say_is_named_with_its_line_all_at_once(
    tmp_path: Path, name: str, text: str, lines: tuple[int, ...]
) -> None:
    """Nobody measures less than the file asks for."""
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(StithyError) as caught:
        library.find(str(file))
    parts = getattr(caught.value, "problems", (caught.value,))
    places = [str(each.where).removeprefix(str(file)) for each in parts]
    assert places == ([f":{line}" for line in lines] or [""])


def test_the_fates_of_words_are_a_table_with_a_line_for_those_alike() -> None:
    """What is used comes first; of many lines and words the first ones are shown."""
    reader = Reader("mine.vdb")
    for line in range(3, 7):
        reader.note(Word(f"/dev/sd{line}", line, "lun"), "study", "the candidates")
    reader.note(Word("86", "disks.inc:1", "debug"), "none")
    reader.value(Word("8", 9, "threads"), int, 1)
    assert [" ".join(row.split()) for row in tabulate(reader.uses)] == [
        "line 9 threads=8 used",
        "line 3, 4, 2 more lun=/dev/sd3, /dev/sd4, 2 more the study decides: the candidates",
        "line disks.inc:1 debug=86 no effect on storage",
    ]
