"""The target of block I/O is written once, so that nothing is read that was never written."""

from stithy.run.activities.fio.targets import lay_out as do

NAME = "lay-out"
WHAT = BRIEF = "write the target"
PHASE, PACED = "loading", False

__all__ = ["do"]
