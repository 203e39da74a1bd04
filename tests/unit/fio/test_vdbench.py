"""Parameter files of Vdbench as profiles: each word is used, decided by the study, or refused."""

from pathlib import Path

import pytest

from stithy.errors import StithyError
from stithy.fio import library
from stithy.fio.profile import Pattern, Stream
from stithy.scenarios.block_io.keys import BlockIoSpec

SD = "sd=sd1,lun=/dev/sdb,openflags=o_direct\n"
WD = "wd=wd1,sd=sd1,xfersize=8k\n"
RD = "rd=run,wd=wd1,iorate=max,elapsed=60\n"


def patterns(folder: Path, text: str) -> tuple[Pattern, ...]:
    """The patterns of a parameter file."""
    file = folder / "mine.vdb"
    file.write_text(text)
    return library.find(str(file)).patterns


def shape(stream: Stream) -> str:
    """Jobs x depth, shares of reads and of random places, sizes; sync, weight, region, align."""
    sizes = stream.read_sizes or stream.write_sizes
    region = stream.region
    return " ".join(filter(None, [
        f"{stream.jobs}x{stream.iodepth} {stream.read_share:g} {stream.random_share:g}",
        "/".join(f"{size / 1024:g}:{share:.4g}" for size, share in sizes.items()),
        "" if stream.sync == "none" else stream.sync,
        f"w{stream.weight:g}" if stream.weight else "",
        "" if region.size_share == 1 else f"{region.offset_share:g}+{region.size_share:g}",
        *stream.options.values(),
    ]))  # fmt: skip


READ = [
    # One word after the other: abbreviated, in capitals, a line each, with comments and blank ones.
    (
        "SD=sd1\nLUN=/dev/sdb\nop=(O_DIRECT,o_dsync)\nth=4\n\n* no\n# no\n/ no\n"
        "Wd=wd1,SD=sd1,xf=4kb,rdp=0,   (a comment)\n   se=seq\nrd=run,wd=wd1,io=max,el=5m,in=1\n"
        "eof\nwhatever follows\n",
        {"run": ["1x4 0 0 4:1 dsync"]},
    ),
    # What HCIBench generates: reporting words, ranges, hit areas of 0.
    (
        "*Auto Generated\ndebug=86\ndata_errors=10000\ncompratio=2\ndedupratio=4\ndedupunit=4k\n"
        "sd=sd1,lun=/dev/sda,openflags=o_direct,hitarea=0,range=(0,80),threads=4\n"
        "sd=sd2,lun=/dev/sdb,openflags=o_direct,hitarea=0,range=(0,80),threads=4\n"
        "wd=wd1,sd=(sd1,sd2),xfersize=4k,rdpct=70,seekpct=100\n"
        "rd=run1,wd=wd1,iorate=max,elapsed=600,warmup=60,interval=30\n",
        {"run1": ["4x1 0.7 1 4:1 0+0.8"]},
    ),
    # Runs with words of their own, on the default workload.
    (
        SD + "wd=default,rdpct=50,whpct=0,rhpct=(0)\n"
        "rd=default,sd=sd*,elapsed=15m,seekpct=100,iorate=MAX,pause=5m,rdpct=100,threads=2\n"
        "rd=64k_reads,xfersize=64k\nrd=8k,xfersize=8k,rdpct=0\n",
        {"64k-reads": ["2x1 1 1 64:1"], "8k": ["2x1 0 1 8:1"]},
    ),
    # Sweeps: listed, stepped, doubled and halved; only what has several values is in the name.
    (
        SD + WD + "rd=run,wd=wd1,io=max,forx=(4k-16k,4k),forthreads=(4-1,d),forrdpct=(50)\n",
        {
            f"run-{threads}-{size}k": [f"{threads}x1 0.5 1 {size}:1"]
            for threads in (4, 2, 1)
            for size in (4, 8, 12, 16)
        },
    ),
    # Threads are those of the storage that a workload is on; those that share it divide them.
    (
        "sd=default,openflags=directio\nsd=sd1,lun=/a,threads=8\nsd=sd2,lun=/b,threads=32\n"
        "wd=one,sd=sd1\nwd=data,sd=sd2,xfersize=8192,rdpct=80,skew=99\n"
        "wd=log,sd=sd2,xfersize=64k,writepct=100,seekpct=0\n"
        "rd=a,wd=one,iorate=max\nrd=b,wd=(data,log),iorate=max\n"
        "rd=c,wd=(one,log),iorate=max\nrd=d,wd=(one,log),iorate=100\n",
        {
            "a": ["8x1 1 1 4:1"],
            "b": ["31x1 0.8 1 8:1 w99", "1x1 0 0 64:1 w1"],
            "c": ["8x1 1 1 4:1", "1x32 0 0 64:1"],  # each as fast as its storage lets it
            "d": ["8x1 1 1 4:1 w50", "1x32 0 0 64:1 w50"],
        },
    ),
    # Names: lists over lines, ranges, counted ones, several before a star; a range of the workload.
    (
        "sd=disk,lun=/dev/dm-*,count=(1,4),range=(10,20),openflags=o_direct\n"
        "sd=sd_log,lun=/dev/x,openflags=o_direct\n"
        "wd=wd1,sd=(disk1-disk2,\n   disk4),seekpct=20\n"
        "wd=wd2,sd=(sd_l*),range=(50,100),streams=4,seekpct=sequential\n"
        "rd=a,wd=wd1,iorate=max\nrd=b,wd=(wd2-wd2),iorate=max,threads=10\n",
        {"a": ["8x1 1 0.2 4:1 0.1+0.1"], "b": ["4x3 1 0 4:1 0.5+0.5"]},
    ),
    # Random places aligned, which has no effect in sequence; whole percents of random ones.
    (
        SD.replace("\n", ",align=4096\n") + "wd=a,sd=sd1,xfersize=(4k,60,8k,40)\n"
        "wd=b,sd=sd1,xfersize=64k,seekpct=.1,rdpct=70\nrd=a,wd=a,iorate=max\nrd=b,wd=b,iorate=max\n",
        {"a": ["8x1 1 1 4:0.6/8:0.4 4K"], "b": ["1x8 0.7 0 64:1"]},
    ),
    # Sizes: mixes that Vdbench rounds to 100, a stepped range, decimals.
    (
        SD
        + "wd=a,sd=sd1,xfersize=(4k,33.3,8k,33.3,16k,33.3)\nwd=b,sd=sd1,xfersize=(0.5k,1536,512)\n"
        "rd=a,wd=a,iorate=max\nrd=b,wd=b,iorate=max\n",
        {
            "a": ["8x1 1 1 4:0.333/8:0.333/16:0.334"],
            "b": ["8x1 1 1 0.5:0.3333/1:0.3333/1.5:0.3333"],
        },
    ),
]


