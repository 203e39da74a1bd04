"""Emulated drives: bringing them up, talking to them, putting file systems on them.

The program `stithy-drive` is the drives; this package starts it, finds it again and speaks to it.
"""
