"""The target of block I/O is worked on in rounds until it is steady."""

from stithy.run.activities.fio.precondition import rounds as do

NAME = "precondition"
WHAT = BRIEF = "precondition until steady"
PHASE, PACED = "loading", True

__all__ = ["do"]