@pytest.mark.parametrize(("text", "streams"), READ)
def test_a_run_is_a_pattern_and_its_workloads_are_streams(
    tmp_path: Path, text: str, streams: dict[str, list[str]]
) -> None:
    """With all that a parameter file may write in several ways."""
    found = {
        pattern.name: list(map(shape, pattern.streams)) for pattern in patterns(tmp_path, text)
    }
    assert found == streams


@pytest.mark.parametrize(("word", "rates"), [
    ("iorate=max", ()),
    ("iorate=curve", ("10%", "50%", "70%", "80%", "90%", "100%")),
    ("iorate=curve,curve=(90,10-30,10),stopcurve=20", ("10%", "20%", "30%", "90%")),
    ("iorate=(100-300,100),dist=d", (100.0, 200.0, 300.0)),
])  # fmt: skip
def test_rates_of_a_run_are_those_of_the_study(
    tmp_path: Path, word: str, rates: tuple[float | str, ...]
) -> None:
    """Unless it gives some; runs of different rates are measured one by one."""
    (pattern,) = patterns(tmp_path, SD + WD + RD.replace("iorate=max", word))
    assert pattern.rates == rates
    profiles = [str(tmp_path / "mine.vdb")]
    assert BlockIoSpec.model_validate({"profiles": profiles}).rates == rates
    assert BlockIoSpec.model_validate({"profiles": profiles, "rate": "20%"}).rates == ("20%",)
    if rates:
        with pytest.raises(ValueError, match="different rates"):
            BlockIoSpec.model_validate({"profiles": ["sql", *profiles]})


def test_compression_and_duplicates_are_shares_of_the_data(tmp_path: Path) -> None:
    """A run may sweep its ratio."""
    text = "compratio=2\ndedupratio=4\n" + SD + WD + RD + RD.replace("run", "s,compratio=(1,4)")
    found = [(p.compressible_share, p.duplicate_share) for p in patterns(tmp_path, text)]
    assert found == [(0.5, 0.75), (0.0, 0.75), (0.75, 0.75)]


