"""Fixed work of the machine before a block."""

from stithy.run.windows.baseline_check import check_baseline

NAME = "baseline-check"
WHAT, BRIEF = "wait for a quiet machine, check the baseline", ""
PHASE, PACED = "measuring", True
do = check_baseline
