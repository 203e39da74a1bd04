"""Which windows are still needed, found out while a run goes on."""
