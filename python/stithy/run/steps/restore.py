"""A candidate's database is as it was loaded before its window."""

from stithy.run.copies.restore import restore_step

NAME = "restore"
WHAT, BRIEF = "restore the database", ""
PHASE, PACED = "measuring", False
do = restore_step
