"""The run whose report is held against one made before, file by file."""

from support.sample_run import Shape, window_id

FIXED = Shape(
    users=(1, 4), duration_s=3, repeat=2, logs=True, ledger=True, drives={"disk": 0.0},
    changes={window_id("memory", 4, 1): {"errors": 1, "error_text": "deadlock detected"}},
)  # fmt: skip
"""Two candidates, one of them on an emulated drive, with nearly everything that a run can have."""
