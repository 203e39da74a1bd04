"""One file a workload."""
