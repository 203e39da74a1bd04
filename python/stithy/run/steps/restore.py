"""The master copy is put back on a candidate before its window."""

from stithy.run.copies.restore import restore_step as do

NAME = "restore"
WHAT, BRIEF = "restore the master copy", ""
PHASE, PACED = "measuring", False

__all__ = ["do"]
