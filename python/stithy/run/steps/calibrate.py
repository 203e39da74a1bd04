"""What the load driver keeps up with is found out."""

from stithy.run.activities.hammer.headroom import calibrate

NAME = "calibrate"
WHAT = BRIEF = "calibrate the driver"
PHASE, PACED = "calibration", True
do = calibrate
