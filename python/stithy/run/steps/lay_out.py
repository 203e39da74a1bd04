"""The target of block I/O is written once, so that nothing is read that was never written."""

from stithy.run.activities.fio.targets import lay_out

NAME = "lay-out"
WHAT = BRIEF = "write the target"
PHASE, PACED = "loading", False
do = lay_out
