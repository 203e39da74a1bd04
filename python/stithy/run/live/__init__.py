"""Where a run stands, for whoever watches it while it goes on."""
