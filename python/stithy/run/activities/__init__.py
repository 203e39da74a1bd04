"""Activities: what happens in a window, one module or folder each; see `stithy.run.activity`."""
