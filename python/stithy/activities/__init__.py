"""What activities say of themselves: one module each; see `stithy.activity`."""
