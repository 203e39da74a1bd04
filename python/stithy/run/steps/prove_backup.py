"""A backup of the quiet database is restored and compared with it, row by row."""

from stithy.run.activities.backup.proof import prove as do

NAME = "prove-backup"
WHAT, BRIEF = "back up, restore and compare all rows", "prove the backup"
PHASE, PACED = "loading", False

__all__ = ["do"]
