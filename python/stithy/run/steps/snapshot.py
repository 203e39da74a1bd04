"""What restores need of the loaded database is kept beside the results."""

from stithy.run.copies.loading import snapshot as do

NAME = "snapshot"
WHAT = BRIEF = "keep what restores need"
PHASE, PACED = "copying", False

__all__ = ["do"]
