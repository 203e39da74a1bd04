"""A window is measured."""

from stithy.run.windows.window import window_step

NAME = "window"
WHAT, BRIEF = "measure a window", ""
PHASE, PACED = "measuring", True
do = window_step
