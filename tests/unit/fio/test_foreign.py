"""Job files of fio as profiles: what they say is kept, or named with its line."""

from pathlib import Path

import pytest

from stithy.fio import library
from stithy.fio.foreign.lines import Reader, Word, list_fates

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
