"""A window is measured."""

from stithy.run.windows.window import window_step as do

NAME = "window"
WHAT, BRIEF = "measure a window", ""
PHASE, PACED = "measuring", True

__all__ = ["do"]
