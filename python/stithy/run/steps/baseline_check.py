"""Fixed work of the machine before a block."""

from stithy.run.windows.baseline_check import check_baseline as do

NAME = "baseline-check"
WHAT, BRIEF = "check the baseline", ""
PHASE, PACED = "measuring", True

__all__ = ["do"]
