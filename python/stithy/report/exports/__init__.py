"""The exports, one file a format, found by `stithy.registry`."""
