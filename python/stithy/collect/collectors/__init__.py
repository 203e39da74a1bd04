"""One file a collector."""
