"""Layers: each makes one thing of several block devices; see `stithy.storage.layer`."""
