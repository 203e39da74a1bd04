"""What limited the throughput of each window: one table of bounds that it cannot exceed."""
