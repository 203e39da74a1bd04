"""The loaded database is kept beside the results, on no candidate's volume."""

from stithy.run.copies.loading import snapshot as do

NAME = "snapshot"
WHAT = BRIEF = "keep a master copy"
PHASE, PACED = "copying", False

__all__ = ["do"]
