"""The database is loaded, once."""

from stithy.run.copies.loading import prepare as do

NAME = "prepare"
WHAT, BRIEF = "load the database", "load"
PHASE, PACED = "loading", False

__all__ = ["do"]