REFUSED = [
    ("compression=50\nvalidate=yes\n" + SD + WD + RD,
     ["1: compression=50: it is what remains, in percent", "2: validate=yes: it reads"]),
    (SD + "wd=wd1,sd=sd1,xfersize=8k,hitarea=10m,rhpct=20\nrd=r,wd=wd1,iorate=max,foo=1\n",
     ["2: wd has no word hitarea", "2: rhpct=20: it reads a small area", "3: rd has no word foo"]),
    (SD.replace("\n", ",align=100\n") + WD + RD, ["1: align=100 is not understood"]),
    (SD + "wd=wd1,sd=sd1, xfersize=64k\n" + RD, ["2: words behind a blank"]),
    ("fsd=f,anchor=/a,depth=1\nfwd=w,fsd=f\nrd=r,fwd=w,fwdrate=max,format=yes\n",
     ["1: fsd=f: it works on files"]),
    (SD + "wd=a,sd=sd9,skew=90\nwd=b,sd=sd1,skew=20,priority=1\nrd=r,wd=(a,c),iorate=max\n",
     ["2: sd=sd9: nothing is called", "3: priority=1: it serves",
      "4: wd=(a,c): nothing is called c", "4: rd=r: skews add up to 90"]),
    (SD + WD + "rd=a,iorate=max\nrd=b,wd=wd1\nrd=c,wd=wd1,iorate=(9,9,1,9),dist=(u,variable)\n",
     ["3: rd=a: no workload", "4: rd=b: it has no rate", "5: rd=c: dist=(u,variable)"]),
    (SD + "wd=wd1,sd=sd1,xfersize=$size,range=(1g,2g),seekpct=poisson\n"
     "rd=r,wd=wd1,io=(10%,max),forth=(1-8)\n",
     ["2: xfersize=$size: a variable", "2: seekpct=poisson is not understood: no profile",
      "2: range=(1g,2g) is not understood: bytes", "3: io=(10%,max)",
      "3: forth=(1-8) is not understood: '1-8' has no"]),
    ("sd=a,lun=/a,openflags=o_direct\nsd=b,lun=/b,openflags=(o_direct,o_sync)\n"
     "wd=w,sd=(a,b),rdpct=0,xfersize=1000\nrd=r,wd=w,iorate=max\n",
     ["3: xfersize=1000 is not understood", "3: openflags differs"]),
    ("sd=a,threads=8\nsd=b\nsd=c,threads=9\nwd=w,sd=(a,b)\nwd=v,sd=(b,c)\nrd=r,wd=*,io=max\n",
     ["5: threads differs", "6: rd=r: workloads share some"]),
    (SD + "wd=a,sd=sd1\nwd=b,sd=sd1\nrd=r,wd=*,iorate=max,threads=1\nrd=s,wd=*,io=max,for=(4k\n",
     ["4: rd=r: 2 workloads share 1 threads", "5: a list without its"]),
    ("include=nowhere.inc\ninclude=mine.vdb\n" + SD + WD + RD,
     ["1: include=nowhere.inc: there is no", "2: include=mine.vdb: the file includes itself"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "problems"), REFUSED)
def test_what_no_profile_does_is_refused_with_its_line_and_word_all_at_once(
    tmp_path: Path, text: str, problems: list[str]
) -> None:
    """No reason is Python's own, and no remedy changes the load without saying so."""
    with pytest.raises(StithyError) as caught:
        patterns(tmp_path, text)
    shown = [str(part).removeprefix(f"{tmp_path}/mine.vdb:") for part in caught.value.parts()]
    begun = [said[: len(text)] for said, text in zip(shown, problems, strict=False)]
    assert (begun, len(shown)) == (problems, len(problems)), shown
    assert not [each for each in caught.value.parts() if each.remedy.startswith("leave it out")]


def test_an_included_file_is_read_in_place(tmp_path: Path) -> None:
    """Its words have their own places; one without a folder lies beside the file."""
    (tmp_path / "disks.inc").write_text("* disks\n" + SD.replace("\n", ",threads=3\n"))
    (pattern,) = patterns(tmp_path, "include=disks.inc\n" + WD + RD)
    assert pattern.streams[0].jobs == 3
    profile = library.find(str(tmp_path / "mine.vdb"))
    assert [row.split()[1] for row in profile.words if "threads=3" in row] == [
        f"{tmp_path}/disks.inc:2"
    ]


def test_the_table_has_the_fate_of_every_word(tmp_path: Path) -> None:
    """What a run overrides, and what no run uses, has no effect."""
    text = (
        "report=no_sd_detail\nsd=sd1,lun=/dev/sdb,threads=8\nwd=wd1,sd=sd1,seekpct=seq,rdpct=50\n"
        "wd=wd2,sd=sd1\nrd=run,wd=wd1,iorate=max,elapsed=60,rdpct=100,curve=(50)\n"
    )
    patterns(tmp_path, text)
    table = library.find(str(tmp_path / "mine.vdb")).words
    assert [" ".join(row.split()) for row in table] == [
        "line 2 threads=8 used",
        "line 3 sd=sd1 used",
        "line 3 seekpct=seq used: asynchronous, because Vdbench's threads take turns at one stream",
        "line 5 wd=wd1 used",
        "line 5 iorate=max used",
        "line 5 rdpct=100 used",
        "line 2 lun=/dev/sdb the study decides: the candidates",
        "line 5 elapsed=60 the study decides: `duration`",
        "line 2 sd=sd1 the study decides: direct I/O, for which openflags do not ask",
        "line 1 report=no_sd_detail no effect on storage",
        "line 3 rdpct=50 no effect on storage: nothing that runs uses it",
        "line 4 sd=sd1 no effect on storage: nothing that runs uses it",
        "line 5 curve=(50) no effect on storage: nothing that runs uses it",
    ]
