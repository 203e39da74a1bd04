"""What restores need of the loaded database is kept beside the results."""

from stithy.run.copies.loading import snapshot

NAME = "snapshot"
WHAT = BRIEF = "keep what restores need"
PHASE, PACED = "copying", False
do = snapshot
