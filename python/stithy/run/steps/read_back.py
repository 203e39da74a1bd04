"""All of a target of block I/O is read back and compared with its checksums."""

from stithy.run.activities.fio.targets import read_back

NAME = "read-back"
WHAT = BRIEF = "read back and compare"
PHASE, PACED = "loading", False
do = read_back
